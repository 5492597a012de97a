package layer

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestStackLandsAsDirect plays the parts of generated scripts in layers, each above the held ones before it: landed in
// their order they are equal to the script played directly, and undone in the other order to the tree from before.
// Rule 14, R-LY-05.
func TestStackLandsAsDirect(t *testing.T) {
	fewer(t, 2)
	rapid.Check(t, func(rt *rapid.T) {
		tree := drawTree(rt)
		scripts := [][]step{withoutLinks(drawScript(rt, "one", 1, 15)), withoutLinks(drawScript(rt, "two", 1, 15)),
			drawScript(rt, "three", 0, 15)}
		direct, layered := newBench(t, memory, tree...), newBench(t, memory, tree...)
		defer direct.close()
		defer layered.close()
		past(t, direct.root.Name())
		past(t, layered.root.Name())
		before := layered.snapshot()
		defer func() {
			if rt.Failed() {
				t.Logf("tree:\n%s", show(tree))
				for _, s := range scripts {
					t.Logf("script:\n%s", show(s))
				}
			}
		}()
		start := time.Now().Add(-time.Second)
		for i, s := range scripts {
			order{Dir: direct.root.Name(), Script: s}.run(t)
			layered.layer(fmt.Sprint("layer-", i), s...).take() // no link of a tree leads to that name
			if n := layered.Set().Conflicts; len(n) > 0 {
				rt.Fatalf("layer %d has conflicts: %v", i, n)
			}
			layered.held = append(layered.held, layered.Layer)
		}
		if d := differences(layered.snapshot(), before); d != "" {
			rt.Fatalf("the layers changed the root:\n%s", d)
		}
		for i, l := range layered.held {
			if err := l.Land(layered.root, yes); err != nil {
				rt.Fatalf("layer %d: %v", i, err)
			}
		}
		if d := differences(recent(layered.snapshot(), start), recent(direct.snapshot(), start)); d != "" {
			rt.Fatalf("landed otherwise than directly:\n%s", d)
		}
		for i := range layered.held {
			if err := layered.held[len(layered.held)-1-i].Undo(layered.root); err != nil {
				rt.Fatal(err)
			}
		}
		if d := differences(layered.snapshot(), before); d != "" {
			rt.Fatalf("undo:\n%s", d)
		}
	})
}

// Rule 14: a layer above a held one does not land where that did not, and what of the lower one has landed is the
// root's in a mount above it.
func TestStackedOnHeld(t *testing.T) {
	b := newBench(t, disk, file("x", "old\n"), file("y", "old\n"), file("same", "old\n"))
	t.Cleanup(b.close)
	past(t, b.root.Name())
	b.layer("one", step{Do: "sh", Data: "echo a > x; echo a > y; exec 3<> same"}).take()
	one := b.Layer
	b.held = []*Layer{one}
	if err := os.WriteFile(b.at("same"), []byte("mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.layer("two", step{Do: "sh", Data: "grep -qx mine same && grep -qx a x && echo b >> x"}).take()
	if c := b.Set().Changes(); len(c) != 1 || c[0].Path != "x" || c[0].Old.Hash == "" || c[0].New.Size != 4 {
		t.Fatalf("changes: %+v", c)
	}
	b.refuses("x")
	two := b.Layer
	if err := one.Land(b.root, yes, "y"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(one.Prune(), os.WriteFile(b.at("y"), []byte("mine\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	b.layer("three", step{Do: "sh", Data: "cat x y > z"}).take()
	for _, n := range b.Set().Ops {
		if f, err := b.Content("z"); err != nil || n.Path != "z" || read1(f) != "a\nmine\n" {
			t.Errorf("above a part that landed: %+v, %v", n.Path, err)
		}
	}
	b.Layer = two
	for _, l := range []*Layer{one, two} {
		if err := l.Land(b.root, yes); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := os.ReadFile(b.at("x")); string(got) != "a\nb\n" {
		t.Errorf("x has %q", got)
	}
}

func read1(f *os.File) string {
	defer f.Close()
	var text strings.Builder
	_, _ = f.WriteTo(&text)
	return text.String()
}
