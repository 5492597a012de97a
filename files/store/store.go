package store

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"sandboxd/files"
)

// Options of a store.
type Options struct {
	// KeepFor is how long a change can be undone; 0 means without limit.
	KeepFor time.Duration
	// KeepBytes is how much content is kept; beyond it, the oldest changes of the
	// session that has the most go first, and a change that needs more by itself is
	// refused. 0 is no bound.
	KeepBytes int64
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// maxChanges is how many changes are kept, however small they are.
const maxChanges = 20_000

// Store is an undo store. Its methods may be called concurrently.
type Store struct {
	dir  string
	opts Options

	mu      sync.Mutex
	records map[string]Record // by id
	// open are the changes between Begin and Finish, with those that each undoes.
	open map[string][]string
	// projects have snapshots, by their folders' names; snapshots is how many bytes those hold.
	projects  map[string]*Project
	snapshots int64
	// damaged are the records that can't be read, by id.
	damaged map[string]error
	// evicted are the young changes that had to make room for others, by the id of these.
	evicted map[string][]Record
}

// Open opens the store in a folder, which it makes if need be. The folder must
// be the caller's own, and closed to everybody else. Records that are damaged
// are left where they are; see Damaged. Damage in the steps is an error of Kept.
func Open(dir string, opts Options) (s *Store, err error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	s = &Store{
		dir:      dir,
		opts:     opts,
		records:  map[string]Record{},
		open:     map[string][]string{},
		projects: map[string]*Project{},
		damaged:  map[string]error{},
		evicted:  map[string][]Record{},
	}
	for _, d := range []string{"", "undo", "trash", "snapshots"} {
		if err := ownDir(filepath.Join(dir, d)); err != nil {
			return nil, fmt.Errorf("open undo store %q: %w", dir, err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, "undo"))
	if err != nil {
		return nil, fmt.Errorf("open undo store %q: %w", dir, err)
	}
	for _, e := range entries {
		if err := s.load(e.Name()); err != nil {
			s.damaged[e.Name()] = err
		}
	}
	return s, nil
}

// Damaged lists why changes can't be undone whose records can't be read.
func (s *Store) Damaged() (list []error) {
	for _, id := range slices.Sorted(maps.Keys(s.damaged)) {
		list = append(list, s.damaged[id])
	}
	return list
}

// Configure changes how long and how much is kept from now on. The clock stays.
func (s *Store) Configure(opts Options) {
	s.mu.Lock()
	defer s.mu.Unlock()
	opts.Now = s.opts.Now
	s.opts = opts
}

// MostBytes is how much content a change can have; 0 is no limit.
func (s *Store) MostBytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opts.KeepBytes
}

// load reads one record. A folder without a record, from a crash before it, is removed: nothing was
// changed on its account. The trash is not scanned: it also has the quarantined entries of
// commands.
func (s *Store) load(id string) error {
	if err := validID(id); err != nil {
		return err
	}
	r, err := s.readHead(id)
	if errors.Is(err, ErrNotFound) {
		return s.erase(id)
	}
	if err != nil {
		return err
	}
	s.records[id] = r
	return nil
}

// ownDir makes a folder of mode 0700, or checks that it is one of ours.
func ownDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%q is not a folder", dir)
	case !ok || int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%q belongs to somebody else; move it away", dir)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%q is open to others (mode %04o); `chmod 700 %s`", dir, info.Mode().Perm(), dir)
	}
	return nil
}

