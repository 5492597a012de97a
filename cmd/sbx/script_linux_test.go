package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"sandboxd/cmd/sbx/internal/term/termtest"
	"sandboxd/internal/programtest"
	"sandboxd/ipc"
)

// TestScripts runs testdata/script against the real programs: sbx, the daemon
// that it starts, and the sandbox.
//
//   - Row 000-51 yes (run_untrusted): the OS sandbox refuses without a question
//   - Row 000-54 yes (doctor): derive: no network for a command is no network, tried for real
//   - Row 001-01 different (rules): the flag --yolo | a person switches approve-all on, for a time
//     (R-AP-18)
//   - Row 001-02 yes (config): --yolo says what to use instead
//   - Row 001-03 yes (mode): yolo warns, is on record, and needs an act each time
//   - Row 001-33 different (run_high_risk): a delete is confirmed by y at the terminal that asks | the
//     yes comes from another terminal (R-IP-01)
//   - Row 001-40 yes (rules): regular expressions are converted by sbx rules import
//   - Row card-12 yes (verbs): the command line sbx
func TestScripts(t *testing.T) {
	bin := build(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup:               func(env *testscript.Env) error { return setup(env, bin) },
		Condition: func(cond string) (bool, error) {
			if cond != "root" {
				return false, fmt.Errorf("unknown condition [%s]", cond)
			}
			return os.Geteuid() == 0, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":   cmdStatus,
			"person":   cmdPerson,
			"approver": cmdApprover,
			"question": cmdQuestion,
			"json":     cmdJSON,
			"flip":     cmdFlip,
		},
	})
}

// programs makes the programs, as they are installed: side by side.
var programs = sync.OnceValues(func() (string, error) {
	bin, err := os.MkdirTemp("", "bin")
	if err != nil {
		return "", err
	}
	if err := programtest.Put(bin, ""); err != nil {
		return bin, err
	}
	return bin, nil
})

func build(t *testing.T) string {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// TestMain lets more tests run at once than there are processors: they wait
// for terminals most of the time.
func TestMain(m *testing.M) {
	if os.Getenv(relayTo) != "" {
		relay()
		return
	}
	flag.Parse()
	flag.Set("test.parallel", "6")
	code := m.Run()
	if bin, _ := programs(); bin != "" {
		os.RemoveAll(bin)
	}
	os.Exit(code)
}

// setup gives a script a daemon, a state directory and a project of its own.
func setup(env *testscript.Env, bin string) error {
	dir, err := os.MkdirTemp("", "sbx") // short: a socket's path has 103 bytes at most
	if err != nil {
		return err
	}
	project := filepath.Join(dir, "project")
	if err := os.Mkdir(project, 0o755); err != nil {
		return err
	}
	files, err := os.ReadDir(env.WorkDir)
	if err != nil {
		return err
	}
	for _, f := range files { // the script's files are the project's
		if f.Type().IsRegular() {
			if err := os.Rename(filepath.Join(env.WorkDir, f.Name()), filepath.Join(project, f.Name())); err != nil {
				return err
			}
		}
	}
	env.Cd = project
	env.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	env.Setenv("BIN", bin)
	env.Setenv("PROJECT", project)
	env.Setenv("SBX_SOCKET_DIR", filepath.Join(dir, "run"))
	env.Setenv("SBX_STATE_DIR", filepath.Join(dir, "state"))
	env.Setenv("TERM", "dumb") // the full screen has tests of its own
	env.Setenv("NO_COLOR", "1")
	env.Defer(func() {
		stop := exec.Command(filepath.Join(bin, "sbx"), "stop", "--now")
		stop.Env = env.Vars
		stop.Run()
		os.RemoveAll(dir)
	})
	return nil
}

// cmdStatus: status N PROGRAM ARG… runs a program and wants exit status N. N may
// also be the name of an end (ends.go); the output must then match the end's pattern.
func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N|END PROGRAM ARG…")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var e *exec.ExitError
		if !errors.As(err, &e) {
			ts.Fatalf("%v", err)
		}
		got = e.ExitCode()
	}
	ended(ts, args[0], got, ts.ReadFile("stdout")+ts.ReadFile("stderr"))
}

// ended checks the exit status. For the name of an end it also checks the end's pattern.
func ended(ts *testscript.TestScript, want string, got int, said string) {
	status, err := strconv.Atoi(want)
	e, named := ends[want]
	if err != nil && !named {
		ts.Fatalf("%s is neither a number nor an end", want)
	}
	if named {
		status = e.status
	}
	if status != got && !(want == "signal" && got > 128) {
		ts.Fatalf("exit status %d, want %s\n%s", got, want, said)
	}
	if re := words[want]; re != nil && !re.MatchString(said) {
		ts.Fatalf("%s, but the output does not match %s\n%s", want, re, said)
	}
}

