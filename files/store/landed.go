package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sandboxd/files"
	"sandboxd/files/tree"
	"sandboxd/internal/durable"
)

// Landed keeps the contents that the landing of a layer displaced, until KeepLanded makes a change of them that can be
// undone. It implements files.Keeper; a step's Path is the file's path below the root.
type Landed struct {
	store  *Store
	id     string
	got    map[string]landed
	number int
}

// landedName begins the names of the contents that a landing displaced.
func landedName(id string) string { return filepath.Join("undo", id, "c") }

// landed is a kept content.
type landed struct {
	name, hash string
	size       int64
	linked     bool // it is the file that was displaced, which other programs may have open
}

// Landing starts keeping what a landing displaced, under the id of the coming change.
func (s *Store) Landing(id string) (*Landed, error) {
	if err := validID(id); err != nil {
		return nil, err
	}
	dir := filepath.Join(s.dir, "undo", id)
	err := os.RemoveAll(dir) // of an attempt that was cut off
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("keep landing %q: %w", id, err)
	}
	return &Landed{store: s, id: id, got: map[string]landed{}}, nil
}

// Keep implements files.Keeper. A file that has no other name is linked, since its layer is dropped afterwards; others
// are copied.
func (k *Landed) Keep(ctx context.Context, steps []files.Step, old []*os.File, _ bool) error {
	for i, step := range steps {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if old[i] == nil {
			continue
		}
		k.number++
		one := landed{name: fmt.Sprint(landedName(k.id), k.number)}
		if err := k.content(&one, old[i], step.Before.Size); err != nil {
			return fmt.Errorf("keep %q: %w", step.Path, err)
		}
		k.got[step.Path] = one
	}
	return nil
}

// Discard removes what was kept, of a landing that is no change to undo.
func (k *Landed) Discard() error { return os.RemoveAll(filepath.Join(k.store.dir, "undo", k.id)) }

func (k *Landed) content(one *landed, src *os.File, size int64) error {
	st, err := statFile(src)
	if err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return fmt.Errorf("mode %o is no file's", st.Mode)
	}
	full := filepath.Join(k.store.dir, one.name)
	h := sha256.New()
	opened := fmt.Sprintf("/proc/self/fd/%d", src.Fd())
	if st.Nlink == 1 && st.Mode&0o400 != 0 &&
		unix.Linkat(unix.AT_FDCWD, opened, unix.AT_FDCWD, full, unix.AT_SYMLINK_FOLLOW) == nil {
		one.linked = true
		one.size, err = io.Copy(h, io.NewSectionReader(src, 0, size))
	} else {
		var dst *os.File
		if dst, err = os.OpenFile(full, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return err
		}
		one.size, err = copySparse(dst, io.TeeReader(io.NewSectionReader(src, 0, size), h))
		err = errors.Join(err, dst.Close())
	}
	one.hash = "sha256:" + hex.EncodeToString(h.Sum(nil))
	return err
}

// Hash returns the hash and size of a kept content; false where there is none.
func (k *Landed) Hash(rel string) (hash string, size int64, ok bool) {
	one, ok := k.got[rel]
	return one.hash, one.size, ok
}

// wroteLater reports whether another program wrote to the file of a step after a landing had displaced it: one that had
// it open then. Otherwise another content is damage.
func (s *Store) wroteLater(r Record, step int) bool {
	state, loses := r.Steps[step].Content()
	noted := slices.Contains(r.Open, step) || r.Open == nil && strings.HasPrefix(r.Contents[step], landedName(r.ID))
	if !loses || !noted {
		return false
	}
	now, err := os.Stat(filepath.Join(s.dir, r.Contents[step]))
	return err == nil && (now.Size() != state.Size || now.ModTime().UnixNano() != state.ModTime)
}

// hasLater reports whether a change that was not undone has a version of another program that is nowhere else.
func (s *Store) hasLater(r Record) bool {
	r, err := s.whole(r)
	for i := range r.Contents {
		if err == nil && r.State == Made && s.wroteLater(r, i) {
			return true
		}
	}
	return false
}

// reread has the steps restore the present content of files that another program wrote to later.
func (k *Kept) reread() error {
	k.record.Steps = slices.Clone(k.record.Steps)
	for i := range k.record.Steps {
		if !k.store.wroteLater(k.record, i) {
			continue
		}
		f, err := k.Content(i)
		if err != nil {
			return err
		}
		h, step := sha256.New(), &k.record.Steps[i]
		size, err := io.Copy(h, f)
		now, serr := f.Stat()
		if err = errors.Join(err, serr, f.Close()); err != nil {
			return fmt.Errorf("undo %q: %w", k.record.ID, err)
		}
		step.Before.Hash, step.Before.Size = "sha256:"+hex.EncodeToString(h.Sum(nil)), size
		step.Before.ModTime = now.ModTime().UnixNano()
		k.late = append(k.late, step.Path)
	}
	return nil
}

// KeepLanded stores the change set of a layered run, which landed in root, so that it can be undone.
func (s *Store) KeepLanded(r Record, root string, steps []files.Step, k *Landed) error {
	r.State, r.Run, r.Steps, r.Contents, r.Bytes = Made, true, steps, make([]string, len(steps)), Bytes(steps)
	r.Open = []int{}
	for i, step := range steps {
		if _, loses := step.Content(); !loses {
			continue
		}
		rel, err := filepath.Rel(root, step.Path)
		if err != nil {
			return fmt.Errorf("keep run %q: %w", r.ID, err)
		}
		one := k.got[rel]
		if r.Contents[i] = one.name; one.linked && s.opened(one.name) {
			r.Open = append(r.Open, i)
		}
	}
	if err := syncFS(s.dir); err != nil {
		return fmt.Errorf("keep run %q: %w", r.ID, err)
	}
	return s.made(r)
}

// opened reports whether another program may have a kept content open.
func (s *Store) opened(name string) bool {
	f, err := os.Open(filepath.Join(s.dir, name))
	if err != nil {
		return false
	}
	defer f.Close()
	return !tree.Unopened(f)
}

// Bytes is what a change with these steps takes of Options.KeepBytes.
func Bytes(steps []files.Step) (sum int64) {
	for _, step := range steps {
		sum += stepBytes + attributes(step.Before) + attributes(step.After)
		if state, loses := step.Content(); loses {
			sum += state.Size
		}
	}
	return sum
}

// made writes the record of a change that is made, and makes room for it. Where it fails, nothing of it is kept.
func (s *Store) made(r Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opts.KeepBytes > 0 && r.Bytes > s.opts.KeepBytes {
		return errors.Join(
			fmt.Errorf("keep run %q: %s are more than files.undo.keep_bytes", r.ID, files.SizeText(r.Bytes)),
			s.erase(r.ID),
		)
	}
	if r.Time.IsZero() {
		r.Time = s.opts.Now()
	}
	if _, err := s.prune(&r); err != nil {
		return err
	}
	if err := errors.Join(durable.SyncDir(filepath.Join(s.dir, "undo")), s.write(r)); err != nil {
		return errors.Join(err, s.erase(r.ID))
	}
	s.records[r.ID] = r.head()
	return nil
}
