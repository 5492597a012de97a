package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sandboxd/approval"
	"sandboxd/config"
	"sandboxd/files"
	"sandboxd/ipc"
	"sandboxd/sandbox"
	"sandboxd/supervisor"
	"sandboxd/supervisor/aftermath"
)

// Every error of the domain has its stable code, also inside another error, and keeps its text.
func TestWireErrors(t *testing.T) {
	full := fmt.Errorf("write: %w", unix.ENOSPC)
	for _, c := range []struct {
		err  error
		code ipc.Code
		hint string
	}{
		{&ipc.Error{Code: ipc.CodeTooLarge, Message: "m", Hint: "h"}, ipc.CodeTooLarge, "h"},
		{&supervisor.RootError{Dir: "/etc", Why: "it is the system's"}, ipc.CodeBadRoot, "own directory"},
		{&supervisor.SessionError{ID: "s-1"}, ipc.CodeNotFound, "sbx session ls"},
		{&supervisor.SessionError{ID: "s-1", Secret: true}, ipc.CodeSecret, "SBX_SESSION_SECRET"},
		{&supervisor.TicketError{Why: "used"}, ipc.CodeDenied, "judged again"},
		{&supervisor.RequestError{Why: "empty"}, ipc.CodeBadRequest, ""},
		{&supervisor.DescriptorError{Name: "stdin", Path: "/x", Why: "is a device"}, ipc.CodeForbidden, "relayed"},
		{&supervisor.LimitError{What: "sessions", Most: 2}, ipc.CodeLimit, ""},
		{&supervisor.AuditError{Err: errors.New("closed")}, ipc.CodeAudit, ""},
		{&supervisor.AuditError{Err: full}, ipc.CodeAudit, supervisor.FreeSpace},
		{supervisor.ErrKeptChanging, ipc.CodeConflict, ""},
		{supervisor.ErrNested, ipc.CodeForbidden, ""},
		{supervisor.ErrClosing, ipc.CodeShuttingDown, ""},
		{supervisor.ErrInputClosed, ipc.CodeConflict, ""},
		{&sandbox.UnenforcedError{}, ipc.CodeUnenforced, "sbx doctor"},
		{&approval.DecidedError{}, ipc.CodeAlreadyDecided, ""},
		{&approval.AnswerError{Code: "store", Why: "full"}, ipc.CodeInternal, "scope session"},
		{&approval.AnswerError{Code: "batch", Why: "none"}, ipc.CodeBadRequest, ""},
		{approval.ErrUnknown, ipc.CodeNotFound, ""},
		{approval.ErrGrant, ipc.CodeNotFound, ""},
		{approval.ErrSession, ipc.CodeNotFound, ""},
		{approval.ErrStale, ipc.CodeStale, "look at the request again"},
		{approval.ErrConfirm, ipc.CodeConfirm, "confirm"},
		{approval.ErrClosed, ipc.CodeShuttingDown, ""},
		{&config.Error{}, ipc.CodeConflict, "sandboxd config check"},
		{full, ipc.CodeInternal, supervisor.FreeSpace},
		{errors.New("other"), ipc.CodeInternal, ""},
	} {
		for _, err := range []error{c.err, fmt.Errorf("outer: %w", c.err)} {
			var got *ipc.Error
			if !errors.As(wireError(err), &got) || got.Code != c.code || !strings.Contains(got.Hint, c.hint) {
				t.Errorf("%T %v: got %+v, want code %s and %q in the hint", err, err, got, c.code, c.hint)
			}
			if got.Message == "" {
				t.Errorf("%T: got no message", err)
			}
		}
	}
	if err := wireError(nil); err != nil {
		t.Errorf("got %v for no error, want none", err)
	}
}

