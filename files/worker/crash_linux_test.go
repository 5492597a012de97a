package worker_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/files"
	"sandboxd/files/filestest"
	"sandboxd/files/store"
)

// The ordinary run is cut short so that the package's tests take less than a
// minute on two processors; make deaths runs it at length.
var (
	crashRounds = flag.Int("crash-rounds", 50, "rounds of TestRandomDeaths; TestRunDeaths plays a quarter as many")
	everyDeath  = flag.Bool("every-death", false,
		"at every step kill each of worker, daemon and both, not one of them in turn")
)

// crashOps are the changes that are cut off. Each is made on the tree of
// crashTree.
var crashOps = []files.Request{
	{Op: files.Create, Path: "new", Content: version(7)},
	{Op: files.Create, Path: "x/y/new", Content: version(7), Parents: true},
	{Op: files.Write, Path: "a", Content: version(7)},
	{Op: files.Edit, Path: "a", Edits: []files.Replacement{{Find: "version 1\n", Replace: "version 7\n", Count: 100}}},
	{Op: files.Append, Path: "empty", Content: version(7)},
	{Op: files.Delete, Path: "a"},
	{Op: files.Delete, Path: "link"},
	{Op: files.Move, Path: "a", To: "moved"},
	{Op: files.Move, Path: "a", To: "b"},
	{Op: files.Move, Path: "a", To: "x/moved", Parents: true},
	{Op: files.Move, Path: "a", To: "twin"},
	{Op: files.Copy, Path: "a", To: "copied"},
	{Op: files.Copy, Path: "a", To: "b"},
	{Op: files.Copy, Path: "a", To: "twin"},
	{Op: files.Mkdir, Path: "x/y", Parents: true},
	{Op: files.Rmdir, Path: "hollow"},
	{Op: files.Rmdir, Path: "d", Recursive: true},
}

// version is a content that shows when it is not whole.
func version(n int) []byte {
	return bytes.Repeat([]byte(fmt.Sprintf("version %d\n", n)), 100)
}

func crashTree(t testing.TB, root string) {
	for _, d := range []string{"d/e", "hollow"} {
		must(t, os.MkdirAll(filepath.Join(root, d), 0o755))
	}
	for i, f := range []string{"a", "b", "d/c", "d/e/f"} {
		must(t, os.WriteFile(filepath.Join(root, f), version(i+1), 0o640))
	}
	must(t, os.WriteFile(filepath.Join(root, "twin"), version(1), 0o640)) // differs from a in its time only
	must(t, os.WriteFile(filepath.Join(root, "empty"), nil, 0o644))
	must(t, os.Symlink("a", filepath.Join(root, "link")))
	old := time.Now().Add(-time.Hour)
	for _, p := range []string{"a", "b", "d/e/f", "d/e", "d/c", "d", "empty", "hollow", "."} {
		must(t, os.Chtimes(filepath.Join(root, p), old, old))
	}
	older := old.Add(-time.Hour)
	must(t, os.Chtimes(filepath.Join(root, "twin"), older, older))
}

// playDaemon carries out changes: one of crashOps, or its undoing, or random
// ones until somebody ends it.
func playDaemon() error {
	root, state, task, workerFault := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	b, err := filestest.Start(filestest.Options{Root: root, Store: state, Process: true, Fault: workerFault})
	if err != nil {
		return err
	}
	fmt.Println("ready", b.Worker.Process.Pid)
	kind, arg, _ := strings.Cut(task, ":")
	n, err := strconv.Atoi(arg)
	if err != nil {
		return err
	}
	switch kind {
	case "do":
		_, _, err = b.Do(crashOps[n])
	case "undo":
		_, err = b.Undo(b.Store.List("")[0].ID, false)
	case "random":
		err = randomChanges(b, rand.New(rand.NewPCG(uint64(n), 1)))
	}
	b.Stop()
	return err
}

// Acceptance 2, R-FS-04, R-OP-03: the worker, the daemon, and both are killed at
// every step of every change and of its undoing. Afterwards each file has its
// old or its new content, whole; what the record says is so; undo works; no
// temporary file stays.
func TestDeathAtEveryStep(t *testing.T) {
	rounds := 0
	for i, req := range crashOps {
		t.Run(fmt.Sprintf("%s %s %s", req.Op, req.Path, req.To), func(t *testing.T) {
			for _, c := range crashPoints(t, req) {
				all := []string{filestest.Self, filestest.Parent, filestest.Both}
				if c.daemon {
					all = all[:1]
				}
				for turn, who := range all {
					if *everyDeath || turn == rounds%len(all) {
						dieAt(t, i, c, who)
					}
				}
				rounds++
			}
		})
	}
	t.Logf("%d steps", rounds)
}

