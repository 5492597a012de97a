package layer

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sandboxd/git"
)

// elements of the names in generated trees.
var elements = []string{"a", "b", "c", "d", "new\nline", "\xff\xfe", "-rf", " "}

func drawName(t *rapid.T, label string) Name {
	depth := rapid.IntRange(1, 3).Draw(t, label+"-depth")
	name := ""
	for range depth {
		name += "/" + rapid.SampledFrom(elements).Draw(t, label)
	}
	return Name(name[1:])
}

func drawStep(t *rapid.T) step {
	s := step{Path: drawName(t, "path")}
	s.Do = rapid.SampledFrom([]string{
		"create", "create", "append", "open", "truncate", "sparse", "mkdir", "mkdir", "mv", "mv", "mv", "link",
		"symlink", "chmod", "chmoddir", "xattr", "unxattr", "acl", "utimes", "rm", "rmtree", "swap", "recreate",
	}).Draw(t, "do")
	switch s.Do {
	case "create", "append":
		s.Data = rapid.StringN(0, 20, -1).Draw(t, "data")
		s.Mode = rapid.SampledFrom([]uint32{0o644, 0o600, 0o755, 0o400}).Draw(t, "mode")
	case "truncate":
		s.Size = rapid.Int64Range(0, 200_000).Draw(t, "size")
	case "sparse":
		s.Size, s.Data = rapid.Int64Range(0, 1<<22).Draw(t, "size"), "end"
	case "mkdir":
		s.Mode = rapid.SampledFrom([]uint32{0o755, 0o700, 0o777}).Draw(t, "mode")
	case "mv", "link", "swap":
		s.To = drawName(t, "to")
	case "symlink":
		s.Data = rapid.SampledFrom([]string{"a", "../b", "/nonexistent/target", "nothing\xff", "."}).Draw(t, "target")
	case "chmod":
		s.Mode = rapid.SampledFrom([]uint32{0o755, 0o700, 0o555, 0o640, 0o777, 0o311, 0}).Draw(t, "mode")
	case "chmoddir":
		s.Mode = rapid.SampledFrom([]uint32{0o755, 0o700, 0o555, 0o1777, 0o2755, 0o311, 0}).Draw(t, "mode")
	case "xattr", "unxattr":
		s.Data = rapid.SampledFrom([]string{"x", "y"}).Draw(t, "name")
	case "acl":
		s.Data = rapid.SampledFrom([]string{"access", "default"}).Draw(t, "list")
	case "utimes":
		s.Time = rapid.Int64Range(0, 1_600_000_000_000_000_000).Draw(t, "time")
	}
	return s
}

// drawScript returns steps; recreate becomes the removal of an object and another in its place.
func drawScript(t *rapid.T, label string, least, most int) []step {
	var out []step
	for range rapid.IntRange(least, most).Draw(t, label) {
		s := drawStep(t)
		if s.Do != "recreate" {
			out = append(out, s)
			continue
		}
		out = append(out, step{Do: "rmtree", Path: s.Path})
		s.Do = rapid.SampledFrom([]string{"create", "mkdir", "symlink"}).Draw(t, "as")
		s.Mode, s.Data = 0o755, "again"
		out = append(out, s)
	}
	return out
}

// drawTree returns the script that makes a tree, whose times are all in the past. No file of it has two names;
// drawLinks adds such files.
func drawTree(t *rapid.T) []step {
	return withoutLinks(drawScript(t, "tree", 0, 25))
}

// withoutLinks leaves the hard links out: of an existing one a layer writes the one name only.
func withoutLinks(script []step) []step {
	return slices.DeleteFunc(script, func(s step) bool { return s.Do == "link" })
}

