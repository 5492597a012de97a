package shell

import (
	"strings"
	"testing"

	"sandboxd/git"
)

// The question about a push shows the address to which it leads.
func TestPushShowsItsAddress(t *testing.T) {
	settings, err := git.ParseConfig([]byte("[remote \"origin\"]\nurl = https://h/a.git\n[remote \"up\"]\n" +
		"url = https://u:secret@h/up.git\n[branch \"main\"]\nremote = origin\n[branch \"x\"]\nremote = up\n"))
	if err != nil {
		t.Fatal(err)
	}
	routes := git.RoutesOf(settings)
	facts := Facts{Git: map[string]GitFact{
		"/p":     {Repository: true, Dir: "/p/.git", Worktree: "/p", Routes: routes, Branch: "main"},
		"/p/sub": {Repository: true, Dir: "/p/sub/.git", Worktree: "/p/sub", Routes: routes, Branch: "x"},
	}}
	tool, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"git push": "(now https://h/a.git)", "git push -u origin main": "(now https://h/a.git)",
		"git push -o ci.skip up": "(now https://h/up.git)", "git push --repo=up": "(now https://h/up.git)",
		"git -C sub push": "(now https://h/up.git)", "cd sub && git push": "(now https://h/up.git)",
		"git push https://other/x": "", "git -c remote.origin.url=/x push": "", "git commit -m x": "",
	} {
		v := tool.Judge(Command{Line: line, Cwd: "/p", Project: "/p"}, facts)
		if !strings.Contains(v.Description, want) || want == "" && strings.Contains(v.Description, "(now") {
			t.Errorf("%s: %q, want %q", line, v.Description, want)
		}
	}
	v := tool.Judge(Command{Line: "git push", Cwd: "/p", Project: "/p"}, facts)
	if want := "Push to a remote (now https://h/a.git): git push"; v.Description != want {
		t.Errorf("%q, want %q", v.Description, want)
	}
	v = tool.Judge(Command{Line: "git push", Cwd: "/q", Project: "/q"}, facts)
	if len(v.NeedsFacts) == 0 {
		t.Error("it does not ask for what it shows")
	}
}
