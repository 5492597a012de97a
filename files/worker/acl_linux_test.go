package worker_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"sandboxd/files"
	"sandboxd/files/filestest"
)

// acl is an access control list as the kernel keeps it (acl(5),
// linux/posix_acl_xattr.h), of triples: tag, permissions, id.
func acl(entries ...[3]uint32) []byte {
	out := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range entries {
		out = binary.LittleEndian.AppendUint16(out, uint16(e[0]))
		out = binary.LittleEndian.AppendUint16(out, uint16(e[1]))
		out = binary.LittleEndian.AppendUint32(out, e[2])
	}
	return out
}

// A file that is made together with its folders looks like one that is made when they are
// there: what a folder's default access control list gives its files, they have.
func TestParentsBelowADefaultACL(t *testing.T) {
	const undefined = 1<<32 - 1
	for name, list := range map[string][]byte{
		"for a user": acl([3]uint32{1, 7, undefined}, [3]uint32{2, 7, 12345}, [3]uint32{4, 5, undefined},
			[3]uint32{0x10, 7, undefined}, [3]uint32{0x20, 0, undefined}),
		"plain": acl([3]uint32{1, 7, undefined}, [3]uint32{4, 7, undefined}, [3]uint32{0x20, 0, undefined}),
	} {
		for _, mode := range []uint32{0, 0o640} {
			b := filestest.New(t, filestest.Options{})
			must(t, unix.Setxattr(b.Root, "system.posix_acl_default", list, 0))
			must(t, os.Mkdir(filepath.Join(b.Root, "there"), 0o777))
			looks := func(name string) (uint32, []byte) {
				p := filepath.Join(b.Root, name)
				var st unix.Stat_t
				must(t, unix.Lstat(p, &st))
				value := make([]byte, 1<<10)
				n, err := unix.Getxattr(p, "system.posix_acl_access", value)
				if err != nil {
					n = 0
				}
				return st.Mode & 0o7777, value[:n]
			}
			before := filestest.Snapshot(t, b.Root)
			_, _, err := b.Do(files.Request{Op: files.Create, Path: "there/f", Content: []byte("x"), Mode: mode})
			must(t, err)
			_, id, err := b.Do(files.Request{Op: files.Create, Path: "made/too/f", Content: []byte("x"), Mode: mode,
				Parents: true})
			must(t, err)
			for _, same := range [][2]string{{"there/f", "made/too/f"}, {"there", "made"}, {"there", "made/too"}} {
				wantMode, wantACL := looks(same[0])
				if mode, acl := looks(same[1]); mode != wantMode || !bytes.Equal(acl, wantACL) {
					t.Errorf("%s, mode %o: %s has mode %o, acl %x; %s has %o, %x", name, mode, same[1], mode, acl, same[0], wantMode,
						wantACL)
				}
			}
			if _, err := b.Undo(id, false); err != nil {
				t.Errorf("%s, mode %o: %v", name, mode, err)
			}
			must(t, os.Remove(filepath.Join(b.Root, "there/f")))
			if back := filestest.Snapshot(t, b.Root); withoutTimes(back) != withoutTimes(before) {
				t.Errorf("undo left:\n%s\n--- instead of\n%s", back, before)
			}
		}
	}
}
