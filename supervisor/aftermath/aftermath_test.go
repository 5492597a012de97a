package aftermath_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"sandboxd/profile"
	"sandboxd/supervisor/aftermath"
	"sandboxd/watch"
)

// bench is a trusted project and what happens to it.
type bench struct {
	t       *testing.T
	project string
	trash   string
	profile profile.Profile
	cache   aftermath.Cache
	run     aftermath.Run
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, project: filepath.Join(dir, "p"), trash: filepath.Join(dir, "trash"), run: aftermath.Run{ID: "x-1"},
		cache: aftermath.Cache{Watch: watch.New()}}
	t.Cleanup(b.cache.Watch.Close)
	if err := os.Mkdir(b.project, 0o755); err != nil {
		t.Fatal(err)
	}
	spec := profile.Spec{Rules: []profile.Rule{{Kind: profile.Allow, Access: profile.Read | profile.Write | profile.Exec, Path: b.project}}}
	for _, name := range profile.ProtectedNames(profile.Executed) {
		spec.Rules = append(spec.Rules, profile.Rule{Kind: profile.Protect, Path: b.project, Name: name})
	}
	if b.profile, err = profile.New(spec); err != nil {
		t.Fatal(err)
	}
	return b
}

// sh plays somebody in the project.
func (b *bench) sh(script string) {
	b.t.Helper()
	cmd := exec.Command("bash", "-euc", script)
	cmd.Dir = b.project
	cmd.Env = append(os.Environ(), "HOME="+b.trash+"-home", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.invalid",
		"GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.invalid", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// command runs script as a sandboxed command would, and checks afterwards.
func (b *bench) command(script string) aftermath.Found {
	b.t.Helper()
	before := aftermath.Before(b.profile, &b.cache, "")
	b.run.Start, b.run.Trash = time.Now(), b.trash
	b.sh(script)
	b.run.End = time.Now()
	return before.After(b.run)
}

func (b *bench) read(rel string) string {
	data, _ := os.ReadFile(filepath.Join(b.project, rel))
	return string(data)
}

// names are the paths of what was found, "kept " before those left alone.
func (b *bench) names(f aftermath.Found) []string {
	list := []string{}
	for _, i := range f.Items {
		name := strings.TrimPrefix(i.Path, b.project+"/")
		if i.Kept {
			name = "kept " + name
		}
		list = append(list, name)
	}
	return list
}

// expect wants exactly these to have been found, what was moved to be in the trash,
// and the script check, if there is one, to end well.
func (b *bench) expect(found aftermath.Found, want []string, check string) {
	b.t.Helper()
	if got := b.names(found); !slices.Equal(got, append([]string{}, want...)) {
		b.t.Errorf("found %q, want %q: %+v", got, want, found.Items)
	}
	if check != "" {
		b.sh(check)
	}
	for _, i := range found.Items {
		if _, err := os.Lstat(i.Trash); !i.Kept && err != nil {
			b.t.Errorf("%s is not in the trash: %v", i.Path, err)
		}
	}
}

func TestWhatARunLeavesUnderProtectedNames(t *testing.T) {
	const repository = "git init -q . && echo x > f && git add f && git commit -qm i"
	tests := []struct {
		name, before, command string
		found                 []string
		check                 string // must succeed afterwards
	}{
		{"nothing", repository, "echo y > f; mkdir -p src; echo z > src/a.go", nil, ""},
		{"agent settings", "", "mkdir .claude; echo '{}' > .claude/settings.json", []string{".claude"}, "[ ! -e .claude ]"},
		{"editor tasks beside known ones", "mkdir .vscode; echo s > .vscode/settings.json", "echo x > .vscode/tasks.json", []string{".vscode/tasks.json"}, "grep -q s .vscode/settings.json && [ ! -e .vscode/tasks.json ]"},
		{"changed file comes back", "echo mine > AGENTS.md; chmod 640 AGENTS.md", "echo theirs > AGENTS.md", []string{"AGENTS.md"}, "grep -qx mine AGENTS.md && [ $(stat -c %a AGENTS.md) = 640 ]"},
		{"replaced by another file", "echo mine > CLAUDE.md", "echo theirs > t; mv t CLAUDE.md", []string{"CLAUDE.md"}, "grep -qx mine CLAUDE.md"},
		{"replaced by a link", "echo mine > CLAUDE.md; echo evil > evil", "ln -sf evil CLAUDE.md", []string{"CLAUDE.md"}, "[ ! -L CLAUDE.md ] && grep -qx mine CLAUDE.md"},
		{"removed file comes back", "echo mine > CLAUDE.md", "rm CLAUDE.md", []string{"kept CLAUDE.md"}, "grep -qx mine CLAUDE.md"},
		{"a link comes back", "echo mine > NOTES; ln -s NOTES AGENTS.md", "rm AGENTS.md; echo theirs > AGENTS.md", []string{"AGENTS.md"}, "[ $(readlink AGENTS.md) = NOTES ] && grep -qx mine AGENTS.md"},
		{"a removed link comes back", "echo mine > NOTES; ln -s NOTES AGENTS.md", "rm AGENTS.md", []string{"kept AGENTS.md"}, "[ $(readlink AGENTS.md) = NOTES ]"},
		{"names that putting back might use", "echo mine > CLAUDE.md", "echo theirs > CLAUDE.md; touch .sandboxd-back", []string{"CLAUDE.md"}, "grep -qx mine CLAUDE.md"},
		{"a touch is no change", "echo mine > CLAUDE.md", "touch CLAUDE.md", nil, ""},
		{"a link is taken, not followed", "echo keep > outside", "ln -s outside AGENTS.md", []string{"AGENTS.md"}, "grep -q keep outside"},
		{"moved package", "mkdir -p pk/a/.vscode; echo x > pk/a/.vscode/settings.json", "mv pk/a pk/b", nil, "[ -e pk/b/.vscode/settings.json ]"},

		{"hook in a known repository", repository, "echo x > .git/hooks/pre-commit", []string{".git/hooks/pre-commit"}, "[ ! -e .git/hooks/pre-commit ]"},
		{"hooks replaced by a link", repository, "mkdir evil; rm -r .git/hooks; ln -s ../evil .git/hooks", []string{".git/hooks"}, "[ -d .git/hooks ] && [ ! -L .git/hooks ]"},
		{"harmless settings", repository, "git remote add o ../o.git; git branch other; git config branch.other.remote o; git config user.name n", nil, "git remote | grep -qx o"},
		{"a setting that names a program", repository, "git config core.fsmonitor 'touch pwn'", []string{".git/config"}, "! grep -q fsmonitor .git/config && git status"},
		{"harmless beside harmful", repository, "git config user.name n; git config alias.x '!sh'", []string{".git/config"}, "! grep -q alias .git/config"},
		{"fsmonitor as a switch", repository, "git config core.fsmonitor true", nil, ""},
		{"a remote that is a helper", repository, "git config remote.o.url 'ext::sh -c id'", []string{".git/config"}, ""},
		{"an include", repository, "git config include.path ../evil", []string{".git/config"}, "! grep -q include .git/config"},
		{"configuration as nonsense", repository, "echo '[[[' >> .git/config", []string{".git/config"}, "git status"},
		{"configuration as a link", repository, "mv .git/config evil; ln -s ../evil .git/config", []string{".git/config"}, "[ ! -L .git/config ] && git status"},
		{"a known setting taken away", repository + "; git config core.hooksPath /dev/null", "git config --unset core.hooksPath", []string{".git/config"}, "grep -q hooksPath .git/config"},

		{"git init", "", repository, nil, "git status && git log"},
		{"git init with a hook", "", "git init -q .; echo x > .git/hooks/pre-commit", []string{".git/hooks/pre-commit"}, "[ ! -e .git/hooks/pre-commit ] && git status"},
		{"git init with a program", "", "git init -q .; git config core.sshCommand 'sh evil'; git config user.name n", []string{".git/config"}, "! grep -qi sshcommand .git/config && git status && [ $(git config user.name) = n ]"},
		{"git clone", repository, "git clone -q . sub", nil, "git -C sub status && [ -z \"$(git -C sub status --porcelain)\" ]"},
		{"bare clone", repository, "git clone -q --bare . sub.git", nil, "git -C sub.git log"},
		{"a bare repository in disguise", repository, "git clone -q --bare . docs; git -C docs config core.fsmonitor 'sh evil'", []string{"docs/config"}, "! grep -q fsmonitor docs/config"},
		{"a hook in a known bare repository", "git init -q --bare b", "echo x > b/hooks/post-receive; chmod +x b/hooks/post-receive", []string{"b/hooks/post-receive"}, ""},
		{"a common directory of its own", repository, "mkdir -p w g c; git clone -q --bare . c/r; mv c/r/HEAD g/HEAD; echo ../c/r > g/commondir; echo 'gitdir: ../g' > w/.git; git config -f c/r/config core.fsmonitor 'sh evil'", []string{"c/r/config"}, ""},
		{"stash and rebase", repository, "echo 2 >> f; git stash -q; git checkout -qb t; echo g > g; git add g; git commit -qm g; git rebase -q master 2>/dev/null || git rebase -q main; git stash pop -q", nil, "[ -e g ]"},
		{"a repository in the object store", repository, "mkdir -p sub .git/objects/ab/x; git clone -q --bare . r; mv r .git/objects/ab/x/r; echo 'gitdir: ../.git/objects/ab/x/r' > sub/.git; git -C sub config core.fsmonitor 'sh evil'", []string{".git/objects/ab/x/r/config"}, "! grep -q fsmonitor .git/objects/ab/x/r/config"},
		{"a repository of links in the object store", repository, "mkdir -p sub .git/objects/ab; cd .git/objects/ab; ln -s .. objects; ln -s ../../refs refs; cp ../../HEAD .; printf '[core]\nfsmonitor=sh evil\n' > config; echo 'gitdir: ../.git/objects/ab' > ../../../sub/.git", []string{".git/objects/ab/config"}, "! grep -q fsmonitor .git/objects/ab/config"},
		{"in a folder that can't be listed", "mkdir src", "echo x > src/.envrc; chmod 311 src", []string{"src/.envrc"}, "[ ! -e src/.envrc ] && [ $(stat -c %a src) = 311 ]; chmod 755 src"},
		{"in a project that can't be listed", "", "mkdir .claude; echo '{}' > .claude/settings.json; chmod 111 . .claude", []string{".claude"}, "[ ! -e .claude/settings.json ] && [ $(stat -c %a .) = 111 ]; chmod 755 ."},
		{"in a folder that can't be entered", "mkdir src", "mkdir src/.vscode; echo x > src/.vscode/tasks.json; chmod 0 src/.vscode; chmod 0 src", []string{"src/.vscode"}, "chmod 755 src; [ ! -e src/.vscode ]"},
		{"in a folder that can't be written", "mkdir src; echo mine > src/AGENTS.md", "mkdir src/.vscode; echo x > src/.vscode/tasks.json; echo theirs > src/AGENTS.md; chmod 555 src/.vscode src; chmod 555 .", []string{"src/.vscode", "src/AGENTS.md"}, "[ $(stat -c %a src) = 555 ] && [ ! -e src/.vscode ] && grep -qx mine src/AGENTS.md; chmod 755 . src"},
		{"too deep to be looked into", "", "d=$(printf 'd/%.0s' $(seq 230)); mkdir -p $d/.vscode; echo x > $d/.vscode/tasks.json; ln -s $d near", []string{strings.Repeat("d/", 200) + "d"}, "[ ! -e near/.vscode ]"},
		{"objects is a folder", "mkdir -p src/objects", "mkdir -p src/refs src/objects/x/.vscode; touch src/HEAD; echo x > src/objects/x/.vscode/tasks.json", []string{"src/objects/x/.vscode"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			if tt.before != "" {
				b.sh(tt.before)
			}
			found := b.command(tt.command)
			b.expect(found, tt.found, tt.check)
		})
	}
}

// The manifest is JSON, and names need not be text: it lists every entry nevertheless.
func TestManifestOfAnyNames(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"a\xff", strings.Repeat("€", 78)} { // of which a part is left out
		if err := os.WriteFile(filepath.Join(b.project, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.command("for f in *; do echo x > \"$f.vim\"; mv \"$f.vim\" \"$f.code-workspace\"; done")
	items := b.manifest(t)
	if len(items) < 2 {
		t.Errorf("found %+v", items)
	}
	for _, i := range items {
		if _, err := os.Lstat(i.Trash); err != nil {
			t.Error(err)
		}
	}
}

// manifest is what the first command's lists.
func (b *bench) manifest(t *testing.T) (items []aftermath.Item) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.trash, "x-1", "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &items); err != nil {
		t.Fatal(err)
	}
	return items
}

func TestManifestSaysWhereThingsCameFrom(t *testing.T) {
	b := newBench(t)
	b.command("echo x > AGENTS.md")
	items := b.manifest(t)
	if len(items) != 1 || items[0].Path != filepath.Join(b.project, "AGENTS.md") || items[0].Exec != "x-1" || items[0].Why == "" {
		t.Errorf("manifest: %+v", items)
	}
	if content, err := os.ReadFile(items[0].Trash); err != nil || string(content) != "x\n" {
		t.Errorf("in the trash: %q, %v", content, err)
	}
}

func TestNothingIsMadeWhereNothingIsFound(t *testing.T) {
	b := newBench(t)
	b.command("echo x > readme")
	if _, err := os.Lstat(b.trash); err == nil {
		t.Error("an empty trash was made")
	}
}

// What can't be the run's is reported and stays.
func TestAttribution(t *testing.T) {
	b := newBench(t)
	b.sh("echo mine > AGENTS.md; echo mine > CLAUDE.md")
	t.Run("held by a mount", func(t *testing.T) {
		b.run.Held = map[string]bool{b.project: false, filepath.Join(b.project, "AGENTS.md"): true}
		found := b.command("echo person > AGENTS.md")
		if got := b.names(found); !slices.Equal(got, []string{"kept AGENTS.md"}) || b.read("AGENTS.md") != "person\n" {
			t.Errorf("found %q, content %q", got, b.read("AGENTS.md"))
		}
		b.run.Held = nil
	})
	t.Run("before and after the run", func(t *testing.T) {
		for _, late := range []bool{false, true} {
			before := aftermath.Before(b.profile, &b.cache, "")
			b.run.Start = time.Now()
			b.run.End = time.Now()
			time.Sleep(30 * time.Millisecond)
			b.sh("echo person >> CLAUDE.md")
			if !late {
				time.Sleep(30 * time.Millisecond)
				b.run.Start, b.run.End = time.Now(), time.Now()
			}
			found := before.After(b.run)
			if got := b.names(found); !slices.Equal(got, []string{"kept CLAUDE.md"}) {
				t.Errorf("late %v: found %q", late, got)
			}
		}
	})
	t.Run("granted", func(t *testing.T) {
		b.run.Granted = []string{filepath.Join(b.project, "AGENTS.md")}
		if got := b.names(b.command("echo granted > AGENTS.md")); len(got) != 0 || b.read("AGENTS.md") != "granted\n" {
			t.Errorf("found %q", got)
		}
	})
}

// What is known of a tree from before does not hide what a run makes in it.
func TestKnownDirectoriesAreLookedAtAgain(t *testing.T) {
	b := newBench(t)
	b.sh("mkdir -p a/b/c d/e src/f; git init -q r; echo x > a/b/c/f; echo mine > d/CLAUDE.md")
	for i, tt := range []struct {
		command string
		found   []string
	}{
		{"true", nil},
		{"echo x > a/b/c/AGENTS.md", []string{"a/b/c/AGENTS.md"}},
		{"mkdir -p d/e/.vscode; echo x > d/e/.vscode/tasks.json", []string{"d/e/.vscode"}},
		{"mkdir n; echo y > n/AGENTS.md; mv a was; mv n a; touch -r was a", []string{"a/AGENTS.md"}},
		{"mkdir -p src/f/new/deep; echo z > src/f/new/deep/AGENTS.md; touch -d @1 src/f src", []string{"src/f/new/deep/AGENTS.md"}},
		{"echo x > r/.git/hooks/pre-commit", []string{"r/.git/hooks/pre-commit"}},
		{"mkdir r/.git/objects/src; echo o > r/.git/objects/src/AGENTS.md", []string{"r/.git/objects/src/AGENTS.md"}},
	} {
		time.Sleep(100 * time.Millisecond) // the tree is settled, so that it is remembered
		aftermath.Before(b.profile, &b.cache, "")
		b.run.ID = fmt.Sprint("x-", i)
		found := b.command(tt.command)
		if got := b.names(found); !slices.Equal(got, append([]string{}, tt.found...)) {
			t.Errorf("%s: found %q, want %q: %+v", tt.command, got, tt.found, found.Items)
		}
	}
}

// cutOff runs script as a command whose daemon dies, then later as somebody else who
// comes after it, and looks as the next daemon does.
func (b *bench) cutOff(script, later string) aftermath.Found {
	b.t.Helper()
	notes, err := aftermath.OpenNotes(filepath.Join(filepath.Dir(b.project), "running"))
	if err != nil {
		b.t.Fatal(err)
	}
	b.run.ID, b.run.Trash = "x-"+strings.ToLower(ulid.Make().String()), b.trash
	if _, err = notes.Begin(aftermath.Begun{Exec: b.run.ID, Start: time.Now()}, aftermath.Before(b.profile, &b.cache, "")); err != nil {
		b.t.Fatal(err)
	}
	b.sh(script)
	end := time.Now()
	time.Sleep(100 * time.Millisecond)
	if later != "" {
		b.sh(later)
	}
	next, err := aftermath.OpenNotes(filepath.Join(filepath.Dir(b.project), "running"))
	if err != nil {
		b.t.Fatal(err)
	}
	cuts, bad, err := next.Left()
	if err != nil || len(bad) > 0 || len(cuts) != 1 {
		b.t.Fatalf("left: %v, %v, %v", cuts, bad, err)
	}
	c := cuts[0]
	if c.Exec != b.run.ID || c.End.Before(end) {
		b.t.Fatalf("the note says %+v", c)
	}
	found := c.Before.After(aftermath.Run{ID: c.Exec, Start: c.Start, End: end, Held: c.Held, Trash: b.trash, Late: true})
	if err := next.Done(c); err != nil {
		b.t.Fatal(err)
	}
	return found
}

// A late check compares with the state before the run and keeps what others changed since.
func TestAfterTheDaemonsDeath(t *testing.T) {
	const repository = "git init -q . && echo x > f && git add f && git commit -qm i"
	tests := []struct {
		name, before, command, later string
		found                        []string
		check                        string
	}{
		{"a plant", "", "mkdir .claude; echo '{}' > .claude/settings.json", "", []string{".claude"}, "[ ! -e .claude ]"},
		{"a hook", repository, "echo x > .git/hooks/pre-commit", "git status", []string{".git/hooks/pre-commit"}, "[ ! -e .git/hooks/pre-commit ]"},
		{"a change comes back", "echo mine > AGENTS.md", "echo theirs > AGENTS.md", "", []string{"AGENTS.md"}, "grep -qx mine AGENTS.md"},
		{"an empty file was there", ": > AGENTS.md", "echo theirs > AGENTS.md", "", []string{"AGENTS.md"}, "[ -f AGENTS.md ] && [ ! -s AGENTS.md ]"},
		{"a setting that names a program", repository, "git config core.fsmonitor 'touch pwn'", "", []string{".git/config"}, "! grep -q fsmonitor .git/config && git status"},
		{"a repository that was born", "", "git init -q n; echo x > n/.git/hooks/pre-commit; git -C n config core.fsmonitor 'touch pwn'", "git -C n status", []string{"n/.git/config", "n/.git/hooks/pre-commit"}, "! grep -q fsmonitor n/.git/config"},
		{"saved later", "", "true", "echo mine > AGENTS.md", []string{"kept AGENTS.md"}, "grep -qx mine AGENTS.md"},
		{"saved later over what was there", "echo old > AGENTS.md", "true", "echo mine > AGENTS.md", []string{"kept AGENTS.md"}, "grep -qx mine AGENTS.md"},
		{"saved later beside a plant", "", "mkdir .vscode; echo x > .vscode/tasks.json", "echo mine > .vscode/settings.json", []string{"kept .vscode/settings.json", ".vscode/tasks.json"}, "grep -qx mine .vscode/settings.json; [ ! -e .vscode/tasks.json ]"},
		{"saved later in a plant", "", "mkdir .vscode; echo x > .vscode/tasks.json; echo x > .vscode/settings.json", "echo mine >> .vscode/settings.json", []string{"kept .vscode/settings.json", ".vscode/tasks.json"}, ""},
		{"a folder that somebody moved here later", "mkdir ../o; echo x > ../o/AGENTS.md; sleep 0.1", "mkdir sub", "mv ../o sub/o", []string{"kept sub/o/AGENTS.md"}, "[ -e sub/o/AGENTS.md ]"},
		{"a folder that the command moved here", "mkdir n; git init -q --bare -q n/x; mkdir -p y; mv n/x/hooks y; rm -r n; echo x > y/hooks/pre-commit; sleep 0.1", "git init -q --bare r; rm -r r/hooks; mv y/hooks r/hooks", "", []string{"r/hooks/pre-commit"}, "[ ! -e r/hooks/pre-commit ]"},
		{"a plant that somebody moved later", "mkdir a", "echo x > a/AGENTS.md", "mv a b", []string{"b/AGENTS.md"}, "[ ! -e b/AGENTS.md ]"},
		{"removed by the command", "mkdir a; echo mine > a/CLAUDE.md", "rm a/CLAUDE.md", "", []string{"kept a/CLAUDE.md"}, "grep -qx mine a/CLAUDE.md"},
		{"removed later", "mkdir a; echo mine > a/CLAUDE.md", "true", "rm a/CLAUDE.md", []string{"kept a/CLAUDE.md"}, "[ ! -e a/CLAUDE.md ]"},
		{"a name that is no text", "", "mkdir $'d\\xff'; echo x > $'d\\xff/AGENTS.md'", "", []string{"d\xff/AGENTS.md"}, "[ ! -e $'d\\xff/AGENTS.md' ]"},
		{"nothing", repository, "echo y > f", "git commit -qam j", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			if tt.before != "" {
				b.sh(tt.before)
			}
			found := b.cutOff(tt.command, tt.later)
			b.expect(found, tt.found, tt.check)
		})
	}
}

// The next check resumes one that was cut off: the entries already moved are in the
// manifest and reported again, and nothing is overwritten.
func TestACheckThatWasCutOffGoesOn(t *testing.T) {
	b := newBench(t)
	dir := filepath.Join(b.trash, "x-1")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	moved := aftermath.Item{Path: filepath.Join(b.project, ".envrc"), Why: "made", Trash: filepath.Join(dir, "001-.envrc"), Exec: "x-1"}
	next := moved
	next.Path, next.Trash = filepath.Join(b.project, "AGENTS.md"), filepath.Join(dir, "002-AGENTS.md")
	var journal []byte
	for _, i := range []aftermath.Item{moved, next} {
		line, err := json.Marshal(i)
		if err != nil {
			t.Fatal(err)
		}
		journal = append(append(journal, line...), '\n')
	}
	b.sh("cp /dev/null " + moved.Trash)
	if err := os.WriteFile(filepath.Join(dir, "moving.jsonl"), append(journal, `{"path":"/tor`...), 0o600); err != nil {
		t.Fatal(err)
	}
	before := aftermath.Before(b.profile, &b.cache, "")
	b.run.Start, b.run.Trash, b.run.Late = time.Now(), b.trash, true
	b.sh("echo x > AGENTS.md")
	b.run.End = time.Now()
	found := before.After(b.run)
	if got := b.names(found); !slices.Equal(got, []string{".envrc", "AGENTS.md"}) || found.Items[1].Trash == next.Trash {
		t.Errorf("found %+v", found.Items)
	}
	data, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	var items []aftermath.Item
	if err != nil || json.Unmarshal(data, &items) != nil || len(items) != 2 {
		t.Errorf("the manifest: %s, %v", data, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "moving.jsonl")); err == nil {
		t.Error("the journal is left")
	}
}

// What was there before comes back also where the check was cut off between taking and putting back.
func TestACheckThatWasCutOffPutsBack(t *testing.T) {
	b := newBench(t)
	b.sh("echo mine > AGENTS.md; mkdir a; echo mine > a/AGENTS.md")
	dir := filepath.Join(b.trash, "x-1")
	before := aftermath.Before(b.profile, &b.cache, "")
	b.run.Start, b.run.Trash, b.run.Late = time.Now(), b.trash, true
	b.sh("echo theirs > AGENTS.md")
	b.run.End = time.Now()
	time.Sleep(50 * time.Millisecond)
	b.sh("mkdir -p " + dir + "; mv AGENTS.md " + dir + "/001-AGENTS.md; rm a/AGENTS.md")
	line, err := json.Marshal(aftermath.Item{Path: filepath.Join(b.project, "AGENTS.md"), Why: "changed", Trash: filepath.Join(dir, "001-AGENTS.md"), Exec: "x-1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "moving.jsonl"), append(line, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	b.expect(before.After(b.run), []string{"AGENTS.md", "kept a/AGENTS.md"}, "grep -qx mine AGENTS.md; [ ! -e a/AGENTS.md ]")
}

// Runs that begin with the same share what is written of it; nothing stays behind.
func TestNotesShareWhatTheyBeganWith(t *testing.T) {
	b := newBench(t)
	b.sh("echo mine > AGENTS.md")
	dir := filepath.Join(filepath.Dir(b.project), "running")
	notes, err := aftermath.OpenNotes(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := func(pattern string) int {
		list, _ := filepath.Glob(filepath.Join(dir, pattern))
		return len(list)
	}
	begin := func() *aftermath.Note {
		note, err := notes.Begin(aftermath.Begun{Exec: "x-" + strings.ToLower(ulid.Make().String()), Start: time.Now()}, aftermath.Before(b.profile, &b.cache, ""))
		if err != nil {
			t.Fatal(err)
		}
		note.First(1234)
		return note
	}
	first, second := begin(), begin()
	if files("before-*") != 1 || files("x-*") != 2 {
		t.Errorf("%d snapshots, %d notes", files("before-*"), files("x-*"))
	}
	b.sh("echo other > AGENTS.md")
	third := begin()
	if files("before-*") != 2 {
		t.Errorf("%d snapshots", files("before-*"))
	}
	for _, note := range []*aftermath.Note{first, second, third} {
		if err := note.End(); err != nil {
			t.Error(err)
		}
	}
	if files("before-*") != 1 || files("x-*") != 0 {
		t.Errorf("afterwards %d snapshots, %d notes", files("before-*"), files("x-*"))
	}
	next, err := aftermath.OpenNotes(dir)
	if err != nil {
		t.Fatal(err)
	}
	if cuts, bad, err := next.Left(); len(cuts)+len(bad) > 0 || err != nil || files("*") != 0 {
		t.Errorf("left %v, %v, %v; %d files", cuts, bad, err, files("*"))
	}
}
