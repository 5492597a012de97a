package worker_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sandboxd/files"
	"sandboxd/files/filestest"
)

func read(t *testing.T, b *filestest.Bench, req files.Request) files.Result {
	t.Helper()
	r, _, err := b.Do(req)
	must(t, err)
	return r
}

func TestRead(t *testing.T) {
	b := filestest.New(t, filestest.Options{})
	b.Write("a", "0123456789")
	b.Write("text", strings.Repeat("grüße\n", 100))
	b.Write("binary", "a\x00b")
	b.Write("latin", "caf\xe9\n")
	for _, c := range []struct {
		req       files.Request
		want      string
		truncated bool
		binary    bool
	}{
		{files.Request{Path: "a"}, "0123456789", false, false},
		{files.Request{Path: "a", Limit: 4}, "0123", true, false},
		{files.Request{Path: "a", Offset: 6}, "6789", false, false},
		{files.Request{Path: "a", Offset: 2, Limit: 3}, "234", true, false},
		{files.Request{Path: "a", Offset: 99}, "", false, false},
		{files.Request{Path: "text", Limit: 3}, "gr", true, false}, // not half a character
		{files.Request{Path: "text", Limit: 4}, "grü", true, false},
		{files.Request{Path: "binary"}, "a\x00b", false, true},
		{files.Request{Path: "latin"}, "caf\xe9\n", false, true},
	} {
		c.req.Op = files.Read
		r := read(t, b, c.req)
		if string(r.Content) != c.want || r.Truncated != c.truncated || r.Binary != c.binary {
			t.Errorf("%+v: got %q, truncated %v, binary %v", c.req, r.Content, r.Truncated, r.Binary)
		}
		if r.Hash != files.Sum([]byte(b.Content(c.req.Path))) || r.Size != int64(len(b.Content(c.req.Path))) {
			t.Errorf("%+v: hash %s, size %d", c.req, r.Hash, r.Size)
		}
	}
	_, _, err := b.Do(files.Request{Op: files.Read, Path: "a", Offset: -1})
	want(t, err, files.Invalid)
}

// A large file is read in pieces, whatever its size; what a change would have
// to hold in memory is refused (R-FS-07).
func TestReadLarge(t *testing.T) {
	cfg := files.Defaults()
	cfg.MaxFile = 1000
	b := filestest.New(t, filestest.Options{Config: &cfg})
	b.Write("large", strings.Repeat("line\n", 1000))
	r := read(t, b, files.Request{Op: files.Read, Path: "large", Offset: 4990})
	if string(r.Content) != "line\nline\n" || r.Truncated || r.Hash != "" || r.Size != 5000 {
		t.Errorf("got %q, %+v", r.Content, r)
	}
	_, _, err := b.Do(files.Request{Op: files.Edit, Path: "large", Edits: []files.Replacement{{Find: "x", Replace: "y"}}})
	want(t, err, files.TooLarge)
	_, _, err = b.Do(files.Request{Op: files.Create, Path: "new", Content: make([]byte, 1001)})
	want(t, err, files.TooLarge)
}

func names(root string, list []files.Info) string {
	var out []string
	for _, e := range list {
		rel, _ := filepath.Rel(root, e.Path)
		out = append(out, rel+":"+string(e.Kind))
	}
	return strings.Join(out, " ")
}

