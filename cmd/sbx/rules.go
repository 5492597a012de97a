package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sandboxd/cmd/sbx/internal/daemon"
	"sandboxd/display"
)

func rulesVerb(a *app) *cobra.Command {
	return group("rules", "Take over rules from other agents' settings", "  sbx rules import .claude/settings.json",
		rulesImport(a))
}

// vendors are the agents whose settings can be read, as `sandboxd config import`
// knows them.
var vendors = []string{"claude", "codex", "gemini", "permission-manager"}

// vendorFiles are where the vendors keep their settings, in a project or a home
// directory.
var vendorFiles = []struct{ vendor, file string }{
	{"claude", ".claude/settings.json"},
	{"claude", ".claude/settings.local.json"},
	{"codex", ".codex/config.toml"},
	{"gemini", ".gemini/settings.json"},
}

func rulesImport(a *app) *cobra.Command {
	var from string
	var asJSON bool
	c := &cobra.Command{
		Use:   "import [FILE]…",
		Short: "Print another agent's permissions as configuration of ours",
		Long: "Print another agent's permissions as configuration of ours, to read and put into\n" +
			"~/.config/sandboxd/config.toml. Nothing is applied. What was not taken over is\n" +
			"reported on standard error. Without FILE the usual files of this directory and of the home\n" +
			"directory are read; - is standard input.",
		Example: "  sbx rules import\n  sbx rules import .claude/settings.json > rules.toml\n  sbx rules import --from " +
			"codex - < config.toml",
		RunE: func(c *cobra.Command, args []string) error {
			if from != "" && !slices.Contains(vendors, from) {
				return usage(c, "--from %q is not known: %s", from, vendorList())
			}
			if len(args) == 0 {
				if args = defaultFiles(from); len(args) == 0 {
					return fmt.Errorf("none of the usual files is here: name a FILE")
				}
			}
			for _, file := range args {
				if err := a.importRules(file, from, asJSON); err != nil {
					return err
				}
			}
			return nil
		},
	}
	addJSON(c, &asJSON, "print JSON, a line for each file")
	c.Flags().StringVar(&from, "from", "", "whose settings they are: "+vendorList()+" (default: by the file's directory)")
	c.RegisterFlagCompletionFunc("from", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return vendors, cobra.ShellCompDirectiveNoFileComp
	})
	return c
}

func vendorList() string { return strings.Join(vendors, ", ") }

// defaultFiles are the vendors' files that are there.
func defaultFiles(vendor string) []string {
	var found []string
	home, _ := os.UserHomeDir()
	for _, dir := range []string{".", home} {
		for _, f := range vendorFiles {
			name := filepath.Join(dir, f.file)
			if _, err := os.Stat(name); err == nil && dir != "" && (vendor == "" || vendor == f.vendor) {
				found = append(found, name)
			}
		}
	}
	return found
}

// vendorOf returns the vendor of a settings file by the names of its directories; "" if none matches.
func vendorOf(file string) string {
	abs, err := fromHere(file)
	if err != nil {
		return ""
	}
	for part := range strings.SplitSeq(filepath.Dir(abs), "/") {
		for _, v := range vendors {
			if part == "."+v {
				return v
			}
		}
	}
	return ""
}

// importRules has the sandboxd beside us read the settings, which knows its rules.
func (a *app) importRules(file, vendor string, asJSON bool) error {
	in := a.stdin
	if file != "-" {
		f, err := os.Open(file)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no file %q", file)
		}
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	if vendor == "" {
		vendor = vendorOf(file)
	}
	if vendor == "" {
		return fmt.Errorf("whose settings are in %q? Add --from %s", file, strings.ReplaceAll(vendorList(), ", ", "|"))
	}
	var out, said strings.Builder
	err := daemon.Run([]string{"config", "import", "--from", vendor, "--name", file}, in, &out, &said)
	if _, ok := daemon.ExitStatus(err); ok {
		return fmt.Errorf("%s", strings.TrimPrefix(strings.TrimSpace(said.String()), "sandboxd: "))
	}
	if err != nil {
		return err
	}
	r := struct {
		File    string `json:"file"`
		TOML    string `json:"toml"`
		Skipped []struct {
			What string `json:"what"`
			Why  string `json:"why"`
		} `json:"skipped"`
	}{File: file}
	if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
		return fmt.Errorf("sandboxd config import: %w", err)
	}
	if asJSON {
		return a.printJSON(r)
	}
	if text := r.TOML; isTerminal(a.out) {
		a.printf("%s\n", strings.Join(display.Block(text), "\n"))
	} else {
		a.printf("%s", text) // for a file: every character as it is
	}
	for _, s := range r.Skipped {
		a.note("not taken over: %s: %s", s.What, s.Why)
	}
	return nil
}
