package git

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
)

const maxIndex = 64 << 20

// Links returns the paths that the index of a repository holds as links to other repositories (mode 160000;
// gitformat-index(5)): its submodules. Settings are the repository's configuration.
func Links(h Host, r Repository, settings []Setting) ([]string, error) {
	return links(h, path.Join(r.Dir, "index"), HashSize(settings), 0)
}

// links reads an index whose object names have hash bytes.
func links(h Host, name string, hash, depth int) ([]string, error) {
	b, err := h.ReadFile(name, maxIndex)
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", name, err)
	}
	odd := fmt.Errorf("read %q: %w", name, errors.New("the index has a form that is not understood"))
	if len(b) < 12 || string(b[:4]) != "DIRC" {
		return nil, odd
	}
	version, count := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	if version < 2 || version > 4 {
		return nil, odd
	}
	var out []string
	prev := ""
	at := 12
	for range count {
		if at+40+hash+2 > len(b) {
			return nil, odd
		}
		mode := binary.BigEndian.Uint32(b[at+24:])
		flags := binary.BigEndian.Uint16(b[at+40+hash:])
		pos := at + 42 + hash
		if flags&0x4000 != 0 && version >= 3 {
			pos += 2
		}
		var entry string
		if version == 4 {
			strip, used := varint(b[min(pos, len(b)):])
			pos += used
			if used == 0 || strip > len(prev) {
				return nil, odd
			}
			end := slices.Index(b[min(pos, len(b)):], 0)
			if end < 0 {
				return nil, odd
			}
			entry = prev[:len(prev)-strip] + string(b[pos:pos+end])
			at = pos + end + 1
		} else {
			end := slices.Index(b[min(pos, len(b)):], 0)
			if end < 0 {
				return nil, odd
			}
			entry = string(b[pos : pos+end])
			size := pos + end - at
			at += size + 8 - size%8
		}
		prev = entry
		if mode&0o170000 == 0o160000 {
			out = append(out, entry)
		}
	}
	shared, err := sharedIndex(b[min(at, len(b)):], hash)
	if err != nil || depth > 0 && shared != "" {
		return nil, odd
	}
	if shared == "" {
		return out, nil
	}
	more, err := links(h, path.Join(path.Dir(name), "sharedindex."+shared), hash, depth+1)
	return append(out, more...), err
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
