package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sandboxd/ipc"
)

// unseen gives the actor's person a program that commands do not have, which the preset node shows.
func (a *actor) unseen() {
	a.t.Helper()
	dir := filepath.Join(a.home, ".nvm", filepath.Base(a.dir))
	a.sh("mkdir -p " + dir + "; printf '#!/bin/sh\\necho shown\\n' > " + dir + "/pnpm; chmod 755 " + dir + "/pnpm")
	a.t.Cleanup(func() { a.sh("rm -rf " + dir + "; rmdir ~/.nvm 2>/dev/null || true") })
	a.extraEnv = []string{"SBX_SEARCH_PATH=" + dir + ":/usr/bin:/bin"}
}

// withUnseen is unseen with a daemon that has the configuration noted, and a trusted project.
func (a *actor) withUnseen() {
	a.t.Helper()
	a.unseen()
	a.startWith(noted)
	a.sbx("trust")
}

// noted is a configuration with a comment, which stays.
const noted = "# mine\n[approval]\ntimeout = \"1m\"\n"

// presets returns what the actor's configuration has besides noted, which has to be as it was.
func (a *actor) presets() string {
	a.t.Helper()
	text := a.sh("cat " + filepath.Join(a.dir, "contained.toml"))
	rest, ok := strings.CutPrefix(text, noted)
	if !ok {
		a.t.Errorf("the configuration was %q and is %q", noted, text)
	}
	return strings.Join(strings.Fields(rest), " ")
}

// preset is the answer that adds it, on the screen.
const preset = `Add preset node: pnpm is not visible inside +p`

const withNode = `[presets] use = ["node"]`

// R-UX-08, R-OS-07, R-UX-09: the question about a command whose program a preset shows has one key that adds the
// preset. Then the command is judged again: it runs where the preset permits it, and else another question shows it
// with the preset in force. It works where the command was asked for, on the full screen, line by line, and in the web
// (TestWebKeys).
func TestPresetByOneKey(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.withUnseen()
		s := newScreen(a, "run", "-c", "pnpm test && touch made")
		s.sees(preset)
		time.Sleep(800 * time.Millisecond)
		for _, key := range []string{"x", "Escape", "p", "BSpace"} {
			s.keys(key)
		}
		if got := a.presets(); got != "" {
			t.Errorf("before Enter: %s", got)
		}
		s.chooses("p", preset)
		s.sees(`\[Added node\], judged again`)
		s.sees(`What: +Create or touch made`)
		s.chooses("v", `View all`)
		s.sees(`all of it`)
		time.Sleep(800 * time.Millisecond)
		s.keys("PageDown")
		s.keys("q")
		shown := s.chooses("y", `Execute once`)
		if strings.Contains(shown[strings.LastIndex(shown, "judged again"):], "visible") {
			t.Errorf("the question that follows:\n%s", shown)
		}
		if got := a.presets(); got != withNode {
			t.Errorf("the configuration has %s", got)
		}
		s.ends()
		if !a.there("made") {
			t.Error("the command that was approved with the preset did not run")
		}

		a.startWith(noted)
		run := a.begin("run", "-c", "pnpm test")
		a.pending(1)
		s = newScreen(a, "approve", "--once")
		s.chooses("p", preset)
		s.ends()
		if r := run(); r.code != 0 || r.out != "shown\n" {
			t.Errorf("what the preset permits: %v", r)
		}
		a.onRecord("add presets")

		a.startWith(noted)
		run = a.begin("run", "-c", "pnpm test")
		a.pending(1)
		_, code := a.terminal(func(tty *os.File, seen func(string) bool) {
			seen("Allow? [")
			if seen("Add preset node") {
				tty.WriteString("p\r")
			}
			seen("judged again")
		}, "approve", "--plain", "--once")
		if r := run(); code != 0 || r.out != "shown\n" || a.presets() != withNode {
			t.Errorf("line by line: exit %d, %v", code, r)
		}
	})
}

