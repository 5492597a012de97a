package acceptance

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sandboxd/ipc"
)

// R-FS-01 R-OS-02: what the file tool blocks, no command changes, and what it does not read, no command reads, whatever
// named sandboxes a configuration has. Endings of names, which no mechanism knows, are reported in the answer.
//
//   - Row 000-52 yes (by-mounts): never weaker: the OS sandbox is not less restrictive than the tools' configuration
func TestNeverWeakerThanTheFileTool(t *testing.T) {
	t.Parallel()
	t.Run("by-mounts", func(t *testing.T) {
		eachUser(t, func(t *testing.T, a *actor) {
			n := newNarrow(a)
			n.write("")
			a.start("--config", a.configFile(), "--mode", "approve-all")
			n.holds(t, 8)
		})
	})
	t.Run("by-landlock-alone", func(t *testing.T) {
		n := newNarrow(ordinaryActor(t))
		cmd := n.a.on(withoutNamespaces(), requirement{require: "false", fallback: "fail_fast"})
		n.base = "[sandbox]\nrequire_os_sandbox = [\"network\", \"syscalls\", \"privileges\"]\n"
		n.write("")
		n.a.served(t, cmd)
		n.holds(t, 8)
	})
}

// What commands get to hear where the sandboxes name only parts of the project: git, a working directory, a write, and
// endings that nothing holds, in the answer, in sbx profile explain and in sbx doctor. R-FS-01 R-OS-04 R-OS-11
//
//   - Row 000-53 yes: derive: a read-only sandbox of the tools is read-only for commands
func TestCommandsInNamedSandboxes(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.sh("mkdir -p src lib docs && echo x > lib/b && [ -e .git ] || git init -q .")
		n := narrow{a: a}
		n.write("[files.paths.src]\nroot = \"src\"\nmode = \"rw\"\nsuffixes = [\".txt\"]\n" +
			"[files.paths.docs]\nroot = \"docs\"\nmode = \"ro\"\n")
		a.start("--config", a.configFile(), "--mode", "approve-all")
		a.sbx("trust", a.project)
		for _, row := range []struct {
			args []string
			code int
			says string
		}{
			{[]string{"run", "-c", "git status"}, 128, "commands see of " + a.project + " only the sandboxes"},
			{[]string{"run", "-c", "touch src/new.bin && test -d docs"}, 0, "endings of names in "},
			{[]string{"run", "-c", "touch z"}, 1, "name its folder in [files.paths]"},
			{[]string{"run", "-c", "touch docs/z"}, 1, "sandbox \"docs\" (ro)"},
			{[]string{"run", "-c", "cat lib/b"}, 1, "No such file"},
			{[]string{"run", "--cwd", filepath.Join(a.project, "lib"), "-c", "true"}, 125, "is in none of the sandboxes"},
			{[]string{"profile", "explain", filepath.Join(a.project, "src/x")}, 0, "not held: suffixes"},
			{[]string{"doctor"}, -1, "endings of names in "},
		} {
			got := a.sbx(row.args...)
			if row.code >= 0 && got.code != row.code || !strings.Contains(got.out+got.err, row.says) {
				t.Errorf("sbx %q: want %d and %q: %v", row.args, row.code, row.says, got)
			}
		}
		a.sh("test ! -e z; test ! -e docs/z; test -e src/new.bin")
	})
}

// narrow is a project of which configurations name parts.
type narrow struct {
	a       *actor
	outside string // a folder that is no part of the project
	base    string // [sandbox] of every configuration, up to its last key
	agent   fileAgent
	person  *ipc.Client
	written int // how often a command changed what the file tool does not block
}

func newNarrow(a *actor) *narrow {
	outside, err := os.MkdirTemp(a.home, "narrow-")
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { os.RemoveAll(outside) })
	a.chown(outside)
	return &narrow{a: a, outside: outside, base: "[sandbox]\n"}
}

// folders are what can be named, absent ones and links included.
func (n *narrow) folders() []string {
	inside := []string{".", "src", "src/gen", "src/gen/cache", "docs", "link", "docs/api", "lib", "absent", ".git"}
	return append(inside, n.outside, n.outside+"/a")
}

// plant makes the tree as it is before each command. Each file's content is its path.
func (n *narrow) plant() {
	dirs := []string{"", "src/", "src/gen/", "src/gen/cache/", "docs/", "docs/api/", "lib/",
		n.outside + "/", n.outside + "/a/", n.outside + "/b/"}
	var script strings.Builder
	fmt.Fprintf(&script, "rm -rf src docs lib absent link old.* new.* '%s'/*\nmkdir -p", n.outside)
	for _, d := range dirs[1:] {
		fmt.Fprintf(&script, " '%s'", d)
	}
	script.WriteString("\nln -s docs link\n[ -e .git ] || git init -q .\n")
	for _, d := range dirs {
		for _, name := range []string{"old.txt", "old.bin"} {
			fmt.Fprintf(&script, "echo 'secret-of-%[1]s' > '%[1]s'\n", d+name)
		}
	}
	n.a.sh(script.String())
}

// paths returns the paths that commands try: existing and new names in each folder.
func (n *narrow) paths() (list []string) {
	for _, d := range append(n.folders(), n.outside+"/b") {
		for _, name := range []string{"old.txt", "old.bin", "new.txt"} {
			list = append(list, filepath.Join(d, name))
		}
	}
	return list
}

func (n *narrow) write(config string) {
	n.a.do(strings.NewReader(n.base+config), "/bin/sh", "-c", "umask 077; cat > "+n.a.configFile())
}

