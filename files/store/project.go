package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"sandboxd/files"
	"sandboxd/files/snapshot"
	"sandboxd/internal/durable"
)

// Project holds the snapshots of one project: the latest, and those that runs under way began with.
// Its folder has the contents by their hashes, the latest manifest, and one for each such run. Its
// methods may be called concurrently; scans of one project run one after another.
type Project struct {
	store *Store
	dir   string
	root  string

	mu      sync.Mutex
	last    *snapshot.Manifest // empty: none yet
	objects map[string]int64   // sizes by hash; nil: not loaded
	runs    map[string]*snapshot.Manifest
}

// Scan walks a project; see worker.Client.Scan.
type Scan func(base *snapshot.Manifest, most int64, keeper files.Keeper) (*snapshot.Manifest, error)

const (
	manifestFile = "manifest"
	objectsDir   = "objects"
	runPrefix    = "run-"
)

// Project returns the snapshots of a project, by its root's real path.
func (s *Store) Project(root string) (*Project, error) {
	sum := sha256.Sum256([]byte(root))
	key := hex.EncodeToString(sum[:12])
	s.mu.Lock()
	p := s.projects[key]
	if p == nil {
		p = &Project{
			store: s,
			dir:   filepath.Join(s.dir, "snapshots", key),
			root:  root,
			last:  &snapshot.Manifest{Root: root},
		}
		s.projects[key] = p
	}
	s.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.objects != nil {
		return p, nil
	}
	if err := p.load(); err != nil {
		return nil, fmt.Errorf("open snapshots of %q: %w", root, err)
	}
	return p, nil
}

// load reads a project's folder. mu is held.
func (p *Project) load() error {
	if err := os.MkdirAll(filepath.Join(p.dir, objectsDir), 0o700); err != nil {
		return err
	}
	if p.runs == nil {
		p.runs = map[string]*snapshot.Manifest{}
	}
	entries, err := os.ReadDir(filepath.Join(p.dir, objectsDir))
	if err != nil {
		return err
	}
	p.objects = make(map[string]int64, len(entries))
	for _, e := range entries {
		if info, err := e.Info(); err == nil && !strings.HasSuffix(e.Name(), tempSuffix) {
			p.objects["sha256:"+e.Name()] = info.Size()
		}
	}
	b, err := os.ReadFile(filepath.Join(p.dir, manifestFile))
	if err == nil {
		if m, err := snapshot.Decode(b); err == nil && m.Root == p.root {
			p.last = p.readable(m)
		}
	}
	return nil
}

// readable forgets the hashes of contents that are lost, so that they are read again.
func (p *Project) readable(m *snapshot.Manifest) *snapshot.Manifest {
	for i := range m.Entries {
		if _, ok := p.objects[m.Entries[i].State.Hash]; !ok {
			m.Entries[i].State.Hash = ""
		}
	}
	return m
}

// Take scans the project and returns its snapshot, which is on disk.
func (p *Project) Take(scan Scan) (*snapshot.Manifest, error) {
	m, fresh, err := p.take(scan)
	if fresh {
		err = p.store.PruneSnapshots()
	}
	return m, err
}

// take reports whether contents were added.
func (p *Project) take(scan Scan) (m *snapshot.Manifest, fresh bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.objects == nil { // cleared meanwhile
		if err := p.load(); err != nil {
			return nil, false, fmt.Errorf("take snapshot: %w", err)
		}
	}
	k := &objectKeeper{project: p, got: map[string]kept{}}
	if m, err = scan(p.last, p.store.most(), k); err != nil {
		p.sweep()
		return nil, false, err
	}
	k.complete(m)
	if len(p.last.Entries) > 0 && snapshot.Same(p.last, m) {
		p.last = m
		return m, false, nil
	}
	if k.fresh {
		err = syncFS(p.dir)
	}
	if err == nil {
		err = durable.Replace(filepath.Join(p.dir, manifestFile), snapshot.Encode(m))
	}
	if err != nil {
		return nil, false, fmt.Errorf("take snapshot: %w", err)
	}
	p.last = m
	p.sweep()
	return m, k.fresh, nil
}