// chooses waits for an option until keys count, presses its letter, and then Enter.
func (s *screen) chooses(letter, option string) (shown string) {
	s.a.t.Helper()
	s.sees(option)
	time.Sleep(800 * time.Millisecond)
	shown = s.sees(option)
	s.keys(letter)
	s.sees(`> \d+\. ` + option)
	s.keys("Enter")
	return shown
}

// onRecord wants the log to have an operation on the configuration, with who did it.
func (a *actor) onRecord(operation string) {
	a.t.Helper()
	r := a.sbx("log", "--json", "--category", "config")
	if !strings.Contains(r.out, operation) || !strings.Contains(r.out, "answering") {
		a.t.Errorf("the log has no %q: %v", operation, r)
	}
}

// R-UX-08, R-IP-01: presets are added through the approver's socket alone, by somebody who may answer, for what was
// shown; and where that fails the screen names the reason, and the question stays.
func TestPresetIsNotAdded(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.withUnseen()
		run := a.begin("run", "-c", "pnpm test")
		q := a.pending(1)[0]
		if len(q.Presets) != 1 || q.Presets[0].Name != "node" {
			t.Fatalf("got the presets %+v", q.Presets)
		}
		good := fmt.Sprintf(`{"rev":%d,"hash":%q,"allow":false,"presets":true}`, q.Rev, q.Hash)
		for name, c := range map[string]struct{ socket, body, want string }{
			"the agent's socket":    {"agent.sock", good, "404"},
			"as a yes":              {"approver.sock", strings.Replace(good, "false", "true", 1), "400"},
			"another question":      {"approver.sock", strings.Replace(good, q.Hash, "x"+q.Hash[1:], 1), "409"},
			"without what was seen": {"approver.sock", `{"rev":0,"hash":"","allow":false,"presets":true}`, "409"},
			"for the session":       {"approver.sock", `{"scope":"session",` + good[1:], "400"},
			"a preset of one's own": {"approver.sock", strings.Replace(good, "true}", `["go"]}`, 1), "400"},
		} {
			if got := a.post(c.socket, "/v1/approvals/"+q.ID+"/decision", c.body); !strings.HasSuffix(got, c.want) {
				t.Errorf("%s: got %s, want %s", name, got, c.want)
			}
		}
		if got := a.presets(); got != "" {
			t.Errorf("the configuration has %s", got)
		}
		a.sh("chmod 777 " + a.dir)
		s := newScreen(a, "approve", "--once")
		s.chooses("p", preset)
		s.sees(`can be written by others`)
		a.sh("chmod 700 " + a.dir)
		s.sees(preset)
		if a.presets() != "" || len(a.pending(1)) != 1 {
			t.Error("the question did not stay as it was")
		}
		s.chooses("n", `Deny:`)
		s.ends()
		if r := run(); r.code != 126 {
			t.Error(r)
		}
		// A letter that the question does not offer decides nothing.
		run = a.begin("run", "-c", "touch made")
		a.pending(1)
		s = newScreen(a, "approve", "--once")
		s.sees(`Execute once`)
		time.Sleep(800 * time.Millisecond)
		s.keys("p")
		time.Sleep(200 * time.Millisecond)
		s.keys("Enter")
		s.sees(`"p" is not on offer here; nothing is decided`)
		s.chooses("n", `Deny:`)
		s.ends()
		run()
	})
}

// post sends a request to a socket of the daemon, and returns the status and the body.
func (a *actor) post(socket, path, body string) string {
	a.t.Helper()
	r := a.do(strings.NewReader(body), "curl", "-s", "-w", " %{http_code}", "-o", "-", "--unix-socket",
		filepath.Join(a.socketDir(), socket), "-H", "Content-Type: application/json", "-d", "@-", "http://sandboxd"+path)
	return r.out
}

