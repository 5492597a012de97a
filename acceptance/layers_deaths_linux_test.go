package acceptance

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// layerWork is a line that creates, changes and removes files for about 0.1 s.
const layerWork = "seq 150 | split -l 1 - made; for i in $(seq 20); do echo new > old$i; done; rm -r gone; " +
	"mkdir dir; mv old1 dir/one; chmod 700 old2"

// R-LY-02, R-LY-04, R-LY-05: the daemon, the launch server or the worker is killed at a random moment of a layered run,
// from its start to the end of its landing. Then the change set is in the project whole and can be undone, or it is
// held whole and lands, or there is none and the run has failed; undo gives exactly the project from before.
// $ACCEPTANCE_LAYER_DEATHS is how often each is killed.
func TestLayerDeaths(t *testing.T) {
	t.Parallel()
	each := atLeastOne(t, "ACCEPTANCE_LAYER_DEATHS", 2)
	eachUser(t, func(t *testing.T, a *actor) {
		a.layered()
		a.sh("for i in $(seq 20); do echo old > old$i; done; mkdir -p gone/deep; seq 50 > gone/deep/file")
		a.run("true; echo warm > warm")
		a.sh("rm warm")
		rnd, ends := rand.New(rand.NewPCG(3, 4)), map[string]int{}
		for i := range 3 * each {
			victim := []string{"daemon", "server", "worker"}[i%3]
			before := a.everything()
			r, hit := a.killLayered(victim, time.Duration(rnd.IntN(450))*time.Millisecond, rnd)
			if !hit {
				ends["missed"]++
			}
			if a.daemon == nil || len(a.unsettled()) > 0 { // what no worker read stays for the next daemon
				a.layered()
			}
			for deadline := time.Now().Add(patience); len(a.unsettled()) > 0; {
				if time.Sleep(20 * time.Millisecond); time.Now().After(deadline) {
					t.Fatalf("death %d, of the %s: %q is not settled; the run: %s", i, victim, a.unsettled(), r)
				}
			}
			end := a.settleLayer(before, r)
			ends[victim+" "+end]++
			if now := a.everything(); now != before {
				t.Fatalf("death %d, of the %s, %s: undo left %s", i, victim, end, lineDifferences(now, before))
			}
			if t.Failed() {
				t.Fatalf("death %d, of the %s: %s", i, victim, r)
			}
		}
		a.noLayers()
		t.Logf("%v", ends)
		if r := a.sbx("log", "verify"); r.code != 0 {
			t.Error(r)
		}
	})
}

// killLayered runs layerWork and kills a victim after a time: a worker as long after its start.
func (a *actor) killLayered(victim string, moment time.Duration, rnd *rand.Rand) (r result, hit bool) {
	a.t.Helper()
	ended, done := make(chan struct{}), make(chan result, 1)
	go func() { r := a.sbx("run", "--json", "-c", layerWork); close(ended); done <- r }()
	over := func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	}
	switch victim {
	case "daemon":
		time.Sleep(moment)
		hit = !over()
		a.die()
	case "server":
		time.Sleep(moment)
		pid := a.find("server")
		hit = !over() && pid > 0 && syscall.Kill(pid, syscall.SIGKILL) == nil
	case "worker":
		for !over() && !hit {
			if pid := a.worker(); pid > 0 {
				time.Sleep(time.Duration(rnd.IntN(60)) * time.Millisecond)
				hit = syscall.Kill(pid, syscall.SIGKILL) == nil
			}
		}
	}
	return <-done, hit
}

// worker returns the file worker of the daemon that lands, 0 when there is none.
func (a *actor) worker() int {
	for _, p := range processes() {
		if p.state != 'Z' && strings.Contains(p.cmdline, "file-worker") && below(p.pid, a.daemon.Process.Pid) {
			return p.pid
		}
	}
	return 0
}

// unsettled lists the layers that are neither held nor gone.
func (a *actor) unsettled() (list []string) {
	entries, _ := os.ReadDir(filepath.Join(a.stateDir(), "layers"))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "spare-") { // of a sandbox that waits
			continue
		}
		var note struct {
			Held string
			Had  []bool
		}
		text, err := os.ReadFile(filepath.Join(a.stateDir(), "layers", e.Name(), "run.json"))
		if err != nil || json.Unmarshal(text, &note) != nil || note.Held == "" || note.Had != nil {
			list = append(list, e.Name())
		}
	}
	return list
}

// settleLayer brings the project back to the state before a run that was cut off, by the commands that a person has,
// and returns the fate of its change set.
func (a *actor) settleLayer(before string, r result) string {
	a.t.Helper()
	list := a.sbx("changes", "--json")
	var held struct{ Changes []struct{ ID string } }
	if err := json.Unmarshal([]byte(list.out), &held); err != nil {
		a.t.Fatalf("%s", list)
	}
	undo := func() {
		a.t.Helper()
		if r := a.sbx("undo", "--last"); r.code != 0 {
			a.t.Errorf("undo: %s", r)
		}
	}
	switch now := a.everything(); {
	case len(held.Changes) > 0 && now != before:
		a.t.Errorf("it is held, and the project has %s", lineDifferences(now, before))
	case len(held.Changes) > 0:
		if r := a.sbx("changes", "land", held.Changes[0].ID); r.code != 0 {
			a.t.Errorf("the held change set: %s", r)
		}
		undo()
		return "held"
	case now == before && r.code == 0:
		a.t.Errorf("nothing landed, and the run did not fail: %s", r)
	case now == before:
		return "none"
	default:
		undo()
	}
	return "landed"
}

// R-LY-05: a large layer that a death kept from being read is listed and can be dropped while the next daemon reads it,
// and commands run, in its project and in others.
func TestLargeLayerAfterDeath(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		wait := a.begin("run", "-c", `python3 -c "[open(f'big{i}', 'w').truncate((4 << 30) - 1) for i in range(40)]"; `+
			"touch last; sleep 1000")
		eventually(t, "it wrote all", func() bool {
			list, _ := filepath.Glob(filepath.Join(a.stateDir(), "layers/x-*/upper/last"))
			return len(list) > 0
		})
		a.die()
		wait()
		a.layered()
		if r := a.sbx("run", "-c", "echo x > small"); r.code != 0 {
			t.Errorf("in the same project: %s", r)
		}
		if r := a.do(nil, "/bin/bash", "-ec", "d=$(mktemp -d ~/other-XXXX); cd $d; "+bin+"/sbx run -c 'echo x > small'; "+
			"cat small; rm -rf $d"); r.code != 0 || r.out != "x\n" {
			t.Errorf("in another project: %s", r)
		}
		id := a.held()
		if r := a.sbx("changes"); !strings.Contains(r.out, id) || !strings.Contains(r.out, "it is read now") {
			t.Errorf("while it is read: %s", r)
		}
		if r := a.sbx("changes", "drop", id); r.code != 0 || len(a.unsettled()) > 0 {
			t.Errorf("drop: %s; left are %v", r, a.unsettled())
		}
	})
}
