package worker_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sandboxd/files"
	"sandboxd/files/filestest"
	"sandboxd/files/store"
)

// runScript is a run that deletes, changes, moves and creates.
func runScript(root string) {
	at := func(p string) string { return filepath.Join(root, p) }
	_ = os.RemoveAll(at("dir00"))
	_ = os.Rename(at("dir01"), at("moved"))
	for i := range 4 {
		_ = os.WriteFile(at(fmt.Sprintf("dir02/file%02d", i)), version(90+i), 0o600)
		_ = os.WriteFile(at(fmt.Sprintf("new%02d", i)), version(200+i), 0o600)
	}
	_ = os.Remove(at("dir03/file01"))
	_ = os.Symlink("nowhere", at("dir03/file01"))
	_ = os.Chmod(at("dir04"), 0o500)
	_ = os.Remove(at("link"))
	_ = os.Mkdir(at("link"), 0o755)
	_ = os.WriteFile(at("link/inner"), version(7), 0o644)
}

func runTree(t testing.TB, root string) {
	for d := range 5 {
		dir := filepath.Join(root, fmt.Sprintf("dir%02d", d))
		must(t, os.MkdirAll(dir, 0o755))
		for i := range 4 {
			must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%02d", i)), version(100*d+i), 0o640))
		}
	}
	must(t, os.Symlink("dir00", filepath.Join(root, "link")))
}

// playRunner is a daemon that makes one run and takes it back. It reports each phase as it begins.
func playRunner() error {
	b, err := filestest.Start(filestest.Options{Root: os.Args[1], Store: os.Args[2], Process: true})
	if err != nil {
		return err
	}
	defer b.Stop()
	b.T = nil
	fmt.Println("snapshot", b.Worker.Process.Pid)
	id, _, err := b.Run(func() {
		fmt.Println("run", b.Worker.Process.Pid)
		runScript(b.Root)
		fmt.Println("compare", b.Worker.Process.Pid)
	})
	if err != nil {
		return err
	}
	fmt.Println("undo", b.Worker.Process.Pid)
	_, _, err = b.UndoRun(id, files.UndoHow{})
	fmt.Println("done", b.Worker.Process.Pid)
	return err
}

// runPhases are the phases of a runner in which it is killed.
var runPhases = []string{"snapshot", "run", "compare", "undo"}

// R-LY-11, R-OP-03: kill -9 of the daemon, of the worker, or of both, at random moments of the
// snapshots around a run, of the run, and of its undo. The next daemon undoes exactly, and leaves
// nothing behind.
func TestRunDeaths(t *testing.T) {
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 3))
	lasted := map[string]time.Duration{}
	play := func(phase string) {
		dir := t.TempDir()
		defer os.RemoveAll(dir)
		root, state := filepath.Join(dir, "root"), filepath.Join(dir, "state")
		must(t, os.Mkdir(root, 0o755))
		runTree(t, root)
		initial := world(t, root)
		var orphans orphanage
		orphans.adopt(t)
		runner := filestest.Play("runner", root, state)
		runner.Stderr = nil
		out, err := runner.StdoutPipe()
		must(t, err)
		must(t, runner.Start())
		lines := bufio.NewScanner(out)
		last, since, who := "", time.Now(), "nobody"
		for lines.Scan() {
			var now string
			var worker int
			if n, err := fmt.Sscan(lines.Text(), &now, &worker); n != 2 || worker <= 1 {
				t.Fatalf("%q: %v", lines.Text(), err)
			}
			if phase == "" && last != "" {
				lasted[last] = time.Since(since)
			}
			if last, since = now, time.Now(); now == phase {
				time.Sleep(time.Duration(r.Int64N(int64(lasted[phase])*5/4 + 1)))
				who = killSome(runner.Process.Pid, worker, r.IntN(3))
			}
		}
		_, _ = io.Copy(io.Discard, out)
		err = runner.Wait()
		orphans.await(t)
		if phase == "" && (err != nil || last != "done") {
			t.Fatalf("without a death: %v, %q", err, last)
		}
		afterDeath(t, root, state, fmt.Sprintf("%s killed in %q", who, phase), initial)
	}
	play("")
	// A round of a run takes several times as long as one of TestRandomDeaths.
	for round := range max(*crashRounds/4, len(runPhases)) {
		if play(runPhases[round%len(runPhases)]); t.Failed() {
			return
		}
	}
}

// afterDeath recovers as a daemon does that starts again, takes the run back, and compares.
func afterDeath(t *testing.T, root, state, what string, initial []string) {
	t.Helper()
	b := filestest.New(t, filestest.Options{Root: root, Store: state})
	defer b.Stop()
	if err := b.Recover(); err != nil {
		t.Fatalf("%s: recover: %v", what, err)
	}
	for _, cut := range b.Store.CutOff() {
		p := b.Store.Project(cut.Project)
		steps, _, err := p.Compare(cut.Run, "", b.Scan)
		if err == nil && len(steps) > 0 {
			if _, gerr := b.Store.Get(cut.Run); errors.Is(gerr, store.ErrNotFound) {
				err = b.Store.KeepRun(store.Record{ID: cut.Run, Project: root, Op: "run"}, steps, p)
			}
		}
		if err != nil {
			t.Fatalf("%s: compare: %v", what, err)
		}
		p.End(cut.Run)
	}
	for _, record := range b.Store.List("") {
		if record.State != store.Made || record.Op != "run" {
			continue
		}
		if _, _, err := b.UndoRun(record.ID, files.UndoHow{}); err != nil && !strings.Contains(err.Error(), "nothing") {
			t.Errorf("%s: undo: %v", what, err)
		}
	}
	if d := diffWorlds(initial, world(t, root)); d != "" {
		t.Errorf("%s: after undo:\n%s", what, d)
	}
	if l := filestest.Litter(t, root); len(l) > 0 {
		t.Errorf("%s: left behind: %v", what, l)
	}
	if left, _ := filepath.Glob(filepath.Join(state, "snapshots", "*", "run-*")); len(left) > 0 {
		t.Errorf("%s: left behind: %v", what, left)
	}
}
