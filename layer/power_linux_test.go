package layer

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func init() {
	if os.Getenv(powerVariable) != "" {
		syncfs = func(fd int) error { return unix.Fsetxattr(fd, flushAttribute, nil, 0) }
	}
}

const powerVariable = "LAYER_TEST_POWER"

// TestPowerCuts cuts the power of the file system that root and layer are on at random changes of it, in takings,
// landings and undos: after the next recovery the root has all of the change set or nothing of it, nothing of either is
// lost, and the other state can be had. Only root can mount a file system in user space without a program for it.
// R-LY-02, R-LY-04.
func TestPowerCuts(t *testing.T) {
	if _, err := os.Stat("/dev/fuse"); err != nil || os.Geteuid() != 0 {
		t.Log("left out: it wants /dev/fuse and root; CI runs this as root")
		return
	}
	t.Setenv(powerVariable, "1")
	fewer(t, 5)
	cuts := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		lists := func(s step) bool { return s.Do == "acl" } // which the file system does not have
		tree := slices.DeleteFunc(drawTree(rt), lists)
		script := slices.DeleteFunc(drawScript(rt, "script", 1, 20), lists)
		seed := rapid.Uint64().Draw(rt, "moments")
		defer func() {
			if rt.Failed() {
				t.Logf("tree:\n%sscript:\n%s", show(tree), show(script))
			}
		}()
		p := newPowerBench(t, tree, script, seed, cuts)
		defer p.close()
		if p.states[Landed] == nil {
			return
		}
		for range 10 {
			if d := p.cutOnce(); d != "" {
				rt.Fatal(d)
			}
		}
	})
	for _, what := range []string{"take: mounted", "land: held", "land: moving", "undo: landed", "undo: moving"} {
		if cuts[what] == 0 && !testing.Short() { // so few trees may miss one
			t.Errorf("no power cut had %s: %v", what, cuts)
		}
	}
	t.Logf("power cuts: %v", cuts)
}

// powerBench is a root and a layer on a file system whose power can be cut.
type powerBench struct {
	mortal
	fs      *powerFS
	unmount func()
	random  *rand.Rand
	most    int            // changes that a move makes, about
	cuts    map[string]int // by the move that was cut off, and what it left
}

// newPowerBench makes a layer by an overlay, and moves it with its root to the file system. It cuts the power when the
// layer is taken.
func newPowerBench(t *testing.T, tree, script []step, seed uint64, cuts map[string]int) *powerBench {
	t.Helper()
	made := newBench(t, memory, tree...)
	defer made.close()
	past(t, made.root.Name())
	made.layer("run", script...)
	dir, err := os.MkdirTemp("", "power")
	if err != nil {
		t.Fatal(err)
	}
	p := &powerBench{fs: newPowerFS(seed), random: rand.New(rand.NewPCG(seed, 2)), cuts: cuts}
	p.mortal = mortal{&bench{t: t, dir: dir}, map[Status]map[string]string{}, map[Status]int{}}
	p.start()
	copyAll(t, made.root.Name(), dir+"/root")
	root, err := os.Open(dir + "/root")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(dir+"/run", root); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(dir + "/run/upper"); err != nil {
		t.Fatal(err)
	}
	copyAll(t, made.Upper(), dir+"/run/upper")
	root.Close()
	p.fs.mu.Lock()
	p.fs.flush(true)
	p.fs.mu.Unlock()
	p.states[Held] = snapshot(t, dir+"/root")
	made.take()
	if p.most = 12 + 2*len(made.Set().Ops) + 2*len(made.Set().Dirs); !made.Set().Empty() {
		made.land()
		p.states[Landed] = made.snapshot()
	}
	for range 3 {
		if status := p.cut("take", 1+p.random.IntN(25)); status != Mounted {
			break
		}
	}
	if p.status() == Mounted {
		p.cut("take", 0)
	}
	return p
}

func copyAll(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", "-T", "--sparse=never", "--", from, to).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
}

func (p *powerBench) start() { p.unmount = p.fs.mount(p.t, p.dir) }

func (p *powerBench) close() {
	p.unmount()
	if err := os.Remove(p.dir); err != nil {
		p.t.Error(err)
	}
}

func (p *powerBench) task(do string) task { return task{do, p.dir + "/root", p.dir + "/run"} }

// cut does a move and cuts the power at a change of the file system; 0 cuts none. It returns the layer's status then.
func (p *powerBench) cut(do string, at int) Status {
	p.t.Helper()
	p.fs.mu.Lock()
	p.fs.left = at
	p.fs.mu.Unlock()
	o := p.task(do)
	out, err := order{Task: &o}.command().CombinedOutput()
	p.fs.mu.Lock()
	cut := p.fs.cut
	p.fs.left = 0
	p.fs.mu.Unlock()
	if err != nil && !cut {
		p.t.Fatalf("%s: %v: %s", do, err, out)
	}
	if cut {
		p.unmount()
		p.fs.restart()
		p.start()
		p.cuts[do+": "+string(p.status())]++
	}
	return p.status()
}

func (p *powerBench) status() Status {
	p.t.Helper()
	l, err := Open(filepath.Join(p.dir, "run"))
	if err != nil {
		p.t.Fatal(err)
	}
	return l.Status()
}

// cutOnce cuts the power in the move that leads out of the present state, and now and then in its recovery. It returns
// how the root then differs from one that has all of the change set, or nothing of it.
func (p *powerBench) cutOnce() string {
	p.t.Helper()
	verb := verbs[p.status()]
	at := 1 + p.random.IntN(p.most)
	for status := p.cut(verb, at); status == Moving; {
		if p.random.IntN(2) == 0 {
			status = p.cut("recover", 1+p.random.IntN(p.most))
		} else {
			status = p.cut("recover", 0)
		}
	}
	if d := differences(snapshot(p.t, p.dir+"/root"), p.states[p.status()]); d != "" {
		return fmt.Sprintf("%s, cut at change %d, is %s:\n%s", verb, at, p.status(), d)
	}
	return ""
}
