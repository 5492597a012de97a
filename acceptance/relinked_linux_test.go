package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sandboxd/ipc"
)

// withOperator has the actor's daemon see an operator's profile.
func (a *actor) withOperator(document string) { a.withEtc("profile.d/operator.toml", document) }

// withEtc has the actor's daemon see a file below /etc/sandboxd in a table of mounts of its own, which only root can
// make.
func (a *actor) withEtc(name, document string) {
	a.t.Helper()
	file := filepath.Join(a.dir, "operator.toml")
	if err := os.WriteFile(file, []byte(document), 0o644); err != nil {
		a.t.Fatal(err)
	}
	script := fmt.Sprintf(`mount --make-rprivate / && mount -t tmpfs none /mnt && mkdir /mnt/upper /mnt/work &&
mount -t overlay -o lowerdir=/etc,upperdir=/mnt/upper,workdir=/mnt/work none /etc &&
mkdir -p /etc/sandboxd/profile.d && chmod 755 /etc/sandboxd &&
cp %s /etc/sandboxd/%s &&
	umount -l /mnt && exec "$@"`, file, name)
	a.wrap = []string{"/usr/bin/unshare", "--mount", "/bin/bash", "-euc", script, "bash"}
	if a.cred != nil {
		a.wrap = append(a.wrap, "/usr/bin/setpriv", "--clear-groups", "--reuid", strconv.Itoa(int(a.cred.Uid)), "--regid",
			strconv.Itoa(int(a.cred.Gid)))
	}
}

// R-OS-09: a link in a path of the configuration that is changed while the daemon runs counts for the next command
// and for the next operation of the file tool, whichever key names the path. Links like "current" are changed on
// every deployment.
//
//   - Row card-04 yes (operator's hide): the derived profile is intersected with the operator's
func TestRetargetedLinks(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		for _, row := range []struct {
			key, user, operator string
			line, shut          string // what the line says of the place that the link leads to, and of the other
			open                string
		}{
			{key: "hidden", user: "[sandbox]\nread = [\"B/st\"]\nhidden = [\"B/data/keys\"]\n",
				line: "cat B/st/%s/keys/k 2>/dev/null || echo NO", shut: "NO", open: "SECRET"},
			{key: "read_only", user: "[sandbox]\nwrite = [\"B/st/a\", \"B/st/b\"]\nread_only = [\"B/data/keys\"]\n",
				line: "(echo SECRET > B/st/%s/keys/k) 2>/dev/null && echo WROTE || echo NO", shut: "NO", open: "WROTE"},
			{key: "read", user: "[sandbox]\nread = [\"B/data\"]\n", line: "cat B/st/%s/keys/k 2>/dev/null || echo NO",
				shut: "SECRET", open: "NO"},
			{key: "write", user: "[sandbox]\nwrite = [\"B/data\"]\n", // of a redirection the words would show the place
				line: "python3 -c 'open(\"B/st/%s/keys/k\", \"w\").write(\"SECRET\")' 2>/dev/null && echo WROTE || echo NO",
				shut: "WROTE", open: "NO"},
			{key: "files.paths", user: "[files.paths.data]\nroot = \"B/data\"\nmode = \"ro\"\n",
				line: "cat B/st/%s/keys/k 2>/dev/null || echo NO", shut: "SECRET", open: "NO"},
			{key: "operator's hide", user: "[sandbox]\nread = [\"B/st\"]\n", operator: "[paths]\nhide = [\"B/data/keys\"]\n",
				line: "cat B/st/%s/keys/k 2>/dev/null || echo NO", shut: "NO", open: "SECRET"},
			{key: "operator's protect", user: "[sandbox]\nwrite = [\"B/st/a\", \"B/st/b\"]\n",
				operator: "[paths]\nprotect = [\"B/data/keys\"]\n",
				line:     "(echo SECRET > B/st/%s/keys/k) 2>/dev/null && echo WROTE || echo NO", shut: "NO", open: "WROTE"},
			{key: "operator's private", user: "[sandbox]\nread = [\"B/st\"]\n",
				operator: "[paths]\nprivate = [\"B/data/keys\"]\n", line: "cat B/st/%s/keys/k 2>/dev/null || echo NO", shut: "NO",
				open: "SECRET"},
			{key: "operator's read", user: "[sandbox]\nwrite = [\"B/st\"]\n", operator: "[paths]\nread = [\"B/data/keys\"]\n",
				line: "(echo SECRET > B/st/%s/keys/k) 2>/dev/null && echo WROTE || echo NO", shut: "NO", open: "WROTE"},
		} {
			t.Run(row.key, func(t *testing.T) {
				if row.operator != "" && os.Geteuid() != 0 {
					t.Log("left out: only root can give the daemon an /etc of its own; CI runs this as root")
					return
				}
				base := filepath.Join(a.home, "relinked")
				a.sh("rm -rf " + base + "; mkdir -p " + base + "/st/a/keys " + base + "/st/b/keys; echo SECRET | tee " + base +
					"/st/a/keys/k > " + base + "/st/b/keys/k; ln -s st/a " + base + "/data")
				defer a.sh("rm -rf " + base)
				fill := strings.NewReplacer("B/", base+"/")
				file := filepath.Join(a.dir, "config.toml")
				a.sh("cat > " + file + " <<'END'\n" + fill.Replace(row.user) + "END\nchmod 600 " + file)
				if a.wrap = nil; row.operator != "" {
					a.withOperator(fill.Replace(row.operator))
				}
				a.start("--mode", "approve-all", "--config", file)
				defer a.stop()
				for _, now := range []string{"a", "b", "a"} {
					a.sh("ln -sfn st/" + now + " " + base + "/data")
					for _, target := range []string{"a", "b"} {
						want := row.open
						if target == now {
							want = row.shut
						}
						if got := a.sbx("run", "-c", fmt.Sprintf(fill.Replace(row.line), target)); strings.TrimSpace(got.out) != want {
							t.Errorf("the link leads to %s: %s says %v, want %s", now, target, got, want)
						}
					}
				}
			})
		}
	})
}

