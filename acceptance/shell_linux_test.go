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
	eachUser(t, func(t *testing.T, a *actor) {
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
	var in bytes.Buffer
	for _, c := range cases {
		cwd := c.Cwd
		if cwd == "" || !filepath.IsAbs(cwd) {
			cwd = filepath.Join(dir, cwd)
		}
		b, _ := json.Marshal(checkLine{c.ID, c.Command, cwd, c.Env, c.TTY})
		in.Write(append(b, '\n'))
	}
	got := a.do(&in, filepath.Join(bin, "sbx"), "check", "--jsonl")
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	if len(lines) != len(cases) {
		t.Fatalf("%d answers to %d cases: %v", len(lines), len(cases), got)
	}
	for i, c := range cases {
		var v verdictLine
		if err := json.Unmarshal([]byte(lines[i]), &v); err != nil || v.ID != c.ID {
			t.Errorf("%s: answer %q, %v", c.ID, lines[i], err)
			continue
		}
		if err := c.Judge(v.Decision); err != nil {
			t.Errorf("%v: %s [%s]", err, v.Why, v.Rule)
		}
		if v.Decision == "auto" {
			autos++
		}
	}
	return autos
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
