package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sandboxd/files"
	"sandboxd/files/snapshot"
	"sandboxd/internal/durable"
)

// Project holds the snapshots of one project: the latest, and those that runs under way began with.
// Its folder has the contents by their hashes, the latest manifest, and one for each such run; none
// of them is in memory. Its methods may be called concurrently; scans of one project run one after
// another.
type Project struct {
	store *Store
	dir   string
	root  string

	mu     sync.Mutex
	loaded bool
	size   int64 // of the contents
	// unsynced: the latest manifest is not known to be on disk. garbage: contents may be in no snapshot.
	unsynced bool
	garbage  bool
	swept    time.Time
}

// Scan walks a project; see worker.Client.Scan.
type Scan func(
	base *os.File, most int64, found func([]snapshot.Entry, []*os.File) error,
) (sum snapshot.Summary, same bool, err error)

const (
	manifestFile = "manifest"
	objectsDir   = "objects"
	runPrefix    = "run-"
	// sweepEvery bounds how often contents without a snapshot are looked for.
	sweepEvery = time.Minute
)

// Project returns the snapshots of a project, by its root's real path.
func (s *Store) Project(root string) *Project {
	sum := sha256.Sum256([]byte(root))
	key := hex.EncodeToString(sum[:12])
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.projects[key]
	if p == nil {
		p = &Project{store: s, dir: filepath.Join(s.dir, "snapshots", key), root: root}
		s.projects[key] = p
	}
	return p
}

func (p *Project) manifest() string        { return filepath.Join(p.dir, manifestFile) }
func (p *Project) begun(run string) string { return filepath.Join(p.dir, runPrefix+run) }
func (p *Project) object(hash string) string {
	return filepath.Join(p.dir, objectsDir, strings.TrimPrefix(hash, "sha256:"))
}

// load reads a project's folder, once. mu is held.
func (p *Project) load() error {
	if p.loaded {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(p.dir, objectsDir), 0o700); err != nil {
		return err
	}
	if err := p.sweep(); err != nil {
		return err
	}
	p.loaded = true
	return nil
}