// erase removes a change's files. The record goes first: contents without a record are removed
// later, a record without contents would be wrong.
func (s *Store) erase(id string) error {
	if err := os.Remove(s.recordFile(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget change %q: %w", id, err)
	}
	for _, d := range []string{"trash", "undo"} {
		if err := os.RemoveAll(filepath.Join(s.dir, d, id)); err != nil {
			return fmt.Errorf("forget change %q: %w", id, err)
		}
	}
	return nil
}

// Get is one change. Of a damaged record the error is a *files.Conflict.
func (s *Store) Get(id string) (Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.records[id]; ok {
		return r, nil
	}
	if err := s.damaged[id]; err != nil {
		return Record{}, err
	}
	return Record{}, fmt.Errorf("undo %q: %w", id, ErrNotFound)
}

// OfExec returns the change sets of a run that were not undone, the latest first.
func (s *Store) OfExec(exec string) (list []Record) {
	for _, r := range s.List("") {
		if r.Exec == exec && exec != "" && r.State == Made {
			list = append(list, r)
		}
	}
	return list
}

// List are the changes of a session that can be undone or were, the latest
// first; an empty session is all of them.
func (s *Store) List(session string) []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Record
	for _, r := range s.records {
		if (session == "" || r.Session == session) && r.State != Pending {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, latestFirst)
	return out
}

func latestFirst(a, b Record) int {
	if c := b.Time.Compare(a.Time); c != 0 {
		return c
	}
	if a.ID < b.ID {
		return 1
	}
	return -1
}

// Pending are the changes of which it is not known whether they were made:
// their worker, or an earlier daemon, died.
func (s *Store) Pending() []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Record
	for id, r := range s.records {
		if _, open := s.open[id]; r.State == Pending && !open {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, latestFirst)
	return out
}

// Settle notes how many steps of a pending change were made. One of which nothing was
// made is forgotten; one that was made in part can be undone in that part.
func (s *Store) Settle(id string, made int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.records[id]
	if !ok || r.State != Pending || made < 0 || made > len(r.Steps) {
		return fmt.Errorf("settle change %q: there is no such pending change of at least %d steps", id, made)
	}
	return s.conclude(r, made)
}

// conclude records that the first steps of a change were made. The change that an undo reverts is
// undone when all of it is; until then the undo can be repeated. Facts that can't be written, as on
// a full disk, are cached until the store is closed; then the record is pending again, and settled
// again. mu is held.
func (s *Store) conclude(r Record, made int) error {
	if made == 0 {
		delete(s.records, r.ID)
		return s.erase(r.ID)
	}
	all := len(r.Steps)
	r.State, r.Steps, r.Contents = Made, r.Steps[:made], r.Contents[:made]
	if made < all {
		r.Of = all
	}
	err := s.remember(r)
	if made < all {
		return err
	}
	for _, id := range r.undone() {
		undone, ok := s.records[id]
		if !ok {
			continue
		}
		undone, rerr := s.whole(undone)
		if rerr != nil {
			return errors.Join(err, rerr)
		}
		undone.State, undone.UndoneBy = Undone, r.ID
		err = errors.Join(err, s.remember(undone))
	}
	return err
}

// remember writes a settled record. Where that fails, its steps stay in memory. mu is held.
func (s *Store) remember(r Record) error {
	err := s.write(r)
	if s.records[r.ID] = r; err == nil {
		s.records[r.ID] = r.head()
	}
	return err
}

// Prune deletes changes beyond the options' bounds, except pending ones, and returns their number.
func (s *Store) Prune() (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.prune(nil)
}

// prune makes room for the coming change, nil for none. A change that is being undone stays until
// the end of that, even beyond the bounds. It deletes old changes; beyond a bound, the oldest of
// the session that has the most, so that no session displaces another that has less; see hasLater for the exception. mu
// is held.
func (s *Store) prune(coming *Record) (int, error) {
	taken := map[string]bool{}
	for _, id := range slices.Concat(slices.Collect(maps.Values(s.open))...) {
		taken[id] = true
	}
	var has shares
	var settled []Record
	if coming != nil {
		has.count(*coming, 1)
	}
	tooOld := false
	for id, r := range s.records {
		has.count(r, 1)
		if r.State != Pending && !taken[id] {
			settled = append(settled, r)
			tooOld = tooOld || s.tooOld(r)
		}
	}
	if !tooOld && s.tooMuch(has.total) == nil {
		return 0, nil
	}
	slices.SortFunc(settled, latestFirst)
	slices.Reverse(settled)
	forgotten := 0
	forget := func(r Record) error {
		if err := s.erase(r.ID); err != nil {
			return err
		}
		delete(s.records, r.ID)
		has.count(r, -1)
		forgotten++
		return nil
	}
	for _, r := range settled {
		if !s.tooOld(r) {
			one := has.of(r)
			one.settled = append(one.settled, r)
		} else if err := forget(r); err != nil {
			return forgotten, err
		}
	}
	for {
		much := s.tooMuch(has.total)
		if much == nil {
			return forgotten, nil
		}
		one := has.heaviest(much)
		if one == nil {
			return forgotten, nil // nothing more may go
		}
		if oldest := one.settled[0]; !s.hasLater(oldest) {
			if coming != nil && oldest.State == Made && s.opts.Now().Sub(oldest.Time) < young {
				s.evicted[coming.ID] = append(s.evicted[coming.ID], oldest)
			}
			if err := forget(oldest); err != nil {
				return forgotten, err
			}
		}
		one.settled = one.settled[1:]
	}
}

// young is the age of a change whose loss is told.
const young = 24 * time.Hour

// Evicted returns the changes of the last day that could be undone until a change needed their room, once: the next
// call returns none.
func (s *Store) Evicted(by string) []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.evicted[by]
	delete(s.evicted, by)
	return list
}

