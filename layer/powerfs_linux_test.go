package layer

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// powerFS is a file system in memory, by fuse(4), whose power can be cut. What was not flushed is lost then: of the
// changes of names and metadata since the last flush, all after a random one, as with a journal; of the content of a
// file that was not flushed itself, all or a part. Inode numbers stay, as layers tell objects by them.
type powerFS struct {
	fuse.RawFileSystem
	mu     sync.Mutex
	now    image
	past   []image           // since the last flush of names; the first is on the disk
	disk   map[uint64][]byte // content of files on the disk
	inodes uint64
	clock  int64
	left   int // changes before the power is cut; 0: never
	cut    bool
	random *rand.Rand
}

// image is all inodes by their numbers. An inode of an image never changes.
type image map[uint64]*inode

type inode struct {
	mode, uid, gid, rdev, links uint32
	mtime, ctime                int64
	data                        []byte // a link's target, too
	xattrs                      map[string][]byte
	entries                     map[string]uint64
}

func newPowerFS(seed uint64) *powerFS {
	f := &powerFS{RawFileSystem: fuse.NewDefaultRawFileSystem(), disk: map[uint64][]byte{}, inodes: fuse.FUSE_ROOT_ID,
		random: rand.New(rand.NewPCG(seed, 1))}
	f.now = image{fuse.FUSE_ROOT_ID: {mode: unix.S_IFDIR | 0o755, links: 2, entries: map[string]uint64{}}}
	return f
}