// eachEntry calls f with the entries of a manifest.
func eachEntry(name string, f func(snapshot.Entry)) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	r, err := snapshot.NewReader(file)
	for err == nil {
		var e snapshot.Entry
		if e, err = r.Next(); err == nil {
			f(e)
		}
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// hashes is a set of contents, by the beginnings of their hashes.
type hashes map[uint64]struct{}

func (h hashes) add(hash string) {
	if k, ok := h.key(hash); ok {
		h[k] = struct{}{}
	}
}

func (h hashes) has(hash string) bool {
	k, ok := h.key(hash)
	_, has := h[k]
	return ok && has
}

func (hashes) key(hash string) (uint64, bool) {
	sum := strings.TrimPrefix(hash, "sha256:")
	k, err := strconv.ParseUint(sum[:min(len(sum), 16)], 16, 64)
	return k, err == nil
}

// sweep removes the contents that no snapshot has, and the latest manifest where it is damaged or
// lacks a content. It sums up the rest. mu is held.
func (p *Project) sweep() error {
	begun, err := filepath.Glob(filepath.Join(p.dir, runPrefix+"*"))
	if err != nil {
		return err
	}
	live, there := hashes{}, hashes{}
	for _, name := range append(begun, p.manifest()) { // a damaged one ends with its run
		_ = eachEntry(name, func(e snapshot.Entry) { live.add(e.State.Hash) })
	}
	dir, err := os.Open(filepath.Join(p.dir, objectsDir))
	if err != nil {
		return err
	}
	defer dir.Close()
	p.size = 0
	for err == nil {
		var entries []fs.DirEntry
		if entries, err = dir.ReadDir(1024); err != nil && err != io.EOF {
			return err
		}
		for _, e := range entries {
			if !live.has(e.Name()) || strings.HasSuffix(e.Name(), tempSuffix) {
				_ = os.Remove(filepath.Join(dir.Name(), e.Name()))
			} else if info, err := e.Info(); err == nil {
				p.size += info.Size()
				there.add(e.Name())
			}
		}
	}
	whole := true
	err = eachEntry(p.manifest(), func(e snapshot.Entry) {
		whole = whole && (e.State.Hash == "" || there.has(e.State.Hash))
	})
	if err != nil || !whole { // so that everything is read again
		_ = os.Remove(p.manifest())
	}
	p.garbage, p.swept = false, time.Now()
	return nil
}

// Take scans the project and makes its snapshot the latest.
func (p *Project) Take(scan Scan) (snapshot.Summary, error) {
	return p.taken(scan, func() error { return nil })
}

// taken calls then when the snapshot of a scan is the latest.
func (p *Project) taken(scan Scan, then func() error) (snapshot.Summary, error) {
	p.mu.Lock()
	sum, fresh, err := p.take(scan)
	if err == nil {
		err = then()
	}
	p.mu.Unlock()
	if fresh {
		err = errors.Join(err, p.store.PruneSnapshots())
	}
	return sum, err
}

// take reports whether contents were added. mu is held.
func (p *Project) take(scan Scan) (sum snapshot.Summary, fresh bool, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("take snapshot: %w", err)
		}
	}()
	if err := p.load(); err != nil {
		return sum, false, err
	}
	base, err := os.Open(p.manifest())
	if err == nil {
		defer base.Close()
	} else if base = nil; !errors.Is(err, fs.ErrNotExist) {
		return sum, false, err
	}
	temp := p.manifest() + tempSuffix
	out, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return sum, false, err
	}
	defer os.Remove(temp)
	defer out.Close()
	w, err := snapshot.NewWriter(out, p.root)
	if err != nil {
		return sum, false, err
	}
	k := &keeping{project: p, out: w, most: p.store.most()}
	sum, same, err := scan(base, k.most, k.found)
	if err == nil && !same {
		// The contents come first: a manifest that a power cut damages has a wrong checksum, a content
		// has none.
		if err = errors.Join(k.sync(), w.Close(sum)); err == nil {
			err = os.Rename(temp, p.manifest())
		}
		p.unsynced, p.garbage = true, true
	}
	p.garbage = p.garbage || err != nil
	return sum, k.fresh, err
}

// Begin takes the snapshot that a run starts from. It is on disk, so that a later daemon can compare.
func (p *Project) Begin(run string, scan Scan) (snapshot.Summary, error) {
	if err := validID(run); err != nil {
		return snapshot.Summary{}, err
	}
	return p.taken(scan, func() error { return p.begin(run) })
}

// begin notes that a run starts from the latest snapshot. mu is held.
func (p *Project) begin(run string) error {
	if p.unsynced {
		if err := errors.Join(durable.SyncDir(p.manifest()), durable.SyncDir(p.dir)); err != nil {
			return err
		}
		p.unsynced = false
	}
	return os.Link(p.manifest(), p.begun(run))
}

// Compare takes a snapshot and returns what changed since a run began, which may be one of an earlier
// daemon. Where something did, the run next begins with that snapshot; "" is none.
func (p *Project) Compare(run, next string, scan Scan) (steps []files.Step, c snapshot.Changes, err error) {
	_, err = p.taken(scan, func() error {
		before, err := os.Open(p.begun(run))
		if err != nil {
			return err
		}
		defer before.Close()
		after, err := os.Open(p.manifest())
		if err != nil {
			return err
		}
		defer after.Close()
		if same(before, after) {
			return nil
		}
		was, err := snapshot.NewReader(before)
		if err != nil {
			return err
		}
		is, err := snapshot.NewReader(after)
		if err == nil {
			steps, c, err = snapshot.Steps(was.Root, was, is)
		}
		if err == nil && next != "" && c.Len() > 0 {
			err = p.begin(next)
		}
		return err
	})
	return steps, c, err
}

// same reports whether two descriptors are of one file.
func same(a, b *os.File) bool {
	x, err := a.Stat()
	y, err2 := b.Stat()
	return err == nil && err2 == nil && os.SameFile(x, y)
}

