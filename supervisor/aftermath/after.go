package aftermath

import (
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/profile"
)

// Snapshot is what stood under protected names before a run.
type Snapshot struct {
	profile profile.Profile
	cache   *Cache
	copies  map[string]bool // nil until it is asked for; see hadCopy
	others  []*Snapshot     // see Cache.begin

	mu        sync.Mutex
	seen      found    // its maps are replaced, never changed
	meanwhile []func() // corrections that came before seen
}

// Before looks at what stands under protected names in the writable trees of p,
// which is the profile without what was granted for this run alone. [Snapshot.Done]
// must be called.
func Before(p profile.Profile, c *Cache) *Snapshot {
	s := &Snapshot{profile: p, cache: c}
	c.begin(s)
	f := walk(p, c)
	for _, other := range c.looked(s) {
		f.doubt(other.found())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = f
	for _, correct := range s.meanwhile {
		correct()
	}
	s.meanwhile = nil
	return s
}

// Done: the run was looked after, or did not begin. What others find from now on
// is not its doing. It may be called more than once.
func (s *Snapshot) Done() { s.cache.done(s) }

func (s *Snapshot) found() found {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// correct takes what the check after another run has left at a path for what stood
// there before; nil: nothing. Whatever comes there now is this run's.
func (s *Snapshot) correct(by *Snapshot, at string, left *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	apply := func() {
		entries := maps.Clone(s.seen.entries)
		_, had := entries[at]
		maps.DeleteFunc(entries, func(name string, _ entry) bool { return within(name, at) })
		if left != nil && (had || s.profile.Digest() == by.profile.Digest()) { // else it may be no name of ours
			entries[at] = *left
		}
		s.seen.entries = entries
	}
	if s.seen.entries == nil {
		s.meanwhile = append(s.meanwhile, apply)
		return
	}
	apply()
}

// doubt marks what did not stand as it does before another run that could write
// there, and may be its doing.
func (f found) doubt(other found) {
	for at, e := range f.entries {
		was, had := other.entries[at]
		as := had && !was.doubtful && (was.same(e) || was.stamp == e.stamp && (was.content == nil || e.content == nil))
		if !as && slices.ContainsFunc(other.roots, func(root string) bool { return within(at, root) }) {
			e.doubtful = true
			f.entries[at] = e
		}
	}
}

// hadCopy reports whether the same file stood under the same protected name
// elsewhere. That is hardly ever asked, and the answer takes all that stood anywhere.
func (s *Snapshot) hadCopy(at string, e entry) bool {
	key, ok := e.asCopy(at)
	if !ok {
		return false
	}
	if s.copies == nil {
		s.copies = map[string]bool{}
		for at, e := range s.found().entries {
			if key, ok := e.asCopy(at); ok {
				s.copies[key] = true
			}
		}
	}
	return s.copies[key]
}

// Run is what a check must know of the run.
type Run struct {
	ID         string
	Project    string // that it worked in; empty: none
	Start, End time.Time
	// Held are the paths of the run's mounts: whether each kept the run from changing
	// what is there and, as far as no other lies below, below.
	Held map[string]bool
	// Granted are paths that the run was allowed to change, with what is below.
	// Configurations of git are checked all the same.
	Granted []string
	// Trash is a directory of the daemon's own; a folder in it is made when
	// something is moved there.
	Trash string
	// Late: the look comes some time after End, and others may have changed
	// what stands there since. What could be theirs is kept.
	Late bool
	// Dealt are paths that the check of another run dealt with, which are left
	// alone. nil: none.
	Dealt map[string]bool
}

// holds reports whether a mount kept the run from changing a path.
func (r *Run) holds(at string) bool {
	for {
		if held, ok := r.Held[at]; ok {
			return held
		}
		if at == "/" || at == "." {
			return false
		}
		at = path.Dir(at)
	}
}

// Item is one thing that was found.
type Item struct {
	Path string `json:"path"`
	Why  string `json:"why"`
	// Trash is where it is now; empty if Kept.
	Trash string `json:"trash,omitempty"`
	// Kept: it was left where it is, because it can't be the run's, or because
	// it could not be moved.
	Kept bool   `json:"kept,omitempty"`
	Mode uint32 `json:"mode,omitempty"`
	Exec string `json:"exec"`
	// Project is the run's, and not necessarily above Path.
	Project string    `json:"project,omitempty"`
	Time    time.Time `json:"time"`
}

// Found is the outcome of a check.
type Found struct {
	Items []Item
	// Partly: the trees could not be looked at in full.
	Partly bool
	// Missing are trees that were there before and are not now, or are others.
	Missing []string
}

// clock is how far a file system's clock may lag behind ours.
const clock = 15 * time.Millisecond

// After looks again, and takes out what the run made or changed. The run has
// ended: none of its processes is left.
func (s *Snapshot) After(r Run) Found {
	now := walk(s.profile, s.cache)
	if c := s.check(now, r); !r.Late && c.quiet() {
		return Found{Missing: c.missing()}
	}
	// One after the other: what one check takes out or puts back is nothing that
	// another's run did.
	s.cache.checks.Lock()
	defer s.cache.checks.Unlock()
	c := s.check(walk(s.profile, s.cache), r)
	if r.Late {
		c.items = c.trash.resume()
	}
	for _, at := range slices.Sorted(maps.Keys(c.now.entries)) {
		if !c.done(at) && !c.elsewhere(at) {
			c.look(at, c.now.entries[at])
		}
	}
	for _, at := range slices.Sorted(maps.Keys(c.was.entries)) {
		if _, there := c.now.entries[at]; !there && !c.elsewhere(at) {
			c.gone(at, c.was.entries[at])
		}
	}
	c.trash.close(c.items)
	return Found{Items: c.items, Partly: c.was.partly || c.now.partly, Missing: c.missing()}
}

func (s *Snapshot) check(now found, r Run) *check {
	return &check{before: s, was: s.found(), now: now, run: r, trash: &trash{dir: path.Join(r.Trash, r.ID)}}
}

type check struct {
	before *Snapshot
	was    found // before
	now    found
	run    Run
	trash  *trash
	items  []Item
	dealt  []string // with everything below
}

// quiet: everything stands as it did.
func (c *check) quiet() bool {
	if c.was.partly || c.now.partly || len(c.was.entries) != len(c.now.entries) {
		return false
	}
	for at, e := range c.now.entries {
		if was, had := c.was.entries[at]; !had || was.stamp != e.stamp || c.young(e) {
			return false
		}
	}
	return true
}

// missing are the trees that are not there any more, or are others.
func (c *check) missing() []string {
	return slices.DeleteFunc(slices.Clone(c.was.roots), c.sameRoot)
}

func (c *check) done(at string) bool {
	return slices.ContainsFunc(c.dealt, func(dir string) bool { return within(at, dir) })
}

// look judges one path that is there now.
func (c *check) look(at string, e entry) {
	was, had := c.was.entries[at]
	if had && (was.stamp == e.stamp && !c.young(e) || was.same(e)) {
		return
	}
	repo, part := c.repository(at)
	switch {
	case part == "config" || part == "config.worktree":
		c.config(at, repo, was, had, e)
		return
	case c.granted(at):
		return
	case part != "" && !c.was.repos[repo]:
		if !strings.HasPrefix(part, "hooks") || e.directory() || path.Ext(at) == ".sample" && e.regular() {
			return
		}
	}
	if c.before.hadCopy(at, e) {
		return
	}
	if e.directory() && !e.deep && (c.empty(at) || c.holdsCopies(at)) {
		return // what is below is looked at by itself
	}
	if c.run.Late && e.directory() && !e.deep && c.changedLater(at) {
		return // others had a hand in it: what is below is looked at by itself
	}
	if why := c.notOurs(at, e, had); why != "" {
		c.dealt = append(c.dealt, at)
		if why != unknown {
			c.keep(at, e, why)
		}
		return
	}
	why := "the command made it under a protected name"
	if e.deep {
		why = "the command made it where it lies too deep to be looked into"
	} else if had {
		why = "the command changed it, and its name is protected"
	}
	c.take(at, e, why)
	if had {
		c.restore(at, was)
	}
}

// young: an equal stamp does not say much yet.
func (c *check) young(e entry) bool {
	return time.Unix(0, e.ctime).After(c.run.Start.Add(-settled))
}

// repository finds the repository that a path belongs to and which part of it
// it is: "config", "hooks/…", or "" where it is nothing that git treats apart.
func (c *check) repository(at string) (repo, part string) {
	for dir := path.Dir(at); dir != "/"; dir = path.Dir(dir) {
		if !c.now.repos[dir] {
			continue
		}
		part = strings.TrimPrefix(at, dir+"/")
		if within(part, "hooks") || slices.Contains([]string{"config", "config.worktree", "commondir", "info/attributes"}, part) {
			return dir, part
		}
		return "", ""
	}
	return "", ""
}

func (c *check) granted(at string) bool {
	return slices.ContainsFunc(c.run.Granted, func(dir string) bool { return within(at, dir) })
}

// asCopy is what tells a copy of a file under the same protected name.
func (e entry) asCopy(at string) (string, bool) {
	if e.directory() || e.content == nil {
		return "", false
	}
	return fmt.Sprintf("%s\x00%o\x00%s", strings.TrimPrefix(at, path.Dir(e.anchor)+"/"), e.kind()|e.mode&0o111, e.content), true
}

func (c *check) below(dir string) []string {
	var list []string
	for at := range c.now.entries {
		if at != dir && within(at, dir) {
			list = append(list, at)
		}
	}
	return list
}

func (c *check) empty(dir string) bool { return len(c.below(dir)) == 0 }

func (c *check) holdsCopies(dir string) bool {
	return slices.ContainsFunc(c.below(dir), func(at string) bool {
		_, had := c.was.entries[at]
		return had || c.before.hadCopy(at, c.now.entries[at]) || c.granted(at)
	})
}

const unknown = "unknown"

// notOurs says why something is not the run's doing, or "".
func (c *check) notOurs(at string, e entry, had bool) string {
	changed := time.Unix(0, e.ctime)
	switch {
	case c.after(e.ctime):
		return "it changed after the command had ended"
	case c.run.holds(at):
		return "it changed while the command ran, but the sandbox kept the command from it"
	case c.run.Late && changed.Before(c.run.Start.Add(-clock)) && c.movedLater(at):
		return "it may have come here after the command had ended"
	case changed.Before(c.run.Start.Add(-clock)) && had:
		return "it changed before the command began"
	case changed.Before(c.run.Start.Add(-clock)) && c.was.partly:
		return unknown // it may have been there, where nobody looked
	}
	return ""
}

// elsewhere: another check dealt with it, or it lies in a tree that came later.
func (c *check) elsewhere(at string) bool {
	return c.run.Dealt[at] || c.run.Late && !c.sameRoot(c.rootOf(at))
}

// after: it changed when the run had ended.
func (c *check) after(ctime int64) bool { return time.Unix(0, ctime).After(c.run.End.Add(clock)) }

// changedLater: the directory, or something in it, changed when the run had ended.
func (c *check) changedLater(dir string) bool {
	return c.after(c.now.entries[dir].ctime) || slices.ContainsFunc(c.below(dir), func(at string) bool { return c.after(c.now.entries[at].ctime) })
}

// movedLater: a directory above changed when the run had ended. It may have been
// moved then, and what is in it does not show that.
func (c *check) movedLater(at string) bool {
	root := c.rootOf(at)
	for dir := path.Dir(at); dir != root && within(dir, root); dir = path.Dir(dir) {
		var st unix.Stat_t
		if unix.Lstat(dir, &st) != nil || c.after(st.Ctim.Nano()) {
			return true
		}
	}
	return false
}

// removedLater: the nearest directory above that is there changed when the run
// had ended.
func (c *check) removedLater(at string) bool {
	root := c.rootOf(at)
	for dir := path.Dir(at); within(dir, root); dir = path.Dir(dir) {
		var st unix.Stat_t
		if unix.Lstat(dir, &st) == nil {
			return c.after(st.Ctim.Nano())
		}
	}
	return true
}

// sameRoot: the tree is the one that the run had.
func (c *check) sameRoot(root string) bool {
	was, now := slices.Index(c.was.roots, root), slices.Index(c.now.roots, root)
	return was >= 0 && now >= 0 && c.was.ids[was] == c.now.ids[now]
}

// config judges a configuration of git.
func (c *check) config(at, repo string, was entry, had bool, e entry) {
	c.dealt = append(c.dealt, at)
	root := c.rootOf(at)
	born := !c.was.repos[repo]
	if born && c.before.hadCopy(at, e) {
		return
	}
	if !e.regular() || e.content == nil {
		c.replace(at, e, was, had, "it is no configuration that can be read")
		return
	}
	if !born && (!had || was.content != nil) {
		keys, err := configChange(was.content, e.content, repo, root)
		switch {
		case err != nil:
			c.replace(at, e, was, had, "it can't be understood: "+err.Error())
		case len(keys) > 0:
			c.replace(at, e, was, had, "it may name programs: "+some(keys))
		}
		return
	}
	clean, taken, err := cleanConfig(e.content, repo, root)
	switch {
	case err != nil:
		c.replace(at, e, was, had, "it can't be understood: "+err.Error())
	case len(taken) > 0:
		e.content, was = nil, entry{stamp: e.stamp, anchor: e.anchor, content: clean}
		c.replace(at, e, was, true, "settings that may name programs were taken out: "+some(taken))
	}
}

// replace puts what was in the place of what is.
func (c *check) replace(at string, e, was entry, had bool, why string) {
	if reason := c.notOurs(at, e, had); reason != "" {
		if reason != unknown {
			c.keep(at, e, reason+"; "+why)
		}
		return
	}
	if c.take(at, e, why) && had {
		c.restore(at, was)
	}
}

func (c *check) rootOf(at string) string {
	for _, root := range c.now.roots {
		if within(at, root) {
			return root
		}
	}
	return path.Dir(at)
}

func (c *check) keep(at string, e entry, why string) {
	c.items = append(c.items, c.item(at, e, why, "", true))
}

// take moves something to the trash and reports it.
func (c *check) take(at string, e entry, why string) bool {
	c.dealt = append(c.dealt, at)
	if !c.before.cache.othersWrite(c.before, at) && !c.stands(at, e) {
		c.keep(at, e, why+"; somebody changed it after the command had ended, and it is left to them")
		return false
	}
	for {
		item, err := c.trash.take(c.rootOf(at), c.item(at, e, why, "", false))
		if err == nil {
			c.items = append(c.items, item)
			break
		}
		if _, there := os.Lstat(item.Trash); there == nil {
			item.Why += "; it could not all be moved away: " + err.Error()
			c.items = append(c.items, item)
		}
		if c.trash.giveRoom(err) {
			continue
		}
		if !slices.ContainsFunc(c.items, func(i Item) bool { return i.Path == at }) {
			c.keep(at, e, why+"; it could not be moved away: "+err.Error())
		}
		return false
	}
	c.before.cache.tell(c.before, at, nil)
	return true
}

func (c *check) restore(at string, was entry) {
	last := &c.items[len(c.items)-1]
	if last.Kept {
		return
	}
	switch {
	case was.doubtful:
		last.Why += "; what was there before may have been another command's doing, and is not put back"
	case was.content == nil && !was.directory():
		last.Why += "; what was there before is not known any more"
	default:
		if err := c.putBack(at, was); err != nil {
			last.Why += "; what was there before could not be put back: " + err.Error()
		}
	}
}

// putBack puts back what was there, which for runs that go on is there then.
func (c *check) putBack(at string, was entry) error {
	err := c.trash.restore(c.rootOf(at), at, was)
	if c.trash.giveRoom(err) {
		err = c.trash.restore(c.rootOf(at), at, was)
	}
	if err == nil {
		c.before.cache.tell(c.before, at, &was)
	}
	return err
}

func (c *check) item(at string, e entry, why, to string, kept bool) Item {
	return Item{Path: at, Why: why, Trash: to, Kept: kept, Mode: uint32(e.mode &^ unix.S_IFMT), Exec: c.run.ID, Project: c.run.Project, Time: c.run.End}
}

// some lists at most five keys.
func some(keys []string) string {
	const most = 5
	if len(keys) <= most {
		return strings.Join(keys, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(keys[:most], ", "), len(keys)-most)
}
