// Package filestest puts the pieces of the file tool together for tests: a
// folder, its rules, an undo store, and a worker, in this process or in one of
// its own.
//
//	func TestMain(m *testing.M) { filestest.Main(m, nil) }
//
//	b := filestest.New(t, filestest.Options{})
//	_, id, err := b.Do(files.Request{Op: files.Create, Path: "a.txt", Content: []byte("x")})
//	err = b.Undo(id)
package filestest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/files"
	"sandboxd/files/snapshot"
	"sandboxd/files/store"
	"sandboxd/files/worker"
)

// role names the environment variable by which a test binary knows that it is
// to play a worker.
const role = "SANDBOXD_FILES_TEST_ROLE"

// Main runs the tests, or plays the part of another process for them: the
// worker, or one of roles.
func Main(m *testing.M, roles map[string]func() error) {
	part, ok := os.LookupEnv(role)
	if !ok {
		os.Exit(m.Run())
	}
	armFault()
	play := roles[part]
	if part == "worker" {
		play = func() error {
			conn, err := worker.Inherit(0)
			if err != nil {
				return err
			}
			return worker.Serve(conn)
		}
	}
	if play == nil {
		fmt.Fprintf(os.Stderr, "no role %q\n", part)
		os.Exit(2)
	}
	if err := play(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Play is this test binary in another role.
func Play(part string, args ...string) *exec.Cmd {
	// Not by its path, which is in a folder that another user may not enter.
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = []string{role + "=" + part, "PATH=/usr/bin:/bin"}
	cmd.Stderr = os.Stderr
	return cmd
}

// Options of a bench. The zero value has the built-in configuration, one
// sandbox that is a fresh folder, and the worker in this process.
type Options struct {
	Config *files.Config // nil: files.Defaults
	Root   string        // "": a fresh folder
	Store  string        // "": a fresh folder
	// Process starts the worker as a process of its own.
	Process bool
	// UID is the user of the worker's process where the test runs as root; else it is
	// ours. Wants Process.
	UID int
	// Fault arms the worker's process, see Fault.
	Fault string
	// Place changes where the session works.
	Place func(*files.Place)
}

// Bench is the file tool as a daemon has it.
type Bench struct {
	T      testing.TB
	Root   string
	Rules  *files.Rules
	Store  *store.Store
	Client *worker.Client
	Worker *exec.Cmd // with Options.Process
	setup  worker.Setup
	uid    int
	fault  string
	prefix string
	next   int
}

// New makes a bench that ends with the test.
func New(t testing.TB, o Options) *Bench {
	t.Helper()
	if o.Root == "" {
		o.Root = filepath.Join(t.TempDir(), "project")
		if err := os.Mkdir(o.Root, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if o.Store == "" {
		o.Store = filepath.Join(t.TempDir(), "state")
	}
	b, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	b.T = t
	t.Cleanup(b.Stop)
	return b
}

// Start makes a bench outside of a test, in a process that plays the daemon.
// Options must name Root and Store; the caller stops it.
func Start(o Options) (*Bench, error) {
	real, err := filepath.EvalSymlinks(o.Root)
	if err != nil {
		return nil, err
	}
	cfg := files.Defaults()
	if o.Config != nil {
		cfg = *o.Config
	}
	place := files.Place{Project: real, Roots: map[string]string{}}
	for name, s := range cfg.Paths {
		place.Roots[name] = s.Root
		if !filepath.IsAbs(s.Root) {
			place.Roots[name] = filepath.Join(real, s.Root)
		}
	}
	if o.Place != nil {
		o.Place(&place)
	}
	b := &Bench{Root: real, uid: o.UID, fault: o.Fault, prefix: fmt.Sprintf("op-%d-", os.Getpid()),
		setup: worker.Setup{Config: cfg, Place: place}}
	if b.Rules, err = files.NewRules(cfg, place); err != nil {
		return nil, err
	}
	if b.Store, err = store.Open(o.Store, store.Options{KeepFor: cfg.Undo.KeepFor,
		KeepBytes: cfg.Undo.KeepBytes}); err != nil {
		return nil, err
	}
	return b, b.restart(o.Process)
}

// restart starts a worker, after Stop or when the one before has died.
func (b *Bench) restart(process bool) error {
	ours, theirs, err := worker.Pair()
	if err != nil {
		return err
	}
	if process {
		b.Worker = Play("worker")
		if b.uid != 0 && os.Geteuid() == 0 {
			b.Worker.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(b.uid), Gid: uint32(b.uid)}}
		}
		b.Worker.Stdin = theirs
		if b.fault != "" {
			b.Worker.Env = append(b.Worker.Env, faultVar+"="+b.fault)
		}
		if err := b.Worker.Start(); err != nil {
			return err
		}
		theirs.Close()
	} else {
		fd, err := unix.Dup(int(theirs.Fd())) // Inherit closes its argument
		if err != nil {
			return err
		}
		theirs.Close()
		conn, err := worker.Inherit(fd)
		if err != nil {
			return err
		}
		go worker.Serve(conn) //nolint:errcheck // ends with the client
	}
	b.Client, err = worker.NewClient(ours, b.setup)
	return err
}

// Stop ends the worker and waits for it.
func (b *Bench) Stop() {
	b.Client.Close()
	if b.Worker != nil {
		_ = b.Worker.Wait()
		b.Worker = nil
	}
}

// Context bounds one call.
func (b *Bench) Context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Minute)
}