// End forgets the snapshot that a run began with.
func (p *Project) End(run string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = os.Remove(p.begun(run))
	if p.loaded && p.garbage && time.Since(p.swept) > sweepEvery {
		_ = p.sweep()
	}
}

// CutOff is a run that a daemon's death cut off.
type CutOff struct{ Project, Run string }

// CutOff lists the runs whose beginning is noted and that are not under way.
func (s *Store) CutOff() []CutOff {
	names, _ := filepath.Glob(filepath.Join(s.dir, "snapshots", "*", runPrefix+"*"))
	var out []CutOff
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			continue
		}
		r, err := snapshot.NewReader(file)
		file.Close()
		if err != nil {
			_ = os.Remove(name)
			continue
		}
		out = append(out, CutOff{r.Root, strings.TrimPrefix(filepath.Base(name), runPrefix)})
	}
	return out
}

// KeepRun stores the change set of a run, which is made, so that it can be undone. Its contents are
// those of the project's snapshots.
func (s *Store) KeepRun(r Record, steps []files.Step, p *Project) error {
	if err := validID(r.ID); err != nil {
		return err
	}
	r.State, r.Run, r.Steps, r.Contents, r.Bytes = Made, true, steps, make([]string, len(steps)), Bytes(steps)
	p.mu.Lock()
	defer p.mu.Unlock()
	dir := filepath.Join(s.dir, "undo", r.ID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep run %q: %w", r.ID, err)
	}
	for i, step := range steps {
		state, loses := step.Content()
		if !loses {
			continue
		}
		r.Contents[i] = filepath.Join("undo", r.ID, fmt.Sprint(i))
		if err := os.Link(p.object(state.Hash), filepath.Join(s.dir, r.Contents[i])); err != nil {
			return errors.Join(fmt.Errorf("keep run %q: %w", r.ID, err), s.erase(r.ID))
		}
	}
	return s.made(r)
}

// stepBytes is about what a step takes in a record.
const stepBytes = 400

// most is how much content a project's snapshots may hold: half of what the store keeps.
func (s *Store) most() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opts.KeepBytes / 2
}

// PruneSnapshots removes the snapshots of projects without a run under way: those that were not
// taken for KeepFor, and beyond half of KeepBytes the oldest.
func (s *Store) PruneSnapshots() error {
	entries, err := os.ReadDir(filepath.Join(s.dir, "snapshots"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	type aged struct {
		*Project
		taken time.Time
		size  int64
	}
	var all []aged
	var total int64
	for _, e := range entries {
		one := aged{Project: s.byKey(e.Name())}
		if info, err := os.Stat(filepath.Join(one.dir, manifestFile)); err == nil {
			one.taken = info.ModTime()
		}
		one.size = one.bytes()
		total += one.size
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b aged) int { return a.taken.Compare(b.taken) })
	s.mu.Lock()
	opts := s.opts
	s.mu.Unlock()
	for i, one := range all {
		old := opts.KeepFor > 0 && opts.Now().Sub(one.taken) > opts.KeepFor
		more := opts.KeepBytes > 0 && total > opts.KeepBytes/2 && i < len(all)-1
		if (old || more) && one.clear() {
			total -= one.size
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snapshots = total
	return err
}

// byKey returns the project of a folder.
func (s *Store) byKey(key string) *Project {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.projects[key]; p != nil {
		return p
	}
	return &Project{store: s, dir: filepath.Join(s.dir, "snapshots", key)}
}

// bytes is the size of all contents.
func (p *Project) bytes() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loaded {
		return p.size
	}
	var n int64
	entries, _ := os.ReadDir(filepath.Join(p.dir, objectsDir))
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			n += info.Size()
		}
	}
	return n
}

// clear removes the project's snapshots, unless a run needs one.
func (p *Project) clear() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if begun, _ := filepath.Glob(filepath.Join(p.dir, runPrefix+"*")); len(begun) > 0 || os.RemoveAll(p.dir) != nil {
		return false
	}
	p.loaded, p.unsynced = false, false
	return true
}