// What a command can write it can replace by a link: nothing is granted through such a link, neither to commands
// nor to the file tool.
func TestGrantsDoNotFollowWhatCommandsLink(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		file := filepath.Join(a.dir, "config.toml")
		a.sh("mkdir -p ~/linked/.kube ~/linked/own; echo SECRET | tee ~/linked/f > ~/linked/.kube/f; cat > " +
			file + ` <<'END'
[sandbox]
read = ["data"]
write = ["out", "~/linked/own"]
[files.paths.tool]
root = "tool"
mode = "rw"
[files.paths.beside]
root = "` + a.home + `/linked/own/beside"
mode = "rw"
END
chmod 600 ` + file)
		defer a.sh("rm -rf ~/linked")
		a.start("--mode", "approve-all", "--config", file)
		warned := false
		for _, line := range []string{"true",
			"rm -rf data out tool; for n in data out tool ~/linked/own/beside; do ln -s ~/linked $n; done; true"} {
			a.sbx("run", "-c", line)
			for _, name := range []string{"data", "out", "tool", a.home + "/linked/own/beside"} {
				a.sh("rm -rf " + name + "; ln -s ~/linked " + name) // as a command could, or a repository have it
			}
			for _, name := range []string{"f", ".kube/f"} {
				got := a.sbx("run", "-c", "cat ~/linked/"+name+"; echo CHANGED > ~/linked/"+name)
				if strings.Contains(got.out, "SECRET") {
					t.Errorf("after %q: %v", line, got)
				}
				warned = warned || strings.Contains(got.err, "symbolic link that commands can change")
			}
		}
		if !warned {
			t.Error("nothing warns of a grant that is none")
		}
		agent := a.fileAgent(a.agentPeer("editor"), ipc.KindAPI)
		for _, path := range []string{a.home + "/linked/f", "tool/f", a.home + "/linked/own/beside/f"} {
			if r, err := agent.do(t.Context(), ipc.FileRequest{Op: "read", Path: path}); err == nil {
				t.Errorf("read %s: %+v", path, r)
			}
		}
		if got := a.sh("cat ~/linked/f ~/linked/.kube/f"); got != "SECRET\nSECRET\n" {
			t.Errorf("a command changed %q", got)
		}
	})
}
