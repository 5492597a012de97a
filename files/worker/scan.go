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
	"sandboxd/internal/modes"
)

// ScanLimits bound a snapshot.
type ScanLimits struct {
	// Bytes is the most content that a snapshot may hold; 0 is no bound.
	Bytes int64 `json:"bytes"`
}

// racy is the age of a change time below which it does not prove equal content: what changed again
// within it may have the same one.
const racy = 20 * time.Millisecond

// A worker sends the entries of a scan in batches of about maxBatch bytes; maxScanned bounds what a
// client accepts.
const (
	maxBatch   = 256 << 10
	maxScanned = 4 << 20
)

// TooLargeError is returned for a project that exceeds the bounds of a snapshot.
type TooLargeError struct{ Why string }

func (e *TooLargeError) Error() string { return "snapshot: " + e.Why }

// Scan walks the project at root and calls found with its entries, batch by batch in the order of a
// manifest, and with the files that base lacks, opened for reading: one for each unread entry. base
// is the encoded manifest of an earlier scan, nil for none; entries that did not change are taken
// over from it. same reports that all are, and that base has no others. It returns a *TooLargeError
// beyond the limits.
func (c *Client) Scan(
	ctx context.Context,
	root string,
	base *os.File,
	limits ScanLimits,
	found func([]snapshot.Entry, []*os.File) error,
) (sum snapshot.Summary, same bool, err error) {
	q := asked{question: question{Verb: verbScan, Limits: &limits}, body: []byte(root)}
	if base != nil {
		q.fds = []*os.File{base}
	}
	var refused error
	q.found = func(body []byte, contents []*os.File) error {
		var list []snapshot.Entry
		if refused = ctx.Err(); refused == nil && len(body) > maxScanned {
			refused = fmt.Errorf("%w: a batch of %d bytes", errFrame, len(body))
		}
		if refused == nil {
			list, refused = snapshot.Entries(body)
		}
		if refused == nil {
			sum.Entries += len(list)
			refused = found(list, contents)
		}
		return refused
	}
	r, _, err := c.ask(ctx, q)
	switch {
	case refused != nil:
		return sum, false, refused
	case err != nil:
		return sum, false, err
	case r.Beyond != "":
		return sum, false, &TooLargeError{r.Beyond}
	case r.Scanned == nil:
		return sum, false, c.fail(errors.New("no summary in its answer"))
	}
	r.Scanned.Entries = sum.Entries
	return *r.Scanned, r.Same, nil
}

// scan walks a project.
type scan struct {
	server *server
	tree   *tree.Tree
	root   string
	base   base
	sum    snapshot.Summary
	limits ScanLimits
	device uint64
	bytes  int64
	same   bool
	batch  []byte // encoded entries, whose unread files are open
	open   []*os.File
}

// scan answers verbScan.
func (s *server) scan(root string, fds []*os.File, limits ScanLimits) (r reply, err error) {
	t, err := tree.Open(root, tree.Options{ManyNames: true})
	if err != nil {
		return r, err
	}
	defer t.Close()
	w := &scan{server: s, tree: t, root: root, limits: limits, same: len(fds) == 1}
	if len(fds) == 1 {
		w.base.open(fds[0], root)
	}
	defer func() { fdconn.Close(w.open) }()
	if err := w.walk(); err != nil {
		var large *TooLargeError
		if errors.As(err, &large) {
			return reply{Beyond: large.Why}, nil
		}
		return r, err
	}
	w.same = w.same && w.base.ended(w.sum)
	return reply{Scanned: &w.sum, Same: w.same}, nil
}

// base is the manifest of an earlier scan, read along with the walk. One that can't be read ends
// there: everything else counts as new.
type base struct {
	r       *snapshot.Reader
	entry   *snapshot.Entry // the first that is not before the walk
	used    bool            // it is the walk's
	skipped bool            // an entry was not used
}

func (b *base) open(f *os.File, root string) {
	r, err := snapshot.NewReader(f)
	if err == nil && r.Root == root {
		b.r = r
		b.next()
	}
}

func (b *base) next() {
	b.skipped = b.skipped || b.entry != nil && !b.used
	b.entry, b.used = nil, false
	if b.r == nil {
		return
	}
	if e, err := b.r.Next(); err == nil {
		b.entry = &e
	} else if err != io.EOF {
		b.r = nil
	}
}

// at returns the entry of a path, nil for none. The paths come in the order of the walk.
func (b *base) at(rel string) *snapshot.Entry {
	for b.entry != nil {
		switch order := snapshot.Compare(b.entry.Path, rel); {
		case order == 0:
			b.used = true
			return b.entry
		case order > 0:
			return nil
		}
		b.next()
	}
	return nil
}

// ended reports whether the walk, with its summary, used every entry.
func (b *base) ended(s snapshot.Summary) bool {
	for b.entry != nil && !b.skipped {
		b.next()
	}
	if b.r == nil || b.skipped {
		return false
	}
	s.Entries = b.r.Summary.Entries
	return s.Same(b.r.Summary)
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
	return w.flush()
}

// repository is the git repository around a directory.
type repository struct {
	top   string // its path from the root of the scan
	index []byte
}

