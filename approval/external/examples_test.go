package external_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"sandboxd/approval"
	"sandboxd/approval/external"
)

// The examples of docs/examples, each with a stand-in for the program that it calls: its answer is weighed as the
// example says, its failure asks, and the reviewer can't let anything run. R-AP-22
func TestExamples(t *testing.T) {
	for _, c := range []struct {
		name, variable, standIn, command string
		asks                             bool
		want                             approval.RuleEffect
		fails                            bool
	}{
		{name: "opa", variable: "OPA", standIn: `grep -q 'push --force' && echo '{"decision": "block", "reason": "no"}'`,
			command: "git push --force", want: approval.RuleDeny},
		{name: "opa", variable: "OPA", standIn: `echo '{"decision": "none"}'`, command: "ls"},
		{name: "opa", variable: "OPA", standIn: "exit 1", command: "ls", fails: true},
		{name: "opa", variable: "OPA", standIn: "case $* in *policy.rego*) exit 1 ;; esac; echo '{\"decision\": \"none\"}'",
			command: "ls", fails: true}, // the policy is named
		{name: "cedar", variable: "CEDAR", standIn: "exit 0", command: "ls"},
		{name: "cedar", variable: "CEDAR", standIn: `grep -q '"command": "git push --delete x"' "$7" && exit 2`,
			command: "git push --delete x", want: approval.RuleDeny},
		{name: "cedar", variable: "CEDAR", standIn: "exit 1", command: "ls", fails: true},
		{name: "reviewer", variable: "REVIEWER", standIn: `echo '{"ask": true, "reason": "odd"}'`, command: "ls",
			want: approval.RuleAsk},
		{name: "reviewer", variable: "REVIEWER", standIn: `echo '{"ask": false}'`, command: "ls"},
		{name: "reviewer", variable: "REVIEWER", standIn: `echo '{"decision": "run", "ask": "no"}'`, command: "ls"},
		{name: "reviewer", variable: "REVIEWER", standIn: `echo '{"decision": "run"}'`, command: "rm -r x", asks: true},
		{name: "reviewer", variable: "REVIEWER", standIn: "echo yes", command: "ls", fails: true},
	} {
		dir := t.TempDir()
		if out, err := exec.Command("cp", "-R", "../../docs/examples/"+c.name+"/.", dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if err := os.Chmod(filepath.Join(dir, "rule"), 0o700); err != nil { // as it is copied by hand
			t.Fatal(err)
		}
		standIn := filepath.Join(dir, "stand-in")
		if err := os.WriteFile(standIn, []byte("#!/bin/sh\n"+c.standIn+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		program := external.Program{Path: filepath.Join(dir, "rule"), Timeout: time.Minute,
			Env: []string{c.variable + "=" + standIn}}
		call := approval.Call{Tool: "bash", Payload: map[string]any{"command": c.command}, Cwd: "/"}
		if c.asks {
			call.Request = &approval.Request{Payload: call.Payload}
		}
		ruling, err := program.Judge(t.Context(), call)
		if (err != nil) != c.fails || ruling.Effect != c.want {
			t.Errorf("%s, %s, %q: got %v, %v, want %v", c.name, c.command, c.standIn, ruling, err, c.want)
		}
	}
}
