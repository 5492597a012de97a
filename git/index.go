package git

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"path"
	"slices"
)

const maxIndex = 64 << 20

// Links returns the paths that the index of a repository holds as links to other repositories (mode 160000;
// gitformat-index(5)): its submodules. Settings are the repository's configuration.
func Links(h Host, r Repository, settings []Setting) ([]string, error) {
	var out []string
	err := eachEntry(h, path.Join(r.Dir, "index"), HashSize(settings), 0, func(mode uint32, _ []byte, entry string) {
		if mode&0o170000 == 0o160000 {
			out = append(out, entry)
		}
	})
	return out, err
}

// Tracks reports whether the index of a repository has a file with that content at a path of its work tree. A filter is
// not run: a file that one converts is not found.
func Tracks(h Host, r Repository, at string, content []byte) (found bool) {
	for _, sum := range []func() hash.Hash{sha1.New, sha256.New} {
		blob := sum()
		fmt.Fprintf(blob, "blob %d\x00", len(content))
		blob.Write(content)
		id := blob.Sum(nil)
		err := eachEntry(h, path.Join(r.Dir, "index"), len(id), 0, func(mode uint32, entryID []byte, entry string) {
			found = found || entry == at && mode&0o170000 == 0o100000 && bytes.Equal(entryID, id)
		})
		if err == nil {
			return found
		}
	}
	return false
}

// eachEntry calls f with the mode, the object's id and the path of each entry of an index, a split one's shared file
// included, which may have further ones. hash is the size of object names.
func eachEntry(h Host, name string, hash, depth int, f func(mode uint32, id []byte, path string)) error {
	b, err := h.ReadFile(name, maxIndex)
	if absent(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %q: %w", name, err)
	}
	odd := fmt.Errorf("read %q: %w", name, errOddIndex)
	at, err := entries(b, hash, func(at int, entry string) {
		f(binary.BigEndian.Uint32(b[at+24:]), b[at+40:at+40+hash], entry)
	})
	if err != nil {
		return odd
	}
	shared, err := sharedIndex(b[min(at, len(b)):], hash)
	if err != nil || depth > 0 && shared != "" {
		return odd
	}
	if shared == "" {
		return nil
	}
	return eachEntry(h, path.Join(path.Dir(name), "sharedindex."+shared), hash, depth+1, f)
}

var errOddIndex = errors.New("the index has a form that is not understood")

// entries calls f with the offset and the path of each entry of an index, and returns the offset of its extensions.
func entries(b []byte, hash int, f func(at int, path string)) (at int, err error) {
	if len(b) < 12 || string(b[:4]) != "DIRC" {
		return 0, errOddIndex
	}
	version, count := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	if version < 2 || version > 4 {
		return 0, errOddIndex
	}
	prev := ""
	at = 12
	for range count {
		if at+40+hash+2 > len(b) {
			return 0, errOddIndex
		}
		begin := at
		flags := binary.BigEndian.Uint16(b[at+40+hash:])
		pos := at + 42 + hash
		if flags&0x4000 != 0 && version >= 3 {
			pos += 2
		}
		var strip, used int
		if version == 4 {
			strip, used = varint(b[min(pos, len(b)):])
			pos += used
			if used == 0 || strip > len(prev) {
				return 0, errOddIndex
			}
		}
		end := slices.Index(b[min(pos, len(b)):], 0)
		if end < 0 {
			return 0, errOddIndex
		}
		entry := string(b[pos : pos+end])
		if version == 4 {
			entry = prev[:len(prev)-strip] + entry
			at = pos + end + 1
		} else {
			size := pos + end - at
			at += size + 8 - size%8
		}
		prev = entry
		f(begin, entry)
	}
	return at, nil
}

// A Stat is the identity of a file as an index notes it. Times are in nanoseconds since 1970.
type Stat struct {
	CTime, MTime int64
	Ino          uint64
	UID, GID     uint32
	Size         int64
	Content      func() []byte // as it is
}

// Refresh notes in an index the identity of regular files whose content, as it is, is that of their entries: git then
// reads them no more to find out that they did not change (git-update-index(1), --refresh). It runs no filter: a file
// that one converts stays as it is. file returns the file at a path. changed reports whether it noted any.
func Refresh(b []byte, file func(path string) (Stat, bool)) (changed bool, err error) {
	for _, sum := range []func() hash.Hash{sha256.New, sha1.New} {
		h := sum()
		size := h.Size()
		if len(b) < size {
			continue
		}
		trailer := b[len(b)-size:]
		h.Write(b[:len(b)-size])
		skipped := bytes.Equal(trailer, make([]byte, size)) // index.skipHash of git-config(1)
		if !skipped && !bytes.Equal(h.Sum(nil), trailer) {
			continue
		}
		_, err := entries(b[:len(b)-size], size, func(at int, path string) {
			changed = refresh(b[at:], size, sum(), path, file) || changed
		})
		h.Reset()
		h.Write(b[:len(b)-size])
		if !skipped {
			copy(trailer, h.Sum(nil))
		}
		return changed, err
	}
	return false, errOddIndex
}

// refresh notes the identity of one entry.
func refresh(entry []byte, size int, h hash.Hash, path string, file func(path string) (Stat, bool)) (changed bool) {
	word := binary.BigEndian.Uint32
	stage := binary.BigEndian.Uint16(entry[40+size:]) & 0x3000
	if word(entry[24:])&0o170000 != 0o100000 || stage != 0 {
		return false
	}
	st, ok := file(path)
	noted := int64(word(entry[8:]))*1e9 + int64(word(entry[12:]))
	if !ok || noted != st.MTime || word(entry[36:]) != uint32(st.Size) {
		return false
	}
	text := st.Content()
	fmt.Fprintf(h, "blob %d\x00", len(text))
	h.Write(text)
	if !bytes.Equal(h.Sum(nil), entry[40:40+size]) {
		return false
	}
	for i, v := range map[int]uint32{
		0: uint32(st.CTime / 1e9), 4: uint32(st.CTime % 1e9), 20: uint32(st.Ino), 28: st.UID, 32: st.GID,
	} {
		changed = changed || word(entry[i:]) != v
		binary.BigEndian.PutUint32(entry[i:], v)
	}
	return changed
}

// sharedIndex finds the extension of a split index that names the file with
// the other entries.
func sharedIndex(ext []byte, hash int) (string, error) {
	for len(ext) >= hash+8 {
		size := int(binary.BigEndian.Uint32(ext[4:]))
		if size < 0 || size > len(ext)-8 {
			return "", errOdd
		}
		if string(ext[:4]) == "link" {
			if size < hash {
				return "", errOdd
			}
			return hex.EncodeToString(ext[8 : 8+hash]), nil
		}
		ext = ext[8+size:]
	}
	return "", nil
}

// varint reads the offset encoding of index version 4.
func varint(b []byte) (n, used int) {
	for i, c := range b {
		if i > 4 {
			return 0, 0
		}
		if i > 0 {
			n++
		}
		n = n<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			return n, i + 1
		}
	}
	return 0, 0
}
