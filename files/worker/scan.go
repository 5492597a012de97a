package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"time"

	"sandboxd/files"
	"sandboxd/files/snapshot"
	"sandboxd/files/tree"
	"sandboxd/internal/fdconn"
)

// ScanLimits bound a snapshot.
type ScanLimits struct {
	// Bytes is the most content that a snapshot may hold; 0 is no bound.
	Bytes int64 `json:"bytes"`
}

// racy is the age of a change time below which it does not prove equal content: what changed again
// within it may have the same one.
const racy = 20 * time.Millisecond

// TooLargeError is returned for a project that exceeds the bounds of a snapshot.
type TooLargeError struct{ Why string }

func (e *TooLargeError) Error() string { return "snapshot: " + e.Why }

// Scan returns a snapshot of base.Root, which takes over unchanged entries of base. keeper gets each
// file that base lacks, opened for reading, with a step whose Path is the file's path from the root;
// the contents' hashes are the keeper's to add. It returns a *TooLargeError beyond the limits.
func (c *Client) Scan(
	ctx context.Context,
	base *snapshot.Manifest,
	limits ScanLimits,
	keeper files.Keeper,
) (*snapshot.Manifest, error) {
	r, body, err := c.ask(ctx, question{Verb: verbScan, Limits: &limits}, snapshot.Encode(base), nil, keeper)
	switch {
	case err != nil:
		return nil, err
	case r.Beyond != "":
		return nil, &TooLargeError{r.Beyond}
	}
	m, err := snapshot.Decode(body)
	if err != nil {
		return nil, c.fail(err)
	}
	return m, nil
}

// scan walks a project.
type scan struct {
	server *server
	tree   *tree.Tree
	rules  *files.Rules
	base   map[string]*snapshot.Entry
	out    *snapshot.Manifest
	limits ScanLimits
	device uint64
	bytes  int64
	steps  []files.Step
	open   []*os.File
}

// scan answers verbScan.
func (s *server) scan(encoded []byte, limits ScanLimits) (beyond string, manifest []byte, err error) {
	base, err := snapshot.Decode(encoded)
	if err != nil {
		return "", nil, err
	}
	t, err := tree.Open(base.Root, tree.Options{ManyNames: true})
	if err != nil {
		return "", nil, err
	}
	defer t.Close()
	w := &scan{
		server: s,
		tree:   t,
		rules:  s.rules,
		base:   base.Index(),
		limits: limits,
		out:    &snapshot.Manifest{Root: base.Root},
	}
	w.out.Entries = make([]snapshot.Entry, 0, len(base.Entries)+64)
	defer func() { fdconn.Close(w.open) }()
	if err := w.walk(); err != nil {
		var large *TooLargeError
		if errors.As(err, &large) {
			return large.Why, nil, nil
		}
		return "", nil, err
	}
	return "", snapshot.Encode(w.out), nil
}

func (w *scan) walk() error {
	top, err := w.tree.Dir(".")
	if err != nil {
		return err
	}
	defer top.Close()
	st, err := top.Self()
	if err != nil {
		return err
	}
	w.device = st.Device
	if err := w.dir(top, "", st, repository{}); err != nil {
		return err
	}
	return w.flush(true)
}

// repository is the git repository around a directory.
type repository struct {
	top   string // its path from the root of the scan
	index []byte
}

// dir notes an opened directory and everything below it.
func (w *scan) dir(d *tree.Dir, rel string, st tree.Stat, repo repository) error {
	e, known := w.entry(rel, st)
	if !known {
		var err error
		if e.State.Xattrs, err = d.Xattrs(); err != nil {
			w.leaveOut(rel, err.Error())
		}
	}
	if err := w.add(e); err != nil {
		return err
	}
	names, _, err := d.Names(snapshot.MaxEntries)
	if err != nil {
		w.leaveOut(rel, "the directory can't be listed")
		return nil
	}
	slices.Sort(names)
	if _, isRepo := slices.BinarySearch(names, ".git"); isRepo {
		repo = w.repository(d, rel)
	}
	for _, name := range names {
		if err := w.name(d, name, path.Join(rel, name), repo); err != nil {
			return err
		}
	}
	return nil
}

// repository reads the index of the repository at a directory.
func (w *scan) repository(d *tree.Dir, rel string) repository {
	r := repository{top: rel}
	st, err := d.Stat(".git")
	if err != nil || st.Kind != files.Dir {
		w.leaveOut(path.Join(rel, ".git"), "the git directory is elsewhere")
		return r
	}
	git, err := w.tree.Dir(path.Join(rel, ".git"))
	if err != nil {
		return r
	}
	defer git.Close()
	if f, _, err := git.Open("index"); err == nil {
		r.index, _ = io.ReadAll(io.LimitReader(f, maxBody))
		f.Close()
	}
	return r
}

