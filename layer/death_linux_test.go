package layer

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func init() {
	if os.Getenv(childVariable) != "" {
		runtime.LockOSThread() // the main thread is the traced one
	}
}

// task is a move of a layer that a child process makes.
type task struct{ Do, Root, Layer string }

func (o task) perform(traced bool) error {
	root, err := os.Open(o.Root)
	if err != nil {
		return err
	}
	if o.Do == "new" {
		_, err := New(o.Layer, root)
		return err
	}
	l, err := Open(o.Layer)
	if err != nil {
		return err
	}
	if traced {
		if err := unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGUSR1); err != nil {
			return err
		}
	}
	return o.move(l, root)
}

func (o task) move(l *Layer, root *os.File) error {
	switch o.Do {
	case "take":
		return l.Take(root)
	case "land":
		return l.Land(root, yes)
	case "undo":
		return l.Undo(root)
	}
	return l.Recover(root)
}

// die carries out a task and kills its process at the system call with the given number, counted from the task's
// beginning; 0 kills none. Both entry and return of a call count. It returns the number of them that were seen.
func die(t testing.TB, o task, at int) (seen int) {
	t.Helper()
	seen, ok := trace(t, o, func(seen int) bool { return seen == at })
	if !ok && (at == 0 || seen < at) {
		t.Fatalf("%s failed", o.Do)
	}
	return seen
}

// trace carries out a task. At the entry to each of its system calls and at the return it calls kill, whose result says
// whether the process dies there. ok means that the task succeeded.
func trace(t testing.TB, o task, kill func(seen int) bool) (seen int, ok bool) {
	t.Helper()
	runtime.LockOSThread() // a tracer is a thread
	defer runtime.UnlockOSThread()
	cmd := order{Task: &o, Traced: true}.command()
	cmd.SysProcAttr.Ptrace = true
	cmd.Env = append(cmd.Env, "GODEBUG=asyncpreemptoff=1") // without signals for a thread that stops
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid, begun := cmd.Process.Pid, false
	defer func() { _ = cmd.Process.Release() }()
	for {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &status, syscall.WALL, nil); err != nil {
			t.Fatal(err)
		}
		pass := 0
		switch sig := status.StopSignal(); {
		case status.Exited() || status.Signaled():
			return seen, status.Exited() && status.ExitStatus() == 0
		case sig == syscall.SIGTRAP|0x80:
			if seen++; kill(seen) {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		case sig == syscall.SIGUSR1:
			begun = true
		case sig == syscall.SIGTRAP: // the exec
			if err := syscall.PtraceSetOptions(pid, syscall.PTRACE_O_TRACESYSGOOD); err != nil {
				t.Fatal(err)
			}
		default:
			pass = int(sig)
		}
		var err error
		if begun {
			err = syscall.PtraceSyscall(pid, pass)
		} else {
			err = syscall.PtraceCont(pid, pass)
		}
		if err != nil && err != syscall.ESRCH { // it is dying
			t.Fatal(err)
		}
	}
}

// mortal is a layer that tests kill processes over.
type mortal struct {
	*bench
	states map[Status]map[string]string // the root's tree
	calls  map[Status]int               // of the move that leads out of a state
}

func (m mortal) task(do string) task { return task{do, m.root.Name(), filepath.Join(m.dir, "run")} }

// verbs are the moves that lead out of a state.
var verbs = map[Status]string{Held: "land", Landed: "undo"}

// newMortal makes a root and a layer by scripts, and kills the process that takes the layer at a system call.
func newMortal(t testing.TB, tree, script []step, at int) mortal {
	t.Helper()
	m := mortal{newBench(t, memory, tree...), map[Status]map[string]string{}, map[Status]int{}}
	past(t, m.root.Name())
	m.layer("run", script...)
	m.states[Held] = m.snapshot()
	die(t, m.task("take"), at)
	if m.reopen(); m.Status() == Mounted {
		m.take()
	}
	m.calls[Held] = die(t, m.task("land"), 0)
	m.states[Landed] = m.snapshot()
	m.calls[Landed] = die(t, m.task("undo"), 0)
	m.reopen()
	return m
}

