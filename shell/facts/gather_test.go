package facts

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sandboxd/shell"
)

func mkfifo(name string) error { return syscall.Mkfifo(name, 0o600) }

func gather(t *testing.T, o Options, queries ...shell.FactQuery) shell.Facts {
	t.Helper()
	return Gather(context.Background(), o, shell.Facts{}, queries)
}

// R-SH-07: links that leave, and .. behind them, are followed as the kernel does.
func TestPaths(t *testing.T) {
	dir := temp(t)
	write(t, dir+"/p/a", "a")
	write(t, dir+"/out/sub/x", "x")
	must(t, os.Symlink("../out/sub", dir+"/p/link"))
	must(t, os.Symlink(dir+"/out", dir+"/p/abs"))
	must(t, os.Symlink("loop", dir+"/p/loop"))
	must(t, mkfifo(dir+"/p/fifo"))
	for name, want := range map[string]shell.PathFact{
		"/p/a":              {Real: dir + "/p/a", Exists: true},
		"/p/./a":            {Real: dir + "/p/a", Exists: true},
		"/p/link":           {Real: dir + "/out/sub", Exists: true, Dir: true},
		"/p/link/x":         {Real: dir + "/out/sub/x", Exists: true},
		"/p/link/../sub/x":  {Real: dir + "/out/sub/x", Exists: true},
		"/p/link/..":        {Real: dir + "/out", Exists: true, Dir: true},
		"/p/abs/new":        {Real: dir + "/out/new"},
		"/p/new/../a":       {Real: dir + "/p/a"},
		"/p/a/b":            {Real: dir + "/p/a/b"},
		"/p/fifo":           {Real: dir + "/p/fifo", Exists: true, Special: true},
		"/p/nosuch/further": {Real: dir + "/p/nosuch/further"},
	} {
		got := gather(t, Options{}, shell.FactQuery{Kind: shell.FactPath, Name: dir + name}).Paths[dir+name]
		if got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	for _, name := range []string{dir + "/p/loop", "relative"} {
		if got := gather(t, Options{}, shell.FactQuery{Kind: shell.FactPath, Name: name}).Paths[name]; got.Err == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestGlobs(t *testing.T) {
	dir := temp(t)
	for _, n := range []string{"a.go", "b.go", ".hidden.go", "c.txt", "s/d.go", "s/e.go", "we[i]rd.go"} {
		write(t, dir+"/p/"+n, "x")
	}
	write(t, dir+"/secret", "x")
	must(t, os.Symlink(dir+"/secret", dir+"/p/z.go"))
	write(t, dir+"/out/x", "x")
	must(t, os.Mkdir(dir+"/out/sub", 0o755))
	must(t, os.Symlink(dir+"/out/sub", dir+"/p/out"))
	for pattern, want := range map[string][]string{
		"/p/*.go":      {"/p/a.go", "/p/b.go", "/p/we[i]rd.go", "/secret"},
		"/p/[ab].go":   {"/p/a.go", "/p/b.go"},
		"/p/s/?.go":    {"/p/s/d.go", "/p/s/e.go"},
		"/p/*/d.go":    {"/p/s/d.go"}, // the others are not there
		"/p/nosuch*":   nil,
		"/nosuch/*":    nil,
		"/p/.*.go":     {"/p/.hidden.go"},
		"/p/we\\[*.go": {"/p/we[i]rd.go"},
		"/p/[!ab].go":  {"/secret"}, // z.go, which is a link
		"/p/[\\!a].go": {"/p/a.go"},
		"/p/out/../*":  {"/out/sub", "/out/x"}, // out is a link to out/sub
		"/p/.*":        {"", "/p", "/p/.hidden.go"},
	} {
		f := gather(t, Options{}, shell.FactQuery{Kind: shell.FactGlob, Name: dir + pattern}).Globs[dir+pattern]
		var got []string
		for _, r := range f.Real {
			got = append(got, strings.TrimPrefix(r, dir))
		}
		slices.Sort(got)
		if f.Err != "" || !slices.Equal(got, want) {
			t.Errorf("%s: %v %s, want %v", pattern, got, f.Err, want)
		}
	}
}

func TestBinaries(t *testing.T) {
	dir := temp(t)
	write(t, dir+"/user/tool", "#!/bin/sh\n")
	must(t, os.Chmod(dir+"/user/tool", 0o755))
	write(t, dir+"/user/text", "x")
	o := Options{UserPath: []string{dir + "/user"}}
	f := gather(t, o, shell.FactQuery{Kind: shell.FactBinary, Name: "sh"},
		shell.FactQuery{Kind: shell.FactBinary, Name: "tool"}, shell.FactQuery{Kind: shell.FactBinary, Name: "text"},
		shell.FactQuery{Kind: shell.FactBinary, Name: "./tool"}).Binaries
	if b := f["sh"]; b.Path == "" || b.Real == "" || b.Writable {
		t.Errorf("sh: %+v", b)
	}
	if b := f["tool"]; b.Path != dir+"/user/tool" || !b.Writable {
		t.Errorf("tool: %+v", b)
	}
	if b := f["text"]; b.Path != "" {
		t.Errorf("a file that is not executable: %+v", b)
	}
	if b := f["./tool"]; !b.Writable {
		t.Errorf("a path: %+v", b)
	}
	// A hit in a directory that others may write is no program of the system.
	must(t, os.Chmod(dir+"/user", 0o777))
	f = gather(t, Options{SearchPath: []string{dir + "/user"}},
		shell.FactQuery{Kind: shell.FactBinary, Name: "tool"}).Binaries
	if !f["tool"].Writable {
		t.Errorf("in a writable directory: %+v", f["tool"])
	}
}

// R-AP-05: what a command executes is known by its hash.
func TestContents(t *testing.T) {
	dir := temp(t)
	write(t, dir+"/a", "hello")
	must(t, mkfifo(dir+"/fifo"))
	q := func(n string) shell.ContentFact {
		return gather(t, Options{MaxContent: 10}, shell.FactQuery{Kind: shell.FactContent, Name: n}).Contents[n]
	}
	one := q(dir + "/a")
	if !one.Exists || one.Hash == "" {
		t.Errorf("%+v", one)
	}
	write(t, dir+"/a", "hellO")
	if two := q(dir + "/a"); two.Hash == one.Hash {
		t.Error("another content has the same hash")
	}
	write(t, dir+"/a", strings.Repeat("x", 11))
	for _, n := range []string{dir + "/a", dir + "/fifo"} {
		if f := q(n); f.Err == "" {
			t.Errorf("%s: %+v", n, f)
		}
	}
	if f := q(dir + "/nosuch"); f.Exists || f.Err != "" {
		t.Errorf("%+v", f)
	}
}

// Too late, or too much, is an answer that asks.
func TestBounds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	queries := []shell.FactQuery{{Kind: shell.FactPath, Name: "/usr"}, {Kind: shell.FactGlob, Name: "/usr/*"},
		{Kind: shell.FactGit, Name: "/usr"}, {Kind: shell.FactBinary, Name: "sh"},
		{Kind: shell.FactContent, Name: "/etc/passwd"}}
	f := Gather(ctx, Options{Timeout: time.Minute}, shell.Facts{}, queries)
	if f.Paths["/usr"].Err == "" || f.Globs["/usr/*"].Err == "" || f.Git["/usr"].Err == "" || !f.Binaries["sh"].Writable ||
		f.Contents["/etc/passwd"].Err == "" {
		t.Errorf("%+v", f)
	}
}

// What was known stays, and is not changed.
func TestKnown(t *testing.T) {
	known := shell.Facts{Paths: map[string]shell.PathFact{"/x": {Real: "/y"}}}
	f := Gather(context.Background(), Options{}, known, []shell.FactQuery{{Kind: shell.FactPath, Name: "/usr"}})
	if f.Paths["/x"].Real != "/y" || f.Paths["/usr"].Err != "" || len(known.Paths) != 1 {
		t.Errorf("%+v, %+v", f, known)
	}
}

// Configurations that include one another again and again take no more time than there is (R-SH-07).
func TestEndlessIncludes(t *testing.T) {
	dir := repo(t)
	text := strings.Repeat("# "+strings.Repeat("x", 1000)+"\n", 900)
	for i := range 20 {
		name := dir + "/.git/config"
		if i > 0 {
			name += strconv.Itoa(i)
		}
		next := strconv.Itoa(i + 1)
		write(t, name, text+"[include]\n\tpath = config"+next+"\n\tpath = config"+next+"\n")
	}
	start := time.Now()
	f := gather(t, Options{Timeout: 100 * time.Millisecond}, shell.FactQuery{Kind: shell.FactGit, Name: dir})
	if took := time.Since(start); f.Git[dir].Err == "" || took > time.Minute {
		t.Errorf("%q, after %v", f.Git[dir].Err, took)
	}
}

// A directory of which not everything is read has not been looked through.
func TestEntries(t *testing.T) {
	dir := temp(t)
	write(t, dir+"/a", "")
	write(t, dir+"/b", "")
	if names, err := entries(dir, 2); err != nil || len(names) != 2 {
		t.Errorf("got %v, %v", names, err)
	}
	if names, err := entries(dir, 1); err == nil {
		t.Errorf("got %v, without an error", names)
	}
}

// R-SH-07: a command that follows the links it finds in a directory is harmless inside the sandbox only; one whose
// directory is a link that leaves the project asks.
func TestLinksThatLeave(t *testing.T) {
	tool, err := shell.New(shell.Config{})
	must(t, err)
	dir, home := repo(t), temp(t)
	write(t, dir+"/d/x", "x")
	write(t, dir+"/e/x", "x")
	write(t, dir+"/sub/deep/x", "x")
	must(t, os.Symlink("sub/deep", dir+"/into"))
	must(t, os.Symlink(repo(t), dir+"/away"))
	for line, want := range map[string]struct {
		decision  shell.Decision
		sandboxed bool
	}{
		"diff d/x e/x":                   {shell.Auto, false},
		"diff d e":                       {shell.Auto, true},
		"diff -r d e":                    {shell.Auto, true},
		"diff -r --no-dereference d e":   {shell.Auto, false},
		"ls -LR":                         {shell.Auto, true},
		"ls -R":                          {shell.Auto, false},
		"git -C sub log":                 {shell.Auto, false},
		"git -C away log":                {shell.Ask, false},
		"cd sub && cat deep/x":           {shell.Auto, false},
		"cd -P into && cd .. && cat a.x": {shell.Ask, false},
	} {
		v, _ := Judge(context.Background(), tool, shell.Command{Line: line, Cwd: dir, Project: dir, Home: home},
			Options{Home: home})
		if v.Decision != want.decision || v.Sandboxed != want.sandboxed {
			t.Errorf("%s: %v, sandboxed %v, want %v: %s", line, v.Decision, v.Sandboxed, want, v.Why)
		}
	}
}

// R-AP-07 R-SH-06: a grant for reading under a directory is none for what a link there leads to.
func TestGrantsDoNotFollowLinks(t *testing.T) {
	tool, err := shell.New(shell.Config{})
	must(t, err)
	dir, out := repo(t), temp(t)
	write(t, dir+"/conf/.env", "x")
	write(t, out+"/private", "x")
	must(t, os.Symlink(out+"/private", dir+"/conf/link"))
	must(t, os.Symlink(dir+"/a.x", dir+"/conf/inside"))
	judge := func(line string) shell.Verdict {
		v, _ := Judge(context.Background(), tool, shell.Command{Line: line, Cwd: dir, Project: dir, Home: "/nosuch"},
			Options{Home: "/nosuch"})
		return v
	}
	asked := judge("cat conf/.env")
	if len(asked.Suggestions) == 0 || asked.Suggestions[0].Label != "cat under conf/" {
		t.Fatalf("offers %+v", asked.Suggestions)
	}
	for line, want := range map[string]bool{"cat conf/.env.local": true, "cat conf/link": false, "cat conf/l*": false,
		"cat conf/.env conf/link": false} {
		if v := judge(line); asked.Suggestions[0].Pattern.Matches("bash", v.Payload) != want || v.Decision != shell.Ask {
			t.Errorf("%s: %v, covered %v, want %v: %v", line, v.Decision, !want, want, v.Payload["paths"])
		}
	}
}
