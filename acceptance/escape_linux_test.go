package acceptance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"testing"
)

// escapeCase is one line of testdata/sandbox-escape.jsonl: an attempt to break
// out, and a check from outside that it failed; or work that must succeed.
type escapeCase struct {
	ID, Class, Setup, Command, Command2, Check, Cleanup string
	TTY                                                 bool
	TimeoutS                                            int `json:"timeout_s"`
	Request                                             struct {
		Env         map[string]string
		Cwd         string
		Argv        []string
		Description string
	}
	Fileop *fileCase
}

// skipped are the cases that print SKIP here, with the reason; any other SKIP
// fails, and so does one of these that runs.
var skipped = map[string]string{
	"es-098": "not macOS", "es-099": "not macOS", "es-100": "not macOS", "es-101": "not macOS", "es-102": "not macOS",
}

func escapeCases(t *testing.T) []escapeCase {
	t.Helper()
	f, err := os.Open("testdata/sandbox-escape.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []escapeCase
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var c escapeCase
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatalf("line %d: %v", len(list)+1, err)
		}
		list = append(list, c)
	}
	if s.Err() != nil || len(list) < 113 {
		t.Fatalf("%d cases, %v", len(list), s.Err())
	}
	return list
}

// R-OS-12, and R-FS-05 for the file operations: the catalogue of escapes, through
// sbx, the socket, and the real daemon.
//
//   - Row card-03 yes: commands run under bwrap, Landlock and seccomp
func TestEscapeCatalogue(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) { newEscapeHarness(t, a, "").catalogue(t, escapeCases(t)) })
}

// R-OS-12, R-LY-01: the catalogue with the native back end where commands write to the project itself. An ordinary
// user plays the first case of each class; with $ACCEPTANCE_ESCAPE_DIRECT each user plays all.
func TestEscapeCatalogueDirect(t *testing.T) {
	t.Parallel()
	cases := escapeCases(t)
	play := func(t *testing.T, a *actor) {
		newEscapeHarness(t, a, "backend = \"native\"\nlayers = \"off\"\n").catalogue(t, cases)
	}
	if os.Getenv("ACCEPTANCE_ESCAPE_DIRECT") != "" {
		eachUser(t, play)
		return
	}
	cases = slices.CompactFunc(cases, func(a, b escapeCase) bool { return a.Class == b.Class })
	play(t, ordinaryActor(t))
}

// catalogue plays cases, and wants those and no others to be skipped that are known to be.
func (h *escapeHarness) catalogue(t *testing.T, cases []escapeCase) {
	var skips []string
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			if h.run(t, c) {
				skips = append(skips, c.ID)
			}
		})
	}
	for _, id := range skips {
		if skipped[id] == "" {
			t.Errorf("%s was skipped without being known to be", id)
		}
	}
	for id, why := range skipped {
		played := slices.ContainsFunc(cases, func(c escapeCase) bool { return c.ID == id })
		if played && !slices.Contains(skips, id) {
			t.Errorf("%s is listed as skipped (%s) and ran", id, why)
		}
	}
	t.Logf("%d of %d cases skipped: %v", len(skips), len(cases), skips)
}

// escapeHarness is the harness contract of the catalogue: fresh directories,
// setup outside, command inside, check outside.
type escapeHarness struct {
	*actor
	base   string
	config string
	agent  *peer  // requests file operations
	begin  func() // starts the daemon
	// open are the cases that this sandbox does not hold, with the gaps that it
	// says it has; breached are those of them that did break out.
	open     map[string]string
	breached []string
}

// newEscapeHarness is a harness with a daemon, and with further lines in the section [sandbox].
func newEscapeHarness(t *testing.T, a *actor, more string) *escapeHarness {
	h := escapesWith(t, a, more)
	h.begin = func() { h.start("--mode", "approve-all", "--config", h.config) }
	h.begin()
	h.agent = a.agentPeer("files")
	return h
}

