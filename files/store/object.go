package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"sandboxd/files"
	"sandboxd/files/snapshot"
)

// objectKeeper copies the files of a scan into a project's contents. The project's lock is held.
type objectKeeper struct {
	project *Project
	got     map[string]kept // by path
	fresh   bool            // a content was added
	n       int
}

// kept is a content as it was copied; changed: the file changed meanwhile.
type kept struct {
	hash    string
	size    int64
	changed bool
}

const tempSuffix = ".new"

// Keep implements files.Keeper.
func (k *objectKeeper) Keep(ctx context.Context, steps []files.Step, old []*os.File, _ bool) error {
	for i, step := range steps {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if old[i] == nil {
			continue
		}
		got, err := k.copy(old[i], step.Before.Size)
		if err != nil {
			return fmt.Errorf("keep %q: %w", step.Path, err)
		}
		k.got[step.Path] = got
	}
	return nil
}

// copy copies a file, which may be larger by now than it was: at most most bytes more.
func (k *objectKeeper) copy(src *os.File, size int64) (got kept, err error) {
	before, err := statFile(src)
	if err != nil {
		return got, err
	}
	if before.Mode&unix.S_IFMT != unix.S_IFREG {
		return got, fmt.Errorf("mode %o is no file's", before.Mode)
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
	if _, known := k.project.objects[got.hash]; known {
		return got, os.Remove(temp)
	}
	k.fresh = true
	k.project.objects[got.hash] = got.size
	return got, os.Rename(temp, k.project.object(got.hash))
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

// complete adds the hashes to a manifest.
func (k *objectKeeper) complete(m *snapshot.Manifest) {
	for i := range m.Entries {
		e := &m.Entries[i]
		if !e.Unread() {
			continue
		}
		got, ok := k.got[e.Path]
		if !ok {
			m.LeaveOut(e.Path, "it was not read")
			continue
		}
		e.State.Hash, e.State.Size, e.Racy = got.hash, got.size, e.Racy || got.changed
	}
}
