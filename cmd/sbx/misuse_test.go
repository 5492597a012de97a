package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
			if err := c.ParseFlags([]string{"--" + f.Name, ""}); err != nil {
				t.Fatal(err)
			}
			err := c.ValidateArgs(nil)
			refused := err != nil && strings.HasPrefix(err.Error(), "--"+f.Name+" is empty")
			if refused == slices.Contains(mayBeEmpty, f.Name) {
				t.Errorf("%s --%s '': %v", c.CommandPath(), f.Name, err)
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
