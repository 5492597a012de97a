package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sandboxd/files"
	"sandboxd/files/internal/fault"
	"sandboxd/internal/durable"
)

// Change is one change being kept. It implements files.Keeper. Finish it.
type Change struct {
	store  *Store
	record Record
	kept   bool // Keep was called
	whole  bool // and had everything
}

// Begin starts keeping a change. Of the record ID is needed; Session, Project, Op,
// Undoes, Guarded and Note are taken as they are.
func (s *Store) Begin(r Record) (*Change, error) {
	if err := validID(r.ID); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.records[r.ID]
	if _, open := s.open[r.ID]; known || open {
		return nil, fmt.Errorf("keep change %q: there is one of that id", r.ID)
	}
	s.open[r.ID] = r.undone()
	r.State, r.Time = Pending, s.opts.Now()
	r.Steps, r.Contents, r.Bytes = nil, nil, 0
	return &Change{store: s, record: r}, nil
}

// ID is the change's.
func (c *Change) ID() string { return c.record.ID }

// Keep implements files.Keeper: contents first, then, with the last of the
// steps, the record; both are on disk when it returns.
func (c *Change) Keep(ctx context.Context, steps []files.Step, old []*os.File, last bool) error {
	if c.whole {
		return errors.New("keep change: it was kept already")
	}
	if err := c.room(steps); err != nil {
		return err
	}
	c.kept = true
	// First, so that all that is in the trash is found by it at the next start.
	if err := os.MkdirAll(filepath.Join(c.store.dir, "undo", c.record.ID), 0o700); err != nil {
		return fmt.Errorf("keep change %q: %w", c.record.ID, err)
	}
	for i, step := range steps {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		name, err := c.content(len(c.record.Steps), step, old[i])
		if err != nil {
			return err
		}
		c.record.Steps = append(c.record.Steps, step)
		c.record.Contents = append(c.record.Contents, name)
	}
	if !last {
		return nil
	}
	fault.Point("contents-kept")
	if err := c.commit(); err != nil {
		return err
	}
	c.whole = true
	fault.Point("record-kept")
	return nil
}

// room refuses steps beyond the store's bounds, and makes room for the others.
func (c *Change) room(steps []files.Step) error {
	var need int64
	for _, step := range steps {
		if st, ok := step.Content(); ok {
			need += st.Size
		}
		need += attributes(step.Before) + attributes(step.After)
	}
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	if bound := c.store.opts.KeepBytes; bound > 0 && c.record.Bytes+need > bound {
		return &files.Conflict{
			Path: steps[0].Path, Reason: files.TooLarge,
			Found:    fmt.Sprintf("%d bytes that would have to be kept", c.record.Bytes+need),
			Expected: fmt.Sprintf("at most %d", bound), Hint: "the bound is files.undo.keep_bytes",
		}
	}
	c.record.Bytes += need
	_, err := c.store.prune(&c.record)
	return err
}

// attributes returns the size of a state's extended attributes, which the record contains.
func attributes(s files.State) (size int64) {
	for name, value := range s.Xattrs {
		size += int64(len(name) + len(value))
	}
	return size
}

// content copies the content that a step loses, and compares it with the step.
func (c *Change) content(n int, step files.Step, old *os.File) (name string, err error) {
	state, loses := step.Content()
	if !loses {
		return "", nil
	}
	if old == nil {
		return "", &files.Conflict{Path: step.Path, Reason: files.Invalid, Found: "no content where a step loses one"}
	}
	info, err := old.Stat()
	if err != nil {
		return "", fmt.Errorf("keep change %q: %w", c.record.ID, err)
	}
	if !info.Mode().IsRegular() {
		return "", &files.Conflict{Path: step.Path, Reason: files.Special, Found: info.Mode().String()}
	}
	name = filepath.Join("undo", c.record.ID, fmt.Sprint(n))
	if removes(step) {
		name = filepath.Join("trash", c.record.ID, fmt.Sprintf("%d-%s", n, trashName(step)))
	}
	full := filepath.Join(c.store.dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		return "", fmt.Errorf("keep change %q: %w", c.record.ID, err)
	}
	sum, size, err := copyTo(full, old, state.Size)
	if err != nil {
		return "", fmt.Errorf("keep change %q: %w", c.record.ID, err)
	}
	if sum != state.Hash || size != state.Size {
		return "", &files.Conflict{Path: step.Path, Reason: files.Changed, Expected: state.Hash, Found: sum,
			Hint: "somebody is writing to it"}
	}
	return name, nil
}

// removes reports whether the step leaves nothing at its path, or an unrelated entry.
func removes(step files.Step) bool {
	return step.Kind == files.RemoveStep || step.Kind == files.RenameStep
}

// trashName is the name that a person finds a deleted file by.
func trashName(step files.Step) string {
	name := path.Base(step.Path)
	if step.Kind == files.RenameStep {
		name = path.Base(step.To)
	}
	return strings.ToValidUTF8(name[:min(len(name), 200)], "") // the record is JSON
}

// copyTo copies at most limit bytes, and one more to notice that there are more. commit brings the copy to disk.
func copyTo(name string, src *os.File, limit int64) (sum string, size int64, err error) {
	dst, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", 0, err
	}
	h := sha256.New()
	size, err = io.Copy(io.MultiWriter(dst, h), io.NewSectionReader(src, 0, limit+1))
	if cerr := dst.Close(); err == nil {
		err = cerr
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), size, err
}

// commit makes contents and record last.
func (c *Change) commit() error {
	s := c.store
	if err := c.syncContents(); err != nil {
		return fmt.Errorf("keep change %q: %w", c.record.ID, err)
	}
	for _, d := range []string{filepath.Join(s.dir, "trash", c.record.ID), filepath.Join(s.dir, "trash"),
		filepath.Join(s.dir, "undo")} {
		if err := durable.SyncDir(d); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("keep change %q: %w", c.record.ID, err)
		}
	}
	if err := s.write(c.record); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[c.record.ID] = c.record
	return nil
}

// syncContents brings the contents to disk, many by one call for the file system.
func (c *Change) syncContents() (err error) {
	names := slices.DeleteFunc(slices.Clone(c.record.Contents), func(name string) bool { return name == "" })
	if len(names) > maxSyncs {
		return syncFS(c.store.dir)
	}
	for _, name := range names {
		err = errors.Join(err, durable.SyncDir(filepath.Join(c.store.dir, name)))
	}
	return err
}

// Finish records the result of the change: err is that of Do or Undo of the worker's client. Its
// own error is about the store.
//
// nil: made. A *files.PartialError: made in part. A *files.Conflict, or an error of the worker's
// own: not made. Anything else, a dead worker above all: unknown; the record stays pending.
func (c *Change) Finish(err error) error {
	s := c.store
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c.record.ID)
	if !c.whole {
		if !c.kept {
			return nil
		}
		return s.erase(c.record.ID)
	}
	var partial *files.PartialError
	var conflict *files.Conflict
	switch {
	case err == nil:
		return s.conclude(c.record, len(c.record.Steps))
	case errors.As(err, &partial):
		return s.conclude(c.record, min(partial.Done, len(c.record.Steps)))
	case errors.As(err, &conflict):
		return s.conclude(c.record, 0)
	}
	return nil
}
