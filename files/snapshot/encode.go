package snapshot

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strings"

	"sandboxd/files"
)

// magic begins an encoded manifest; its last byte is the version. After it come the root, entries
// (each after a one), a zero, the summary, and the checksum of everything before.
const magic = "sbxsnap\x02"

// ErrFormat is returned for bytes that are no manifest of this version, or a damaged one.
var ErrFormat = errors.New("not a snapshot's manifest")

var kinds = []files.Kind{"", files.File, files.Dir, files.Symlink, files.Other}

const hashPrefix = "sha256:"

// Bounds of an entry, above those of Linux (limits.h): PATH_MAX, XATTR_LIST_MAX and XATTR_SIZE_MAX.
const (
	maxText   = 1 << 16
	maxXattrs = 1 << 20     // bytes, with 32 for each
	maxLine   = 4 * maxText // of a summary, in which one byte can become three
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// AppendEntry encodes an entry; names keep their bytes.
func AppendEntry(b []byte, e Entry) []byte {
	s := e.State
	flags := uint64(slices.Index(kinds, s.Kind)) << 2
	if e.Racy {
		flags |= 1
	}
	if e.Partial {
		flags |= 2
	}
	b = appendText(b, e.Path)
	for _, n := range []uint64{flags, uint64(s.Mode), uint64(s.UID), uint64(s.GID), uint64(s.Size), e.Device, e.Inode} {
		b = binary.AppendUvarint(b, n)
	}
	b = binary.AppendVarint(binary.AppendVarint(b, s.ModTime), e.ChangeTime)
	sum, _ := hex.DecodeString(strings.TrimPrefix(s.Hash, hashPrefix))
	b = appendText(appendText(b, string(sum)), s.Target)
	b = binary.AppendUvarint(b, uint64(len(s.Xattrs)))
	for _, name := range slices.Sorted(maps.Keys(s.Xattrs)) {
		b = appendText(appendText(b, name), string(s.Xattrs[name]))
	}
	return b
}

// decoder reads encoded values; after an error all are zero.
type decoder struct {
	r   *bufio.Reader
	sum uint32 // of the bytes read
	err error
}

func (d *decoder) ReadByte() (byte, error) {
	b, err := d.r.ReadByte()
	if err == nil {
		d.sum = crc32.Update(d.sum, castagnoli, []byte{b})
	}
	return b, err
}

// failed notes a number that could not be read.
func (d *decoder) failed(err error) bool {
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return d.err != nil
}

func (d *decoder) number() uint64 {
	n, err := binary.ReadUvarint(d)
	if d.failed(err) {
		return 0
	}
	return n
}

func (d *decoder) signed() int64 {
	n, err := binary.ReadVarint(d)
	if d.failed(err) {
		return 0
	}
	return n
}

// count reads a number that is at most limit.
func (d *decoder) count(limit int) int {
	n := d.number()
	if n > uint64(limit) {
		d.failed(fmt.Errorf("%d is more than %d", n, limit))
		return 0
	}
	return int(n)
}

func (d *decoder) bytes(limit int) []byte {
	n := d.count(limit)
	if n == 0 || d.err != nil {
		return nil
	}
	b := make([]byte, n)
	_, err := io.ReadFull(d.r, b)
	d.sum = crc32.Update(d.sum, castagnoli, b)
	if d.failed(err) {
		return nil
	}
	return b
}

func (d *decoder) text(limit int) string { return string(d.bytes(limit)) }

func (d *decoder) lines() (list []string) {
	for range d.count(maxNamed) {
		list = append(list, d.text(maxLine))
	}
	return list
}

// entry reads an entry.
func (d *decoder) entry() (e Entry, err error) {
	e.Path = d.text(maxText)
	flags := d.number()
	s := &e.State
	if k := flags >> 2; k < uint64(len(kinds)) {
		s.Kind = kinds[k]
	} else {
		d.failed(fmt.Errorf("kind %d", k))
	}
	e.Racy, e.Partial = flags&1 != 0, flags&2 != 0
	s.Mode, s.UID, s.GID = uint32(d.number()), uint32(d.number()), uint32(d.number())
	s.Size, e.Device, e.Inode = int64(d.number()), d.number(), d.number()
	s.ModTime, e.ChangeTime = d.signed(), d.signed()
	switch sum := d.bytes(sha256.Size); len(sum) {
	case 0:
	case sha256.Size:
		s.Hash = hashPrefix + hex.EncodeToString(sum)
	default:
		d.failed(errors.New("half a hash"))
	}
	s.Target = d.text(maxText)
	if n := d.count(maxXattrs / 32); n > 0 {
		s.Xattrs = map[string][]byte{}
		for left := maxXattrs; n > 0 && d.err == nil; n-- {
			name := d.text(min(left, maxText))
			s.Xattrs[name] = d.bytes(min(left-len(name), maxText))
			left -= len(name) + len(s.Xattrs[name]) + 32
		}
	}
	if d.err == nil && (!proper(e.Path) || s.Size < 0 || e.lacking() && !e.Partial) {
		d.failed(fmt.Errorf("entry %q", e.Path))
	}
	return e, d.err
}

// proper reports whether a path is clean, relative, and stays below the root.
func proper(rel string) bool {
	if rel == "" {
		return true
	}
	for name := range strings.SplitSeq(rel, "/") {
		if name == "" || name == "." || name == ".." || strings.ContainsRune(name, 0) {
			return false
		}
	}
	return true
}

// Entries decodes entries that AppendEntry encoded one after another.
func Entries(b []byte) ([]Entry, error) {
	r := bytes.NewReader(b)
	d := &decoder{r: bufio.NewReader(r)}
	var list []Entry
	for r.Len() > 0 || d.r.Buffered() > 0 {
		e, err := d.entry()
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// Writer encodes a manifest. After Close it is complete.
type Writer struct {
	w    *bufio.Writer
	sum  uint32
	buf  []byte
	last string
	n    int
}

// NewWriter begins a manifest of the project at root.
func NewWriter(w io.Writer, root string) (*Writer, error) {
	m := &Writer{w: bufio.NewWriterSize(w, 64<<10)}
	return m, m.write(appendText([]byte(magic), root))
}

func (w *Writer) write(b []byte) error {
	w.sum = crc32.Update(w.sum, castagnoli, b)
	_, err := w.w.Write(b)
	return err
}

// Add appends an entry. It fails for one that is not after the last, and beyond MaxEntries.
func (w *Writer) Add(e Entry) error {
	switch {
	case w.n > 0 && Compare(w.last, e.Path) >= 0:
		return fmt.Errorf("%w: %q after %q", ErrFormat, e.Path, w.last)
	case w.n == MaxEntries:
		return fmt.Errorf("%w: more than %d entries", ErrFormat, MaxEntries)
	}
	w.last, w.n = e.Path, w.n+1
	w.buf = AppendEntry(append(w.buf[:0], 1), e)
	return w.write(w.buf)
}

// Close completes the manifest with what s says apart from the number of entries.
func (w *Writer) Close(s Summary) error {
	b := []byte{0}
	for _, list := range [][]string{s.LeftOut, s.Skipped} {
		list = list[:min(len(list), maxNamed)]
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, line := range list {
			b = appendText(b, line[:min(len(line), maxLine)])
		}
	}
	if err := w.write(b); err != nil {
		return err
	}
	if _, err := w.w.Write(binary.BigEndian.AppendUint32(nil, w.sum)); err != nil {
		return err
	}
	return w.w.Flush()
}

// Reader decodes a manifest, one entry at a time.
type Reader struct {
	Root    string  // absolute
	Summary Summary // complete after the last entry
	d       decoder
	last    string
}

// NewReader reads the beginning of a manifest.
func NewReader(r io.Reader) (*Reader, error) {
	m := &Reader{d: decoder{r: bufio.NewReaderSize(r, 64<<10)}}
	b := make([]byte, len(magic))
	if _, err := io.ReadFull(m.d.r, b); err != nil || string(b) != magic {
		return nil, ErrFormat
	}
	m.d.sum = crc32.Update(0, castagnoli, b)
	m.Root = m.d.text(maxText)
	return m, m.d.err
}

// Next returns the next entry. After the last, the error is io.EOF where the manifest is undamaged.
func (r *Reader) Next() (Entry, error) {
	if r.d.err != nil {
		return Entry{}, r.d.err
	}
	if r.d.count(1) == 0 {
		return Entry{}, r.close()
	}
	e, err := r.d.entry()
	if r.Summary.Entries > 0 && Compare(r.last, e.Path) >= 0 || r.Summary.Entries == MaxEntries {
		r.d.failed(errors.New("entries without order"))
		err = r.d.err
	}
	r.last = e.Path
	r.Summary.Entries++
	return e, err
}

func (r *Reader) close() error {
	r.Summary.LeftOut, r.Summary.Skipped = r.d.lines(), r.d.lines()
	want := r.d.sum
	var sum [4]byte
	_, err := io.ReadFull(r.d.r, sum[:])
	if !r.d.failed(err) && binary.BigEndian.Uint32(sum[:]) != want {
		r.d.failed(errors.New("the checksum differs"))
	}
	if r.d.err == nil {
		r.d.err = io.EOF
	}
	return r.d.err
}
