package acceptance

import (
	"path/filepath"
	"strings"
	"testing"
)

// R-OS-07, R-OS-09: programs find inside what they expect: "/" can be listed and
// holds only the way to what is shown; PATH has the person's directories that can be executed from and not
// written; a trusted project's commands have a loopback of their own, and others have no network.
func TestExpectedInside(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		tools, project := a.dir+"/tools", a.project+"/bin"
		a.sh("mkdir -p " + tools + " " + project + " ~/hidden-tools; cd " + tools +
			`; printf '#!/bin/sh\necho from tools\n' > named-tool; chmod 755 named-tool`)
		t.Cleanup(func() { a.sh("rm -r ~/hidden-tools") })
		path := []string{project, "relative", a.home + "/hidden-tools", tools, "/usr/bin"}
		a.extraEnv = []string{"SBX_SEARCH_PATH=" + strings.Join(path, ":")}
		config := filepath.Join(a.dir, "config.toml")
		a.sh("umask 077; printf '[sandbox]\nexec = [\"" + tools + "\"]\n' > " + config)
		a.start("--mode", "approve-all", "--config", config)

		const serve = `python3 -c "
import socket, threading
s = socket.create_server(('127.0.0.1', 0))
threading.Thread(target=lambda: s.accept()[0].send(b'own loopback')).start()
print(socket.create_connection(s.getsockname()).recv(99).decode())"`
		if r := a.sbx("profile", "show"); !strings.Contains(r.out, "\nnetwork none\n") {
			t.Errorf("a project that nobody trusts: %v", r)
		}
		if r := a.sbx("trust"); r.code != 0 {
			t.Fatal(r)
		}
		for _, c := range []struct{ line, want string }{
			{serve, "own loopback\n"},
			{"named-tool", "from tools\n"},
			{"echo $PATH", tools + ":/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin\n"},
			{"stat -c %a /; ls / | grep -x usr; find / -maxdepth 1 -name home", "755\nusr\n" + shownHome(a)},
			{"mkdir /new 2>/dev/null || echo refused", "refused\n"},
			{"ls /var 2>/dev/null || echo refused", "refused\n"},
		} {
			if r := a.sbx("run", "-c", c.line); r.out != c.want {
				t.Errorf("%s: %v\nwant %q", c.line, r, c.want)
			}
		}
	})
}

// shownHome is what find prints of /home where the actor's home directory is there.
func shownHome(a *actor) string {
	if strings.HasPrefix(a.home, "/home/") {
		return "/home\n"
	}
	return ""
}
