package acceptance

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// R-OS-07: the person's git configuration is put into the private home, and a home, or a
// configuration, that is hidden or read-only keeps no command from running.
func TestHomeThatIsHidden(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("left out: only root can make the user whose home is written; CI runs this as root")
		return
	}
	const name = "sandboxd-home"
	if out, err := exec.Command("/usr/sbin/useradd", "-m", "-s", "/bin/bash", name).CombinedOutput(); err != nil {
		t.Fatalf("useradd: %v: %s", err, out)
	}
	t.Cleanup(func() { exec.Command("/usr/sbin/userdel", "-r", name).Run() })
	a := newActor(t, name)
	a.sh("git config --global user.name Person")
	a.sh("mkdir " + a.dir + "/outside")
	a.project = a.dir + "/outside" // of the home
	for list, want := range map[string]string{
		`hidden = []`:                  "Person\n",
		`hidden = ["~"]`:               "",
		`hidden = ["~/.gitconfig"]`:    "",
		`hidden = [".gitconfig"]`:      "Person\n", // of the project
		`read_only = ["~"]`:            "",
		`read_only = ["~/.gitconfig"]`: "",
		`hidden = ["/home"]`:           "Person\n", // the private home exists in spite of it
	} {
		t.Run(list, func(t *testing.T) {
			a.configured(fmt.Sprintf("[sandbox]\n%s\n", list))
			defer a.stop()
			if r := a.sbx("run", "--", "pwd"); r.code != 0 || strings.TrimSpace(r.out) != a.project {
				t.Error(r)
			}
			if r := a.sbx("run", "-c", "git config --get user.name"); r.out != want || r.code > 1 {
				t.Errorf("want %q: %v", want, r)
			}
		})
	}
	t.Run("includes", func(t *testing.T) { a.includes(t) })
}

// includes has a person's git configuration with includes, patterns and signatures: commits inside have the author and
// the files that they have outside, one line says that they are not signed, and no command brings another author by a
// remote that it makes.
func (a *actor) includes(t *testing.T) {
	a.sh(`git config --global user.email home@example.org
git config --global includeIf."gitdir:$PWD/".path '~/.gitconfig-work'
git config --global includeIf.hasconfig:remote.*.url:https://work.example/**.path '~/.gitconfig-remote'
git config --global includeIf.hasconfig:remote.*.url:https://evil.example/**.path '~/.gitconfig-evil'
git config --global core.excludesFile '~/.ignored'; git config --global commit.gpgsign true
printf '[user]\nemail = work@example.com\n' > ~/.gitconfig-work
printf '[user]\nname = Remote\n' > ~/.gitconfig-remote; printf '[user]\nname = Evil\n' > ~/.gitconfig-evil
echo .envrc.local > ~/.ignored; mkdir -p ~/.config/git
git init -q .; git remote add origin https://work.example/a/b; echo 1 > f; echo s > .envrc.local`)
	a.configured("", "--mode", "approve-all")
	defer a.stop()
	if r := a.sbx("trust"); r.code != 0 {
		t.Fatal(r)
	}
	a.sh("git remote set-url origin https://evil.example/a/b")
	r := a.sbx("run", "-c", "git add -A && git commit -qm x && git ls-files && git log -1 --format='%an %ae %G?'")
	if want := "f\nRemote work@example.com N\n"; r.code != 0 || !strings.HasSuffix(r.out, want) ||
		strings.Contains(r.out, ".envrc") || strings.Count(r.err, "not signed") != 1 {
		t.Errorf("want %q and a word about signatures: %v", want, r)
	}
}
