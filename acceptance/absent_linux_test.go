package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The daemon asks nobody about a command that is absent from PATH, or from its own directory, if the sandbox shows
// these directories. It asks about every command in a hidden directory, so that the answer
// reveals nothing about that directory. R-UX-06
func TestAbsentCommandIsNotAsked(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		hidden := filepath.Join(a.dir, "hidden")
		if err := os.Mkdir(hidden, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(hidden, "in-hidden"), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		config := filepath.Join(a.dir, "config.toml")
		if err := os.WriteFile(config, []byte("[approval]\ntimeout = \"1s\"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		a.chown(config)
		a.start("--config", config)
		for _, c := range []struct {
			args  []string
			asked bool
		}{
			{[]string{"--", "no-such-command", "x"}, false},
			{[]string{"--", "touch", "x"}, true},
			{[]string{"-c", "no-such-command x"}, false},
			{[]string{"-c", "no-such-command x; touch x"}, true},
			{[]string{"--", "./no-such-command"}, false},
			{[]string{"--", "no/such/command"}, false},
			{[]string{"--", "/usr/bin/no-such-command"}, false},
			{[]string{"--", "/no/such/command"}, false},
			{[]string{"--", filepath.Join(hidden, "not-in-hidden")}, true},
			{[]string{"--env", "PATH=" + hidden, "--", "in-hidden"}, true},
			{[]string{"--env", "PATH=" + hidden, "--", "not-in-hidden"}, true},
		} {
			r := a.sbx(append([]string{"run", "--no-ask"}, c.args...)...)
			if c.asked != (r.code == 126) || !c.asked && (r.code != 127 || !strings.Contains(r.err, "nobody was asked")) {
				t.Errorf("%q: %v", c.args, r)
			}
		}
		if r := a.sbx("check", "--", "no-such-command"); !strings.Contains(r.out+r.err, "nobody would be asked") {
			t.Error(r)
		}
		if r := a.sbx("log"); !strings.Contains(r.out, "no-such-command") {
			t.Error(r)
		}
	})
}
