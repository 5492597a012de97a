package git

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"sort"
	"strings"
)

// packEntry is the place of an object in a pack.
type packEntry struct {
	id     string
	offset int64
}

// packs returns the packs of a directory of objects, without their suffix. A pack without an index, whose objects a
// multi-pack-index can name, is an error.
func (o *Objects) packs(dir string) ([]string, error) {
	names, err := o.Host.ReadDir(path.Join(dir, "pack"))
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	indexed := map[string]bool{}
	for _, e := range names {
		if name, ok := strings.CutSuffix(e.Name(), ".idx"); ok {
			indexed[name] = true
		}
	}
	var out []string
	for _, e := range names {
		name, ok := strings.CutSuffix(e.Name(), ".pack")
		switch {
		case !ok:
			continue
		case !indexed[name]:
			return nil, fmt.Errorf("the pack %s has no index", e.Name())
		case len(out) >= maxPacks:
			return nil, errors.New("there are too many packs")
		}
		out = append(out, path.Join(dir, "pack", name))
	}
	return out, nil
}

// lookup returns the objects of a pack whose ids begin with prefix, from its index of version 2 (gitformat-pack(5)).
func (o *Objects) lookup(pack, prefix string) ([]packEntry, error) {
	name := pack + ".idx"
	const header = 8 + 256*4
	head, err := o.Host.ReadAt(name, 0, header)
	if err != nil {
		return nil, err
	}
	if len(head) < header || string(head[:8]) != "\xfftOc\x00\x00\x00\x02" {
		return nil, fmt.Errorf("read %q: %w", name, errObject)
	}
	first, err := hex.DecodeString(prefix[:2])
	if err != nil {
		return nil, errObject
	}
	fan := func(i int) int64 { return int64(binary.BigEndian.Uint32(head[8+4*i:])) }
	low, high, all, hash := int64(0), fan(int(first[0])), fan(255), int64(o.Hash)
	if first[0] > 0 {
		low = fan(int(first[0]) - 1)
	}
	if high < low || high > all || (high-low)*hash > maxBucket {
		return nil, fmt.Errorf("read %q: %w", name, errObject)
	}
	bucket, err := o.exactly(name, header+low*hash, int((high-low)*hash))
	if err != nil {
		return nil, err
	}
	id := func(i int) string { return hex.EncodeToString(bucket[i*o.Hash : (i+1)*o.Hash]) }
	n := int(high - low)
	var out []packEntry
	for i := sort.Search(n, func(i int) bool { return id(i) >= prefix }); i < n; i++ {
		if !strings.HasPrefix(id(i), prefix) {
			break
		}
		if len(out) > maxMatching {
			return nil, errors.New("it is an abbreviation of too many")
		}
		at, err := o.exactly(name, header+all*(hash+4)+(low+int64(i))*4, 4)
		if err != nil {
			return nil, err
		}
		offset := int64(binary.BigEndian.Uint32(at))
		if offset&0x80000000 != 0 {
			if at, err = o.exactly(name, header+all*(hash+8)+(offset&0x7fffffff)*8, 8); err != nil {
				return nil, err
			}
			offset = int64(binary.BigEndian.Uint64(at))
		}
		out = append(out, packEntry{id(i), offset})
	}
	return out, nil
}

// packed returns the type of the object at an offset of a pack: for a delta, that of its base.
func (o *Objects) packed(pack string, offset int64) (ObjectType, error) {
	name := pack + ".pack"
	for {
		if o.steps++; o.steps > maxChain || o.Over != nil && o.Over() {
			return NoObject, errors.New("there was no time to")
		}
		b, err := o.Host.ReadAt(name, offset, 1024)
		if err != nil {
			return NoObject, err
		}
		data := 0
		for data < len(b) && b[data]&0x80 != 0 {
			data++
		}
		if data++; data >= len(b) || offset <= 0 {
			return NoObject, fmt.Errorf("read %q: %w", name, errObject)
		}
		switch b[0] >> 4 & 7 {
		case 1:
			return Commit, nil
		case 2:
			return Tree, nil
		case 3:
			return Blob, nil
		case 4:
			content, err := inflate(b[data:], 128)
			if err != nil {
				return NoObject, err
			}
			return o.peel(Tag, string(content))
		case 6:
			back, used := varint(b[data:])
			if used == 0 || back <= 0 {
				return NoObject, fmt.Errorf("read %q: %w", name, errObject)
			}
			offset -= int64(back)
		case 7:
			if len(b) < data+o.Hash {
				return NoObject, fmt.Errorf("read %q: %w", name, errObject)
			}
			return o.typeOf(hex.EncodeToString(b[data : data+o.Hash]))
		default:
			return NoObject, fmt.Errorf("read %q: %w", name, errObject)
		}
	}
}

// exactly reads n bytes of a file.
func (o *Objects) exactly(name string, at int64, n int) ([]byte, error) {
	b, err := o.Host.ReadAt(name, at, n)
	if err == nil && len(b) < n {
		err = fmt.Errorf("read %q: %w", name, errObject)
	}
	return b, err
}
