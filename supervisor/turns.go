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

// turns serializes the layered runs of a project, so that each begins with the changes that the last one landed. The
// zero value is ready.
type turns struct {
	mu    sync.Mutex
	roots map[string]*turn
}

// turn has a place for the run whose turn it is: locks says whether that one locks its files, and since when it began,
// zero where that is not noted yet. views are those of the runs that have a layer.
type turn struct {
	place chan struct{}
	locks bool
	since time.Time
	views map[*view]bool
}

// view is the project as a layered run sees it. Under its overlay a file that is replaced reads as before, and a name
// that it did not find stays absent (Documentation/filesystems/overlayfs.rst, "Changes to underlying filesystems").
// stale are the paths that other runs landed since, a few of them.
type view struct{ stale []string }

// maxStale bounds the stale paths of a view.
const maxStale = 20

// view returns the view of a run whose turn was taken. end forgets it, and then calls release.
func (t *turns) view(root string, release func()) (v *view, end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v = &view{}
	at := t.roots[root]
	if at.views == nil {
		at.views = map[*view]bool{}
	}
	at.views[v] = true
	return v, func() {
		t.mu.Lock()
		delete(at.views, v)
		t.mu.Unlock()
		release()
	}
}

// landed notes in the views of other runs the paths that one run landed; by is nil for one that has ended.
func (t *turns) landed(root string, by *view, c snapshot.Changes) {
	t.mu.Lock()
	defer t.mu.Unlock()
	turn := t.roots[root]
	if turn == nil { // nobody runs
		return
	}
	paths := slices.Concat(c.Modified, c.Created, c.Deleted)
	for v := range turn.views {
		if v != by {
			v.stale = append(v.stale, paths[:min(len(paths), maxStale-len(v.stale))]...)
		}
	}
}

// staleView is a warning that names the stale paths of a view; none where there are none.
func (t *turns) staleView(v *view) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(v.stale) == 0 {
		return nil
	}
	return []string{"stale-view: " + strings.Join(v.stale, ", ") + ": another command's changes landed while this one " +
		"ran, and it may have seen the state before"}
}

// take waits for the turn of a run, which release ends: until the one that has it began turnWait ago, and to the end of
// the context where one of the two locks its files. It returns how long it waited.
func (t *turns) take(ctx context.Context, root string, locks bool) (release func(), waited time.Duration) {
	t.mu.Lock()
	if t.roots == nil {
		t.roots = map[string]*turn{}
	}
	at := t.roots[root]
	if at == nil {
		at = &turn{place: make(chan struct{}, 1)}
		t.roots[root] = at
	}
	t.mu.Unlock()
	for start := time.Now(); ; {
		select {
		case at.place <- struct{}{}:
			return t.has(at, locks), time.Since(start)
		default:
		}
		left := t.left(at, locks)
		if left <= 0 {
			return func() {}, time.Since(start)
		}
		select {
		case at.place <- struct{}{}:
			return t.has(at, locks), time.Since(start)
		case <-ctx.Done():
			return func() {}, time.Since(start)
		case <-time.After(left):
		}
	}
}

// has notes whose turn it is, and returns the end of that.
func (t *turns) has(at *turn, locks bool) (release func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at.locks, at.since = locks, time.Now()
	return func() {
		t.mu.Lock()
		at.since = time.Time{}
		t.mu.Unlock()
		<-at.place
	}
}

// left returns how long a run waits before it asks again whether the one whose turn it is has begun turnWait ago; not
// above 0: that one has.
func (t *turns) left(at *turn, locks bool) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if locks || at.locks || at.since.IsZero() {
		return turnWait
	}
	return time.Until(at.since.Add(turnWait))
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
	release, waited := s.turns.take(ctx, e.Session.Root, locks(j.script()))
	if err := context.Cause(ctx); err != nil {
		release()
		return nil, waited, err
	}
	return release, waited, nil
}
