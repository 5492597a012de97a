package main

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sandboxd/cmd/sbx/internal/man"
	"sandboxd/display"
)

// walk calls f for each verb that a person sees.
func walk(c *cobra.Command, f func(*cobra.Command)) {
	if c.Hidden || c.Name() == "help" {
		return
	}
	f(c)
	for _, sub := range c.Commands() {
		walk(sub, f)
	}
}

// helpOf is what `sbx help PATH` prints.
func helpOf(path string) string { return printedBy("help " + path) }

// printedBy is what a command line prints, or its error.
func printedBy(line string) string {
	var out bytes.Buffer
	a := &app{out: &out, stderr: &out}
	if err := cmp.Or(newRoot(a, strings.Fields(line)).Execute(), a.misused); err != nil {
		return err.Error()
	}
	return out.String()
}

// `sbx help run ls` ran ls, and the help of an unknown verb was its parent's.
func TestHelpOnlyPrints(t *testing.T) {
	for line, of := range map[string]string{
		"help run ls": "run", "help run -- ls": "run", "help run --help=false ls": "run", "help shell -c ls": "shell",
		"help --socket-dir /s file read x": "file read", "--socket-dir /s help file --help": "file",
		"help check -c ls": "check", "help help": "",
		"--help run ls": "run", "run --help ls": "run", "file --help read": "file read", "help -- run": "run",
	} {
		if got := printedBy(line); got != helpOf(of) || !strings.Contains(got, "\nUsage:\n") {
			t.Errorf("sbx %s printed\n%.200s", line, got)
		}
	}
	for _, line := range []string{"help frob", "frob --help", "--help frob", "file frob --help", "help file frob",
		"help web frob", "log frob -h", "hook frob --help"} {
		if got := printedBy(line); !strings.Contains(got, `has no verb "frob"`) {
			t.Errorf("sbx %s printed\n%.200s", line, got)
		}
	}
}

// R-UX-07: every verb is in a group, with one line that fits a terminal of 80 columns. The flags of
// all verbs are in the help of sbx alone, and each exit status is there once.
func TestHelp(t *testing.T) {
	root := newRoot(&app{}, nil)
	for _, c := range root.Commands() {
		if c.GroupID == "" && !c.Hidden && c.Name() != "help" {
			t.Errorf("sbx %s is in no group", c.Name())
		}
	}
	walk(root, func(c *cobra.Command) {
		if width := display.Width(c.Short) + 14; width > 80 {
			t.Errorf("%s: %q needs %d columns", c.CommandPath(), c.Short, width)
		}
		path := strings.TrimPrefix(c.CommandPath(), "sbx")
		help := helpOf(path)
		if c.HasParent() && strings.Contains(help, "--socket-dir string") {
			t.Errorf("sbx help%s has the flags of all verbs", path)
		}
		_, ends, _ := strings.Cut(help, "\nExit status:\n")
		ends, _, _ = strings.Cut(ends, "\n\n")
		seen := map[string]bool{}
		for line := range strings.Lines(ends) {
			status := strings.Fields(line)[0]
			if seen[status] {
				t.Errorf("sbx help%s has the exit status %s twice", path, status)
			}
			seen[status] = true
		}
		for _, sub := range c.Commands() {
			if !sub.Hidden && sub.Name() != "help" && !strings.Contains(help, sub.Short+"\n") {
				t.Errorf("sbx help%s lacks %s", path, sub.Name())
			}
		}
	})
	help := helpOf("")
	for _, title := range append([]string{"Flags of all verbs", "Exit status", "Environment", "Files"}, groups...) {
		if !strings.Contains(help, "\n"+title+":\n") {
			t.Errorf("sbx help lacks %q", title)
		}
	}
}

// R-UX-07: what sbx help has is in the manual pages: each form, verb, flag, exit status and variable, and the files of
// each verb. mandoc has nothing to say about them.
func TestManualIsTheHelp(t *testing.T) {
	root := newRoot(&app{}, nil)
	pages := man.Pages(root, "1.0", manual)
	text := strings.NewReplacer(`\-`, "-", `\e`, `\`)
	has := func(c *cobra.Command, want string) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		page := text.Replace(string(pages[name]))
		if !strings.Contains(strings.Join(strings.Fields(page), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("%s lacks %q", name, want)
		}
	}
	walk(root, func(c *cobra.Command) {
		for _, form := range forms(c) {
			has(c, ".B "+strings.ReplaceAll(form, "…", "..."))
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { has(c, "--"+f.Name) })
		for _, e := range endings(c) {
			has(c, ".B "+e.name()+" "+e.text)
		}
		has(c, ".SH SYNOPSIS .B "+strings.ReplaceAll(forms(c)[0], "…", "..."))
		_, path, _ := strings.Cut(c.CommandPath(), " ")
		if _, listed := filesOf[path]; !listed && endsOf[path] != "" {
			t.Errorf("files.go: no row for sbx %s", path)
		}
		if rows := filesUsed(c); len(rows) > 0 {
			has(c, ".SH FILES .TP .B "+rows[0][0]+" "+rows[0][1])
		} else if bytes.Contains(pages[strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"], []byte(".SH FILES")) {
			t.Errorf("the page of %s has FILES without a row", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			if !sub.Hidden && sub.Name() != "help" {
				has(c, strings.ReplaceAll(sub.CommandPath(), " ", "-")+" (1) "+sub.Short)
			}
		}
	})
	has(root, ".SH ENVIRONMENT")
	for _, row := range append(filesUsed(root), variables...) {
		has(root, ".B "+row[0]+" "+row[1])
	}
	for path := range filesOf {
		if endsOf[path] == "" {
			t.Errorf("files.go: files of sbx %s, which is no verb", path)
		}
	}
	dir := t.TempDir()
	var list []string
	for name, page := range pages {
		page = bytes.Replace(page, []byte(`""`), []byte(`"2026-01-02"`), 1) // as packaging/documents.sh does
		if err := os.WriteFile(filepath.Join(dir, name), page, 0o600); err != nil {
			t.Fatal(err)
		}
		list = append(list, filepath.Join(dir, name))
	}
	out, err := exec.Command("mandoc", append([]string{"-Tlint"}, list...)...).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("mandoc: %v\n%s", err, out)
	}
}
