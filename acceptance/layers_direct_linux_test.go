package acceptance

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// R-LY-01, R-LY-08, rule 17: the result names what a layer answers otherwise than the project, with the remedy, where
// the command failed: a directory that exists is not renamed and a FIFO has no reader, which work with --direct, and a
// socket has no server, as in no sandbox.
func TestLayersNameTheRemedy(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		a.sh("mkdir dir && touch dir/file && mkfifo pipe")
		socket, err := net.Listen("unix", filepath.Join(a.project, "listens"))
		if err != nil {
			t.Fatal(err)
		}
		defer socket.Close()
		if a.cred != nil {
			if err := os.Chown(filepath.Join(a.project, "listens"), int(a.cred.Uid), int(a.cred.Gid)); err != nil {
				t.Fatal(err)
			}
		}
		reader, err := os.OpenFile(filepath.Join(a.project, "pipe"), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		for _, c := range []struct{ op, object, remedy, line string }{
			{"rename", "dir", "sbx run --direct",
				"python3 -c 'import os; os.rename(\"dir\", \"other\"); os.rename(\"other\", \"dir\")'"},
			{"write", "pipe", "sbx run --direct",
				"python3 -c 'import os; os.open(\"pipe\", os.O_WRONLY | os.O_NONBLOCK)'"},
			{"connect", "listens", "on localhost",
				"python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"listens\")'"},
		} {
			r := a.run(c.line)
			named := strings.Contains(r.out, `"object":"`+filepath.Join(a.project, c.object)+`","access":"`+c.op+`"`)
			if r.code == 0 || r.Changes.Kind != "layered" || !named || !strings.Contains(r.out, c.remedy) {
				t.Errorf("%s: %d %s", c.line, r.code, r.out)
			}
			r = ran{result: a.sbx("run", "--direct", "-c", c.line)}
			if (r.code == 0) != strings.Contains(c.remedy, "--direct") {
				t.Errorf("--direct %s: %s", c.line, r.result)
			}
		}
		r := a.run("mv dir other && mkdir new && mv new newer")
		if r.code != 0 || strings.Contains(r.err, "--direct") {
			t.Errorf("mv, which copies: %s", r.result)
		}
		if r := a.sbx("run", "--direct", "--json", "-c", "touch made"); !strings.Contains(r.out, "the request says so") {
			t.Errorf("%s", r)
		}
		a.noLayers()
	})
}

// R-LY-01, rule 18: an entry of another owner, below those that the plan looks at, can't be changed in a layer
// (EOVERFLOW): the result names it with the remedy, and nothing else that another owner's entries refuse anyway.
func TestLayersNameForeignOwners(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("left out: only root can give a file to somebody else; CI runs this as root")
		return
	}
	eachUser(t, func(t *testing.T, a *actor) {
		a.layered()
		a.sh("mkdir -p deep/team/own deep/mine && touch deep/mine/theirs deep/mine/closed deep/team/own/file")
		for name, mode := range map[string]os.FileMode{"mine/theirs": 0o666, "mine/closed": 0o644, "team": 0o777} {
			at := filepath.Join(a.project, "deep", name)
			if err := errors.Join(os.Chown(at, 4242, 4242), os.Chmod(at, mode)); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []struct{ line, access, object, owned string }{
			{"echo x >> deep/mine/theirs", "write", "deep/mine/theirs", "theirs"},
			{"mv -n deep/mine/theirs deep/mine/other", "rename", "deep/mine/theirs", "theirs"},
			{"mv -n deep/mine/closed deep/mine/other", "rename", "deep/mine/closed", "closed"},
			{"touch deep/team/new", "create", "deep/team/new", "team"},
			{"rm deep/team/own/file", "remove", "deep/team/own/file", "team"},
		} {
			r := a.run(c.line)
			object := fmt.Sprintf(`"object":"%s","access":"%s"`, filepath.Join(a.project, c.object), c.access)
			rule := "/" + c.owned + " of uid 4242, gid 4242 (EOVERFLOW)"
			if r.code == 0 || r.Changes.Kind != "layered" || !strings.Contains(r.out, object) ||
				!strings.Contains(r.out, rule) || !strings.Contains(r.out, "sbx run --direct") {
				t.Errorf("%s: %d %s", c.line, r.code, r.out)
			}
		}
		for _, line := range []string{"echo x >> deep/mine/closed", "cat deep/mine/theirs && rm deep/mine/closed"} {
			if r := a.run(line); strings.Contains(r.out, "EOVERFLOW") {
				t.Errorf("%s: %s", line, r.out)
			}
		}
		for _, line := range []string{"echo x >> deep/mine/theirs", "touch deep/team/new", "rm deep/team/own/file"} {
			if r := a.sbx("run", "--direct", "-c", line); r.code != 0 {
				t.Errorf("--direct %s: %s", line, r)
			}
		}
		a.noLayers()
	})
}

// R-LY-02, rule 11: the attributes by which the kernel marks layers do not land, whichever a command gives its files,
// so that they hide nothing from a later command, in a layer above a held one neither.
func TestLayersMarksDoNotLand(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.layered()
		a.sh("mkdir -p dir/below && echo 1 > dir/file && : > dir/empty && git add . && git commit -qm dir")
		const mark = `python3 -c '
import os
for name in ("dir", "dir/file", "dir/empty", "new", "new/empty", "top"):
    for kind in ("whiteout", "opaque", "redirect", "metacopy", "overlay.whiteout"):
        for value in (b"y", b"x"):
            try: os.setxattr(name, "user.overlay." + kind, value)
            except OSError as e: print(name, kind, e)
'`
		const look = "cat dir/file && ls dir new && stat -c %s dir/empty new/empty top && git status --short"
		const want = "1\ndir:\nbelow\nempty\nfile\n\nnew:\nempty\n0\n0\n0\n?? new/\n?? top\n"
		const line = "mkdir new && : > new/empty && : > top && touch dir dir/file dir/empty && " + mark + " && " + look
		r := a.ofOneTerminal("line=$(cat <<'END'\n" + line + "\nEND\n)\nlook='" + look + "'\n" + `id=$(hold "$line")
$sbx run -c "$look"; $sbx changes land $id > /dev/null; $sbx run -c "$look"`)
		if r.out != want+want || !strings.Contains(r.err, want) {
			t.Errorf("%q, want %q twice; %s", r.out, want, r.err)
		}
		if got := a.sh("getfattr -R -d -m user.overlay . 2>&1; find . -type c"); got != "" {
			t.Errorf("landed: %s", got)
		}
		if r := a.run("echo more >> dir/file"); r.code != 0 || r.Changes.Kind != "layered" {
			t.Errorf("afterwards: %d %+v", r.code, r.Changes)
		}
		a.noLayers()
	})
}