// reopen opens the layer as the next process does.
func (m *mortal) reopen() {
	m.t.Helper()
	l, err := Open(filepath.Join(m.dir, "run"))
	if err != nil {
		m.t.Fatal(err)
	}
	m.Layer = l
}

// kill has the next move die at a system call, and its recovery at another where that is not 0. It returns how the root
// then differs from one that has all of the change set, or nothing of it.
func (m *mortal) kill(at, again int) string {
	m.t.Helper()
	verb := verbs[m.Status()]
	die(m.t, m.task(verb), at)
	if m.reopen(); m.Status() == Moving && again > 0 {
		die(m.t, m.task("recover"), again)
		m.reopen()
	}
	if err := m.Recover(m.root); err != nil {
		return fmt.Sprintf("%s, killed at %d: %v", verb, at, err)
	}
	if d := differences(m.snapshot(), m.states[m.Status()]); d != "" {
		return fmt.Sprintf("%s, killed at %d, recovered to %s:\n%s", verb, at, m.Status(), d)
	}
	return ""
}

// TestDeaths kills landings, undos and recoveries at random system calls: after the next recovery the root has all of
// the change set or nothing of it, and an undo is exact. R-LY-02, R-LY-04.
func TestDeaths(t *testing.T) {
	fewer(t, 20)
	rapid.Check(t, func(rt *rapid.T) {
		tree, script := drawTree(rt), drawScript(rt, "script", 1, 30)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "moments"), 0)) // rapid prefers small numbers
		m := newMortal(t, tree, script, 1+random.IntN(2000))
		defer m.close()
		defer func() {
			if rt.Failed() {
				t.Logf("tree:\n%sscript:\n%s", show(tree), show(script))
			}
		}()
		if m.Set().Empty() {
			return
		}
		for range 10 {
			most := m.calls[m.Status()]
			if d := m.kill(1+random.IntN(most), random.IntN(most)); d != "" {
				rt.Fatal(d)
			}
		}
	})
}

// TestDeathAtEachCall kills a landing and an undo at each system call, or some of them, of a change set with every kind
// of op, unwritable directories among them. R-LY-02, R-LY-04.
func TestDeathAtEachCall(t *testing.T) {
	m := newMortal(t, []step{
		{Do: "mkdir", Path: "removed", Mode: 0o755}, {Do: "create", Path: "removed/file", Mode: 0o400},
		{Do: "chmod", Path: "removed", Mode: 0o555},
		{Do: "mkdir", Path: "replaced", Mode: 0o555}, {Do: "create", Path: "file", Data: "old", Mode: 0o644},
		{Do: "mkdir", Path: "tight", Mode: 0o755}, {Do: "create", Path: "tight/file", Data: "old", Mode: 0o644},
		{Do: "chmod", Path: "tight", Mode: 0o555},
	}, []step{
		{Do: "chmod", Path: "removed", Mode: 0o755}, {Do: "rmtree", Path: "removed"},
		{Do: "rmtree", Path: "replaced"}, {Do: "mkdir", Path: "replaced", Mode: 0o755},
		{Do: "create", Path: "replaced/file", Mode: 0o644}, {Do: "chmod", Path: "replaced", Mode: 0o555},
		{Do: "append", Path: "file", Data: "new", Mode: 0o644}, {Do: "append", Path: "tight/file", Data: "new", Mode: 0o644},
		{Do: "chmod", Path: "tight", Mode: 0o755}, {Do: "symlink", Path: "tight/link", Data: "file"},
		{Do: "chmod", Path: "tight", Mode: 0o500},
	}, 0)
	defer m.close()
	stride := max(2000/cases(t), 1)
	for start := range 2 {
		for at := 1 + start; at <= m.calls[m.Status()]; at += stride {
			if d := m.kill(at, 0); d != "" {
				t.Fatal(d)
			}
			if start == 0 && m.Status() == Landed || start == 1 && m.Status() == Held {
				die(t, m.task(verbs[m.Status()]), 0)
				m.reopen()
			}
		}
		if m.Status() == Held {
			die(t, m.task("land"), 0)
			m.reopen()
		}
	}
}
