package acceptance

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sandboxd/ipc"
)

// The ordinary run is cut short: go test ./acceptance -run TestFileDeaths -args -file-deaths 1000
var fileDeaths = flag.Int("file-deaths", 4, "rounds of TestFileDeaths, for each user")

// Issue "The file tool", 2 (R-FS-04, R-OP-03): kill -9 of the real daemon, of its
// worker, or of both, at any moment while changes are made. Afterwards each file
// has its old or its new content, whole; undo takes everything back; and no
// temporary file stays.
func TestFileDeaths(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
		peer := a.agentPeer("editor")
		made, cutOff := 0, 0
		for round := range *fileDeaths {
			a.sh("rm -rf w; mkdir -p w/d/e; cd w; for f in a b d/c d/e/f; do for i in $(seq 100); do echo \"version $f\"; " +
				"done > $f; done; ln -s a link; chmod 640 a; sync .")
			initial := a.tree()
			a.start("--mode", "approve-all")
			agent := a.fileAgent(peer, ipc.KindCLI)
			ended := make(chan int, 1)
			go func() { ended <- changeAtRandom(agent, rand.New(rand.NewPCG(r.Uint64(), 2))) }()
			time.Sleep(time.Duration(100_000+r.IntN(400_000)) * time.Microsecond)
			who := a.killSome(r.IntN(3))
			cutOff += <-ended
			a.daemon.Process.Kill()
			a.daemon.Wait()
			a.daemon = nil

			a.start("--mode", "approve-all")
			agent = a.fileAgent(peer, ipc.KindCLI)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			// The first operation waits until what was cut off is settled.
			if _, err := agent.do(ctx, ipc.FileRequest{Op: "stat", Path: "w"}); err != nil {
				t.Fatal(err)
			}
			a.checkWhole(fmt.Sprintf("round %d, %s", round, who))
			made += a.undoAll(ctx, agent)
			cancel()
			if back := a.tree(); back != initial {
				t.Errorf("round %d, %s: after undoing all:\n%s\n--- instead of\n%s", round, who, back, initial)
			}
			if t.Failed() {
				return
			}
		}
		t.Logf("%d deaths: %d changes were made and taken back, %d were cut off", *fileDeaths, made, cutOff)
		if made == 0 {
			t.Error("no change was made: the test proves nothing")
		}
	})
}

// changeAtRandom makes changes until the daemon is gone; it returns how many were
// cut off.
func changeAtRandom(agent fileAgent, r *rand.Rand) (cutOff int) {
	names := []string{"w/a", "w/b", "w/c", "w/d/c", "w/d/g", "w/d/e/f", "w/n/m/o"}
	pick := func() string { return names[r.IntN(len(names))] }
	for i := range 40 {
		req := ipc.FileRequest{Op: []string{"write", "write", "create", "delete", "move", "copy", "rmdir"}[r.IntN(7)],
			Path: pick(), To: pick(), Parents: true,
			Content: strings.Repeat(fmt.Sprintf("version %d\n", i), 100)}
		if req.Op == "rmdir" {
			req.Path, req.Recursive = []string{"w/d", "w/d/e", "w/n"}[r.IntN(3)], true
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		_, err := agent.do(ctx, req)
		cancel()
		switch code := ipc.CodeOf(err); {
		case err != nil && code == "": // the daemon
			return cutOff + 1
		case code == ipc.CodeInternal: // the worker; the next one serves the rest
			cutOff++
		}
	}
	return cutOff
}

// killSome kills the daemon, its workers, or both.
func (a *actor) killSome(which int) string {
	workers := a.workers()
	if which != 0 {
		for _, w := range workers {
			syscall.Kill(w.pid, syscall.SIGKILL)
		}
	}
	if which != 1 {
		a.daemon.Process.Kill()
	}
	return []string{"daemon", "worker", "both"}[which]
}

// tree is everything below w: names, kinds, modes, contents, targets.
func (a *actor) tree() string {
	return a.sh("cd w; find . -printf '%p %y %m %l\\n' | sort; find . -type f -exec sha256sum {} + | sort")
}

// checkWhole wants every file to be one version, complete, and nothing under a
// temporary name.
func (a *actor) checkWhole(what string) {
	a.t.Helper()
	err := filepath.WalkDir(a.project, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), ".sandboxd-") {
			a.t.Errorf("%s: left behind: %s", what, path)
		}
		if err != nil || !d.Type().IsRegular() || !strings.HasPrefix(path, filepath.Join(a.project, "w")) {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		first, _, _ := bytes.Cut(data, []byte("\n"))
		if !bytes.Equal(data, bytes.Repeat(append(slices.Clone(first), '\n'), 100)) {
			a.t.Errorf("%s: %s is not whole: %d bytes, %q…", what, path, len(data), first)
		}
		return nil
	})
	if err != nil {
		a.t.Fatal(err)
	}
}

// undoAll takes every change in the project back, the latest first.
func (a *actor) undoAll(ctx context.Context, agent fileAgent) int {
	a.t.Helper()
	all, err := agent.do(ctx, ipc.FileRequest{Op: "undo", DryRun: true})
	if err != nil {
		a.t.Fatal(err)
	}
	n := 0
	for _, c := range all.Changes {
		if c.UndoneBy != "" || c.Undoes != "" {
			continue
		}
		if _, err := agent.do(ctx, ipc.FileRequest{Op: "undo", UndoID: c.ID}); err != nil {
			a.t.Errorf("undo %s of %v: %v", c.ID, c.What, err)
			return n
		}
		n++
	}
	return n
}