// mount mounts the file system until unmount is called.
func (f *powerFS) mount(t testing.TB, at string) (unmount func()) {
	t.Helper()
	server, err := fuse.NewServer(f, at, &fuse.MountOptions{
		DirectMountStrict: true, FsName: "powerfs", Options: []string{"default_permissions"}, MaxWrite: 128 << 10,
		DisableReadDirPlus: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve()
	if err := server.WaitMount(); err != nil {
		t.Fatal(err)
	}
	return func() {
		for range 100 {
			if err = unix.Unmount(at, 0); err != unix.EBUSY {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if err != nil {
			_ = unix.Unmount(at, unix.MNT_DETACH)
			t.Error(os.NewSyscallError("umount", err))
		}
		server.Wait()
	}
}

// flush puts everything on the disk, or the names and metadata alone.
func (f *powerFS) flush(content bool) {
	f.past = nil
	if content {
		for ino, n := range f.now {
			f.disk[ino] = n.data
		}
	}
}

// restart returns what the disk has after the cut, in the file system.
func (f *powerFS) restart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := append(slices.Clone(f.past), f.now)
	f.now, f.cut, f.left = maps.Clone(all[f.random.IntN(len(all))]), false, 0
	for ino, n := range f.now {
		flushed, known := f.disk[ino]
		switch {
		case n.mode&unix.S_IFMT != unix.S_IFREG || known && bytes.Equal(flushed, n.data):
			continue
		case f.random.IntN(3) == 0:
			continue // the kernel wrote it by itself
		case !known || f.random.IntN(2) == 0:
			flushed = n.data[:f.random.IntN(len(n.data)+1)]
		}
		torn := *n
		torn.data = flushed
		f.now[ino] = &torn
	}
	f.flush(true)
}

// change makes a change of the image.
func (f *powerFS) change(do func(f *powerFS) fuse.Status) fuse.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cut {
		return fuse.EIO
	}
	was := f.now
	f.now = maps.Clone(was)
	if status := do(f); !status.Ok() {
		f.now = was
		return status
	}
	f.past = append(f.past, was)
	if f.left--; f.left == 0 {
		f.cut = true
	}
	return fuse.OK
}

// read looks at the image.
func (f *powerFS) read(ino uint64, do func(n *inode) fuse.Status) fuse.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cut {
		return fuse.EIO
	}
	n := f.now[ino]
	if n == nil {
		return fuse.ENOENT
	}
	return do(n)
}

func (f *powerFS) tick() int64 {
	f.clock = max(f.clock+1, time.Now().UnixNano())
	return f.clock
}

// edit returns an inode to change, in the image of a change.
func (f *powerFS) edit(ino uint64) *inode {
	n := *f.now[ino]
	n.entries, n.xattrs = maps.Clone(n.entries), maps.Clone(n.xattrs)
	n.ctime = f.tick()
	f.now[ino] = &n
	return &n
}

// enter gives a directory an entry; 0 removes it.
func (f *powerFS) enter(dir uint64, name string, ino uint64) {
	d := f.edit(dir)
	d.mtime = d.ctime
	if ino == 0 {
		delete(d.entries, name)
	} else {
		d.entries[name] = ino
	}
}

func (f *powerFS) lookup(dir uint64, name string) (uint64, *inode) {
	ino := f.now[dir].entries[name]
	return ino, f.now[ino]
}

// make makes an inode, and an entry for it where there is a name.
func (f *powerFS) make(in *fuse.InHeader, name string, n inode, out *fuse.EntryOut) fuse.Status {
	return f.change(func(f *powerFS) fuse.Status {
		if _, old := f.lookup(in.NodeId, name); old != nil && name != "" {
			return fuse.Status(unix.EEXIST)
		}
		f.inodes++
		n.uid, n.gid, n.mtime = in.Uid, in.Gid, f.tick()
		n.ctime = n.mtime
		if dir := f.now[in.NodeId]; dir.mode&unix.S_ISGID != 0 {
			if n.gid = dir.gid; n.entries != nil {
				n.mode |= unix.S_ISGID
			}
		}
		if name != "" {
			n.links = 1
			f.enter(in.NodeId, name, f.inodes)
		}
		f.now[f.inodes] = &n
		f.entry(f.inodes, out)
		return fuse.OK
	})
}

func (f *powerFS) entry(ino uint64, out *fuse.EntryOut) {
	out.NodeId, out.Generation = ino, 1
	f.attr(ino, &out.Attr)
}

func (f *powerFS) attr(ino uint64, out *fuse.Attr) {
	n := f.now[ino]
	*out = fuse.Attr{Ino: ino, Mode: n.mode, Size: uint64(len(n.data)), Blocks: uint64(len(n.data)+511) / 512,
		Nlink: n.links, Rdev: n.rdev, Blksize: 4096, Owner: fuse.Owner{Uid: n.uid, Gid: n.gid},
		Mtime: uint64(n.mtime / 1e9), Mtimensec: uint32(n.mtime % 1e9),
		Ctime: uint64(n.ctime / 1e9), Ctimensec: uint32(n.ctime % 1e9)}
}

func (f *powerFS) Lookup(_ <-chan struct{}, in *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	return f.read(in.NodeId, func(*inode) fuse.Status {
		ino, n := f.lookup(in.NodeId, name)
		if n == nil {
			return fuse.ENOENT
		}
		f.entry(ino, out)
		return fuse.OK
	})
}

func (f *powerFS) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	return f.read(in.NodeId, func(*inode) fuse.Status { f.attr(in.NodeId, &out.Attr); return fuse.OK })
}

func (f *powerFS) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	return f.change(func(f *powerFS) fuse.Status {
		n := f.edit(in.NodeId)
		if mode, ok := in.GetMode(); ok {
			n.mode = n.mode&unix.S_IFMT | mode&0o7777
		}
		if uid, ok := in.GetUID(); ok {
			n.uid = uid
		}
		if gid, ok := in.GetGID(); ok {
			n.gid = gid
		}
		if size, ok := in.GetSize(); ok {
			n.mtime, n.data = n.ctime, resized(n.data, size)
		}
		if mtime, ok := in.GetMTime(); ok {
			n.mtime = mtime.UnixNano()
		}
		f.attr(in.NodeId, &out.Attr)
		return fuse.OK
	})
}

func resized(data []byte, size uint64) []byte {
	out := make([]byte, size)
	copy(out, data)
	return out
}

