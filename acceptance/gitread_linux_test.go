package acceptance

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sandboxd/git"
	"sandboxd/shell"
	"sandboxd/shell/facts"
)

// gitReads are lines of which each is judged auto in a plain repository.
var gitReads = []string{
	"git status", "git status --short --ignored", "git -C sub status", "git diff", "git diff --stat",
	"git diff --cached", "git diff HEAD~1", "git -C sub diff HEAD",
	"git log -3", "git log -p -2", "git log -p -m --stat -3", "git log --graph --oneline --all", "git log -L1,1:f",
	"git log --follow -p -- f", "git log --format=fuller -2",
	"git show", "git show HEAD~1", "git show HEAD:f", "git show --stat HEAD~2", "git whatchanged -2",
	"git rev-list --all", "git rev-list --count HEAD", "git reflog -3",
	"git reflog -p -2", "git shortlog -sn HEAD", "git blame f", "git blame -C f", "git annotate f", "git branch -a",
	"git branch -vv", "git branch --sort=-committerdate",
	"git tag -n", "git tag -l 'v*'", "git remote -v", "git remote get-url origin", "git stash list",
	"git stash show -p", "git worktree list", "git notes list",
	"git config --get user.name", "git rev-parse HEAD", "git rev-parse --show-toplevel",
	"git ls-files -o --exclude-standard", "git ls-files -s", "git ls-tree -r HEAD",
	"git cat-file -p HEAD", "git cat-file -p HEAD:f", "git grep -n a", "git grep a HEAD",
	"git describe --tags --always --dirty", "git merge-base HEAD HEAD~1",
	"git name-rev HEAD", "git for-each-ref", "git for-each-ref --sort=-creatordate", "git show-ref",
	"git show-branch", "git symbolic-ref HEAD", "git diff-tree -p HEAD",
	"git diff-index -p HEAD", "git diff-files -p", "git range-diff HEAD~1 HEAD HEAD", "git cherry HEAD~1",
	"git count-objects -v", "git check-ignore -v f", "git check-attr -a f",
	"git diff HEAD~2 -- f | cat", "cd sub && git log -1", "git status && git diff",
}

// gitReadLayout makes the repository whose configuration is varied: a signed
// commit, a file that only looks changed, a merge, a stash, a submodule in the
// index, one in the history only, and a directory that git passes over.
const gitReadLayout = `
	export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a \
		GIT_COMMITTER_EMAIL=a@b
	git init -q -b main .; git config user.name a; git config user.email a@b
	git config remote.origin.url https://example.com/x
	printf '#!/bin/sh\ntouch "${0%%/*}/fired"\ncat 2>/dev/null\n' > evil.sh; chmod +x evil.sh
	printf 'fired\n' > .gitignore
	echo a > f; mkdir sub; echo b > sub/g; echo '* filter=any diff=any merge=any' > .gitattributes
	git init -q gone; (cd gone; echo 1 > h; git add h; git commit -qm 1)
	git -c advice.addEmbeddedRepo=false add .; git commit -qm one
	(cd gone; echo 2 > h; git commit -qam 2); git add gone; git commit -qm two; git rm -q --cached gone
	echo gone >> .gitignore
	git init -q link; (cd link; echo 1 > h; git add h; git commit -qm 1)
	git -c advice.addEmbeddedRepo=false add .; git commit -qm three
	git checkout -q -b side HEAD~1; echo c > c; git add c; git commit -qm side; git checkout -q main
	git merge -q -m merged side
	git tag v1; git notes add -m note; echo d >> f; git stash -q
	begin='-----BEGIN PGP SIGNATURE-----' end='-----END PGP SIGNATURE-----' by='a <a@b> 1 +0000'
	c=$(printf 'tree %s\nparent %s\nauthor %s\ncommitter %s\ngpgsig %s\n \n x\n %s\n\nsigned\n' \
		$(git write-tree) $(git rev-parse HEAD) "$by" "$by" "$begin" "$end" | git hash-object -t commit -w --stdin)
	git update-ref refs/heads/main $c
	touch -d 2001-01-01 f sub/g link/h
	mkdir -p sub/.git/objects sub/.git/refs; echo garbage > sub/.git/HEAD`

// gitReadValues are the values tried for a key; %s is the canary program.
func gitReadValues(s git.Setting) []string {
	switch git.KindOf(s) {
	case git.Program:
		return []string{"%s", "!%s"}
	case git.Redirect:
		return []string{"%s", "evil.conf", "hooks.d", "ext::%s"}
	case git.Trigger:
		return []string{"%%h %%G? %%GS", "diff", "remerge", "true", "origin"}
	case git.Harmless:
		return []string{"%s", "true", "signature"}
	}
	return []string{"%s"}
}

