package acceptance

import (
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
