package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sandboxd/approval"
	"sandboxd/files"
	"sandboxd/supervisor"
)

// turncoat approves the first question of a run and refuses the others.
type turncoat struct{ asked int }

// Ask implements [approval.Approver].
func (a *turncoat) Ask(_ context.Context, p approval.Pending) (approval.Answer, error) {
	if a.asked++; a.asked > 1 {
		return p.Deny(approval.Identity{}, "not this"), nil
	}
	return p.Allow(approval.Identity{}), nil
}

// many makes files in the project and returns the line that deletes them, in words that do not show it.
func (s *scene) many(n int) string {
	for i := range n {
		if err := os.WriteFile(filepath.Join(s.project, fmt.Sprintf("%03d.many", i)), []byte("x\n"), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	return `python3 -c 'import glob, os
for f in glob.glob("*.many"): os.unlink(f)'`
}

// The changes of a command land after a check, ask where its words did not show them, and are held after a no.
// R-LY-01, R-LY-04
func TestLayeredRuns(t *testing.T) {
	s := layeredScene(t, "auto", true)
	s.yes.Store(true)
	hidden := "python3 -c 'open(\".en\" + \"vrc\", \"w\").write(\"export A=1\")'"
	for _, c := range []struct {
		name  string
		line  string
		turns bool // the person refuses the second question
		kind  supervisor.RunKind
		held  string // in the reason
		file  string
		want  string // its content
		code  int
	}{
		{name: "lands", line: "echo three >> notes.md", kind: supervisor.RunLayered, file: "notes.md",
			want: "one\ntwo\nthree\n"},
		{name: "fails and lands", line: "echo x > failed.txt; exit 3", kind: supervisor.RunLayered, file: "failed.txt",
			want: "x\n", code: 3},
		{name: "protected, refused", line: hidden, turns: true, kind: supervisor.RunLayered, held: ".envrc",
			file: ".envrc", want: "absent", code: 126},
		{name: "protected, allowed", line: hidden, kind: supervisor.RunLayered, file: ".envrc", want: "export A=1"},
		{name: "many deletions, refused", line: s.many(60), turns: true, kind: supervisor.RunLayered,
			held: "deletes 60 files", file: "059.many", want: "x\n", code: 126},
		{name: "few deletions", line: "rm 000.many", kind: supervisor.RunLayered, file: "000.many",
			want: "absent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.turns {
				s.detach()
				s.detach = s.Approval.Attach(s.person, &turncoat{})
				defer func() {
					s.detach()
					s.detach = s.Approval.Attach(s.person, s)
				}()
			}
			_, end := s.run(supervisor.ExecRequest{Line: c.line}, nil)
			if end.Changes == nil {
				t.Fatalf("got %+v, want its changes", end)
			}
			if end.Code != c.code || end.Changes.Kind != c.kind {
				t.Errorf("got %d, %s (%s), want %d, %s", end.Code, end.Changes.Kind, end.Changes.Direct, c.code, c.kind)
			}
			if held := end.Changes.Held; (held == "") != (c.held == "") || !strings.Contains(held, c.held) {
				t.Errorf("got held because of %q, want %q in it", held, c.held)
			}
			if got := s.content(c.file); got != c.want {
				t.Errorf("got %s %q, want %q", c.file, got, c.want)
			}
		})
	}
}

