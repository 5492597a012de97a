package acceptance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// approvalCase is one line of the catalogue of approval by-passes.
type approvalCase struct {
	ID, Class, Command, Expect, Setup string
	Config                            json.RawMessage
	Request                           struct {
		Env map[string]string
		Cwd string
		TTY bool
	}
}

func approvalCases(t *testing.T) []approvalCase {
	t.Helper()
	b, err := os.ReadFile("../shell/testdata/approval-bypass.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var list []approvalCase
	s := bufio.NewScanner(bytes.NewReader(b))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var c approvalCase
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	if len(list) < 300 {
		t.Fatalf("only %d cases", len(list))
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
	groups := map[string][]approvalCase{}
	var order []string
	for _, c := range cases {
		key := string(c.Config) + "\x00" + c.Setup
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

func playApproval(t *testing.T, a *actor, cases []approvalCase) (autos int) {
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
	if err := os.WriteFile(config, []byte(approvalConfig(t, first.Config)), 0o600); err != nil {
		t.Fatal(err)
	}
	a.chown(config)
	a.start("--config", config)
	var in bytes.Buffer
	for _, c := range cases {
		cwd := c.Request.Cwd
		if cwd == "" || !filepath.IsAbs(cwd) {
			cwd = filepath.Join(dir, cwd)
		}
		b, _ := json.Marshal(checkLine{c.ID, c.Command, cwd, c.Request.Env, c.Request.TTY})
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
		want := map[string][]string{"auto": {"auto"}, "ask": {"ask"}, "deny-or-ask": {"ask", "deny"}}[c.Expect]
		if !slices.Contains(want, v.Decision) {
			t.Errorf("%s (%s): %q: got %s, want %s: %s [%s]", c.ID, c.Class, c.Command, v.Decision, c.Expect, v.Why, v.Rule)
		}
		if v.Decision == "auto" {
			autos++
		}
	}
	return autos
}

// approvalConfig is a case's configuration in our TOML.
func approvalConfig(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var name string
	if json.Unmarshal(raw, &name) == nil {
		return ""
	}
	var c struct {
		Allow         []string
		Deny          []string
		ProtectedRead []string `json:"protected_read"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		t.Fatalf("configuration %s: %v", raw, err)
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