// crashPoint is one moment of a change, or of its undoing.
type crashPoint struct {
	point      string
	occurrence int
	daemon     bool // it is the daemon's own
	undo       bool
}

// crashPoints finds out which points a change passes, by making it.
func crashPoints(t *testing.T, req files.Request) []crashPoint {
	root := filepath.Join(t.TempDir(), "root")
	must(t, os.Mkdir(root, 0o755))
	crashTree(t, root)
	b := filestest.New(t, filestest.Options{Root: root})
	var out []crashPoint
	collect := func(undo bool, f func()) {
		seen := map[string]int{}
		for _, p := range filestest.Points(f) {
			if seen[p]++; seen[p] > 2 { // the first and the second tell enough
				continue
			}
			out = append(out, crashPoint{p, seen[p], p == "contents-kept" || p == "record-kept", undo})
		}
	}
	var id string
	collect(false, func() {
		var err error
		_, id, err = b.Do(req)
		must(t, err)
	})
	collect(true, func() {
		_, err := b.Undo(id, false)
		must(t, err)
	})
	if len(out) < 8 {
		t.Fatalf("only %d points: %v", len(out), out)
	}
	return out
}

func dieAt(t *testing.T, op int, c crashPoint, who string) {
	t.Helper()
	dir := t.TempDir()
	root, state, marker := filepath.Join(dir, "root"), filepath.Join(dir, "state"), filepath.Join(dir, "reached")
	must(t, os.Mkdir(root, 0o755))
	crashTree(t, root)
	initial := filestest.Snapshot(t, root)
	task := fmt.Sprintf("do:%d", op)
	if c.undo {
		b := filestest.New(t, filestest.Options{Root: root, Store: state})
		_, _, err := b.Do(crashOps[op])
		must(t, err)
		b.Stop()
		task = "undo:0"
	}
	made := filestest.Snapshot(t, root)
	spec := filestest.Fault(c.point, c.occurrence, who, marker)
	workerFault := spec
	if c.daemon {
		workerFault = ""
	}
	daemon := filestest.Play("daemon", root, state, task, workerFault)
	daemon.Stderr = nil
	if c.daemon {
		daemon.Env = append(daemon.Env, filestest.FaultEnv(spec))
	}
	var orphans orphanage
	orphans.adopt(t)
	_ = daemon.Run()
	orphans.await(t)
	if _, err := os.Stat(marker); err != nil {
		t.Errorf("%+v, %s: the point was not reached", c, who)
	}
	aftermath(t, root, state, fmt.Sprintf("%+v, %s", c, who), func(after string, b *filestest.Bench) {
		whole := withoutFolderTimes(after) == withoutFolderTimes(initial) || after == made
		if !whole && len(b.Store.List("")) == 0 {
			t.Errorf("%+v, %s: neither old nor new, and no record:\n%s\n--- old\n%s", c, who, after, initial)
		}
	}, initial)
}

// aftermath recovers as a daemon does that starts again, and checks the
// promises.
func aftermath(t *testing.T, root, state, what string, look func(after string, b *filestest.Bench),
	initial string) (pending, made int) {
	t.Helper()
	b := filestest.New(t, filestest.Options{Root: root, Store: state})
	defer b.Stop()
	pending = len(b.Store.Pending())
	if err := b.Recover(); err != nil {
		t.Fatalf("%s: recover: %v", what, err)
	}
	if l := filestest.Litter(t, root); len(l) > 0 {
		t.Errorf("%s: left behind: %v", what, l)
	}
	if p := b.Store.Pending(); len(p) > 0 {
		t.Errorf("%s: still pending: %v", what, p)
	}
	checkWhole(t, root, what)
	after := filestest.Snapshot(t, root)
	if look != nil {
		look(after, b)
	}
	made = len(b.Store.List(""))
	for _, r := range b.Store.List("") {
		if r.State != store.Made || r.Undoes != "" {
			continue
		}
		if _, err := b.Undo(r.ID, false); err != nil {
			t.Errorf("%s: undo %s of %v: %v\n%s", what, r.ID, r.Steps, err, after)
			return pending, made
		}
	}
	// A folder's time is not restored when the undoing itself was cut off.
	if back := filestest.Snapshot(t, root); withoutFolderTimes(back) != withoutFolderTimes(initial) {
		t.Errorf("%s: after undoing all:\n%s\n--- instead of\n%s\n--- after recovery\n%s", what, back, initial, after)
	}
	return pending, made
}