// A change set that was held by choice is shown, lands by path or whole, or is dropped, and is not there again. R-LY-05
func TestHeldChanges(t *testing.T) {
	s := layeredScene(t, "off", true)
	s.yes.Store(true)
	s.session = s.open(supervisor.KindCLI)
	hold := func(line string) string {
		t.Helper()
		_, end := s.run(supervisor.ExecRequest{Line: line, Hold: true}, nil)
		if end.Changes == nil || end.Changes.HeldID == "" {
			t.Fatalf("%s: got %+v, want a held change set", line, end)
		}
		return end.Changes.HeldID
	}
	land := func(id string, drop bool, paths ...string) error {
		_, err := s.File(t.Context(), s.session, s.peer, supervisor.FileRequest{
			Request: files.Request{Op: files.Undo}, UndoID: id, Held: true, Drop: drop, Paths: paths,
		})
		return err
	}
	for _, c := range []struct {
		name  string
		drop  bool
		paths []string // landed before the rest
		want  string   // a.txt and b.txt after the first landing, and at the end
	}{
		{"whole", false, nil, "a b, a b"},
		{"by path", false, []string{"a.txt"}, "a absent, a b"},
		{"dropped", true, nil, "absent absent, absent absent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, name := range []string{"a.txt", "b.txt"} {
				os.Remove(filepath.Join(s.project, name))
			}
			state := func() string { return s.content("a.txt") + " " + s.content("b.txt") }
			id := hold("printf a > a.txt; printf b > b.txt")
			if got := state(); got != "absent absent" {
				t.Errorf("before the landing: got %q, want nothing written", got)
			}
			list := s.HeldChanges(s.session)
			if len(list) != 1 || list[0].ID != id || len(list[0].Created) != 2 {
				t.Errorf("got the list %+v, want %s with two files", list, id)
			}
			shown, err := s.Held(t.Context(), s.session, s.peer, id)
			if err != nil || len(shown.Files) != 2 || shown.Digest != list[0].Digest {
				t.Errorf("got %+v, %v, want two files and the digest of the list", shown, err)
			}
			if err := land(id, c.drop, c.paths...); err != nil {
				t.Fatalf("the landing: got %v, want no error", err)
			}
			got := state()
			if c.paths != nil {
				if err := land(id, c.drop); err != nil {
					t.Errorf("the rest: got %v, want no error", err)
				}
			}
			if got += ", " + state(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			var conflict *files.Conflict
			if err := land(id, c.drop); !errors.As(err, &conflict) || conflict.Reason != files.NotThere {
				t.Errorf("a second time: got %v, want a conflict %s", err, files.NotThere)
			}
		})
	}
	id := hold("echo mine > notes.md")
	if err := os.WriteFile(filepath.Join(s.project, "notes.md"), []byte("theirs\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if list := s.HeldChanges(s.session); len(list) != 1 || len(list[0].Conflicts) > 1 {
		t.Errorf("got %+v, want one change set", list)
	}
	var conflict *files.Conflict
	if err := land(id, false); !errors.As(err, &conflict) || s.content("notes.md") != "theirs\n" {
		t.Errorf("over somebody else's change: got %v and %q, want a conflict", err, s.content("notes.md"))
	}
}

// A process that a command leaves running is a job with its output, until somebody stops it or its session ends.
// R-LY-09
func TestJobsOfASession(t *testing.T) {
	s := layeredScene(t, "off", true)
	s.yes.Store(true)
	start := func() *supervisor.Job {
		t.Helper()
		out, end := s.run(supervisor.ExecRequest{Line: "(echo ready; exec sleep 300) & echo begun"}, nil)
		if end.Job == "" || end.JobRefused != "" {
			t.Fatalf("got %q, %+v, want a job", out, end)
		}
		for _, j := range s.session.Jobs() {
			if j.ID == end.Job {
				return j
			}
		}
		t.Fatalf("got %v, want %s in it", s.session.Jobs(), end.Job)
		return nil
	}
	for _, c := range []struct {
		name string
		end  func(*supervisor.Job)
		why  string
	}{
		{"stopped", func(j *supervisor.Job) { j.Stop("a person") }, "stopped by a person"},
		{"with its session", func(*supervisor.Job) { s.CloseSession(s.session) }, "session"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := start()
			if ended, why := j.State(); !ended.IsZero() || why != "" {
				t.Errorf("got an end at %v (%s), want a running job", ended, why)
			}
			c.end(j)
			select {
			case <-j.Done():
			case <-time.After(30 * time.Second):
				t.Fatal("got a job that runs after 30 s, want its end")
			}
			if ended, why := j.State(); ended.IsZero() || !strings.Contains(why, c.why) {
				t.Errorf("got an end at %v (%q), want one because of %q", ended, why, c.why)
			}
		})
	}
}