// Listing and searching respect hidden paths, bounds, and other sandboxes.
func TestListAndGrep(t *testing.T) {
	yes := true
	cfg := files.Defaults()
	cfg.Hidden = append(cfg.Hidden, "secret")
	cfg.Paths = map[string]files.Sandbox{
		"project": {Root: ".", Mode: "rw"},
		"asked":   {Root: "asked", Mode: "ro", ReadApproval: &yes},
		"only":    {Root: "only", Mode: "ro", Suffixes: []string{".txt"}},
	}
	root := filepath.Join(t.TempDir(), "root")
	must(t, os.MkdirAll(filepath.Join(root, "asked"), 0o755))
	must(t, os.MkdirAll(filepath.Join(root, "only"), 0o755))
	b := filestest.New(t, filestest.Options{Config: &cfg, Root: root})
	with("a.txt", "needle one\n", "b.go", "hay\nNeedle\nneedle two\nhay\nhay\nneedle three\n", "d/c.txt", "needle four\r\n",
		"d/secret/x.txt", "needle hidden\n", "secret", "needle hidden\n", "asked/q.txt", "needle asked\n", "bin", "needle\x00\n",
		".git/config", "needle git\n", "only/n.txt", "x\n", "only/n.md", "needle\n", "long", "needle "+strings.Repeat("x", 10_000)+"\n")(b)
	must(t, os.Symlink("a.txt", filepath.Join(root, "link")))
	must(t, os.Link(filepath.Join(root, "bin"), filepath.Join(root, "hard")))

	r := read(t, b, files.Request{Op: files.List, Path: "."})
	if got, want := names(root, r.Entries), ".git:dir a.txt:file asked:dir b.go:file bin:file d:dir hard:file link:symlink long:file only:dir"; got != want {
		t.Errorf("list:\ngot  %s\nwant %s", got, want)
	}
	if i := r.Entries[7]; i.Target != "a.txt" {
		t.Errorf("the link's target is %q", i.Target)
	}
	r = read(t, b, files.Request{Op: files.List, Path: ".", Recursive: true, Glob: "*.txt"})
	if got, want := names(root, r.Entries), "a.txt:file d/c.txt:file"; got != want {
		t.Errorf("recursive list:\ngot  %s\nwant %s", got, want)
	}
	r = read(t, b, files.Request{Op: files.List, Path: ".", Limit: 3})
	if len(r.Entries) != 3 || !r.Truncated {
		t.Errorf("a bounded list: %d entries, truncated %v", len(r.Entries), r.Truncated)
	}

	r = read(t, b, files.Request{Op: files.Grep, Path: ".", Pattern: "needle", Recursive: true})
	var got []string
	for _, m := range r.Matches {
		rel, _ := filepath.Rel(root, m.Path)
		text := m.Text
		if m.Clipped {
			text = text[:10] + "…"
		}
		got = append(got, fmt.Sprintf("%s:%d:%s", rel, m.Line, text))
	}
	want := "a.txt:1:needle one b.go:3:needle two b.go:6:needle three d/c.txt:1:needle four long:1:needle xxx…"
	if strings.Join(got, " ") != want {
		t.Errorf("grep:\ngot  %s\nwant %s", strings.Join(got, " "), want)
	}
	if fmt.Sprint(r.Skipped) != "map[hard link:2]" {
		t.Errorf("skipped: %v", r.Skipped)
	}
	must(t, os.Remove(filepath.Join(root, "hard")))
	r = read(t, b, files.Request{Op: files.Grep, Path: ".", Pattern: "needle", Glob: "b*"})
	if fmt.Sprint(r.Skipped) != "map[binary:1]" || len(r.Matches) != 2 {
		t.Errorf("not recursive: %v, skipped %v", r.Matches, r.Skipped)
	}
	r = read(t, b, files.Request{Op: files.Grep, Path: "only", Pattern: "."})
	if fmt.Sprint(r.Skipped) != "map[suffix:1]" || len(r.Matches) != 1 {
		t.Errorf("suffixes: %v, skipped %v", r.Matches, r.Skipped)
	}
	r = read(t, b, files.Request{Op: files.Grep, Path: "b.go", Pattern: "needle two", Context: 1})
	if len(r.Matches) != 3 || r.Matches[0].Text != "Needle" || !r.Matches[0].Context || r.Matches[1].Context || r.Matches[2].Line != 4 {
		t.Errorf("context: %+v", r.Matches)
	}
	r = read(t, b, files.Request{Op: files.Grep, Path: "b.go", Pattern: "(?i)needle", Limit: 2})
	if len(r.Matches) != 2 || !r.Truncated {
		t.Errorf("a bounded search: %v, truncated %v", r.Matches, r.Truncated)
	}
	for _, req := range []files.Request{
		{Op: files.Grep, Path: ".", Pattern: "("}, {Op: files.Grep, Path: "."}, {Op: files.Grep, Path: ".", Pattern: "x", Context: 99}, {Op: files.List, Path: ".", Glob: "["},
	} {
		if _, _, err := b.Do(req); answer(err) != string(files.Invalid) {
			t.Errorf("%+v: %v", req, err)
		}
	}
	for _, p := range []string{"secret", "d/secret", "d/secret/x.txt", "d/SECRET"} {
		for _, op := range []files.Op{files.Read, files.List, files.Stat, files.Grep} {
			if _, _, err := b.Do(files.Request{Op: op, Path: p, Pattern: "x"}); answer(err) != string(files.Forbidden) {
				t.Errorf("%s of %s: %v", op, p, err)
			}
		}
	}
}

func TestStat(t *testing.T) {
	b := filestest.New(t, filestest.Options{})
	linked("l", "a")(b)
	if i := read(t, b, files.Request{Op: files.Stat, Path: "a"}).Info; i.Kind != files.File || i.Size != 6 ||
		i.Mode != 0o644 || i.Links != 1 {
		t.Errorf("a file: %+v", i)
	}
	if i := read(t, b, files.Request{Op: files.Stat, Path: "l"}).Info; i.Kind != files.Symlink || i.Target != "a" {
		t.Errorf("a link: %+v", i)
	}
	if i := read(t, b, files.Request{Op: files.Stat, Path: "."}).Info; i.Kind != files.Dir {
		t.Errorf("the root: %+v", i)
	}
}