// Begin notes that a run starts from the latest snapshot, so that a later daemon can compare.
func (p *Project) Begin(run string, m *snapshot.Manifest) error {
	if err := validID(run); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	name := filepath.Join(p.dir, runPrefix+run)
	err := errors.New("another snapshot was taken meanwhile")
	if p.last == m {
		err = os.Link(filepath.Join(p.dir, manifestFile), name)
	}
	if err != nil {
		err = durable.Replace(name, snapshot.Encode(m))
	}
	if err != nil {
		return fmt.Errorf("begin run %q: %w", run, err)
	}
	p.runs[run] = m
	return nil
}

// End forgets the snapshot that a run began with.
func (p *Project) End(run string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.runs, run)
	_ = os.Remove(filepath.Join(p.dir, runPrefix+run))
	p.sweep()
}

// sweep removes the contents that no snapshot has. mu is held.
func (p *Project) sweep() {
	live := make(map[string]bool, len(p.objects))
	note := func(m *snapshot.Manifest) {
		for _, e := range m.Entries {
			live[e.State.Hash] = true
		}
	}
	note(p.last)
	for _, m := range p.runs {
		note(m)
	}
	for hash := range p.objects {
		if !live[hash] {
			_ = os.Remove(p.object(hash))
			delete(p.objects, hash)
		}
	}
}

func (p *Project) object(hash string) string {
	return filepath.Join(p.dir, objectsDir, strings.TrimPrefix(hash, "sha256:"))
}

// CutOff is a run that a daemon's death cut off.
type CutOff struct{ Project, Run string }

// CutOff lists the runs whose beginning is noted and that are not under way.
func (s *Store) CutOff() []CutOff {
	names, _ := filepath.Glob(filepath.Join(s.dir, "snapshots", "*", runPrefix+"*"))
	var out []CutOff
	for _, name := range names {
		m, err := readManifest(name)
		if err != nil {
			_ = os.Remove(name)
			continue
		}
		out = append(out, CutOff{m.Root, strings.TrimPrefix(filepath.Base(name), runPrefix)})
	}
	return out
}

// Began reads the snapshot that a run began with.
func (p *Project) Began(run string) (*snapshot.Manifest, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.runs[run]; m != nil {
		return m, nil
	}
	m, err := readManifest(filepath.Join(p.dir, runPrefix+run))
	if err != nil {
		return nil, err
	}
	p.runs[run] = p.readable(m)
	return m, nil
}

func readManifest(name string) (*snapshot.Manifest, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return snapshot.Decode(b)
}

// KeepRun stores the change set of a run, which is made, so that it can be undone. Its contents are
// those of the project's snapshots.
func (s *Store) KeepRun(r Record, steps []files.Step, p *Project) error {
	if err := validID(r.ID); err != nil {
		return err
	}
	r.State, r.Run, r.Steps, r.Contents, r.Bytes = Made, true, steps, make([]string, len(steps)), 0
	p.mu.Lock()
	defer p.mu.Unlock()
	dir := filepath.Join(s.dir, "undo", r.ID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep run %q: %w", r.ID, err)
	}
	for i, step := range steps {
		r.Bytes += stepBytes + attributes(step.Before) + attributes(step.After)
		state, loses := step.Content()
		if !loses {
			continue
		}
		r.Contents[i] = filepath.Join("undo", r.ID, fmt.Sprint(i))
		if err := os.Link(p.object(state.Hash), filepath.Join(s.dir, r.Contents[i])); err != nil {
			return errors.Join(fmt.Errorf("keep run %q: %w", r.ID, err), s.erase(r.ID))
		}
		r.Bytes += state.Size
	}
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
	err := errors.Join(durable.SyncDir(filepath.Join(s.dir, "undo")), s.write(r))
	if err != nil {
		return errors.Join(err, s.erase(r.ID))
	}
	s.records[r.ID] = r
	return nil
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
func (p *Project) bytes() (n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.objects == nil {
		entries, _ := os.ReadDir(filepath.Join(p.dir, objectsDir))
		for _, e := range entries {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
	}
	for _, size := range p.objects {
		n += size
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
	p.objects = nil
	p.last = &snapshot.Manifest{Root: p.root}
	return true
}
