package profile_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"sandboxd/hook"
	"sandboxd/profile"
)

var writeTable = flag.Bool("table", false, "write the table of protected names in SECURITY.md")

// held says, by class, how the file tool, a direct run's command and the sandbox treat a name.
var held = map[profile.Class][3]string{
	profile.Executed: {"asks twice", "can't write it", "a mount where the name exists, the scan after the run"},
	profile.Built:    {"asks twice", "can write it", "a question, asked twice, where the line names it"},
	profile.Watched:  {"asks", "can write it", "a question of the file tool"},
}

// R-FS-03: SECURITY.md has the table of protected names, row by row.
func TestProtectedTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("| names | acted on by | file tool | a command in a direct run | held by |\n|---|---|---|---|---|\n")
	for _, g := range profile.Protected() {
		h := held[g.Class]
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", strings.Join(g.Names, "` `"), g.By, h[0], h[1], h[2])
	}
	const path, begin = "../SECURITY.md", "| names | acted on by |"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	if !found {
		t.Fatalf("%s has no table that begins with %q", path, begin)
	}
	table, after, _ := strings.Cut(begin+rest, "\n\n")
	if table+"\n" == b.String() {
		return
	}
	if !*writeTable {
		t.Fatalf("%s: the table differs from profile.Protected; -table writes it", path)
	}
	if err := os.WriteFile(path, []byte(before+b.String()+"\n"+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Every file by which sandboxd hooks an agent in a project is protected: a command could take the hook away.
func TestHooksAreProtected(t *testing.T) {
	rules := []profile.Rule{allow(all, "/p")}
	for _, name := range profile.ProtectedNames(profile.Executed) {
		rules = append(rules, rule(profile.Protect, "/p", name))
	}
	p := mustNew(t, rules...)
	for _, v := range hook.Vendors {
		for _, file := range v.Files {
			if p.Allows(profile.OpWrite, "/p/"+file).Allowed {
				t.Errorf("%s: %s is not protected", v.Name, file)
			}
		}
	}
}

// A name has one row, so that it is treated in one way.
func TestProtectedNamesHaveOneRow(t *testing.T) {
	row := map[string]string{}
	for _, g := range profile.Protected() {
		for _, name := range g.Names {
			if other := row[name]; other != "" {
				t.Errorf("%s is in %q and in %q", name, other, g.By)
			}
			row[name] = g.By
		}
	}
	for _, name := range profile.Dependencies() {
		if slices.Contains(profile.ProtectedNames(profile.Executed), name) {
			t.Errorf("%s is protected, so nothing can be installed there", name)
		}
	}
}
