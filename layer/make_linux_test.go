package layer

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestAdopt makes a layer of a spare one: its conflicts begin then, and it shows the root as it is then, or it fails
// and leaves both as they were. R-LY-01.
func TestAdopt(t *testing.T) {
	b := newBench(t, disk, file("a", "old"), file("b", "old"))
	t.Cleanup(b.close)
	spare, dir := filepath.Join(b.dir, "spare"), filepath.Join(b.dir, "run")
	if err := NewSpare(spare, b.root); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(b.root.Name(), 0o711); err != nil {
		t.Fatal(err)
	}
	if l, err := Adopt(dir, spare, b.root); err == nil {
		t.Errorf("adopted a spare layer with another mode: %v", l.Status())
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("a layer is left of a spare one that was not adopted")
	}
	if err := os.Chmod(b.root.Name(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.at("b"), []byte("theirs"), 0o600); err != nil { // before the run begins
		t.Fatal(err)
	}
	past(t, b.root.Name())
	if err := os.Chtimes(b.root.Name(), time.Time{}, time.Unix(1e9, 7)); err != nil {
		t.Fatal(err)
	}
	l, err := Adopt(dir, spare, b.root)
	if err != nil {
		t.Fatal(err)
	}
	if !l.Untouched(b.root) {
		t.Error("the layer's root has other metadata or times than the root")
	}
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(l.Upper(), name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(b.at("a"), []byte("theirs"), 0o600); err != nil { // after that
		t.Fatal(err)
	}
	if l, err = Open(dir); err != nil {
		t.Fatal(err)
	}
	if err := l.Take(b.root); err != nil {
		t.Fatal(err)
	}
	if c := l.Set().Conflicts; len(c) != 1 || c[0].Path != "a" {
		t.Errorf("conflicts: %v, want one at a", c)
	}
}