func (f *powerFS) Mknod(_ <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	return f.make(&in.InHeader, name, inode{mode: in.Mode, rdev: in.Rdev}, out)
}

func (f *powerFS) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	dir := inode{mode: unix.S_IFDIR | in.Mode&0o7777, entries: map[string]uint64{}}
	return f.make(&in.InHeader, name, dir, out)
}

func (f *powerFS) Symlink(_ <-chan struct{}, in *fuse.InHeader, to, name string, out *fuse.EntryOut) fuse.Status {
	return f.make(in, name, inode{mode: unix.S_IFLNK | 0o777, data: []byte(to)}, out)
}

func (f *powerFS) Create(_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	out.OpenFlags = fuse.FOPEN_DIRECT_IO
	return f.make(&in.InHeader, name, inode{mode: unix.S_IFREG | in.Mode&0o7777}, &out.EntryOut)
}

func (f *powerFS) Tmpfile(cancel <-chan struct{}, in *fuse.CreateIn, out *fuse.CreateOut) fuse.Status {
	return f.Create(cancel, in, "", out)
}

func (f *powerFS) Link(_ <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	return f.change(func(f *powerFS) fuse.Status {
		if _, old := f.lookup(in.NodeId, name); old != nil {
			return fuse.Status(unix.EEXIST)
		}
		f.edit(in.Oldnodeid).links++
		f.enter(in.NodeId, name, in.Oldnodeid)
		f.entry(in.Oldnodeid, out)
		return fuse.OK
	})
}

func (f *powerFS) remove(in *fuse.InHeader, name string) fuse.Status {
	return f.change(func(f *powerFS) fuse.Status {
		ino, n := f.lookup(in.NodeId, name)
		switch {
		case n == nil:
			return fuse.ENOENT
		case len(n.entries) > 0:
			return fuse.Status(unix.ENOTEMPTY)
		}
		f.edit(ino).links--
		f.enter(in.NodeId, name, 0)
		return fuse.OK
	})
}

func (f *powerFS) Unlink(_ <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	return f.remove(in, name)
}

func (f *powerFS) Rmdir(_ <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	return f.remove(in, name)
}

func (f *powerFS) Rename(_ <-chan struct{}, in *fuse.RenameIn, from, to string) fuse.Status {
	return f.change(func(f *powerFS) fuse.Status {
		ino, n := f.lookup(in.NodeId, from)
		other, old := f.lookup(in.Newdir, to)
		switch {
		case n == nil || old == nil && in.Flags == unix.RENAME_EXCHANGE:
			return fuse.ENOENT
		case old != nil && in.Flags == unix.RENAME_NOREPLACE:
			return fuse.Status(unix.EEXIST)
		case old != nil && in.Flags == 0 && len(old.entries) > 0:
			return fuse.Status(unix.ENOTEMPTY)
		}
		f.edit(ino)
		if old != nil && in.Flags == 0 {
			f.edit(other).links--
		}
		if in.Flags == unix.RENAME_EXCHANGE {
			f.edit(other)
		} else {
			other = 0
		}
		f.enter(in.NodeId, from, other)
		f.enter(in.Newdir, to, ino)
		return fuse.OK
	})
}

func (f *powerFS) Readlink(_ <-chan struct{}, in *fuse.InHeader) (out []byte, status fuse.Status) {
	status = f.read(in.NodeId, func(n *inode) fuse.Status { out = n.data; return fuse.OK })
	return out, status
}

// flushAttribute is the attribute of a directory by which a test flushes all.
const flushAttribute = "user.flush"

func (f *powerFS) SetXAttr(_ <-chan struct{}, in *fuse.SetXAttrIn, attr string, data []byte) fuse.Status {
	if attr == flushAttribute {
		return f.read(in.NodeId, func(*inode) fuse.Status { f.flush(true); return fuse.OK })
	}
	if !strings.HasPrefix(attr, "user.") { // access control lists would be the kernel's to read
		return fuse.ENOTSUP
	}
	return f.change(func(f *powerFS) fuse.Status {
		n := f.edit(in.NodeId)
		if n.xattrs == nil {
			n.xattrs = map[string][]byte{}
		}
		n.xattrs[attr] = slices.Clone(data)
		return fuse.OK
	})
}

