package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sandboxd/ipc"
)

// An empty value counted as absent: `sbx run --agent --worktree ” -- claude` ran in the project itself, and
// `sbx trust ”` trusted the current directory.
func TestEmptyValues(t *testing.T) {
	flags := 0
	walk(newRoot(&app{}, nil), func(c *cobra.Command) {
		if c.DisableFlagParsing || c.Name() == "completion" {
			return
		}
		if err := c.ValidateArgs([]string{""}); err == nil || !strings.Contains(err.Error(), "argument is empty") {
			t.Errorf("%s '': %v", c.CommandPath(), err)
		}
		check := func(f *pflag.Flag) {
			if !strings.HasPrefix(f.Value.Type(), "string") {
				return
			}
			flags++
			if err := c.ParseFlags([]string{"--" + f.Name + "="}); err != nil {
				t.Fatal(err)
			}
			err := c.ValidateArgs(nil)
			refused := err != nil && strings.HasPrefix(err.Error(), "--"+f.Name+" is empty")
			if refused == slices.Contains(mayBeEmpty, f.Name) {
				t.Errorf("%s --%s=: %v", c.CommandPath(), f.Name, err)
			}
			if list, ok := f.Value.(pflag.SliceValue); ok {
				list.Replace([]string{"x"})
			} else {
				f.Value.Set("x")
			}
		}
		c.LocalNonPersistentFlags().VisitAll(check)
		c.InheritedFlags().VisitAll(check)
	})
	if flags < 100 {
		t.Errorf("only %d flags were tried", flags)
	}
	if got := printedBy("shell --config= -c ls"); !strings.HasPrefix(got, "--config is empty") {
		t.Errorf("sbx shell: %s", got)
	}
	for _, verb := range []string{"run", "check", "acp", "mcp wrap"} {
		c, _, err := newRoot(&app{}, nil).Find(strings.Fields(verb))
		if err != nil || c.ValidateArgs([]string{"printf", ""}) != nil {
			t.Errorf("sbx %s refuses an empty argument of the command", verb)
		}
	}
}

// "accepts 1 arg(s), received 0" did not name the missing argument.
func TestWrongArguments(t *testing.T) {
	for line, want := range map[string]string{
		"changes show":    "no argument is given: want sbx changes show ID\n",
		"file copy a":     `the arguments are ["a"]: want sbx file copy [flags] FROM TO` + "\n",
		"grants ls extra": `the arguments are ["extra"]: want sbx grants ls` + "\n",
		"trust a b":       `the arguments are ["a" "b"]: want sbx trust [DIR]` + "\n",
		"web frob":        `sbx web has no verb "frob"` + "\n",
	} {
		if got := printedBy(line); !strings.HasPrefix(got, want) {
			t.Errorf("sbx %s: %s", line, got)
		}
	}
}

// strconv's and time's errors were printed for numbers and durations.
func TestMisreadFlags(t *testing.T) {
	flags := 0
	walk(newRoot(&app{}, nil), func(c *cobra.Command) {
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if strings.HasPrefix(f.Value.Type(), "string") {
				return
			}
			flags++
			err := c.ParseFlags([]string{"--" + f.Name + "=x"})
			if err = misread(c, err); !strings.HasPrefix(err.Error(), "--"+f.Name+` "x": want `) {
				t.Errorf("%s: %v", c.CommandPath(), err)
			}
		})
	})
	if flags < 50 {
		t.Errorf("only %d flags were tried", flags)
	}
	for line, want := range map[string]string{
		"log -n 99999999999999999999":    `--lines "99999999999999999999": want a number closer to 0`,
		"undo --since 999999999h":        `--since "999999999h": want a time such as 90s, 5m or 30, above 0 and below 290`,
		"undo --since -5m":               `--since "-5m": want a time such as 90s, 5m or 30, above 0`,
		"hook claude --patience x":       `--patience "x": want a time`,
		"file read --offset x README.md": `--offset "x": want a whole number`,
		"log --jsno":                     "unknown flag: --jsno; did you mean --json?",
	} {
		if got := printedBy(line); !strings.HasPrefix(got, want) {
			t.Errorf("sbx %s: %s", line, got)
		}
	}
}

// An error of a file named a temporary one, or none, and came after the difference as if it were made.
func TestUnwritableSettings(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("HOME", t.TempDir())
	for _, verb := range []string{"hook install gemini --project", "hook install gemini --user"} {
		dir := ".gemini"
		if strings.HasSuffix(verb, "--user") {
			dir = filepath.Join(os.Getenv("HOME"), dir)
		}
		if err := os.Symlink("missing", dir); err != nil {
			t.Fatal(err)
		}
		if got := printedBy(verb); strings.Contains(got, "@@") ||
			!strings.Contains(got, ".gemini/settings.json can't be written, and nothing was changed: ") {
			t.Errorf("%s: %s", verb, got)
		}
		if err := errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		if got := printedBy(verb); !strings.Contains(got, ".gemini/settings.json can't be read: not a directory") {
			t.Errorf("%s: %s", verb, got)
		}
	}
	dir := t.TempDir()
	if err := writeSettings(dir, []byte("x"), 0o600); err == nil || strings.Count(err.Error(), dir) != 1 {
		t.Error(err)
	}
	if got := printedBy("rules import /nope"); !strings.Contains(got, `there is no file "/nope"`) {
		t.Error(got)
	}
}

// `sbx changes show x` answered `undo "x": does not exist`.
func TestNoHeldChange(t *testing.T) {
	missing := &ipc.Error{Code: ipc.CodeNotFound, Message: `undo "x": does not exist`,
		Conflict: &ipc.FileConflict{Path: "x"}}
	var e *ipc.Error
	if err := namedHeld("x", missing); !errors.As(err, &e) || e.Message != `no held change set has the ID "x"` ||
		e.Hint != "sbx changes lists them" {
		t.Errorf("%v", err)
	}
	path := &ipc.Error{Code: ipc.CodeNotFound, Message: "m", Conflict: &ipc.FileConflict{Path: "/src"}}
	if namedHeld("h-1", path); path.Message != "m" {
		t.Errorf("an error about a path: %v", path)
	}
}