// words holds the pattern that the output of each end must match. The status does
// not identify an end: several have 125.
var words = map[string]*regexp.Regexp{
	"usage":    regexp.MustCompile(`See sbx.* --help`),
	"daemon":   regexp.MustCompile(`open to others|the daemon that runs |connect to|none is started|start sandboxd: |it ended \(exit status|sandboxd .*(did not|cannot|does not|could not)|config.*:\d+:|broker`),
	"unknown":  regexp.MustCompile(`none of that name|no such|there is no|is not open|not trusted|no front end|no preset|unknown`),
	"stale":    regexp.MustCompile(`has changed|already decided`),
	"terminal": regexp.MustCompile(`terminal`),
	"gone":     regexp.MustCompile(`the daemon is gone`),
	"refused":  regexp.MustCompile(`(?i)denied|rejected|is in none|blocked|stopped|no person answered|refused|^deny`),
	"self":     regexp.MustCompile(`the one that asks|cannot answer|can't answer|own question`),
	"confirm":  regexp.MustCompile(`second yes`),
	"timeout":  regexp.MustCompile(`time|long|timed_out`),
	"absent":   regexp.MustCompile(`not found|no such`),
}

// cleanups collects what termtest wants done at the end.
type cleanups struct {
	*testscript.TestScript
	list []func()
}

func (c *cleanups) Helper()           {}
func (c *cleanups) Fatal(args ...any) { c.Fatalf("%s", fmt.Sprint(args...)) }
func (c *cleanups) Cleanup(f func())  { c.list = append(c.list, f) }

// cmdPerson: person N|END 'WAIT=KEYS'… -- PROGRAM ARG… runs a program at a terminal
// and wants that end. Each time the screen shows WAIT, KEYS are typed (Go's
// escapes count); KEYS that begin with ! are a command that another process, not
// related to this one, runs. What was shown is in the file $SCREEN afterwards.
func cmdPerson(ts *testscript.TestScript, neg bool, args []string) {
	cut := 0
	for cut < len(args) && args[cut] != "--" {
		cut++
	}
	if neg || cut < 1 || cut+1 >= len(args) {
		ts.Fatalf("usage: person N 'WAIT=KEYS'… -- PROGRAM ARG…")
	}
	tb := &cleanups{TestScript: ts}
	defer func() {
		for _, f := range tb.list {
			f()
		}
	}()
	s := termtest.Open(tb)
	program, err := exec.LookPath(args[cut+1])
	if bin := filepath.Join(ts.Getenv("BIN"), args[cut+1]); exists(bin) {
		program, err = bin, nil
	}
	ts.Check(err)
	cmd := exec.Command(program, args[cut+2:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "PWD="+cmd.Dir)
	for _, name := range []string{"PATH", "SBX_SOCKET_DIR", "SBX_STATE_DIR", "TERM", "NO_COLOR"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	s.Start(cmd)
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	screen := filepath.Join(ts.Getenv("WORK"), "screen")
	defer func() { ts.Check(os.WriteFile(screen, []byte(s.Shown()), 0o600)) }()
	ts.Setenv("SCREEN", screen)
	shown := 0
	for _, step := range args[1:cut] {
		step, err := strconv.Unquote(`"` + strings.ReplaceAll(step, `"`, `\"`) + `"`)
		wait, keys, ok := strings.Cut(step, "=")
		if !ok || err != nil {
			ts.Fatalf("step %q: want 'WAIT=KEYS': %v", step, err)
		}
		shown = waitFor(ts, s, wait, shown)
		time.Sleep(30 * time.Millisecond)
		if command, ok := strings.CutPrefix(keys, "!"); ok {
			ts.Check(unrelated(ts, "sh", "-c", command).Run())
			continue
		}
		s.Press(keys)
	}
	select {
	case <-over:
	case <-time.After(40 * time.Second):
		cmd.Process.Kill()
		<-over
		ts.Fatalf("it did not end; the screen is\n%s", s.Shown())
	}
	s.Drain()
	ts.Logf("%s", s.Shown())
	ended(ts, args[0], cmd.ProcessState.ExitCode(), s.Shown())
}

// waitFor waits until the screen shows text behind from; it returns where that ends.
func waitFor(ts *testscript.TestScript, s *termtest.Screen, text string, from int) int {
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		shown := s.Shown()
		if i := strings.Index(shown[from:], text); i >= 0 {
			return from + i + len(text)
		}
		if time.Now().After(end) {
			ts.Fatalf("the screen never showed %q, only:\n%s", text, shown)
		}
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// cmdApprover: approver N|END PROGRAM ARG… is status in a process that is
// unrelated to those of the script: a requester cannot answer.
func cmdApprover(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: approver N PROGRAM ARG…")
	}
	cmd := unrelated(ts, args[1:]...)
	ts.Check(cmd.Run())
	dir := ts.Getenv("WORK")
	for end := time.Now().Add(20 * time.Second); !exists(filepath.Join(dir, "status")); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("it did not end")
		}
	}
	got := strings.TrimSpace(ts.ReadFile(filepath.Join(dir, "status")))
	out, errout := ts.ReadFile(filepath.Join(dir, "out")), ts.ReadFile(filepath.Join(dir, "err"))
	fmt.Fprint(ts.Stdout(), out)
	fmt.Fprint(ts.Stderr(), errout)
	status, err := strconv.Atoi(got)
	ts.Check(err)
	ended(ts, args[0], status, out+errout)
}

