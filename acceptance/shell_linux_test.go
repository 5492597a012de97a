package acceptance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sandboxd/shell/shelltest"
)

func approvalCases(t *testing.T) []shelltest.Case {
	t.Helper()
	b, err := os.ReadFile("../shell/testdata/approval-bypass.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	list, err := shelltest.Decode(b)
	if err != nil || len(list) < 350 {
		t.Fatalf("%d cases, %v", len(list), err)
	}
	return list
}

type checkLine struct {
	ID      string            `json:"id"`
	Command string            `json:"command"`
	Cwd     string            `json:"cwd,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	TTY     bool              `json:"tty,omitempty"`
}

type verdictLine struct{ ID, Decision, Why, Rule string }

// R-SH-08: the catalogue, through `sbx check --jsonl` on the real daemon.
// Cases that prepare a repository or configuration of their own get a project
// and a daemon of their own.
func TestApprovalCatalogue(t *testing.T) {
	t.Parallel()
	cases := approvalCases(t)
	groups := map[string][]shelltest.Case{}
	var order []string
	for _, c := range cases {
		key := fmt.Sprintf("%q %q %q %q", c.Allow, c.Deny, c.ProtectedRead, c.Setup)
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], c)
	}
	bothUsers(t, func(t *testing.T, a *actor) {
		autos := 0
		for _, key := range order {
			autos += playApproval(t, a, groups[key])
		}
		t.Logf("%d cases in %d groups, %d auto", len(cases), len(groups), autos)
	})
}

func playApproval(t *testing.T, a *actor, cases []shelltest.Case) (autos int) {
	t.Helper()
	first := cases[0]
	parent := a.project
	dir, err := os.MkdirTemp(parent, "case-")
	if err != nil {
		t.Fatal(err)
	}
	a.chown(dir)
	a.project = dir
	defer func() { a.project = parent }()
	a.sh("git init -q .")
	if first.Setup != "" {
		a.sh(first.Setup)
	}
	config := filepath.Join(a.dir, "config.toml")
	if err := os.WriteFile(config, []byte(approvalConfig(first)), 0o600); err != nil {
		t.Fatal(err)
	}
	a.chown(config)
	a.start("--config", config)
	var lines []checkLine
	for _, c := range cases {
		cwd := c.Cwd
		if cwd == "" || !filepath.IsAbs(cwd) {
			cwd = filepath.Join(dir, cwd)
		}
		lines = append(lines, checkLine{c.ID, c.Command, cwd, c.Env, c.TTY})
	}
	for i, v := range a.checks(lines) {
		if err := cases[i].Judge(v.Decision); err != nil {
			t.Errorf("%v: %s [%s]", err, v.Why, v.Rule)
		}
		if v.Decision == "auto" {
			autos++
		}
	}
	return autos
}

// checks has the daemon judge lines, and returns a verdict for each.
func (a *actor) checks(lines []checkLine) (verdicts []verdictLine) {
	a.t.Helper()
	var in bytes.Buffer
	for _, l := range lines {
		b, _ := json.Marshal(l)
		in.Write(append(b, '\n'))
	}
	got := a.do(&in, filepath.Join(bin, "sbx"), "check", "--jsonl")
	for answer := range strings.Lines(got.out) {
		var v verdictLine
		err := json.Unmarshal([]byte(answer), &v)
		if n := len(verdicts); err != nil || n == len(lines) || v.ID != lines[n].ID {
			a.t.Fatalf("got %q, %v, want %d verdicts in order", answer, err, len(lines))
		}
		verdicts = append(verdicts, v)
	}
	if len(verdicts) != len(lines) {
		a.t.Fatalf("got %d verdicts, want %d: %v", len(verdicts), len(lines), got)
	}
	return verdicts
}

// approvalConfig is a case's configuration in our TOML.
func approvalConfig(c shelltest.Case) string {
	if len(c.Allow)+len(c.Deny)+len(c.ProtectedRead) == 0 {
		return ""
	}
	list := func(words []string, form string) string {
		quoted := []string{}
		for _, w := range words {
			quoted = append(quoted, fmt.Sprintf(form, w))
		}
		b, _ := json.Marshal(quoted)
		return string(b)
	}
	return "[permissions]\nallow = " + list(c.Allow, "Bash(%s)") + "\ndeny = " + list(c.Deny, "Bash(%s)") +
		"\n[sandbox]\nhidden = " + list(c.ProtectedRead, "%s") + "\n"
}