// Do performs a request without a question, with any verdict. id is the change's.
func (b *Bench) Do(req files.Request) (r files.Result, id string, err error) {
	ctx, cancel := b.Context()
	defer cancel()
	facts, err := b.Client.Facts(ctx, req)
	if err != nil {
		return r, "", err
	}
	if facts.Conflict != nil {
		return r, "", facts.Conflict
	}
	return b.Carry(ctx, req, facts)
}

// Carry is Do with facts that were found before.
func (b *Bench) Carry(ctx context.Context, req files.Request, facts files.Facts) (r files.Result, id string,
	err error) {
	b.next++
	change, err := b.Store.Begin(store.Record{ID: fmt.Sprintf("%s%06d", b.prefix, b.next), Session: "test", Op: req.Op})
	if err != nil {
		return r, "", err
	}
	r, err = b.Client.Do(ctx, req, facts, change)
	if ferr := change.Finish(err); err == nil {
		err = ferr
	}
	return r, change.ID(), err
}

// Undo takes a change back; it returns the id of the undoing.
func (b *Bench) Undo(id string, force bool) (string, error) {
	ctx, cancel := b.Context()
	defer cancel()
	kept, err := b.Store.Kept(id)
	if err != nil {
		return "", err
	}
	b.next++
	change, err := b.Store.Begin(store.Record{ID: fmt.Sprintf("%su%05d", b.prefix, b.next), Session: "test",
		Op: files.Undo, Undoes: id})
	if err != nil {
		return "", err
	}
	_, err = b.Client.Undo(ctx, kept, files.UndoHow{Force: force}, change)
	if ferr := change.Finish(err); err == nil {
		err = ferr
	}
	return change.ID(), err
}

// Write puts a file below the root, past the tool.
func (b *Bench) Write(name, content string) {
	b.T.Helper()
	full := filepath.Join(b.Root, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		b.T.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		b.T.Fatal(err)
	}
}

// Content returns the content of a file below the root.
func (b *Bench) Content(name string) string {
	b.T.Helper()
	data, err := os.ReadFile(filepath.Join(b.Root, name))
	if err != nil {
		b.T.Fatal(err)
	}
	return string(data)
}

// OpenFolder is a fresh folder that every user may enter, which t.TempDir is not.
func OpenFolder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "files")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Recover settles the pending changes of a dead daemon or worker.
func (b *Bench) Recover() error {
	ctx, cancel := b.Context()
	defer cancel()
	for _, r := range b.Store.Pending() {
		made, err := b.Client.Settle(ctx, r.Steps)
		if err != nil {
			return err
		}
		if err := b.Store.Settle(r.ID, made); err != nil {
			return err
		}
	}
	return nil
}

// Scan walks the root for a snapshot.
func (b *Bench) Scan(
	base *os.File, most int64, found func([]snapshot.Entry, []*os.File) error,
) (snapshot.Summary, bool, error) {
	ctx, cancel := b.Context()
	defer cancel()
	return b.Client.Scan(ctx, b.Root, base, worker.ScanLimits{Bytes: most}, found)
}

// Run calls f, as a direct run between two snapshots. id is its change set's; "": nothing changed.
func (b *Bench) Run(f func()) (id string, c snapshot.Changes, err error) {
	p := b.Store.Project(b.Root)
	b.next++
	id = fmt.Sprintf("%srun%05d", b.prefix, b.next)
	if _, err := p.Begin(id, b.Scan); err != nil {
		return "", c, err
	}
	f()
	steps, c, err := p.Compare(id, "", b.Scan)
	if err != nil { // as for a daemon that dies: the next one compares
		return "", c, err
	}
	defer p.End(id)
	if len(steps) == 0 {
		return "", c, nil
	}
	return id, c, b.Store.KeepRun(store.Record{ID: id, Session: "test", Project: b.Root, Op: "run"}, steps, p)
}

// UndoRun takes the change set of a run back, or that of such an undoing.
func (b *Bench) UndoRun(id string, how files.UndoHow) (files.Result, string, error) {
	ctx, cancel := b.Context()
	defer cancel()
	kept, err := b.Store.Kept(id)
	if err != nil {
		return files.Result{}, "", err
	}
	b.next++
	rec := store.Record{ID: fmt.Sprintf("%su%05d", b.prefix, b.next), Session: "test", Op: files.Undo, Run: true}
	if !how.Rest {
		rec.Undoes = id
	}
	change, err := b.Store.Begin(rec)
	if err != nil {
		return files.Result{}, "", err
	}
	how.Run, how.Again = true, kept.Again()
	out, err := b.Client.Undo(ctx, kept, how, change)
	if ferr := change.Finish(err); err == nil {
		err = ferr
	}
	return out, change.ID(), err
}
