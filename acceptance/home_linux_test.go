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
}