// gitReadKeys are the keys that the installed git knows, "any" for what a person
// chooses and a few real names besides.
func gitReadKeys(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("git", "help", "--config").Output()
	if err != nil {
		t.Fatal(err)
	}
	chosen := regexp.MustCompile(`<[^>]*>|\*`)
	var keys []string
	for line := range strings.Lines(string(out)) {
		key := strings.TrimSpace(line)
		if key == "" || strings.ContainsAny(key, " '_") { // git config refuses "_", in gitweb.remote_heads
			continue
		}
		names := []string{"any"}
		switch section, _, _ := strings.Cut(key, "."); section {
		case "gpg":
			names = []string{"openpgp", "x509", "ssh"}
		case "remote", "branch", "submodule":
			names = []string{"origin", "main", "link"}
		case "includeIf":
			names = []string{"gitdir:/"} // true everywhere
		case "pager", "alias":
			names = []string{"log", "status", "diff", "whatchanged"}
		}
		for _, n := range names {
			if k := chosen.ReplaceAllString(key, n); !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	return append(keys, "filter.any.process", "core.fsmonitor", "extensions.partialClone",
		"status.submoduleSummary", "pretty.any", "include.path")
}

// gitReadCase is one key with a value in one place, and the lines tried there.
type gitReadCase struct {
	key, value, place string
	dir               string
	lines             []string
}

// gitReadPlaces are the files in which a key can be, relative to the project.
var gitReadPlaces = []string{".git/config", ".git/more", ".git/config.worktree", "link/.git/config",
	"gone/.git/config"}

// set writes the case's configuration. Programs that a reading command runs only
// because of another key are there always.
func (c gitReadCase) set(t *testing.T) {
	t.Helper()
	evil := filepath.Join(c.dir, "evil.sh")
	set := func(file, key, value string) {
		if out, err := exec.Command("git", "config", "--file", filepath.Join(c.dir, file), "--add",
			key, value).CombinedOutput(); err != nil {
			t.Fatalf("%s = %q: %v, %s", key, value, err, out)
		}
	}
	for _, key := range []string{"gpg.program", "gpg.x509.program", "gpg.ssh.program", "core.editor",
		"core.askPass", "sequence.editor", "credential.helper", "merge.any.driver", "core.sshCommand"} {
		set(".git/config", key, evil)
	}
	set("gone/.git/config", "diff.external", evil)
	switch c.place {
	case ".git/more":
		set(".git/config", "include.path", "more")
	case ".git/config.worktree":
		set(".git/config", "extensions.worktreeConfig", "true")
	}
	set(c.place, c.key, strings.ReplaceAll(fmt.Sprintf(strings.ReplaceAll(c.value, "%s",
		"%[1]s"), evil), "%!(EXTRA string="+evil+")", ""))
	if strings.HasPrefix(c.key, "pretty.") {
		set(c.place, "format.pretty", "any")
	}
	for name, text := range map[string]string{"evil.conf": "[core]\n\tfsmonitor = " + evil + "\n",
		".git/evil.conf": "[diff]\n\texternal = " + evil + "\n"} {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("sh", "-c",
		`cd "$1" && mkdir hooks.d && cp evil.sh hooks.d/post-index-change`, "sh", c.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// fired reports whether the canary ran since it was last asked.
func (c gitReadCase) fired() bool {
	fired := os.Remove(filepath.Join(c.dir, "fired")) == nil
	return os.Remove(filepath.Join(c.dir, "hooks.d", "fired")) == nil || fired
}

// gitReadStrata are beginnings of keys of which each run of the test tries one.
var gitReadStrata = []string{"alias.", "pager.", "remote.", "submodule.", "merge.", "credential.", "http.",
	"core.sshCommand", "diff.any.command", "filter.", "include.", "includeIf."}

// gitReadCases draws cases: each key that is not harmless in each of its values,
// and as many harmless ones, most of them in the repository's own configuration.
func gitReadCases(t *testing.T, random *rand.Rand, n, lines int) []gitReadCase {
	t.Helper()
	var likely, others []gitReadCase
	for _, key := range gitReadKeys(t) {
		s, ok := git.ParseKey(key)
		if !ok {
			continue
		}
		for _, v := range gitReadValues(s) {
			c := gitReadCase{key: key, value: v, place: gitReadPlaces[0]}
			if random.IntN(3) == 0 {
				c.place = gitReadPlaces[random.IntN(len(gitReadPlaces))]
			}
			if git.KindOf(s) == git.Harmless {
				others = append(others, c)
			} else {
				likely = append(likely, c)
			}
		}
	}
	random.Shuffle(len(likely), func(i, j int) { likely[i], likely[j] = likely[j], likely[i] })
	random.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	slices.SortStableFunc(likely, func(a, b gitReadCase) int { return cmp.Compare(remote(a.key), remote(b.key)) })
	for _, stratum := range gitReadStrata { // one of each comes first
		of := func(c gitReadCase) bool { return strings.HasPrefix(c.key, stratum) }
		at := slices.IndexFunc(likely, of)
		if at < 0 {
			likely, at = append(likely, others[max(slices.IndexFunc(others, of), 0)]), len(likely)
		}
		if !of(likely[at]) {
			t.Errorf("git knows no key of %s", stratum)
		}
		c := likely[at]
		likely = slices.Insert(slices.Delete(likely, at, at+1), 0, c)
	}
	cases := append(likely[:min(len(likely), n)], others[:min(len(others), n/4)]...)
	for i := range cases {
		for _, at := range random.Perm(len(gitReads))[:min(lines, len(gitReads))] {
			cases[i].lines = append(cases[i].lines, gitReads[at])
		}
	}
	// These run the canary where nothing keeps them from it.
	for key, line := range map[string]string{
		"core.fsmonitor": "git status", "diff.external": "git diff HEAD~2", "filter.any.clean": "git -C sub status",
		"diff.any.textconv": "git log -p -4",
	} {
		cases = append(cases, gitReadCase{key: key, value: "%s", place: gitReadPlaces[0], lines: []string{line}})
	}
	return cases
}

// remote is 0 for a key of the sections that reading commands read, else 1.
func remote(key string) int {
	section, _, _ := strings.Cut(key, ".")
	if slices.Contains([]string{"core", "diff", "filter", "gpg", "log", "format", "pretty", "include", "extensions",
		"status"}, section) {
		return 0
	}
	return 1
}

// R-SH-03: git runs no program of a repository's configuration for a line that is
// judged auto, with the words and the environment that it runs with, whichever key that
// git knows names the program. GIT_READ_CASES=2000 tries every key with every value
// and line.
func TestGitReadsRunNothing(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 22))
	cases := gitReadCases(t, random, 44, 10)
	if n, err := strconv.Atoi(os.Getenv("GIT_READ_CASES")); err == nil {
		cases = gitReadCases(t, random, n, len(gitReads))
	}
	a := newActor(t, "")
	a.sh("mkdir plain && cd plain && {" + gitReadLayout + "\n}")
	parent := a.project
	for i := range cases {
		cases[i].dir = filepath.Join(parent, fmt.Sprint("case", i))
		if out, err := exec.Command("cp", "-a", filepath.Join(parent, "plain"), cases[i].dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		cases[i].set(t)
	}
	a.start()
	decisions := a.decide(cases)
	tool, err := shell.New(shell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	autos, controls := 0, 0
	for i, c := range cases {
		for k, line := range c.lines {
			cmd := shell.Command{Line: line, Cwd: c.dir, Project: parent, Home: a.home}
			if decisions[fmt.Sprintf("%d/%d", i, k)] != "auto" {
				if controls < 10 || i >= len(cases)-4 { // the canary can sing at all
					c.run(t, line+" >/dev/null 2>&1", nil)
					if c.fired() {
						controls++
					} else if i >= len(cases)-4 {
						t.Errorf("%s: git does not run %s even unjudged: the test shows nothing", line, c.key)
					}
				}
				continue
			}
			autos++
			v, _ := facts.Judge(context.Background(), tool, cmd, facts.Options{Timeout: time.Minute})
			if v.Decision != shell.Auto {
				t.Errorf("%s, %s = %q in %s: auto through the socket, %v here", line, c.key, c.value, c.place, v.Decision)
				continue
			}
			c.run(t, v.Run.Script, v.Env, v.Run.Argv...)
			if c.fired() {
				t.Errorf("%s: git runs %s = %q of %s unasked", line, c.key, c.value, c.place)
			}
		}
	}
	t.Logf("seed %d: %d cases, %d lines auto, %d controls fired", seed, len(cases), autos, controls)
	if autos < 100 || controls < 4 {
		t.Errorf("only %d lines are auto and %d controls fired: the test shows nothing", autos, controls)
	}
}

// run runs a line as the daemon does, outside of any sandbox.
func (c gitReadCase) run(t *testing.T, script string, env map[string]string, argv ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if script != "" {
		argv = []string{"bash", "--noprofile", "--norc", "-c", script}
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = c.dir
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nosuch", "LANG=C.UTF-8"}
	for _, k := range slices.Sorted(maps.Keys(env)) {
		cmd.Env = append(cmd.Env, k+"="+env[k])
	}
	_ = cmd.Run() // many values are none that git takes
}

// decide judges every line of the cases through the real `sbx check`.
func (a *actor) decide(cases []gitReadCase) map[string]string {
	a.t.Helper()
	var lines []checkLine
	for i, c := range cases {
		for k, line := range c.lines {
			lines = append(lines, checkLine{ID: fmt.Sprintf("%d/%d", i, k), Command: line, Cwd: c.dir})
		}
	}
	out := map[string]string{}
	for _, v := range a.checks(lines) {
		out[v.ID] = v.Decision
	}
	return out
}
