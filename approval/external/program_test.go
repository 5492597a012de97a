package external_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sandboxd/approval"
	"sandboxd/approval/external"
)

// TestMain lets the test binary play the rule program.
func TestMain(m *testing.M) {
	if role := os.Getenv("RULE_PROGRAM"); role != "" {
		play(role)
		return
	}
	os.Exit(m.Run())
}

func play(role string) {
	var in external.Input
	data, _ := io.ReadAll(os.Stdin)
	if err := json.Unmarshal(data, &in); err != nil {
		os.Exit(3)
	}
	switch {
	case strings.HasPrefix(role, "say "):
		fmt.Print(strings.TrimPrefix(role, "say "))
	case role == "echo":
		fmt.Printf(`{"decision":"block","reason":%q}`, in.Tool+" "+fmt.Sprint(in.Payload["command"])+" asks="+
			strconv.FormatBool(in.Asks))
	case role == "hang":
		time.Sleep(time.Hour)
	case role == "deaf":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		time.Sleep(time.Hour)
	case role == "fail":
		fmt.Print(`{"decision":"run"}`)
		os.Exit(1)
	case role == "die":
		fmt.Print(`{"decision":"run"}`)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case role == "babble":
		for range 1 << 20 {
			fmt.Println(`{"decision":"run"}`)
		}
	case role == "child":
		// A child keeps the pipe open.
		exe, _ := os.Executable()
		child := exec.Command(exe)
		child.Env = append(os.Environ(), "RULE_PROGRAM=hang")
		stdin, _ := child.StdinPipe()
		child.Stdout = os.Stdout
		_ = child.Start()
		fmt.Fprint(stdin, "{}")
		fmt.Print(`{"decision":"run"}`)
	case role == "env":
		fmt.Printf(`{"decision":"ask","reason":%q}`, strings.Join(os.Environ(), " "))
	}
}

func program(role string) *external.Program {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return &external.Program{Path: exe, Env: []string{"RULE_PROGRAM=" + role}, Timeout: 5 * time.Second}
}

func call() approval.Call {
	return approval.Call{Session: "s", Tool: "bash",
		Request: approval.SimpleRequest("bash", map[string]any{"command": "make"})}
}

// TestProgram: what a program may say, and that everything else asks (R-AP-22).
func TestProgram(t *testing.T) {
	for role, want := range map[string]approval.RuleEffect{
		`say {"decision":"run"}`:                   approval.RuleAllow,
		`say {"decision":"block","reason":"no"}`:   approval.RuleDeny,
		`say {"decision":"ask"}` + "\n\n":          approval.RuleAsk,
		`say {"decision":"none"}`:                  approval.RuleNone,
		`say `:                                     "error",
		`say run`:                                  "error",
		`say {"decision":"allow"}`:                 "error",
		`say {"decision":"RUN"}`:                   "error",
		`say {"decision":""}`:                      "error",
		`say {}`:                                   "error",
		`say {"decision":"run","but":"x"}`:         "error",
		`say {"decision":"run"}{"decision":"run"}`: "error",
		`say {"decision":"run"} and more`:          "error",
		`say {"decision":"run"`:                    "error",
		`say ["run"]`:                              "error",
		`say {"decision":"run","reason":5}`:        "error",
		"fail":                                     "error",
		"die":                                      "error",
		"babble":                                   "error",
		"child":                                    "error",
	} {
		t.Run(role, func(t *testing.T) {
			got, err := program(role).Judge(t.Context(), call())
			switch {
			case want == "error" && err == nil:
				t.Errorf("it says %q, want an error", got.Effect)
			case want != "error" && (err != nil || got.Effect != want):
				t.Errorf("it says %q, want %q (%v)", got.Effect, want, err)
			}
		})
	}
}

// TestProgramHangs: it is killed when its time is up, even where it ignores
// signals, and the call asks.
func TestProgramHangs(t *testing.T) {
	for _, role := range []string{"hang", "deaf"} {
		p := program(role)
		p.Timeout = 200 * time.Millisecond
		began := time.Now()
		if got, err := p.Judge(t.Context(), call()); err == nil || !strings.Contains(err.Error(), "no answer within 200ms") {
			t.Errorf("%s: %+v, %v", role, got, err)
		}
		if took := time.Since(began); took > time.Minute { // the program never ends by itself
			t.Errorf("%s: it took %s", role, took)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := program("hang").Judge(ctx, call()); err == nil {
		t.Error("a cancelled call was judged")
	}
}

// TestProgramDecides: through a controller, a program that hangs makes even a
// safe call ask; the agent's text names one that blocks.
func TestProgramDecides(t *testing.T) {
	decide := func(p *external.Program, call approval.Call) approval.Decision {
		c, err := approval.New(approval.Options{Rules: []approval.Rule{p}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(t.Context())
		d, err := c.Preview(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	safe := call()
	safe.Class.Safe = true
	hang := program("hang")
	hang.Timeout = 200 * time.Millisecond
	if d := decide(hang, safe); d.Outcome != approval.WouldAsk {
		t.Errorf("hang: %+v", d)
	}
	if d := decide(program("echo"), safe); d.Outcome != approval.Denied || d.Why != "bash make asks=true" ||
		!strings.HasPrefix(d.Rule, "rule program /") {
		t.Errorf("block: %+v", d)
	}
	if d := decide(program(`say {"decision":"run"}`), call()); !d.Approved || d.Layer != approval.LayerConfigured {
		t.Errorf("run: %+v", d)
	}
	dangerous := call()
	dangerous.Request.Dangerous = true
	if d := decide(program(`say {"decision":"run"}`), dangerous); d.Outcome != approval.WouldAsk {
		t.Errorf("run, dangerous: %+v", d)
	}
	if d := decide(&external.Program{Path: "/nonexistent/program"}, safe); d.Outcome != approval.WouldAsk {
		t.Errorf("no such program: %+v", d)
	}
	if d := decide(&external.Program{Path: "program"}, safe); d.Outcome != approval.WouldAsk {
		t.Errorf("a relative path: %+v", d)
	}
}

// TestProgramEnvironment: nothing of ours leaks into it.
func TestProgramEnvironment(t *testing.T) {
	t.Setenv("SECRET", "hunter2")
	got, err := program("env").Judge(t.Context(), call())
	if err != nil {
		t.Fatal(err)
	}
	if got.Reason != "PATH=/usr/bin:/bin LANG=C.UTF-8 RULE_PROGRAM=env" {
		t.Errorf("its environment is %s", got.Reason)
	}
}
