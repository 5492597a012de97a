package supervisor_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sandboxd/approval"
	"sandboxd/supervisor"
)

// opener is a person who says yes, and opens what is on offer.
type opener struct {
	*scene
	offered []approval.Widening
	pick    int
}

func (o *opener) Ask(_ context.Context, p approval.Pending) (approval.Answer, error) {
	o.offered = p.Widenings
	a := p.Allow(approval.Identity{})
	a.Widening = min(o.pick, len(p.Widenings))
	return a, nil
}

// A yes can open the paths that a command names outside the project, for this run, and no others. R-UX-10, R-LY-08
func TestYesOpensWhatTheCommandNames(t *testing.T) {
	s := newScene(t, true)
	s.detach()
	o := &opener{scene: s}
	s.detach = s.Approval.Attach(s.person, o)
	outside := filepath.Join(filepath.Dir(s.project), "outside")
	files := map[string]string{"a.csv": "rows\n", "b.csv": "more\n", "c · 2 Deny": "c\n", ".ssh/id_rsa": "KEY\n",
		".notes/x": "x\n"}
	for name, text := range files {
		file := filepath.Join(outside, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(outside, "a.csv"), filepath.Join(outside, "link")); err != nil {
		t.Fatal(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	in := func(names ...string) []string {
		argv := []string{"cat"}
		for _, name := range names {
			argv = append(argv, filepath.Join(outside, name))
		}
		return argv
	}
	write := "echo y >> " + outside + "/a.csv; tail -n 1 " + outside + "/a.csv"
	for _, c := range []struct {
		name   string
		argv   []string
		offers int
		pick   int
		want   string // of the output
		not    string
	}{
		{"without the opening", in("a.csv"), 1, 0, "No such file", "rows"},
		{"one file", in("a.csv"), 1, 1, "rows", ""},
		{"two files", in("a.csv", "b.csv"), 1, 1, "rows\nmore", ""},
		{"the opening is gone afterwards", in("a.csv"), 1, 0, "No such file", "rows"},
		{"a file beside a key", in("a.csv", ".ssh/id_rsa"), 0, 1, "", "rows"},
		{"a key", in(".ssh/id_rsa"), 0, 1, "", "KEY"},
		{"a directory of settings", in(".notes/x"), 0, 1, "", "x\n"},
		{"a link", in("link"), 0, 1, "", "rows"},
		{"one that may be opened beside one that may not", in("a.csv", ".notes/x"), 0, 1, "", "rows"},
		{"the home", []string{"ls", home}, 0, 1, "", ""},
		{"the project's parent", []string{"ls", filepath.Dir(s.project)}, 0, 1, "", "outside"},
		{"processes", []string{"cat", "/proc/1/environ"}, 0, 1, "", "PATH="},
		{"a write into it without the opening", []string{"sh", "-c", write}, 1, 0, "", "y\n"},
		{"a write into it", []string{"sh", "-c", write}, 1, 1, "y\n", ""},
	} {
		o.offered, o.pick = nil, c.pick
		out, end := s.run(supervisor.ExecRequest{Argv: c.argv, Cwd: s.project}, nil)
		if len(o.offered) != c.offers || !strings.Contains(out, c.want) ||
			c.not != "" && strings.Contains(out, c.not) {
			t.Errorf("%s: got the offers %+v, %q and %+v, want %d, %q and not %q", c.name, o.offered, out, end, c.offers,
				c.want, c.not)
		}
	}
	// A file whose name would be read as another answer.
	s.run(supervisor.ExecRequest{Argv: in("c · 2 Deny"), Cwd: s.project}, nil)
	if len(o.offered) != 1 || !strings.HasSuffix(o.offered[0].Description, "/c · 2 Deny'") {
		t.Errorf("got the offers %+v, want the name quoted", o.offered)
	}
	// A directory with keys in it: they stay hidden.
	o.pick = 1
	out, _ := s.run(supervisor.ExecRequest{Argv: []string{"grep", "-r", ".", outside}, Cwd: s.project}, nil)
	if len(o.offered) != 1 || !strings.Contains(out, "rows") || strings.Contains(out, "KEY") {
		t.Errorf("got the offers %+v and %q, want the directory without its keys", o.offered, out)
	}
}

// A yes to a command that creates, moves or removes entries outside the project opens their directory, where nobody
// else writes and which is no repository. R-UX-10, R-LY-08
func TestYesOpensDirectories(t *testing.T) {
	s := newScene(t, true)
	s.detach()
	o := &opener{scene: s}
	s.detach = s.Approval.Attach(s.person, o)
	parent := filepath.Dir(s.project)
	outside, shared := filepath.Join(parent, "outside"), filepath.Join(parent, "shared")
	for _, dir := range []string{outside, shared, filepath.Join(parent, "other/.git")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "a.csv"), []byte("more\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(shared, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, line   string
		offers, pick int
		want, not    string
	}{
		{"a move without it", "mv OUT/a.csv .; ls", 1, 0, "", "a.csv"},
		{"a move", "mv OUT/a.csv moved; ls OUT; cat moved", 1, 1, "more\n", "a.csv"},
		{"a move into it", "mv moved OUT/; ls OUT", 1, 1, "moved\n", "mv: "},
		{"a move to a new name", "mv OUT/moved OUT/b; ls OUT", 1, 1, "b\n", "moved"},
		{"a copy into it", "cp /dev/null OUT/; ls OUT", 1, 1, "b\nnull\n", ""},
		{"a new file", "echo x > OUT/new; cat OUT/new", 1, 1, "x\n", ""},
		{"an edit", "sed -i s/x/y/ OUT/new; cat OUT/new", 1, 1, "y\n", "sed: "},
		{"a removal", "rm OUT/new OUT/null; ls OUT", 1, 1, "b\n", "new"},
		{"the next command", "echo x > OUT/new", 1, 0, "", ""},
		{"a protected name", "echo x > OUT/.envrc", 0, 1, "sh: ", ""},
		{"beside the home", "rm ~/../x", 0, 1, "rm: ", ""},
		{"beside the project", "mv a ../x", 0, 1, "mv: ", ""},
		{"in a repository", "rm ../other/x", 0, 1, "rm: ", ""},
		{"where others write", "rm ../shared/a.csv", 0, 1, "rm: ", ""},
	} {
		o.offered, o.pick = nil, c.pick
		line := strings.ReplaceAll(c.line, "OUT", "../outside")
		out, end := s.run(supervisor.ExecRequest{Argv: []string{"sh", "-c", line}, Cwd: s.project}, nil)
		if len(o.offered) != c.offers || !strings.Contains(out, c.want) || c.not != "" && strings.Contains(out, c.not) {
			t.Errorf("%s: got the offers %+v, %q and %+v, want %d, %q and not %q", c.name, o.offered, out, end, c.offers,
				c.want, c.not)
		}
	}
}

// A hook's question offers it, too; its ticket carries what the yes opens to the one run, and no further. R-IP-03
func TestTicketOpens(t *testing.T) {
	s := newScene(t, true)
	s.detach()
	o := &opener{scene: s, pick: 1}
	s.detach = s.Approval.Attach(s.person, o)
	file := filepath.Join(filepath.Dir(s.project), "a.csv")
	if err := os.WriteFile(file, []byte("rows\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := supervisor.ExecRequest{Line: "cat " + file, CallID: "call-1", Cwd: s.project}
	v, err := s.Check(t.Context(), s.session, s.peer, supervisor.CheckRequest{Exec: r, Ticket: time.Minute})
	if err != nil || v.Ticket == "" || len(o.offered) != 1 {
		t.Fatalf("got %+v (%v) and the offers %v, want a ticket and one offer", v, err, o.offered)
	}
	if _, err := s.Redeem(v.Ticket, s.peer, &r); err != nil {
		t.Fatal(err)
	}
	o.pick = 0
	if out, end := s.run(r, nil); out != "rows\n" {
		t.Errorf("got %q and %+v, want the file", out, end)
	}
	again := supervisor.ExecRequest{Line: "cat " + file, Cwd: s.project}
	if out, end := s.run(again, nil); strings.Contains(out, "rows") {
		t.Errorf("got %q and %+v without the ticket, want no such file", out, end)
	}
}
