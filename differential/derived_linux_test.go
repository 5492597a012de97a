package differential

import (
	"os"
	"os/exec"
	"testing"

	"sandboxd/profile"
	"sandboxd/profile/document"
)

// A script is run by bash in the project; it works, or the sandbox refuses.
type script struct {
	text  string
	works bool
}

var everyday = []script{
	{"ls -la . >/dev/null && pwd", true},
	{"echo hi >f && cat f && mv f src/g && rm src/g", true},
	{"git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --oneline && git branch b && git " +
		"checkout -q b", true},
	{"touch $HOME/x && ls $HOME && mktemp", true},
	{"printf 'int main(void){return 0;}' >src/a.c && cc -o a src/a.c && ./a", true},
	{"python3 -c 'import multiprocessing as m; m.Pool(2).map(abs,[1,2])'", true},
	{"script -qec 'tty' /dev/null", true},
	{"python3 -c 'import socket; s=socket.socket(); s.bind((\"127.0.0.1\",0)); s.listen(); " +
		"socket.create_connection(s.getsockname())'", true},
	{"echo x >/dev/null; head -c1 /dev/urandom | wc -c; cat <(echo hi)", true},
	{"cat /proc/self/status /proc/cpuinfo >/dev/null && ps ax", true},
	{"test -e $HOME/.ssh", false},
	{"echo x >>/etc/passwd", false},
	{"cat /etc/shadow", false},
	{"echo core >/proc/sys/kernel/core_pattern", false},
	{"echo 0 >/proc/self/oom_score_adj", false},
	{"mount -t tmpfs x /tmp", false},
	{"chmod 777 / || mkdir /x || touch /usr/x", false},
	{"echo x >.git/hooks/pre-commit", false},
	{"mv .git .old", false},
	{"echo >>.git/config", false},
	{"rm -rf .git/hooks", false},
}

// TestDerived runs ordinary work, and what must not work, under the profile
// that a trusted project gets.
func TestDerived(t *testing.T) {
	for _, way := range ways(t) {
		if !way.mount {
			continue // no private home
		}
		t.Run(way.name, func(t *testing.T) {
			top, err := os.MkdirTemp("", "w")
			must(t, err)
			defer os.RemoveAll(top)
			project, home := top+"/p", top+"/home"
			b := build(t, way, derived(t, top, way.euid))
			t.Logf("%d mounts, of which %d protect; %d options; %d rules", len(b.mounts.Layout), b.mounts.Mounts,
				len(b.mounts.Args), len(b.layers[0].Paths))
			for _, s := range everyday {
				_, streams, err := b.start(t, job{
					Exec: []string{"/bin/bash", "--noprofile", "--norc", "-c", s.text}, Dir: project,
					Env: []string{"PATH=/usr/bin:/bin", "HOME=" + home, "TMPDIR=/tmp", "TERM=dumb"},
				})
				if (err == nil) != s.works {
					t.Errorf("%s: %v\n%s", s.text, err, streams)
				}
			}
		})
	}
}

// derived makes a project and a home in top, and returns the profile that a
// session gets there.
func derived(t *testing.T, top string, euid int) profile.Profile {
	t.Helper()
	w := &world{top: top, files: map[string]bool{}}
	for _, dir := range []string{"/home", "/home/.ssh", "/p", "/p/src"} {
		w.mkdirQuiet(t, top+dir)
	}
	w.write(t, top+"/home/.ssh/id")
	out, err := exec.Command("git", "init", "-q", top+"/p").CombinedOutput()
	if err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	w.chown(t, euid)
	p, err := document.Derive(document.Tools{
		Project: top + "/p", Trusted: true, Home: top + "/home", Presets: []string{"go", "python", "c"},
		Network: profile.Network{Mode: profile.NetLoopback, ListenAny: true},
	})
	must(t, err)
	return p
}