// tooMuch returns the exceeded measure, nil for none.
func (s *Store) tooMuch(total amount) func(amount) int64 {
	switch {
	case s.opts.KeepBytes > 0 && total.bytes+s.snapshots > s.opts.KeepBytes:
		return func(a amount) int64 { return a.bytes }
	case total.changes > maxChanges:
		return func(a amount) int64 { return a.changes }
	}
	return nil
}

func (s *Store) tooOld(r Record) bool {
	return s.opts.KeepFor > 0 && s.opts.Now().Sub(r.Time) > s.opts.KeepFor
}

// Kept is a change with its contents, for undoing.
func (s *Store) Kept(id string) (*Kept, error) {
	r, err := s.Get(id)
	if err != nil {
		return nil, err
	}
	switch r.State {
	case Undone:
		return nil, fmt.Errorf("undo %q: it was undone already, by %s", id, r.UndoneBy)
	case Pending:
		return nil, fmt.Errorf(
			"undo %q: it is not known yet whether it was made; try again when the daemon has looked",
			id,
		)
	}
	if r, err = s.whole(r); err != nil {
		return nil, err
	}
	k := &Kept{store: s, record: r}
	return k, k.reread()
}

// Kept implements files.Kept.
type Kept struct {
	store  *Store
	record Record
	late   []string
}

// Late are the paths whose file another program wrote to after a landing had displaced it, through a descriptor from
// before. The steps are those that restore this version.
func (k *Kept) Late() []string { return k.late }

// Again reports whether an undo of the change was cut off, or undid a part.
func (k *Kept) Again() bool {
	k.store.mu.Lock()
	defer k.store.mu.Unlock()
	for _, r := range k.store.records {
		if r.State == Made && slices.Contains(r.undone(), k.record.ID) {
			return true
		}
	}
	return false
}

// Steps are the steps that were made.
func (k *Kept) Steps() []files.Step { return k.record.Steps }

// HasContent reports whether the content that a step lost is kept.
func (k *Kept) HasContent(step int) bool { return k.record.Contents[step] != "" }

// Content opens it for reading.
func (k *Kept) Content(step int) (*os.File, error) {
	name := k.record.Contents[step]
	if name == "" {
		return nil, fmt.Errorf("undo %q: step %d lost no content", k.record.ID, step+1)
	}
	f, err := os.Open(filepath.Join(k.store.dir, name))
	if err != nil {
		return nil, fmt.Errorf("undo %q: %w", k.record.ID, err)
	}
	return f, nil
}