// Errors of the file tool name the conflict, and the undo of a part.
func TestFileErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		code ipc.Code
		hint string
	}{
		{&files.Conflict{Op: files.Read, Path: "a", Reason: files.NotThere}, ipc.CodeNotFound, ""},
		{&files.Conflict{Op: files.Read, Path: "a", Reason: files.Outside}, ipc.CodeForbidden, ""},
		{&files.Conflict{Op: files.Read, Path: "a", Reason: files.BadPath}, ipc.CodeBadRequest, ""},
		{&files.Conflict{Op: files.Read, Path: "a", Reason: files.TooLarge}, ipc.CodeTooLarge, ""},
		{&files.Conflict{Op: files.Edit, Path: "a", Reason: files.Changed}, ipc.CodeConflict, ""},
		{&files.PartialError{Err: errors.New("disk")}, ipc.CodeConflict, "undo u-1"},
		{&supervisor.FileDenied{Result: supervisor.Result{Outcome: supervisor.Blocked}}, ipc.CodeBlocked, ""},
		{&supervisor.FileDenied{Result: supervisor.Result{Outcome: supervisor.NoAnswer}}, ipc.CodeTimeout, ""},
		{&supervisor.FileDenied{Result: supervisor.Result{Outcome: supervisor.NotRun}}, ipc.CodeDenied, ""},
		{&supervisor.RequestError{Why: "empty"}, ipc.CodeBadRequest, ""},
	} {
		var got *ipc.Error
		err := fileError(fmt.Errorf("outer: %w", c.err), supervisor.FileResult{Undo: "u-1"})
		if !errors.As(err, &got) || got.Code != c.code || !strings.Contains(got.Hint, c.hint) {
			t.Errorf("%v: got %+v, want code %s and %q in the hint", c.err, got, c.code, c.hint)
		}
		var conflict *files.Conflict
		if errors.As(c.err, &conflict) && (got.Conflict == nil || got.Conflict.Path != "a") {
			t.Errorf("%v: got the conflict %+v, want its path", c.err, got.Conflict)
		}
	}
}

func TestErrorCodes(t *testing.T) {
	for _, c := range []struct {
		r    supervisor.Result
		want ipc.Code
	}{
		{supervisor.Result{Outcome: supervisor.NotFound, Code: 127}, ipc.CodeNotFound},
		{supervisor.Result{Outcome: supervisor.NotFound, Code: 126}, ipc.CodeForbidden},
		{supervisor.Result{Outcome: supervisor.Unenforced}, ipc.CodeUnenforced},
		{supervisor.Result{Outcome: supervisor.Unrecorded}, ipc.CodeAudit},
		{supervisor.Result{Outcome: supervisor.Ran}, ipc.CodeInternal},
	} {
		if got := errorCode(c.r); got != c.want {
			t.Errorf("%s %d: got %s, want %s", c.r.Outcome, c.r.Code, got, c.want)
		}
	}
}

// An answer on the wire becomes the controller's; a batch and a group are no scopes there. R-AP-10
func TestAnswers(t *testing.T) {
	by := approval.Identity{Name: "ann"}
	for _, c := range []struct {
		in    ipc.Answer
		verb  approval.Verb
		scope approval.Scope
		all   bool // of the group
		mode  approval.RejectMode
	}{
		{ipc.Answer{Allow: true, Scope: "session"}, approval.VerbAllow, "session", false, ""},
		{ipc.Answer{Allow: true, Mode: "stop"}, approval.VerbAllow, "", false, ""},
		{ipc.Answer{Mode: "stop"}, approval.VerbDeny, "", false, "stop"},
		{ipc.Answer{Allow: true, Scope: "batch"}, approval.VerbAllowAll, "", false, ""},
		{ipc.Answer{Scope: "batch"}, approval.VerbQuit, "", false, ""},
		{ipc.Answer{Allow: true, Scope: "group"}, approval.VerbAllow, "", true, ""},
	} {
		got := answerOf(c.in, by)
		if got.Verb != c.verb || got.Scope != c.scope || got.Together != c.all || got.Mode != c.mode || got.By != by {
			t.Errorf("%+v: got %+v, want %s, %q, together %v, mode %q", c.in, got, c.verb, c.scope, c.all, c.mode)
		}
	}
	for _, c := range []struct {
		id   string
		n    int
		want int
		ok   bool
	}{{"", 0, 0, true}, {"1", 2, 1, true}, {"2", 2, 2, true}, {"3", 2, 0, false}, {"0", 2, 0, false}, {"x", 2, 0, false}} {
		if got, err := pick("suggestion", c.id, c.n); got != c.want || (err == nil) != c.ok {
			t.Errorf("%q of %d: got %d, %v, want %d, no error %v", c.id, c.n, got, err, c.want, c.ok)
		}
	}
}

