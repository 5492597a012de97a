package supervisor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"sandboxd/files/snapshot"
	"sandboxd/shell/analysis"
)

// turnWait is how long the layered runs of a project wait for one of them, from its start. After that they run beside
// it, and find its changes at their landing, unless one of the two locks its files: a lock in a layer is not seen in
// another.
const turnWait = 10 * time.Second

// waitsAfter is how long a run waits before its caller reads waitsText.
const (
	waitsAfter = 2 * time.Second
	waitsText  = "sandboxd: waiting for another command that writes to this project (sbx run --direct does not wait)\n"
)

// lockers are programs that keep others of their kind away by lock files, git and package managers, each with the words
// that have it do so; nil: it always does. Not among them is what runs a program of the project, which may be a server.
var lockers = map[string][]string{
	"git":      nil,
	"npm":      installs,
	"pnpm":     installs,
	"yarn":     installs,
	"bun":      installs,
	"pip":      installs,
	"pip3":     installs,
	"uv":       installs,
	"poetry":   installs,
	"composer": installs,
	"bundle":   installs,
	"gem":      installs,
	"cargo":    append([]string{"build", "check", "clippy", "test", "fetch", "generate-lockfile", "vendor"}, installs...),
	"go":       {"get", "mod", "work"},
	"mvn":      nil,
	"gradle":   nil,
}

// installs are the words by which package managers change what is installed.
var installs = []string{"install", "i", "in", "ci", "add", "update", "up", "upgrade", "uninstall", "remove", "rm", "un",
	"prune", "dedupe", "rebuild", "audit", "link", "unlink", "import", "require", "lock", "sync", "pip", "venv", "self"}

// locks reports whether a command's words show that it locks its files.
func locks(script *analysis.Script) bool {
	return slices.ContainsFunc(script.Calls, func(c *analysis.Call) bool {
		words, known := lockers[c.Name()]
		if !known || words == nil || len(c.Args) == 1 { // yarn and bundle alone install
			return known
		}
		return slices.ContainsFunc(c.Args[1:], func(w analysis.Word) bool {
			return !w.Known() || slices.Contains(words, w.Text)
		})
	})
}

// projects has the state of each project with layered runs, by its root. The zero value is ready.
//
// The order of locks: a project's turn, its settling, then [aftermath.Cache.Alone], and mu last, which is held for
// moments only. Who has one takes none that stands before it, so that nobody waits in a circle; and nobody waits for a
// lock of another project but for Alone, which ends with one landing's judgement and move.
type projects struct {
	mu    sync.Mutex
	roots map[string]*project
}

// project serializes the layered runs of a project, so that each begins with the changes that the last one landed. The
// turn is a place for one run: locks says whether that one locks its files, and since when it began, zero where that is
// not noted yet. views are those of the runs that have a layer.
type project struct {
	turn  chan struct{}
	locks bool
	since time.Time
	views map[*view]bool

	settling sync.Mutex     // over each landing and drop of a held change set, and seeing
	seeing   map[string]int // running commands that see a held change set, by its run
}

// of returns the state of a project.
func (ps *projects) of(root string) *project {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.roots == nil {
		ps.roots = map[string]*project{}
	}
	p := ps.roots[root]
	if p == nil {
		p = &project{turn: make(chan struct{}, 1), views: map[*view]bool{}, seeing: map[string]int{}}
		ps.roots[root] = p
	}
	return p
}

// view is the project as a layered run sees it. Under its overlay a file that is replaced reads as before, and a name
// that it did not find stays absent (Documentation/filesystems/overlayfs.rst, "Changes to underlying filesystems").
// stale are the paths that other runs landed since, a few of them.
type view struct{ stale []string }

// maxStale bounds the stale paths of a view.
const maxStale = 20

// view returns the view of a run whose turn was taken. end forgets it, and then calls release.
func (ps *projects) view(root string, release func()) (v *view, end func()) {
	p := ps.of(root)
	ps.mu.Lock()
	defer ps.mu.Unlock()
	v = &view{}
	p.views[v] = true
	return v, func() {
		ps.mu.Lock()
		delete(p.views, v)
		ps.mu.Unlock()
		release()
	}
}

// landed notes in the views of other runs the paths that one run landed; by is nil for one that has ended.
func (ps *projects) landed(root string, by *view, c snapshot.Changes) {
	p := ps.of(root)
	ps.mu.Lock()
	defer ps.mu.Unlock()
	paths := slices.Concat(c.Modified, c.Created, c.Deleted)
	for v := range p.views {
		if v != by {
			v.stale = append(v.stale, paths[:min(len(paths), maxStale-len(v.stale))]...)
		}
	}
}

// staleView is a warning that names the stale paths of a view; none where there are none.
func (ps *projects) staleView(v *view) []string {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if len(v.stale) == 0 {
		return nil
	}
	return []string{"stale-view: " + strings.Join(v.stale, ", ") + ": another command's changes landed while this one " +
		"ran, and it may have seen the state before"}
}

// take waits for the turn of a run, which release ends: until the one that has it began turnWait ago, and to the end of
// the context where one of the two locks its files. It returns how long it waited.
func (ps *projects) take(ctx context.Context, root string, locks bool) (release func(), waited time.Duration) {
	p := ps.of(root)
	for start := time.Now(); ; {
		select {
		case p.turn <- struct{}{}:
			return ps.has(p, locks), time.Since(start)
		default:
		}
		left := ps.left(p, locks)
		if left <= 0 {
			return func() {}, time.Since(start)
		}
		select {
		case p.turn <- struct{}{}:
			return ps.has(p, locks), time.Since(start)
		case <-ctx.Done():
			return func() {}, time.Since(start)
		case <-time.After(left):
		}
	}
}

// has notes whose turn it is, and returns the end of that.
func (ps *projects) has(p *project, locks bool) (release func()) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p.locks, p.since = locks, time.Now()
	return func() {
		ps.mu.Lock()
		p.since = time.Time{}
		ps.mu.Unlock()
		<-p.turn
	}
}

// left returns how long a run waits before it asks again whether the one whose turn it is has begun turnWait ago; not
// above 0: that one has.
func (ps *projects) left(p *project, locks bool) time.Duration {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if locks || p.locks || p.since.IsZero() {
		return turnWait
	}
	return time.Until(p.since.Add(turnWait))
}

// errTurn is returned for a run that waited for its turn as long as it may take.
var errTurn = errors.New("another command of the project is still running, and one of them locks its files")

// turnOf waits for the turn of a run, as long as the run may take at most.
func (s *Supervisor) turnOf(ctx context.Context, e *Exec, j *judgement) (func(), time.Duration, error) {
	limit := timeLimit(e.Request.Timeout, j.plan.Profile.Limits().Wall)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTurn)
	defer cancel()
	tell := time.AfterFunc(waitsAfter, func() { e.log.add(Event{Kind: EventStderr, Data: []byte(waitsText)}) })
	defer tell.Stop()
	release, waited := s.projects.take(ctx, e.Session.Root, locks(j.script()))
	if err := context.Cause(ctx); err != nil {
		release()
		return nil, waited, err
	}
	return release, waited, nil
}