func (f *powerFS) RemoveXAttr(_ <-chan struct{}, in *fuse.InHeader, attr string) fuse.Status {
	return f.change(func(f *powerFS) fuse.Status {
		if _, ok := f.now[in.NodeId].xattrs[attr]; !ok {
			return fuse.ENOATTR
		}
		delete(f.edit(in.NodeId).xattrs, attr)
		return fuse.OK
	})
}

func (f *powerFS) GetXAttr(_ <-chan struct{}, in *fuse.InHeader, attr string, dest []byte) (n uint32, _ fuse.Status) {
	return n, f.read(in.NodeId, func(i *inode) fuse.Status {
		value, ok := i.xattrs[attr]
		if !ok {
			return fuse.ENOATTR
		}
		return sized(value, dest, &n)
	})
}

func (f *powerFS) ListXAttr(_ <-chan struct{}, in *fuse.InHeader, dest []byte) (n uint32, _ fuse.Status) {
	return n, f.read(in.NodeId, func(i *inode) fuse.Status {
		var list []byte
		for _, name := range slices.Sorted(maps.Keys(i.xattrs)) {
			list = append(list, name+"\x00"...)
		}
		return sized(list, dest, &n)
	})
}

// sized answers a question for a value whose size the asker may not know yet.
func sized(value, dest []byte, n *uint32) fuse.Status {
	if *n = uint32(len(value)); len(dest) < len(value) {
		return fuse.Status(syscall.ERANGE)
	}
	copy(dest, value)
	return fuse.OK
}

func (f *powerFS) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	out.OpenFlags = fuse.FOPEN_DIRECT_IO
	return f.read(in.NodeId, func(*inode) fuse.Status { return fuse.OK })
}

func (f *powerFS) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, _ *fuse.OpenOut) fuse.Status {
	return f.read(in.NodeId, func(*inode) fuse.Status { return fuse.OK })
}

func (f *powerFS) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	return f.read(in.NodeId, func(n *inode) fuse.Status {
		for i, name := range slices.Sorted(maps.Keys(n.entries)) {
			e := fuse.DirEntry{Name: name, Ino: n.entries[name], Mode: f.now[n.entries[name]].mode, Off: uint64(i + 1)}
			if uint64(i) >= in.Offset && !out.AddDirEntry(e) {
				break
			}
		}
		return fuse.OK
	})
}

func (f *powerFS) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (result fuse.ReadResult, _ fuse.Status) {
	result = fuse.ReadResultData(nil)
	return result, f.read(in.NodeId, func(n *inode) fuse.Status {
		from := min(in.Offset, uint64(len(n.data)))
		result = fuse.ReadResultData(n.data[from:min(from+uint64(len(buf)), uint64(len(n.data)))])
		return fuse.OK
	})
}

func (f *powerFS) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	return uint32(len(data)), f.change(func(f *powerFS) fuse.Status {
		n := f.edit(in.NodeId)
		n.mtime, n.data = n.ctime, resized(n.data, max(uint64(len(n.data)), in.Offset+uint64(len(data))))
		copy(n.data[in.Offset:], data)
		return fuse.OK
	})
}

func (f *powerFS) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return f.read(in.NodeId, func(n *inode) fuse.Status { f.disk[in.NodeId] = n.data; return fuse.OK })
}

func (f *powerFS) FsyncDir(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return f.read(in.NodeId, func(*inode) fuse.Status { f.flush(false); return fuse.OK })
}

func (f *powerFS) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.OK }

func (f *powerFS) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	*out = fuse.StatfsOut{Blocks: 1 << 20, Bfree: 1 << 20, Bavail: 1 << 20, Files: 1 << 20, Ffree: 1 << 20,
		Bsize: 4096, Frsize: 4096, NameLen: 255}
	return fuse.OK
}
