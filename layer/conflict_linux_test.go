package layer

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestSecondWriter has another program change the root by a script of its own while the layer's runs, before it is
// taken, or before it lands. If the layer lands, each of the other's changes is in the root as it was; if not, the root
// is as the other left it. R-LY-03.
func TestSecondWriter(t *testing.T) {
	fewer(t, 2)
	landings := 0
	rapid.Check(t, func(rt *rapid.T) {
		tree, script, other := drawTree(rt), drawScript(rt, "script", 1, 10), drawScript(rt, "other", 1, 4)
		when := rapid.IntRange(0, 2).Draw(rt, "when")
		b := newBench(t, tree...)
		defer b.close()
		defer func() {
			if rt.Failed() {
				t.Logf("tree:\n%sscript:\n%sother, at %d:\n%s", show(tree), show(script), when, show(other))
			}
		}()
		past(t, b.root.Name())
		before := b.snapshot()
		write := func(at int) {
			if when == at {
				order{Dir: b.root.Name(), Script: other}.run(t)
			}
		}
		b.layerWith("run", func() { write(0) }, script...)
		write(1)
		b.take()
		write(2)
		left := b.snapshot()
		err := b.Land(b.root, yes)
		var conflict *ConflictError
		if err != nil {
			if !errors.As(err, &conflict) {
				rt.Fatal(err)
			}
			if d := differences(b.snapshot(), left); d != "" {
				rt.Fatalf("not landed, yet different: %v\n%s", err, d)
			}
			return
		}
		landings++
		landed := b.snapshot()
		for name, text := range left {
			if before[name] != text && landed[name] != text && !strings.HasPrefix(text, "dir ") {
				rt.Fatalf("landed over a change of %q:\n  left   %s\n  landed %s", name, text, landed[name])
			}
		}
		for name := range before {
			if _, there := left[name]; there {
				continue
			}
			if _, there := landed[name]; there {
				rt.Fatalf("landed over a removal of %q: %s", name, landed[name])
			}
		}
		if err := b.Undo(b.root); err != nil {
			rt.Fatal(err)
		}
		for name, d := range left {
			if now := b.snapshot(); now[name] != d && !strings.HasPrefix(d, "dir ") {
				rt.Fatalf("undone, yet different %q:\n  left   %s\n  undone %s", name, d, now[name])
			}
		}
	})
	if landings == 0 {
		t.Error("no layer landed beside another writer")
	}
}