// escapesWith is a harness whose daemon is yet to begin, with further lines in
// the section [sandbox], and with secrets in the daemon's environment, as some
// cases want it.
func escapesWith(t *testing.T, a *actor, more string) *escapeHarness {
	base, err := os.MkdirTemp(a.home, "escape-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	h := &escapeHarness{actor: a, base: base, config: filepath.Join(a.dir, "config.toml")}
	a.chown(base)
	a.chown(a.dir)
	text := fmt.Sprintf("[sandbox]\nread = [%q]\nhidden = [%q]\n%s", base, base+"/**/secret", more)
	if err := os.WriteFile(h.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a.chown(h.config)
	for k, v := range secretEnv {
		h.extraEnv = append(h.extraEnv, k+"="+v)
	}
	return h
}

func (a *actor) chown(path string) {
	if a.cred != nil {
		os.Chown(path, int(a.cred.Uid), int(a.cred.Gid))
	}
}

var secretEnv = map[string]string{"AWS_SECRET_ACCESS_KEY": "CANARY-ENV-1", "GITHUB_TOKEN": "CANARY-ENV-2",
	"SSH_AUTH_SOCK": "/tmp/CANARY-agent.sock"}

// run plays one case and reports whether it was skipped.
func (h *escapeHarness) run(t *testing.T, c escapeCase) (skip bool) {
	parent, project := h.t, h.project
	h.t = t
	defer func() { h.t, h.project = parent, project }()
	dir, err := os.MkdirTemp(h.base, c.ID+"-")
	if err != nil {
		t.Fatal(err)
	}
	vars := [][2]string{
		{"WORKSPACE", filepath.Join(dir, "workspace")}, {"OUTSIDE", filepath.Join(dir, "outside")}, {"SECRET", filepath.Join(dir, "secret", "secret.txt")},
		{"SBX_SOCK", filepath.Join(h.socketDir(), "agent.sock")}, {"SBX_STATE", h.stateDir()}, {"SBX_CONFIG", h.config},
		{"SUPERVISOR_PID", strconv.Itoa(h.daemon.Process.Pid)}, {"AUDIT_LOG", filepath.Join(h.stateDir(), "audit", "00000001.jsonl")},
		{"OUT", filepath.Join(dir, "out")}, {"RC", "0"},
	}
	env := func(names ...string) string {
		var b strings.Builder
		for _, v := range vars {
			if len(names) == 0 || slices.Contains(names, v[0]) {
				fmt.Fprintf(&b, "export %s='%s'\n", v[0], v[1])
			}
		}
		return b.String()
	}
	get := func(name string) string {
		for _, v := range vars {
			if v[0] == name {
				return v[1]
			}
		}
		return ""
	}
	h.chown(dir)
	prepare := env() + `mkdir -p "$WORKSPACE" "$OUTSIDE/home" "$(dirname "$SECRET")"; chmod 700 "` + dir + `"; echo CANARY-SECRET > "$SECRET"; cd "$WORKSPACE"` + "\n"
	h.detached(prepare + c.Setup)
	clean := env() + `[ -f "$OUTSIDE/.pids" ] && kill -9 $(cat "$OUTSIDE/.pids") 2>/dev/null; ` + c.Cleanup + "\nchmod -R u+rwX '" + dir + "'; rm -rf '" + dir + "'"
	defer func() {
		h.project = project
		h.detached(clean)
	}()

	inside := env("WORKSPACE", "OUTSIDE", "SECRET", "SBX_SOCK", "SBX_STATE", "SBX_CONFIG", "SUPERVISOR_PID", "AUDIT_LOG")
	expand := func(s string) string {
		return os.Expand(s, get)
	}
	var args []string
	if c.Request.Cwd != "" {
		args = append(args, "--cwd", expand(c.Request.Cwd))
	}
	for k, v := range c.Request.Env {
		args = append(args, "--env", k+"="+expand(v))
	}
	if c.Request.Description != "" {
		args = append(args, "--description", c.Request.Description)
	}
	if c.TimeoutS > 0 {
		args = append(args, "--timeout", fmt.Sprintf("%ds", c.TimeoutS))
	}
	h.project = get("WORKSPACE")
	var out bytes.Buffer
	request := func(rest ...string) result {
		all := append(append([]string{"run"}, args...), rest...)
		if c.TTY {
			screen, code := h.terminal(func(*os.File, func(string) bool) {}, append([]string{"run", "--tty"}, append(args, rest...)...)...)
			return result{out: strings.ReplaceAll(screen, "\r\n", "\n"), code: code}
		}
		return h.sbx(all...)
	}
	command := inside + c.Command
	var r result
	if c.Fileop != nil && c.Fileop.When == "during" {
		command = "export O=\"$OUTSIDE\"\n" + c.Command
		r = h.during(t, c, expand, func() result { return request("-c", inside+command) })
	} else {
		r = request("-c", command)
		if c.Fileop != nil {
			r.out += h.fileop(t, *c.Fileop, expand)
		}
	}
	out.WriteString(r.out + r.err)
	if len(c.Request.Argv) > 0 {
		argv := []string{"--"}
		for _, a := range c.Request.Argv {
			argv = append(argv, expand(a))
		}
		r2 := request(argv...)
		out.WriteString(r2.out + r2.err)
	}
	if c.Command2 != "" {
		r2 := request("-c", inside+c.Command2)
		out.WriteString(r2.out + r2.err)
	}
	if err := os.WriteFile(get("OUT"), out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	vars[len(vars)-1][1] = strconv.Itoa(r.code)
	if c.ID == "es-097" { // the output may be cut: the daemon must live and stay small
		h.checkSmall(t)
		return false
	}
	check := h.do(nil, "/bin/bash", "-c", env()+c.Check)
	shown := out.String()
	if len(shown) > 3000 {
		shown = shown[:3000] + "…"
	}
	if _, known := h.open[c.ID]; check.code != 0 && known {
		h.breached = append(h.breached, c.ID)
	} else if check.code != 0 {
		t.Errorf("%s: the check failed: %v\noutput (exit %d):\n%s\ncommand:\n%s", c.Class, check, r.code, shown, c.Command)
	}
	if h.daemonDead() {
		t.Errorf("the daemon died")
		h.begin()
	}
	return strings.Contains(out.String(), "SKIP")
}

// detached runs a script outside, which may leave processes behind that keep
// its output open.
func (h *escapeHarness) detached(script string) {
	h.t.Helper()
	log, err := os.Create(filepath.Join(h.dir, "script.log"))
	if err != nil {
		h.t.Fatal(err)
	}
	defer log.Close()
	cmd := h.command(h.t.Context(), "/bin/bash", "-c", script)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		b, _ := os.ReadFile(log.Name())
		h.t.Logf("script: %v\n%s", err, b)
	}
}

func (h *escapeHarness) daemonDead() bool { return !alive(h.daemon.Process.Pid) }

// checkSmall wants the daemon alive and below 256 MiB.
func (h *escapeHarness) checkSmall(t *testing.T) {
	t.Helper()
	if h.daemonDead() {
		t.Fatal("the daemon died")
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.daemon.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(b), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.Atoi(strings.Fields(rest)[0])
			if kb > 256<<10 {
				t.Errorf("the daemon holds %d MiB", kb>>10)
			}
			return
		}
	}
	t.Errorf("no VmRSS in\n%s", b)
}
