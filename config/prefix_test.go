package config

import (
	"strings"
	"testing"
)

// R-SH-01 R-SH-05: the check names the further words that a prefix lets through, and the settings as shown say that a
// pattern is one.
func TestPrefixesAreNamed(t *testing.T) {
	user := write(t, "user.toml", `[permissions]
allow = ["Bash(git diff *)", "Bash(git status)", "read_file"]
[[shell.rules]]
pattern = "make test"
approval = false
[[shell.rules]]
pattern = "make fmt"
approval = false
exact = true
[[shell.rules]]
pattern = "rm"
allowed = false
`)
	r := Check(Paths{User: user}, "")
	b := r.String()
	if !r.OK {
		t.Fatal(b)
	}
	for _, want := range []string{
		`user.toml:3: shell.rules: "make test" also lets further targets (make test lint) run; exact = true`,
		`user.toml:2: permissions.allow: "Bash(git diff *)" lets any file`,
		"the configuration is good (0 warnings)",
	} {
		if !strings.Contains(b, want) {
			t.Errorf("no %q:\n%s", want, b)
		}
	}
	if n := strings.Count(b, "note: "); n != 2 {
		t.Errorf("%d notes:\n%s", n, b)
	}
	cfg, _, err := Load(Paths{User: user})
	if err != nil {
		t.Fatal(err)
	}
	text := shown(t, cfg)
	for _, want := range []string{
		`pattern = "make test" # a prefix: further words may follow`, `pattern = "make fmt" # these words alone`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q:\n%s", want, text)
		}
	}
}
