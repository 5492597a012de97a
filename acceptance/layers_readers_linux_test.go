package acceptance

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writingReader is a program in the place of tree(1), which the safe list lets run unasked. It changes everything that
// it can, and prints what it could.
const writingReader = `#!/bin/bash
cd "$1"
try() { ("$@") 2>/dev/null && echo "could: $*"; }
over() { echo pwned > "$1"; }
more() { echo pwned >> "$1"; }
try over new; try more src/one.txt; try over src/one.txt; try truncate -s 0 src/one.txt
try mkdir made; try rm src/one.txt; try mv src lib; try chmod 777 src/one.txt; try touch -d yesterday src/one.txt
try ln src/one.txt linked; try ln -s / led; try rmdir empty; try mkfifo other
try over /proc/self/cwd/new; try over "/proc/self/root$1/new"; try over .git/index; try over .git/hooks/pre-commit
try mount -o remount,rw,bind "$1"; try umount "$1"; try unshare -r mount -o remount,rw,bind "$1"
try timeout 2 bash -c 'echo pwned > pipe'
try timeout 2 bash -c 'echo pwned <> pipe >&0'
try python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("listens")'
try over "$2/new"
try over /tmp/own && echo tried
`

// R-LY-01: what runs unasked because it only reads has a read-only project, whatever its program does, on both back
// ends: neither the project nor another place that commands write to changes, no FIFO takes its bytes and no socket
// its connection. The answer says so.
func TestReadersCannotWrite(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("left out: only root can install a program of the system; CI runs this as root")
		return
	}
	programs, err := os.MkdirTemp("/usr/local/lib", "sandboxd-acceptance-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(programs) })
	err = os.WriteFile(filepath.Join(programs, "tree"), []byte(writingReader), 0o755)
	if err != nil || os.Chmod(programs, 0o755) != nil {
		t.Fatal(err)
	}
	bothUsers(t, func(t *testing.T, a *actor) {
		a.repository()
		a.sh("mkfifo pipe; git config user.email b@example.com; git add -A; touch src/*.txt")
		also := a.project + "-also"
		a.sh("mkdir " + also)
		t.Cleanup(func() { os.RemoveAll(also) })
		socket, err := net.Listen("unix", filepath.Join(a.project, "listens"))
		if err != nil {
			t.Fatal(err)
		}
		defer socket.Close()
		a.sh("chmod 777 listens || true")
		before := a.everything()
		for _, backend := range []string{"bwrap", "native"} {
			for _, layers := range []string{"auto", "off"} {
				a.configured(fmt.Sprintf("[sandbox]\nbackend = %q\nlayers = %q\nwrite = [%q]\n[shell]\nsearch_path = [%q, %q]\n",
					backend, layers, also, programs, "/usr/bin"), "--mode", "strict")
				if r := a.sbx("trust", a.project); r.code != 0 {
					t.Fatal(r)
				}
				r := a.run("tree " + a.project + " " + also)
				if !strings.Contains(r.Stdout, "tried") || strings.Count(r.Stdout, "could:") != 1 {
					t.Errorf("%s, layers %s: %d %s", backend, layers, r.code, r.out)
				}
				if c := r.Changes; c.Kind != "none" || !c.Covered || c.Undo != "" {
					t.Errorf("%s: %+v", backend, c)
				}
				if r := a.run("git status --short"); r.code != 0 || r.Changes.Kind != "none" {
					t.Errorf("%s: %d %s%s", backend, r.code, r.out, r.err)
				}
				if now := a.everything(); now != before {
					t.Fatalf("%s: the project is\n%s\n--- instead of\n%s", backend, now, before)
				}
				if got := a.sh("ls " + also); got != "" {
					t.Errorf("%s: %s has %q", backend, also, got)
				}
			}
		}
	})
}
