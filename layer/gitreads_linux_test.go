package layer

import (
	"cmp"
	"os/exec"
	"testing"
)

// sh runs a line in the root, as a person does.
func (b *bench) sh(line string) string {
	b.t.Helper()
	cmd := exec.Command("sh", "-ec", line)
	cmd.Dir = b.root.Name()
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// Rules 3 and 15: what git's references in a change set rest on conflicts where a person changed it since the run
// began, before the layer is taken or after that. No commit of the person is lost, and no branch is moved under a work
// tree. Other references land. Without reflogs, so that these do not conflict.
func TestGitReads(t *testing.T) {
	const (
		commit = "git commit -q --allow-empty -m person"
		made   = "$(git commit-tree -m run -p HEAD HEAD^{tree})"
		mine   = "$(git commit-tree -m person -p HEAD HEAD^{tree})"
	)
	for _, c := range []struct {
		name, before, run, person string
		conflict, taken           Name // taken: of a change set that was taken before; "" is the same
	}{
		{"a commit each", "", "echo run > file; git commit -qam run", commit, ".git/refs/heads/main", ""},
		{"a branch, then packed", "", "git update-ref refs/heads/main " + made, commit + "; git pack-refs --all",
			".git/packed-refs", ".git/refs/heads/main"},
		{"a packed branch, packed again", "git pack-refs --all", "git update-ref refs/heads/main " + made,
			commit + "; git pack-refs --all", ".git/packed-refs", ""},
		{"a packed tag, packed again", "git tag -m t v1; git pack-refs --all", "git tag -f v1 " + made,
			"git tag -f v1 " + mine + "; git pack-refs --all", ".git/packed-refs", ""},
		{"a branch that is checked out meanwhile", "git checkout -q -b other", "git branch -f main " + made,
			"git checkout -q main", ".git/HEAD", ""},
		{"a checkout of a branch that moves", "git branch other", "git checkout -q other", "git branch -f other " + mine,
			".git/refs/heads/other", ""},
		{"a checkout of a packed branch that moves", "git branch other; git pack-refs --all", "git checkout -q other",
			"git branch -f other " + mine + "; git pack-refs --all", ".git/packed-refs", ""},
		{"a new branch beside a commit", "git pack-refs --all", "git branch topic", commit + "; git pack-refs --all", "",
			""},
		{"a tag beside a checkout", "git branch other", "git tag v2", "git checkout -q other", "", ""},
		{"a detached checkout beside a commit", "git pack-refs --all", "git checkout -q --detach",
			commit + "; git pack-refs --all", "", ""},
		{"a checkout beside another branch", "git branch other; git branch third", "git checkout -q other",
			"git branch -f third " + mine, "", ""},
	} {
		for _, later := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				b := gitBench(t, "true")
				b.sh(c.before)
				b.layer("again", step{Do: "sh", Data: c.run})
				if later {
					b.take().sh(c.person)
					c.conflict = cmp.Or(c.taken, c.conflict)
				} else {
					b.sh(c.person)
					b.take()
				}
				if c.conflict != "" {
					b.refuses(c.conflict)
					return
				}
				b.land()
				b.git("fsck", "--strict")
			})
		}
	}
}

// The same where the project's directory is a git directory itself.
func TestGitReadsOfABareRoot(t *testing.T) {
	b := newBench(t, disk)
	t.Cleanup(b.close)
	b.sh("git init -q --bare -b main; tree=$(git mktree < /dev/null); for name in main run person; do " +
		"git update-ref refs/heads/$name $(git commit-tree -m $name $tree); done; git pack-refs --all")
	b.layer("run", step{Do: "sh", Data: "git update-ref refs/heads/main run"})
	b.sh("git update-ref refs/heads/main person; git pack-refs --all")
	b.take().refuses("packed-refs")
}