// name notes one name of a directory.
func (w *scan) name(d *tree.Dir, name, rel string, repo repository) error {
	st, err := d.Stat(name)
	switch {
	case err != nil:
		w.leaveOut(rel, err.Error())
		return nil
	case st.Kind == files.Absent:
		return nil
	case st.Device != w.device: // a mask of the sandbox, or a mount
		if !w.rules.Hidden(path.Join(w.out.Root, rel)) {
			w.leaveOut(rel, "another file system is mounted there")
		}
		return nil
	case st.Kind == files.Dir:
		return w.below(d, name, rel, repo)
	}
	e, known := w.entry(rel, st)
	switch {
	case known && st.Kind == files.File:
		w.bytes += st.Size
	case known:
	case st.Kind == files.Symlink:
		if e.State.Target, err = d.Target(name); err != nil {
			w.leaveOut(rel, err.Error())
			return nil
		}
	case st.Kind == files.File:
		return w.file(d, name, rel)
	}
	return w.add(e)
}

// below walks into a directory.
func (w *scan) below(d *tree.Dir, name, rel string, repo repository) error {
	has := func(name string) bool {
		inner, err := w.tree.Dir(path.Join(path.Dir(rel), path.Dir(name)))
		if err != nil {
			return false
		}
		defer inner.Close()
		st, err := inner.Stat(path.Base(name))
		return err == nil && st.Kind == files.File
	}
	if snapshot.Skips(relativePath(repo.top, rel), repo.index, has) {
		w.out.Skip(rel)
		return nil
	}
	sub, err := w.tree.Dir(rel)
	if err != nil {
		w.leaveOut(rel, err.Error())
		return nil
	}
	defer sub.Close()
	st, err := sub.Self()
	if err != nil {
		return err
	}
	return w.dir(sub, rel, st, repo)
}

func relativePath(top, rel string) string {
	if top == "" {
		return rel
	}
	return rel[len(top)+1:]
}

// entry is the entry of a name, with the state that base has where that is up to date.
func (w *scan) entry(rel string, st tree.Stat) (e snapshot.Entry, known bool) {
	e = snapshot.Entry{Path: rel, State: st.State, Device: st.Device, Inode: st.Inode, ChangeTime: st.ChangeTime}
	e.Racy = time.Since(time.Unix(0, st.ChangeTime)) < max(racy, coarse(st.ChangeTime))
	old := w.base[rel]
	if old == nil || old.Racy || old.Unread() || old.Device != e.Device || old.Inode != e.Inode ||
		old.ChangeTime != e.ChangeTime || old.State.Size != st.Size || old.State.ModTime != st.ModTime {
		return e, false
	}
	was := old.State // kind, mode and owner, as Same compares them without the content
	was.Hash, was.Target = "", ""
	if !was.Same(st.State) {
		return e, false
	}
	return *old, true
}

// coarse is the resolution of times in whole seconds.
func coarse(ns int64) time.Duration {
	if ns%int64(time.Second) == 0 {
		return 2 * time.Second
	}
	return 0
}

// file notes a file whose content is not known.
func (w *scan) file(d *tree.Dir, name, rel string) error {
	f, st, err := d.Open(name)
	if err != nil {
		if !errors.Is(err, &files.Conflict{Reason: files.NotThere}) {
			w.leaveOut(rel, "it can't be read")
		}
		return nil
	}
	e, _ := w.entry(rel, st)
	e.Racy = e.Racy || !tree.Quiet(f)
	if w.limits.Bytes > 0 && st.Size > w.limits.Bytes {
		f.Close()
		w.leaveOut(
			rel,
			fmt.Sprintf("%s are more than files.undo.keep_bytes lets a snapshot hold", files.SizeText(st.Size)),
		)
		return nil
	}
	if st.Links > 1 && !snapshot.InObjects(rel) {
		w.leaveOut(rel, fmt.Sprintf("it has %d names (hard links), which undo can't join again", st.Links))
	}
	if e.State.Xattrs, err = tree.Xattrs(f); err != nil {
		w.leaveOut(rel, err.Error())
	}
	w.bytes += st.Size
	w.open = append(w.open, f)
	w.steps = append(w.steps, files.Step{Kind: files.PutStep, Path: rel, Before: e.State})
	if err := w.add(e); err != nil || len(w.open) < maxFDs {
		return err
	}
	return w.flush(false)
}

// flush has the keeper keep the files that are open.
func (w *scan) flush(last bool) error {
	err := w.server.keep(w.steps, w.open, last)
	fdconn.Close(w.open)
	w.steps, w.open = nil, nil
	return err
}

func (w *scan) add(e snapshot.Entry) error {
	w.out.Entries = append(w.out.Entries, e)
	switch {
	case len(w.out.Entries) > snapshot.MaxEntries:
		return &TooLargeError{fmt.Sprintf("the project has more than %d files", snapshot.MaxEntries)}
	case w.limits.Bytes > 0 && w.bytes > w.limits.Bytes:
		return &TooLargeError{
			fmt.Sprintf("the project is larger than %s, half of files.undo.keep_bytes", files.SizeText(w.limits.Bytes)),
		}
	}
	return nil
}

func (w *scan) leaveOut(rel, why string) { w.out.LeaveOut(rel, why) }
