package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sandboxd/display"
	"sandboxd/shell/importrules"
)

func rulesVerb(a *app) *cobra.Command {
	return group("rules", "Take over rules from other agents' settings", "  sbx rules import .claude/settings.json", rulesImport(a))
}

// vendorFiles are where the vendors keep their settings, in a project or a home
// directory.
var vendorFiles = []struct {
	vendor importrules.Vendor
	file   string
}{
	{importrules.Claude, ".claude/settings.json"},
	{importrules.Claude, ".claude/settings.local.json"},
	{importrules.Codex, ".codex/config.toml"},
	{importrules.Gemini, ".gemini/settings.json"},
}

func rulesImport(a *app) *cobra.Command {
	var from string
	c := &cobra.Command{
		Use:   "import [FILE]…",
		Short: "Print another agent's permissions as configuration of ours",
		Long: "Print another agent's permissions as configuration of ours, to read and put into\n" +
			"~/.config/sandboxd/config.toml. Nothing is applied. What was not taken over is told\n" +
			"on standard error. Without FILE the usual files of this directory and of the home\n" +
			"directory are read; - is standard input.",
		Example: "  sbx rules import\n  sbx rules import .claude/settings.json > rules.toml\n  sbx rules import --from codex - < config.toml",
		RunE: func(c *cobra.Command, args []string) error {
			if from != "" && !slices.Contains(importrules.Vendors, importrules.Vendor(from)) {
				return usage(c, "--from %q is not known: %s", from, vendorList())
			}
			if len(args) == 0 {
				if args = usualFiles(importrules.Vendor(from)); len(args) == 0 {
					return fmt.Errorf("none of the usual files is here: name a FILE")
				}
			}
			for _, file := range args {
				if err := a.importRules(file, importrules.Vendor(from)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringVar(&from, "from", "", "whose settings they are: "+vendorList()+" (default: told by the file's directory)")
	c.RegisterFlagCompletionFunc("from", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return strings.Split(vendorList(), ", "), cobra.ShellCompDirectiveNoFileComp
	})
	return c
}

func vendorList() string {
	var names []string
	for _, v := range importrules.Vendors {
		names = append(names, string(v))
	}
	return strings.Join(names, ", ")
}

// usualFiles are the vendors' files that are there.
func usualFiles(vendor importrules.Vendor) []string {
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

// vendorOf tells a file's vendor by the directory that it lies in.
func vendorOf(file string) importrules.Vendor {
	abs, err := fromHere(file)
	if err != nil {
		return ""
	}
	for part := range strings.SplitSeq(filepath.Dir(abs), "/") {
		for _, v := range importrules.Vendors {
			if part == "."+string(v) {
				return v
			}
		}
	}
	return ""
}

// maxSettings bounds a file of settings.
const maxSettings = 4 << 20

func (a *app) importRules(file string, vendor importrules.Vendor) error {
	if vendor == "" {
		vendor = vendorOf(file)
	}
	if vendor == "" {
		return fmt.Errorf("whose settings are in %q? Add --from %s", file, strings.ReplaceAll(vendorList(), ", ", "|"))
	}
	data, err := readSettings(file, a.stdin)
	if err != nil {
		return err
	}
	r, err := importrules.Convert(vendor, file, data)
	if err != nil {
		return err
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

func readSettings(file string, stdin *os.File) ([]byte, error) {
	in := stdin
	if file != "-" {
		f, err := os.Open(file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no file %q", file)
		}
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxSettings+1))
	if err == nil && len(data) > maxSettings {
		err = fmt.Errorf("%q is larger than %s", file, display.Size(maxSettings))
	}
	return data, err
}
