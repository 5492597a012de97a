package snapshot

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"sandboxd/files"
)

// magic begins an encoded manifest; its last byte is the version.
const magic = "sbxsnap\x01"

// ErrFormat is returned for bytes that are no manifest of this version.
var ErrFormat = errors.New("not a snapshot's manifest")

var kinds = []files.Kind{files.File, files.Dir, files.Symlink, files.Other}

const hashPrefix = "sha256:"

// Encode writes a manifest; names keep their bytes.
func Encode(m *Manifest) []byte {
	b := make([]byte, 0, 64+len(m.Entries)*128)
	b = append(b, magic...)
	text := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	number := func(n uint64) { b = binary.AppendUvarint(b, n) }
	text(m.Root)
	for _, list := range [][]string{m.LeftOut, m.Skipped} {
		number(uint64(len(list)))
		for _, s := range list {
			text(s)
		}
	}
	number(uint64(len(m.Entries)))
	for _, e := range m.Entries {
		s := e.State
		flags := uint64(slices.Index(kinds, s.Kind)) << 1
		if e.Racy {
			flags |= 1
		}
		text(e.Path)
		for _, n := range []uint64{flags, uint64(s.Mode), uint64(s.UID), uint64(s.GID), uint64(s.Size), e.Device, e.Inode} {
			number(n)
		}
		b = binary.AppendVarint(binary.AppendVarint(b, s.ModTime), e.ChangeTime)
		sum, _ := hex.DecodeString(strings.TrimPrefix(s.Hash, hashPrefix))
		text(string(sum))
		text(s.Target)
		number(uint64(len(s.Xattrs)))
		for name, value := range s.Xattrs {
			text(name)
			text(string(value))
		}
	}
	return b
}

// reader reads an encoded manifest; after an error everything is zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) number() uint64 {
	n, used := binary.Uvarint(r.b)
	return n * r.skip(used)
}

func (r *reader) signed() int64 {
	n, used := binary.Varint(r.b)
	return n * int64(r.skip(used))
}

// skip returns 1, and 0 after an error.
func (r *reader) skip(used int) uint64 {
	if used <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[used:]
	return 1
}

func (r *reader) text() string {
	n := r.count(1)
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

// count reads a number of things that take at least size bytes each.
func (r *reader) count(size int) int {
	n := r.number()
	if n > uint64(len(r.b)/size) {
		r.bad, r.b = true, nil
		return 0
	}
	return int(n)
}

func (r *reader) texts() (list []string) {
	for range r.count(1) {
		list = append(list, r.text())
	}
	return list
}

// Decode reads a manifest.
func Decode(b []byte) (*Manifest, error) {
	if len(b) < len(magic) || string(b[:len(magic)]) != magic {
		return nil, ErrFormat
	}
	r := &reader{b: b[len(magic):]}
	m := &Manifest{Root: r.text(), LeftOut: r.texts(), Skipped: r.texts()}
	n := r.count(12)
	m.Entries = make([]Entry, 0, n)
	for range n {
		e := Entry{Path: r.text()}
		flags := r.number()
		if flags>>1 >= uint64(len(kinds)) {
			return nil, ErrFormat
		}
		e.Racy = flags&1 != 0
		s := &e.State
		s.Kind = kinds[flags>>1]
		s.Mode, s.UID, s.GID = uint32(r.number()), uint32(r.number()), uint32(r.number())
		s.Size, e.Device, e.Inode = int64(r.number()), r.number(), r.number()
		s.ModTime, e.ChangeTime = r.signed(), r.signed()
		if sum := r.text(); sum != "" {
			s.Hash = hashPrefix + hex.EncodeToString([]byte(sum))
		}
		s.Target = r.text()
		if count := r.count(2); count > 0 {
			s.Xattrs = make(map[string][]byte, count)
			for range count {
				name := r.text()
				s.Xattrs[name] = []byte(r.text())
			}
		}
		m.Entries = append(m.Entries, e)
	}
	if r.bad || len(r.b) > 0 {
		return nil, ErrFormat
	}
	return m, nil
}