// past gives every object of a tree a time in the past, so that a later change of it can be seen.
func past(t testing.TB, dir string) {
	t.Helper()
	at := int64(1_500_000_000_000_000_000)
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l := lister{left: maxEntries}
	nodes, err := l.list(int(f.Fd()), ".")
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range nodes {
		if n.MTime > 1_700_000_000_000_000_000 {
			if err := setTime(int(f.Fd()), string(n.Path), at+int64(i)*1_000_000_007); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestLandsAsDirect plays generated scripts directly and in a layer: the landed tree equals the direct one, and undo
// gives the tree from before, in everything. Before the landing, After shows the landed tree. Of a file with several
// names the written one gets the new content and is reported, the others keep theirs (rule 13): the direct tree has a
// file of its own under each of them. R-LY-02, R-LY-04.
func TestLandsAsDirect(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { landsAsDirect(t, rt, 0) })
}

// TestLandsAsDirectAsUser does it as an ordinary user, whom the modes bind that the scripts give. Root looks at the
// trees. R-LY-02, R-LY-04.
func TestLandsAsDirectAsUser(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { landsAsDirect(t, rt, ordinary) })
}

// ordinary is a user without an account.
const ordinary = 54321

func landsAsDirect(t *testing.T, rt *rapid.T, user int) {
	tree, script := drawTree(rt), drawScript(rt, "script", 1, 30)
	names, linked, apart := drawLinks(rt)
	aim(rt, script, names)
	place := rapid.SampledFrom([]string{memory, memory, memory, memory, disk}).Draw(rt, "place")
	direct := newBenchOf(t, user, place, slices.Concat(tree, apart)...)
	tree = append(tree, linked...)
	layered := newBenchOf(t, user, place, tree...)
	defer direct.close()
	defer layered.close()
	past(t, direct.root.Name())
	past(t, layered.root.Name())
	before := layered.snapshot()
	if d := differences(sameFiles(direct.snapshot(), before), sameFiles(before, nil)); d != "" {
		rt.Fatalf("the trees differ before the script:\n%s", d)
	}
	defer func() {
		if rt.Failed() {
			t.Logf("tree:\n%sscript:\n%s", show(tree), show(script))
		}
	}()
	start := time.Now().Add(-time.Second)
	order{Dir: direct.root.Name(), Script: script, User: user}.run(t)
	layered.layer("run", script...)
	if d := differences(layered.snapshot(), before); d != "" {
		rt.Fatalf("the layer changed the root:\n%s", d)
	}
	layered.take()
	if d := differences(layered.snapshot(), before); d != "" {
		rt.Fatalf("taking changed the root:\n%s", d)
	}
	foreseen := through(t, layered.After(layered.root.Name(), all), layered.root.Name())
	for round := range 2 { // an undone landing can land again
		if err := layered.move("land"); err != nil {
			rt.Fatalf("round %d: %v", round, err)
		}
		if d := differences(foreseen, through(t, git.Disk, layered.root.Name())); d != "" {
			rt.Fatalf("After shows another tree than the one that landed:\n%s", d)
		}
		want, got := recent(direct.snapshot(), start), recent(layered.snapshot(), start)
		if slices.ContainsFunc(layered.Set().Altered, func(n Note) bool { return n.Path == "." }) {
			looks := strings.SplitN(want["."], " ", 3)
			want["."] = looks[0] + " 0700 " + looks[2] // see TestClosedRoot
		}
		if d := differences(sameFiles(got, nil), sameFiles(want, layered.untouched(before))); d != "" {
			rt.Fatalf("landed otherwise than directly:\n%s", d)
		}
		if missing := layered.unreported(before); len(missing) > 0 {
			rt.Fatalf("not reported: %q land under one name of several; reported: %q", missing, layered.Set().Altered)
		}
		if err := layered.move("undo"); err != nil {
			rt.Fatal(err)
		}
		if d := differences(layered.snapshot(), before); d != "" {
			rt.Fatalf("undo:\n%s", d)
		}
	}
}

// yes is a judge that refuses nothing.
func yes(Change) error { return nil }

func show(script []step) string {
	out := ""
	for _, s := range script {
		out += fmt.Sprintf("%s %q", s.Do, string(s.Path))
		if s.To != "" {
			out += " " + strconv.Quote(string(s.To))
		}
		out += "\n"
	}
	return out
}