// A yes to the whole batch leaves out the calls that a person has to see, and says why. R-AP-10
func TestRemainingCalls(t *testing.T) {
	seen := approval.Remaining{Digest: "d"}
	for _, c := range []struct {
		edit func(*approval.Remaining)
		want string
	}{
		{func(r *approval.Remaining) {}, ""},
		{func(r *approval.Remaining) { r.Delete = true }, "it deletes"},
		{func(r *approval.Remaining) { r.Dangerous = true }, "it is dangerous"},
		{func(r *approval.Remaining) { r.Protected = true }, "it changes what is protected"},
		{func(r *approval.Remaining) { r.Digest = "" }, "it can't be judged before its turn"},
	} {
		r := seen
		r.Args = map[string]any{"path": "a"}
		c.edit(&r)
		if got := wireRemaining(r); got.Asks != c.want || string(got.Args) != `{"path":"a"}` {
			t.Errorf("got %q with %s, want %q", got.Asks, got.Args, c.want)
		}
	}
	if got := wireRemaining(approval.Remaining{Args: map[string]any{"f": func() {}}}); got.Args != nil {
		t.Errorf("got %s for arguments that are no JSON, want none", got.Args)
	}
}

func TestCountLines(t *testing.T) {
	for _, c := range []struct {
		kind           approval.Kind
		text           string
		added, removed int
	}{
		{approval.KindFileContent, "one\ntwo\n", 2, 0},
		{approval.KindFileContent, "one", 1, 0},
		{approval.KindDiff, "--- a\n+++ b\n@@ -1,2 +1,3 @@\n same\n-old\n+new\n+more\n", 2, 1},
		{approval.KindDiff, "--- a\n+++ b\n", 0, 0},
		{approval.KindText, "+ no diff", 0, 0},
	} {
		if a, r := countLines(c.kind, c.text); a != c.added || r != c.removed {
			t.Errorf("%s %q: got %d and %d, want %d and %d", c.kind, c.text, a, r, c.added, c.removed)
		}
	}
}

func TestDiffLines(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"a\nb", "a\nb", ""},
		{"a\nb", "a\nc", "+c -b"},
		{"", "a", "+a -"},
	} {
		if got := strings.Join(diffLines(c.old, c.new), " "); got != c.want {
			t.Errorf("%q to %q: got %q, want %q", c.old, c.new, got, c.want)
		}
	}
}

// The place of a call in its batch: later calls of the file tool become its requests. R-AP-10
func TestPlaces(t *testing.T) {
	in := &ipc.BatchPlace{ID: "b", Index: 1, Total: 5, GroupID: "g", Remaining: []ipc.NextCall{
		{Tool: "bash", Args: []byte(`{"command": "ls"}`)},
		{Tool: "deploy", Args: []byte(`{"command": "ls"}`)},
		{Tool: "file_delete", Args: []byte(`{"path": "a.txt"}`)},
		{Tool: "file_delete", Args: []byte(`{"file": "a.txt"}`)},
	}}
	got, err := placeOf(in)
	if err != nil || got.batch.ID != "b" || got.batch.Index != 2 || got.batch.Total != 5 || got.group != "g" {
		t.Fatalf("got %+v, %v, want the second call of five in group g", got, err)
	}
	for i, want := range []string{"ls ", " ", " a.txt", " "} {
		n := got.next[i]
		text := n.Line + " "
		if n.File != nil {
			text += n.File.Path
		}
		if text != want {
			t.Errorf("call %d: got %q, want %q", i, text, want)
		}
	}
	in.Remaining[1].Args = []byte(`{`)
	var refused *ipc.Error
	if _, err := placeOf(in); !errors.As(err, &refused) || !strings.Contains(refused.Message, "remaining[1]") {
		t.Errorf("got %v for broken arguments, want the call's number", err)
	}
}

// A run that a daemon's death cut off is reported with its finds: moved ones can be restored, kept ones are named.
func TestReportOfACutOffRun(t *testing.T) {
	for _, c := range []struct {
		found []aftermath.Item
		want  []string
	}{
		{nil, nil},
		{[]aftermath.Item{{Path: "/p/.envrc"}}, []string{"in the trash: /p/.envrc"}},
		{[]aftermath.Item{{Path: "/p/.envrc", Kept: true}}, []string{"your own: /p/.envrc"}},
		{[]aftermath.Item{{Path: "/p/a"}, {Path: "/p/b", Kept: true}}, []string{"trash: /p/a", "own: /p/b"}},
	} {
		var got []string
		tellCutOff(supervisor.CutOff{Exec: "x-1", Found: c.found}, func(where, _, format string, args ...any) {
			got = append(got, where+": "+fmt.Sprintf(format, args...))
		})
		all := strings.Join(got, "\n")
		for _, want := range c.want {
			if !strings.Contains(all, want) || !strings.Contains(all, "run x-1") {
				t.Errorf("%+v: got %q, want %q and the run in it", c.found, all, want)
			}
		}
		if len(got) < len(c.want) {
			t.Errorf("%+v: got %d warnings, want %d", c.found, len(got), len(c.want))
		}
	}
}
