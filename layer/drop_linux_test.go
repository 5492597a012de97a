package layer

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"testing"
	"time"
)

// drops drops a part, and opens the layer again, as a later daemon does.
func (b *bench) drops(paths ...Name) {
	b.t.Helper()
	err := b.Layer.DropPart(b.root, paths...)
	if err == nil {
		b.Layer, err = Open(b.Layer.dir)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// R-LY-05: a part that was dropped never lands, has no copy, and its conflict does not count. What has landed stays.
func TestDropPart(t *testing.T) {
	b := newBench(t, disk, step{Do: "sh", Data: "echo 1 > changed; mkdir d e; echo 1 > d/in; chmod 700 e"})
	t.Cleanup(b.close)
	b.layer("run", step{Do: "sh",
		Data: "echo 2 > changed; echo 2 > d/in; chmod 755 e; mkdir new; echo 2 > new/a; echo 2 > z"})
	b.sh("echo person > changed; chmod 711 e")
	b.take()
	if n := len(b.Layer.Conflicts()); n != 2 {
		t.Fatalf("conflicts: %v", b.Layer.Conflicts())
	}
	b.drops("changed")
	b.refuses("e")
	b.drops("e")
	if left := b.Layer.Conflicts(); len(left) != 0 {
		t.Errorf("after the drop of both conflicts: %v", left)
	}
	b.drops("new/a") // of a directory that is new as a whole
	if _, err := b.Layer.Content("new/a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the copy of what was dropped: %v", err)
	}
	if entries, _ := os.ReadDir(b.Layer.slots()); len(entries) != 2 {
		t.Errorf("slots: %v", entries)
	}
	b.land("z")
	b.land()
	got := b.sh("cat changed d/in z; stat -c %a e; ls -d new 2>&1 | grep -c 'No such'")
	if got != "person\n2\n2\n711\n1\n" {
		t.Errorf("after the landing: %q", got)
	}
	if s := b.Layer.Status(); s != Landed {
		t.Errorf("status %s", s)
	}
	err := b.Layer.Undo(b.root)
	if err != nil || b.sh("cat changed d/in; ls z 2>&1 | grep -c 'No such'") != "person\n1\n1\n" {
		t.Errorf("undo: %v", err)
	}
	if err := b.Layer.DropPart(b.root, "d", "z"); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(b.Layer.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a layer of which nothing is left: %v", err)
	}
}

// R-LY-10: what conflicts at each of many paths costs no more than they are.
func TestConflictsOfManyPaths(t *testing.T) {
	const n = 100_000
	l := &Layer{set: &Set{}, state: state{Taken: true, At: make([]bool, n), Dropped: make([]bool, n)}}
	for i := range n {
		at := join("d", Name(itoa(i)))
		l.set.Ops = append(l.set.Ops, Op{Path: at, New: []Node{{Path: ".", State: State{Kind: File}}}})
		l.set.Conflicts = append(l.set.Conflicts, Note{at, "changed"})
	}
	l.state.Dropped[n-1] = true
	start := time.Now()
	conflicts := l.Conflicts()
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("%d conflicts take %v", n, took)
	}
	if len(conflicts) != n-1 || slices.Contains(conflicts, l.set.Conflicts[n-1]) {
		t.Errorf("%d conflicts", len(conflicts))
	}
}