// R-IP-01: the program that asks can't add the presets of its own question, nor can the agent's client.
func TestPresetIsNotOnesOwn(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.withUnseen()
		agent := a.agentPeer("asker")
		sess, err := agent.agent.OpenSession(t.Context(), ipc.SessionRequest{Kind: ipc.KindAPI, Root: a.project})
		if err != nil {
			t.Fatal(err)
		}
		agent.agent.Secret = sess.Secret
		exec := ipc.ExecRequest{Session: sess.ID, Command: "pnpm test", Keep: true}
		if _, err := agent.agent.StartExec(t.Context(), exec); err != nil {
			t.Fatal(err)
		}
		q := a.pending(1)[0]
		answer := ipc.Answer{ID: q.ID, Rev: q.Rev, Hash: q.Hash, Presets: true}
		if d, err := agent.approver.Decide(t.Context(), answer); ipc.CodeOf(err) != ipc.CodeSelfApproval {
			t.Errorf("the program that asks: %+v, %v", d, err)
		}
		if got := a.presets(); got != "" || len(a.pending(1)) != 1 {
			t.Errorf("the configuration has %s", got)
		}
		d, err := a.personPeer("person", true).approver.Decide(t.Context(), answer)
		if err != nil || d.Allowed || d.Reason != "again" || a.presets() != withNode {
			t.Errorf("a person: %+v, %v; the configuration has %s", d, err, a.presets())
		}
	})
}

// R-UX-08, R-SH-04: the person's own toolchain runs whichever way a line is judged; without the preset that shows it
// the system's does, and the result of one that fails names the preset.
func TestOneSearchPath(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		dir := filepath.Join(a.home, ".nvm", filepath.Base(a.dir))
		a.sh("mkdir -p " + dir + "/lib; printf '#!/bin/sh\necho mine\n' > " + dir + "/lib/x; " +
			"chmod 755 " + dir + "/lib/x; ln -s lib/x " + dir + "/node; ln -s lib/x " + dir + "/npm; echo '{}' > package.json")
		a.t.Cleanup(func() { a.sh("rm -rf " + dir + "; rmdir ~/.nvm 2>/dev/null || true") })
		a.extraEnv = []string{"SBX_SEARCH_PATH=" + dir + ":/usr/bin:/bin"}
		a.startWith("[presets]\nuse = [\"node\"]\n[approval]\ntimeout = \"1s\"")
		a.sbx("trust", "--contained")
		for _, line := range []string{"node --version", "npm test", "node --version > v; cat v", "npm test > v; cat v"} {
			if r := a.sbx("run", "-c", line); r.code != 0 || r.out != "mine\n" {
				t.Errorf("%s: %v", line, r)
			}
		}
		a.startWith("[approval]\ntimeout = \"1s\"")
		r := a.sbx("run", "-c", "node -e 'process.exit(3)'")
		if r.code != 3 || !strings.Contains(r.err, dir+": sbx preset add node") {
			t.Errorf("without the preset: %v", r)
		}
	})
}

// R-UX-08, R-OS-06: a preset that the operator's configuration does not have is not offered, and can't be added.
func TestPresetOfTheOperator(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		if os.Geteuid() != 0 {
			t.Log("left out: only root can give the daemon an /etc of its own; CI runs this as root")
			return
		}
		with := func(preset string) {
			a.unseen()
			a.withEtc("config.toml", "[presets]\nuse = [\""+preset+"\"]\n")
			a.startWith(noted)
			a.sbx("trust")
		}
		with("go")
		run := a.begin("run", "-c", "pnpm test")
		q := a.pending(1)[0]
		body := fmt.Sprintf(`{"rev":%d,"hash":%q,"allow":false,"presets":true}`, q.Rev, q.Hash)
		got := a.post("approver.sock", "/v1/approvals/"+q.ID+"/decision", body)
		if len(q.Presets) != 0 || strings.HasSuffix(got, "200") || a.presets() != "" {
			t.Errorf("got the presets %+v and %s, want none on offer: the configuration has %q", q.Presets, got, a.presets())
		}
		a.sbx("approve", q.ID, "--deny")
		run()
		with("node")
		if r := a.sbx("run", "-c", "pnpm test"); r.out != "shown\n" {
			t.Errorf("with a preset of the operator's: %v", r)
		}
	})
}