// config draws named sandboxes and further paths.
func (n *narrow) config(t *rapid.T) (text string, further []string) {
	var b strings.Builder
	list := func(key string) {
		if rapid.IntRange(0, 3).Draw(t, "has "+key) == 0 {
			p := rapid.SampledFrom([]string{"lib", "docs", "src/gen", n.outside + "/b"}).Draw(t, key)
			further = append(further, p)
			fmt.Fprintf(&b, "%s = [%q]\n", key, p)
		}
	}
	list("read")
	list("write")
	names := rapid.SliceOfNDistinct(rapid.SampledFrom(n.folders()), 1, 4, rapid.ID[string]).Draw(t, "roots")
	for i, root := range names {
		mode := rapid.SampledFrom([]string{"ro", "rw", "rw"}).Draw(t, "mode")
		fmt.Fprintf(&b, "[files.paths.s%d]\nroot = %q\nmode = %q\n", i, root, mode)
		if rapid.IntRange(0, 4).Draw(t, "has suffixes") == 0 {
			b.WriteString("suffixes = [\".txt\"]\n")
		}
	}
	return b.String(), further
}

func (n *narrow) holds(t *testing.T, checks int) {
	peer := n.a.personPeer("ann", true)
	n.person = &peer.approver
	if _, err := n.person.Trust(t.Context(), ipc.TrustRequest{Dir: n.a.project}); err != nil {
		t.Fatal(err)
	}
	n.agent = n.a.fileAgent(n.a.agentPeer("editor"), ipc.KindAPI)
	settings := map[string]string{"rapid.checks": fmt.Sprint(checks), "rapid.shrinktime": "5s", "rapid.nofailfile": "true"}
	for name, value := range settings {
		before := flag.Lookup(name).Value.String()
		flag.Set(name, value)
		defer flag.Set(name, before)
	}
	rapid.Check(t, n.check)
	if n.written == 0 {
		t.Error("no command could change anything: the property says nothing")
	}
}

// tried is what the file tool says of a path.
type tried struct {
	changes, reads, suffix, unnamed bool
}

func (n *narrow) check(t *rapid.T) {
	config, further := n.config(t)
	n.plant()
	n.write(config)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := n.person.Reload(ctx); err != nil {
		t.Fatalf("reload: %v\n%s", err, config)
	}
	said, reads := map[string]tried{}, ""
	for _, p := range n.paths() {
		s, other := n.fileTool(ctx, t, p), said[n.real(p)]
		// What one name of a file opens, the other does not close.
		said[n.real(p)] = s.or(other)
		reads += fmt.Sprintf("cat '%[1]s'; echo changed >> '%[1]s'; rm -f '%[1]s.moved'; ", p)
	}
	before := n.snapshot()
	got := n.a.json("-c", "cd '"+n.a.project+"'; "+reads+"true")
	if !got.Ran {
		t.Fatalf("it did not run: %+v\n%s", got, config)
	}
	after := n.snapshot()
	warned := fmt.Sprint(got.Warnings)
	for _, p := range n.paths() {
		real := n.real(p)
		s := said[real]
		explicit := false
		for _, f := range further {
			if f = n.real(f); s.unnamed && strings.HasPrefix(real, f+"/") {
				explicit = true // named for commands, and for the file tool not at all
			}
		}
		changed := before[real] != after[real]
		read := strings.Contains(got.Stdout, "secret-of-"+n.token(real)+"\n")
		switch {
		case s.suffix && !strings.Contains(warned, "not endings of names"):
			t.Errorf("%s: the answer does not report that endings are not held: %s\n%s", p, warned, config)
		case s.suffix || explicit:
		case changed && !s.changes:
			t.Errorf("%s: the file tool blocks changing it, and a command changed it\n%s", p, config)
		case read && !s.reads:
			t.Errorf("%s: the file tool blocks reading it, and a command read it\n%s", p, config)
		case changed:
			n.written++
		}
	}
	if status := n.a.json("--", "pwd"); status.Stdout != n.a.project+"\n" {
		t.Errorf("the project can't be entered: %+v\n%s", status, config)
	}
}

// or is what at least one name of a file opens.
func (s tried) or(o tried) tried {
	return tried{s.changes || o.changes, s.reads || o.reads, s.suffix || o.suffix, s.unnamed || o.unnamed}
}

// fileTool asks the file tool about a path.
func (n *narrow) fileTool(ctx context.Context, t *rapid.T, p string) (s tried) {
	look := func(op string) (bool, string) {
		r := ipc.FileRequest{Op: op, Path: p, DryRun: true}
		if op != "read" {
			r.Content = "x"
		}
		v, err := n.agent.do(ctx, r)
		switch code := messageOf(err); {
		case err == nil && v.Decision == ipc.DecisionDeny, code == "blocked":
			return false, fmt.Sprint(v.Why, err)
		case err != nil && code != "missing":
			t.Fatalf("%s %s: %v", op, p, err)
		}
		return true, ""
	}
	var why, readWhy string
	s.changes, why = look("write")
	s.reads, readWhy = look("read")
	s.suffix = strings.Contains(why+readWhy, "only names ending in")
	s.unnamed = strings.Contains(why, "is in none of the sandboxes")
	return s
}

// real is where a path of the project leads.
func (n *narrow) real(p string) string {
	if !filepath.IsAbs(p) {
		p = filepath.Join(n.a.project, p)
	}
	dir, base := filepath.Split(p)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return filepath.Join(real, base)
	}
	return p
}

// token is how the content names a file: by its path in the project, or outside of it.
func (n *narrow) token(real string) string {
	if rel, err := filepath.Rel(n.a.project, real); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return real
}

// snapshot is the content of all files, by path.
func (n *narrow) snapshot() map[string]string {
	out := map[string]string{}
	for _, top := range []string{n.a.project, n.outside} {
		filepath.WalkDir(top, func(p string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				b, _ := os.ReadFile(p)
				out[p] = string(b)
			}
			return nil
		})
	}
	return out
}
