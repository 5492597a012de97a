package acceptance

import (
	"fmt"
	"strings"
	"testing"
)

// gitObjectsRepo commits a secret and leads references of each form to its blob.
const gitObjectsRepo = `git checkout -qB main
	echo TOKEN=hunter2hunter2 > .env; echo hello > f; mkdir sub; echo x > sub/x; git add -f .; git commit -qm one
	echo more >> f; git commit -qam two
	B=$(git rev-parse HEAD:.env); git tag light $B; git tag -a -m m heavy $B; git tag -a -m m heavier heavy
	echo $B > .git/odd; echo 'ref: refs/tags/light' > .git/refs/heads/symbolic`

// gitObjectsAsk are lines that print the secret without its file's name.
var gitObjectsAsk = []string{
	"git show SECRET", "git show SHORT", "git show FOUR", "git show UPPER", "git show 'SECRET^{}'",
	"git show 'SHORT^{blob}'", "git show 'SECRET^{object}'", "git show x-gSHORT", "git show v1-2-gSECRET",
	"git show light", "git show tags/light", "git show refs/tags/light", "git show heavy", "git show heavier",
	"git show 'heavy^{}'", "git show odd", "git show symbolic", "git show --tags", "git show --all",
	"git show --glob=refs/tags", "git show HEAD SECRET", "git show -m SECRET", "git show SECRET -- f",
	"git -C sub show SHORT", "cd sub && git show SHORT", "git show --no-textconv SHORT | head -5",
	"git cat-file -p SECRET", "git cat-file blob SHORT", "git cat-file blob heavy", "git cat-file -p light",
	"git diff SECRET OTHER", "git diff OTHER SHORT", "git diff OTHER..SECRET", "git diff SECRET f",
	"git diff light f", "git diff ^SECRET OTHER", "git diff HEAD:f SHORT", "git grep . SECRET",
	"git grep . light", "git grep -e . heavy", "git grep -h TOKEN SHORT", "echo HEAD:.env | git show --stdin",
	"echo SECRET | git show --stdin", `printf 'HEAD\n--\n.env\n' | git log -p --stdin`,
	"git for-each-ref --format='%(raw)' refs/tags", "git tag --format='%(raw)'",
	"git for-each-ref --format='%(*raw)' refs/tags",
	"git cat-file --filters --path=f SECRET", "echo SECRET | git cat-file --batch",
}

// gitObjectsAuto are lines that print no contents, or those of files that they name.
var gitObjectsAuto = []string{
	"git show COMMIT", "git show ABBREV", "git show ABBREV~1", "git show HEAD", "git show TREE", "git show main",
	"git show SUBTREE", "git show HEAD:sub", "git show HEAD:f", "git show --stat ABBREV -- f", "git show :/one",
	"git show nosuch", "git cat-file -p ABBREV", "git cat-file -p TREE", "git cat-file -t SECRET",
	"git cat-file -s SHORT", "git cat-file -e SECRET", "git diff HEAD~1 HEAD", "git diff ABBREV",
	"git diff HEAD~1..HEAD -- f", "git diff HEAD:f HEAD~1:f", "git grep hello HEAD", "git grep hello -- f",
	"git log -p ABBREV", "git ls-tree HEAD",
}

// R-FS-02, R-SH-03: the contents of a committed secret ask by whichever name git has for their object besides the
// file's, in a loose object and in a pack; commits, tags, trees and revisions of files run unasked.
func TestSecretsByObject(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	a.sh(gitObjectsRepo)
	a.start()
	ids := strings.Fields(a.sh("git rev-parse HEAD:.env HEAD:f HEAD HEAD^{tree} HEAD:sub"))
	words := strings.NewReplacer("SECRET", ids[0], "SHORT", ids[0][:7], "FOUR", ids[0][:4], "UPPER",
		strings.ToUpper(ids[0]), "OTHER", ids[1], "COMMIT", ids[2], "ABBREV", ids[2][:7], "TREE", ids[3], "SUBTREE", ids[4])
	for _, form := range []string{"loose", "packed"} {
		for line, decision := range a.judged(gitObjectsAsk, words) {
			if out := a.do(nil, "/bin/bash", "-c", line).out; !strings.Contains(out, "hunter2") {
				t.Errorf("%s, %s: the attempt does not print the secret: %s", form, line, out)
			}
			if decision != "ask" {
				t.Errorf("%s, %s prints the secret and is judged %s", form, line, decision)
			}
		}
		for line, decision := range a.judged(gitObjectsAuto, words) {
			if decision != "auto" {
				t.Errorf("%s, %s is judged %s", form, line, decision)
			}
		}
		a.sh("git repack -adq; git pack-refs --all; git prune-packed")
	}
}

// judged returns the decision of `sbx check` on each line, with its words replaced.
func (a *actor) judged(lines []string, words *strings.Replacer) map[string]string {
	a.t.Helper()
	one := gitReadCase{dir: a.project}
	for _, line := range lines {
		one.lines = append(one.lines, words.Replace(line))
	}
	decisions, out := a.decide([]gitReadCase{one}), map[string]string{}
	for k, line := range one.lines {
		out[line] = decisions[fmt.Sprintf("0/%d", k)]
	}
	return out
}

// A pipe in the place of a repository's HEAD neither stops the daemon nor runs git, which would wait for it.
func TestPipeAsHead(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	a.sh("mkdir -p a/.git b p; mkfifo a/.git/HEAD b/HEAD p/pipe")
	a.start()
	for _, line := range []string{"git -C a status", "cd b && git log -1", "ls p/pipe/*"} {
		done := make(chan result, 1)
		go func() { done <- a.sbx("check", "--json", "-c", line) }()
		got := <-done
		if strings.HasPrefix(line, "ls") == strings.Contains(got.out, `"ask"`) {
			t.Errorf("%s is judged %s", line, got.out)
		}
	}
}