// dir notes an opened directory and everything below it.
func (w *scan) dir(d *tree.Dir, rel string, st tree.Stat, repo repository) error {
	e, known := w.entry(rel, st)
	names, more, err := d.Names(snapshot.MaxEntries)
	switch {
	case more:
		return tooMany
	case err != nil:
		e.Partial = true
		w.sum.LeaveOut(rel, "the directory can't be listed")
	}
	if !known {
		if e.State.Xattrs, err = d.Xattrs(); err != nil {
			e.Partial = true
			w.sum.LeaveOut(rel, err.Error())
		}
	}
	if err := w.add(e, nil); err != nil {
		return err
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
		w.sum.LeaveOut(path.Join(rel, ".git"), "the git directory is elsewhere")
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
		return w.lack(rel, err.Error())
	case st.Kind == files.Absent:
		return nil
	case st.Device != w.device && d.Mounted(name): // an overlay's files have the devices of its layers
		if w.server.rules.Hidden(path.Join(w.root, rel)) { // a mask of the sandbox
			return w.lack(rel, "")
		}
		return w.lack(rel, "another file system is mounted there")
	case st.Kind == files.Dir:
		return w.below(d, name, rel, repo)
	}
	if st.Kind == files.File {
		return w.file(d, name, rel, st)
	}
	e, known := w.entry(rel, st)
	if st.Kind == files.Symlink && !known {
		if e.State.Target, err = d.Target(name); err != nil {
			return w.lack(rel, err.Error())
		}
	}
	return w.add(e, nil)
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
	if snapshot.Skips(relativePath(repo.top, rel), func() []byte { return repo.index }, has) {
		w.sum.Skip(rel)
		return w.lack(rel, "")
	}
	sub, err := w.tree.Dir(rel)
	if err != nil {
		return w.lack(rel, err.Error())
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
	old := w.base.at(rel)
	if old == nil || old.Racy || old.Partial || old.Unread() || old.Device != e.Device || old.Inode != e.Inode ||
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

// file notes a file, and has its content kept where that is not known.
func (w *scan) file(d *tree.Dir, name, rel string, st tree.Stat) error {
	if w.limits.Bytes > 0 && st.Size > w.limits.Bytes {
		why := fmt.Sprintf("%s are more than files.undo.keep_bytes lets a snapshot hold", files.SizeText(st.Size))
		return w.lack(rel, why)
	}
	if st.Links > 1 && !snapshot.InObjects(rel) {
		w.sum.LeaveOut(rel, fmt.Sprintf("it has %d names (hard links), which undo can't join again", st.Links))
	}
	w.foreign(rel, st)
	w.bytes += st.Size
	e, known := w.entry(rel, st)
	if known {
		return w.add(e, nil)
	}
	f, st, err := d.Open(name)
	switch {
	case errors.Is(err, &files.Conflict{Reason: files.NotThere}):
		w.same = false
		return nil
	case err != nil:
		return w.lack(rel, "it can't be read")
	}
	e, _ = w.entry(rel, st)
	e.State.Hash, e.Racy = "", e.Racy || !tree.Quiet(f)
	if e.State.Xattrs, err = tree.Xattrs(f); err != nil {
		e.Partial = true
		w.sum.LeaveOut(rel, err.Error())
	}
	return w.add(e, f)
}

// foreign leaves out the owner of another user's object: its content is kept, and comes back as this user's.
func (w *scan) foreign(rel string, st tree.Stat) {
	if modes.Bind() && int(st.UID) != os.Geteuid() {
		w.sum.LeaveOut(rel, "it belongs to another user, to whom undo can't give it again")
	}
}

// flush sends the entries of the batch.
func (w *scan) flush() error {
	got, err := w.server.turn(reply{Entries: true}, w.batch, verbKept, w.open...)
	fdconn.Close(got)
	fdconn.Close(w.open)
	w.batch, w.open = w.batch[:0], w.open[:0]
	return err
}

var tooMany = &TooLargeError{fmt.Sprintf("the project has more than %d files", snapshot.MaxEntries)}

// add appends an entry to the batch, and to the opened files the one whose content is not known.
func (w *scan) add(e snapshot.Entry, unread *os.File) error {
	old := w.base.at(e.Path)
	w.same = w.same && old != nil && old.Same(e)
	w.batch = snapshot.AppendEntry(w.batch, e)
	if unread != nil {
		w.open = append(w.open, unread)
	}
	w.sum.Entries++
	switch {
	case w.sum.Entries > snapshot.MaxEntries:
		return tooMany
	case w.limits.Bytes > 0 && w.bytes > w.limits.Bytes:
		return &TooLargeError{
			fmt.Sprintf("the project is larger than %s, half of files.undo.keep_bytes", files.SizeText(w.limits.Bytes)),
		}
	case len(w.open) == maxFDs || len(w.batch) >= maxBatch:
		return w.flush()
	}
	return nil
}

// lack notes an entry that the snapshot lacks, and why where that is reported.
func (w *scan) lack(rel, why string) error {
	if why != "" {
		w.sum.LeaveOut(rel, why)
	}
	return w.add(snapshot.Entry{Path: rel, Partial: true}, nil)
}
