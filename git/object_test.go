package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// objectRepo makes a repository with loose and packed objects, deltas of both forms, tags, an alternate, a replaced
// commit and references of every kind.
const objectRepo = `
	export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a \
		GIT_COMMITTER_EMAIL=a@b
	git init -q -b main --object-format=$1 other; cd other
	seq 1 3000 > big; git add .; git commit -qm other; git repack -adq
	cd ..; git init -q -b main --object-format=$1 repo; cd repo
	echo "$PWD/../other/.git/objects" > .git/objects/info/alternates
	for i in 1 2 3 4 5 6 7 8; do seq $i 4000 > big; mkdir -p d$i; echo $i > d$i/f; git add .; git commit -qm $i; done
	git tag -a -m one one; git tag -a -m two two one; git tag -a -m three three HEAD:big; git tag blob HEAD:d1/f
	git repack -adq --depth=50 $2; git pack-refs --all
	echo loose > loose; git add .; git commit -qm loose; git tag -a -m four four; git tag last HEAD:loose
	git update-ref refs/remotes/up/main HEAD; git symbolic-ref refs/remotes/up/HEAD refs/remotes/up/main
	git replace -f $(git rev-parse HEAD~3) $(git rev-parse HEAD~2)`

// The types of objects are those that git knows, by whole ids, abbreviations and references, and in each form in which
// git keeps them.
func TestObjectTypes(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		for _, pack := range []string{"", "--no-delta-base-offset", "--write-midx"} {
			t.Run(format+pack, func(t *testing.T) { objectTypes(t, format, pack) })
		}
	}
}

func objectTypes(t *testing.T, format, pack string) {
	parent := t.TempDir()
	if pack == "--no-delta-base-offset" {
		pack = "&& git -c repack.useDeltaBaseOffset=false repack -adfq"
	}
	script := strings.Replace(objectRepo, "$2", pack, 1)
	run := func(script string) string {
		cmd := exec.Command("sh", "-ec", script, "sh", format)
		cmd.Dir = parent
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v, %s", script, err, out)
		}
		return string(out)
	}
	run(script)
	dir := filepath.Join(parent, "repo")
	repos, err := Find(Disk, dir)
	if err != nil {
		t.Fatal(err)
	}
	settings, err := Reader{Host: Disk}.Config(repos[0])
	if err != nil {
		t.Fatal(err)
	}
	objects := Objects{Host: Disk, Repo: repos[0], Hash: HashSize(settings)}
	is := func(name string, want ObjectType) {
		t.Helper()
		if got, err := objects.Type(name); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	n := 0
	all := run("cd repo; git cat-file --batch-check='%(objectname) %(objecttype)' --batch-all-objects")
	for line := range strings.Lines(all) {
		id, kind, _ := strings.Cut(strings.TrimSpace(line), " ")
		if kind == "tag" {
			kind = strings.TrimSpace(run("cd repo; git cat-file -t " + id + "^{}"))
		}
		is(id, ObjectType(kind))
		is(strings.ToUpper(id[:12]), ObjectType(kind))
		is("v1.0-2-g"+id[:10], ObjectType(kind))
		n++
	}
	if n < 40 {
		t.Errorf("only %d objects", n)
	}
	for name, want := range map[string]ObjectType{"HEAD": Commit, "@": Commit, "main": Commit, "heads/main": Commit,
		"refs/heads/main": Commit, "one": Commit, "two": Commit, "three": Blob, "tags/three": Blob, "four": Commit,
		"blob": Blob, "last": Blob, "refs/tags/blob": Blob, "up": Commit, "remotes/up/HEAD": Commit, "up/main": Commit,
		"nosuch": NoObject, "config": NoObject, "index": NoObject, "0000000": NoObject, "abc": NoObject, "": NoObject,
		"a b": NoObject, "../config": NoObject, fmt.Sprintf("%0*d", 2*objects.Hash, 1): NoObject} {
		is(name, want)
	}
}

// What cannot be read is an error, not an object that does not exist.
func TestObjectsInDoubt(t *testing.T) {
	parent := t.TempDir()
	script := `git init -q -b main --object-format=$1 . && echo a > f && git add f &&
		git -c user.name=a -c user.email=a@b commit -qm a && git repack -adq`
	for name, c := range map[string]struct{ script, object string }{
		"a pipe as a reference": {"mkfifo .git/refs/tags/pipe", "pipe"},
		"a pack without index":  {"rm -f .git/objects/pack/*.idx", "HEAD"},
		"a cut index":           {"for f in .git/objects/pack/*.idx; do head -c 1050 $f > x; mv -f x $f; done", "HEAD"},
		"an older index":        {"for f in .git/objects/pack/*.pack; do git index-pack --index-version=1 $f; done", "HEAD"},
		"a broken pack":         {"for f in .git/objects/pack/*.pack; do chmod u+w $f; : > $f; done", "HEAD"},
		"a broken object": {"echo b | git hash-object -w --stdin; echo > x; mv -f x .git/objects/61/780798*",
			"61780798"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(parent, strings.ReplaceAll(name, " ", "-"))
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("sh", "-ec", script+"\n"+c.script, "sh", "sha1")
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			repo := Repository{Dir: dir + "/.git", Common: dir + "/.git", Worktree: dir}
			objects := Objects{Host: Disk, Repo: repo, Hash: 20}
			if got, err := objects.Type(c.object); err == nil {
				t.Errorf("%q without an error", got)
			}
		})
	}
}
