package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"sandboxd/files"
	"sandboxd/files/snapshot"
	"sandboxd/files/tree"
	"sandboxd/internal/durable"
)

// keeping writes the manifest of a scan, and copies the files that come with it into the project's
// contents. The project's lock is held.
type keeping struct {
	project *Project
	out     *snapshot.Writer
	most    int64 // bytes that may be copied; 0: no bound
	copied  int64
	fresh   bool // a content was added
	n       int
	names   []string // of the added contents, maxSyncs+1 at most
}

// maxSyncs is how many files are brought to disk one by one.
const maxSyncs = 16

// kept is a content as it was copied; changed: the file changed meanwhile.
type kept struct {
	hash    string
	size    int64
	changed bool
}

const tempSuffix = ".new"

// found takes a batch of entries, with an opened file for each unread one.
func (k *keeping) found(entries []snapshot.Entry, contents []*os.File) error {
	for _, e := range entries {
		if e.Unread() {
			if len(contents) == 0 {
				return fmt.Errorf("keep %q: there is no content", e.Path)
			}
			got, err := k.copy(contents[0], e.State.Size)
			if err != nil {
				return fmt.Errorf("keep %q: %w", e.Path, err)
			}
			contents = contents[1:]
			e.State.Hash, e.State.Size, e.Racy = got.hash, got.size, e.Racy || got.changed
		}
		if err := k.out.Add(e); err != nil {
			return err
		}
	}
	return nil
}

// sync brings the added contents to disk.
func (k *keeping) sync() (err error) {
	if len(k.names) > maxSyncs {
		return syncFS(k.project.dir)
	}
	for _, name := range k.names {
		err = errors.Join(err, durable.SyncDir(name))
	}
	return err
}

// copy copies a file, which may be larger by now than it was: at most most bytes more.
func (k *keeping) copy(src *os.File, size int64) (got kept, err error) {
	before, err := statFile(src)
	if err != nil {
		return got, err
	}
	if before.Mode&unix.S_IFMT != unix.S_IFREG {
		return got, fmt.Errorf("mode %o is no file's", before.Mode)
	}
	if k.copied += size; k.most > 0 && k.copied > k.most {
		return got, fmt.Errorf("the contents are more than %s", files.SizeText(k.most))
	}
	k.n++
	temp := filepath.Join(k.project.dir, objectsDir, fmt.Sprintf("%d%s", k.n, tempSuffix))
	dst, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return got, err
	}
	h := sha256.New()
	var from io.Reader = io.NewSectionReader(src, 0, size)
	if clone(dst, src) {
		from = io.TeeReader(io.NewSectionReader(dst, 0, 1<<62), h)
		got.size, err = io.Copy(io.Discard, from)
	} else {
		got.size, err = copySparse(dst, io.TeeReader(from, h))
	}
	if cerr := dst.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		os.Remove(temp)
		return got, err
	}
	after, err := statFile(src)
	got.changed = err != nil || got.size != after.Size || before.Ctim != after.Ctim || before.Mtim != after.Mtim
	sum := hex.EncodeToString(h.Sum(nil))
	got.hash = "sha256:" + sum
	p := k.project
	there, err := os.Lstat(p.object(got.hash))
	if err == nil && intact(p.object(got.hash), got.hash) {
		return got, os.Remove(temp)
	}
	k.fresh = true
	if p.size += got.size; err == nil { // a damaged one is replaced
		p.size -= there.Size()
	}
	if len(k.names) <= maxSyncs {
		k.names = append(k.names, p.object(got.hash))
	}
	return got, os.Rename(temp, p.object(got.hash))
}

// intact reports whether a file has the content of a hash.
func intact(name, hash string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	sum, _, err := tree.Hash(f)
	return err == nil && sum == hash
}

func statFile(f *os.File) (st unix.Stat_t, err error) {
	return st, unix.Fstat(int(f.Fd()), &st)
}

// copySparse leaves holes where blocks are zero.
func copySparse(dst *os.File, src io.Reader) (size int64, err error) {
	buf := make([]byte, 64<<10)
	for {
		n, err := io.ReadFull(src, buf)
		if n > 0 && !bytes.Equal(buf[:n], zeros[:n]) {
			if _, err := dst.WriteAt(buf[:n], size); err != nil {
				return size, err
			}
		}
		size += int64(n)
		switch err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			return size, dst.Truncate(size)
		default:
			return size, err
		}
	}
}

var zeros [64 << 10]byte