// hard_links = "read" permits reading and nothing else.
func TestHardLinksRead(t *testing.T) {
	cfg := files.Defaults()
	cfg.HardLinks = "read"
	b := filestest.New(t, filestest.Options{Config: &cfg})
	b.Write("a", "x")
	must(t, os.Link(filepath.Join(b.Root, "a"), filepath.Join(b.Root, "b")))
	if r := read(t, b, files.Request{Op: files.Read, Path: "a"}); string(r.Content) != "x" {
		t.Errorf("got %q", r.Content)
	}
	for _, req := range []files.Request{
		{Op: files.Write, Path: "a", Content: []byte("y")}, {Op: files.Delete, Path: "a"},
		{Op: files.Move, Path: "a", To: "c"},
	} {
		if _, _, err := b.Do(req); answer(err) != string(files.ManyNames) {
			t.Errorf("%s: %v", req.Op, err)
		}
	}
}

// What is more than a frame holds is refused, and the worker lives on.
func TestAnswerTooLarge(t *testing.T) {
	b := filestest.New(t, filestest.Options{})
	lines := strings.Repeat(strings.Repeat("\x01", 500)+"\n", 6) // six bytes each in JSON
	b.Write("a", strings.Repeat("text\n", 2000)+strings.Repeat("needle\n"+lines, 5000))
	_, _, err := b.Do(files.Request{Op: files.Grep, Path: "a", Pattern: "needle", Limit: 5000, Context: 6})
	want(t, err, files.TooLarge)
	b.Write("b", "needle\n")
	if r := read(t, b, files.Request{Op: files.Grep, Path: "b", Pattern: "needle"}); len(r.Matches) != 1 {
		t.Errorf("afterwards: %+v", r)
	}
}

// A folder of very many folders is too large to be taken away.
func TestManyFolders(t *testing.T) {
	b := filestest.New(t, filestest.Options{})
	for i := range 20 {
		b.Write(fmt.Sprintf("many/0/%d", i), "x")
	}
	for i := range 9_990 {
		must(t, os.Mkdir(filepath.Join(b.Root, "many", fmt.Sprint(i+1)), 0o755))
	}
	_, _, err := b.Do(files.Request{Op: files.Rmdir, Path: "many", Recursive: true})
	want(t, err, files.TooLarge)
}

// A file that grows meanwhile, such as a log, is read: reading does not depend on its size.
func TestReadWhatGrows(t *testing.T) {
	b := filestest.New(t, filestest.Options{})
	for _, req := range []files.Request{
		{Op: files.Read, Path: "a"}, {Op: files.Stat, Path: "a"}, {Op: files.Grep, Path: "a", Pattern: "line"},
	} {
		b.Write("a", "line\n")
		ctx, cancel := b.Context()
		facts, err := b.Client.Facts(ctx, req)
		must(t, err)
		b.Write("a", "line\nline\n")
		if _, err := b.Client.Do(ctx, req, facts, nil); err != nil {
			t.Errorf("%s: %v", req.Op, err)
		}
		cancel()
	}
}

// A read error contains the operation's name.
func TestReadErrorNamesTheOperation(t *testing.T) {
	b := filestest.New(t, filestest.Options{Process: true, UID: 65534, Root: filestest.OpenFolder(t)})
	must(t, os.Mkdir(filepath.Join(b.Root, "d"), 0o755))
	b.Write("f", "x")
	closed(t, filepath.Join(b.Root, "d"))
	closed(t, filepath.Join(b.Root, "f"))
	for _, req := range []files.Request{{Op: files.List, Path: "d"}, {Op: files.Read, Path: "f"}} {
		_, _, err := b.Do(req)
		var c *files.Conflict
		if !errors.As(err, &c) || c.Op != req.Op || c.Reason != files.Forbidden {
			t.Errorf("%s: %v", req.Op, err)
		}
	}
}

// closed takes all rights to a file or folder away until the test is over.
func closed(t *testing.T, p string) {
	t.Helper()
	must(t, os.Chmod(p, 0))
	t.Cleanup(func() { must(t, os.Chmod(p, 0o700)) })
}

// A folder that is not looked into is counted: that nothing was found there says
// nothing.
func TestFoldersPassedOver(t *testing.T) {
	b := filestest.New(t, filestest.Options{Process: true, UID: 65534, Root: filestest.OpenFolder(t)})
	b.Write("closed/a", "needle\n")
	closed(t, filepath.Join(b.Root, "closed"))
	b.Write(strings.Repeat("d/", 70)+"a", "needle\n")
	for _, req := range []files.Request{{Op: files.Grep, Path: ".", Pattern: "needle", Recursive: true},
		{Op: files.List, Path: ".", Recursive: true}} {
		r := read(t, b, req)
		if r.Skipped["unreadable folder"] != 1 || r.Skipped["deep folder"] != 1 {
			t.Errorf("%s: %v", req.Op, r.Skipped)
		}
	}
}