var folderTime = regexp.MustCompile(`(?m)^("[^\n]*" d\S+ \S+) .*$`)

func withoutFolderTimes(snapshot string) string { return folderTime.ReplaceAllString(snapshot, "$1") }

// checkWhole wants every file to be one version, complete.
func checkWhole(t *testing.T, root, what string) {
	t.Helper()
	must(t, filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil || len(data) == 0 {
			return err
		}
		first, _, _ := bytes.Cut(data, []byte("\n"))
		want := bytes.Repeat(append(slices.Clone(first), '\n'), 100)
		if !bytes.Equal(data, want) {
			t.Errorf("%s: %s is not whole: %d bytes, %q…", what, p, len(data), first)
		}
		return nil
	}))
}

// orphanage takes in processes whose parent was killed, so that they can be
// waited for (prctl(2), PR_SET_CHILD_SUBREAPER).
type orphanage struct{}

func (orphanage) adopt(t *testing.T) {
	must(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
}

func (orphanage) await(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		switch {
		case err == unix.ECHILD:
			return
		case err != nil && err != unix.EINTR:
			t.Fatal(err)
		case pid == 0:
			if time.Now().After(deadline) {
				t.Fatal("a worker survives its daemon")
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// randomChanges makes one change after the other.
func randomChanges(b *filestest.Bench, r *rand.Rand) error {
	names := []string{"a", "b", "c", "d/c", "d/g", "d/e/f", "n/m/o"}
	pick := func() string { return names[r.IntN(len(names))] }
	for i := 0; i < 500; i++ {
		req := files.Request{Path: pick(), To: pick(), Parents: true, Content: version(10 + i)}
		req.Op = []files.Op{files.Write, files.Write, files.Create, files.Delete, files.Move, files.Copy, files.Rmdir,
			files.Mkdir}[r.IntN(8)]
		if req.Op == files.Rmdir {
			req.Path, req.Recursive = []string{"d", "d/e", "n"}[r.IntN(3)], true
		}
		if req.Op == files.Mkdir {
			req.Path = []string{"d/e", "n/m", "q"}[r.IntN(3)]
		}
		_, id, err := b.Do(req)
		if err == nil && id != "" && r.IntN(4) == 0 {
			_, err = b.Undo(id, false)
		}
		if err != nil && answer(err) == err.Error() {
			return err
		}
	}
	return nil
}

// Acceptance 2: kill -9 at any moment, of the worker, the daemon, or both.
func TestRandomDeaths(t *testing.T) {
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 2))
	pending, made := 0, 0
	for round := range *crashRounds {
		dir := t.TempDir()
		root, state := filepath.Join(dir, "root"), filepath.Join(dir, "state")
		must(t, os.Mkdir(root, 0o755))
		crashTree(t, root)
		initial := filestest.Snapshot(t, root)
		var orphans orphanage
		orphans.adopt(t)
		daemon := filestest.Play("daemon", root, state, fmt.Sprintf("random:%d", r.Uint32()), "")
		daemon.Stderr = nil
		out, err := daemon.StdoutPipe()
		must(t, err)
		must(t, daemon.Start())
		worker := 0
		if n, err := fmt.Fscanf(out, "ready %d\n", &worker); n != 1 || worker <= 1 {
			t.Fatalf("the daemon does not say that it is ready: %v", err)
		}
		time.Sleep(time.Duration(r.IntN(25_000)) * time.Microsecond)
		who := killSome(daemon.Process.Pid, worker, r.IntN(3))
		io.Copy(io.Discard, out) //nolint:errcheck // until it is gone
		_ = daemon.Wait()
		orphans.await(t)
		p, m := aftermath(t, root, state, fmt.Sprintf("round %d, %s", round, who), nil, initial)
		pending, made = pending+p, made+m
		if t.Failed() {
			return
		}
		os.RemoveAll(dir)
	}
	t.Logf("%d deaths: %d changes were cut off, %d had been made", *crashRounds, pending, made)
	if pending == 0 || made == 0 {
		t.Error("no change was cut off: the test proves nothing")
	}
}

// killSome kills the daemon, its worker, or both.
func killSome(daemon, worker, which int) string {
	switch which {
	case 0:
		_ = unix.Kill(daemon, unix.SIGKILL)
		return "daemon"
	case 1:
		_ = unix.Kill(worker, unix.SIGKILL)
		return "worker"
	}
	_ = unix.Kill(worker, unix.SIGKILL)
	_ = unix.Kill(daemon, unix.SIGKILL)
	return "both"
}