// unrelated is a command that leaves a process behind, with a session of its
// own and no parent but the first process. It writes its output and exit status
// to the files out, err and status of $WORK.
func unrelated(ts *testscript.TestScript, args ...string) *exec.Cmd {
	script := `rm -f "$WORK/status"
(cd "$1" || exit; shift; setsid "$@" >"$WORK/out" 2>"$WORK/err" </dev/null; echo $? >"$WORK/tmp"; mv "$WORK/tmp" "$WORK/status") &`
	cmd := exec.Command("sh", append([]string{"-c", script, "sh", ts.MkAbs(".")}, args...)...)
	cmd.Env = os.Environ()
	for _, name := range []string{"PATH", "WORK", "SBX_SOCKET_DIR", "SBX_STATE_DIR", "ID", "HASH", "PLACES"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	return cmd
}

// cmdQuestion: question [N] waits until N questions are open (1); the id of the
// first is in $ID then, its hash in $HASH.
func cmdQuestion(ts *testscript.TestScript, _ bool, args []string) {
	want := 1
	if len(args) == 1 {
		var err error
		want, err = strconv.Atoi(args[0])
		ts.Check(err)
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		cmd := exec.Command(filepath.Join(ts.Getenv("BIN"), "sbx"), "pending", "--json")
		cmd.Env = append(os.Environ(), "SBX_SOCKET_DIR="+ts.Getenv("SBX_SOCKET_DIR"), "SBX_STATE_DIR="+
			ts.Getenv("SBX_STATE_DIR"))
		out, err := cmd.Output()
		var list ipc.ApprovalList
		if err == nil && json.Unmarshal(out, &list) == nil && len(list.Approvals) >= want {
			ts.Setenv("ID", list.Approvals[0].ID)
			ts.Setenv("HASH", list.Approvals[0].Hash)
			return
		}
	}
	ts.Fatalf("no question was put")
}

// cmdJSON: json PATH REGEXP wants the value at a path (a.b.0.c) of the JSON on
// stdout to match; with ! there must be none.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 {
		ts.Fatalf("usage: json PATH [REGEXP]")
	}
	var v any
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &v); err != nil {
		ts.Fatalf("stdout is not one JSON value: %v", err)
	}
	found := true
	for _, key := range strings.Split(args[0], ".") {
		switch at := v.(type) {
		case map[string]any:
			v, found = at[key]
		case []any:
			i, err := strconv.Atoi(key)
			if found = err == nil && i < len(at); found {
				v = at[i]
			}
		default:
			found = false
		}
		if !found {
			break
		}
	}
	if neg {
		if found {
			ts.Fatalf("%s is %v", args[0], v)
		}
		return
	}
	text := fmt.Sprint(v)
	if !found || len(args) > 1 && !regexp.MustCompile(args[1]).MatchString(text) {
		ts.Fatalf("%s is %q (there: %v), want %s", args[0], text, found, args[1:])
	}
}

// cmdFlip: flip FILE REGEXP changes one byte of the last match.
func cmdFlip(ts *testscript.TestScript, _ bool, args []string) {
	name := ts.MkAbs(args[0])
	text, err := os.ReadFile(name)
	ts.Check(err)
	all := regexp.MustCompile(args[1]).FindAllIndex(text, -1)
	if len(all) == 0 {
		ts.Fatalf("%s holds no %s", args[0], args[1])
	}
	text[all[len(all)-1][1]-1] ^= 1
	ts.Check(os.WriteFile(name, text, 0o600))
}
