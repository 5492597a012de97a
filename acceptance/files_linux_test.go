package acceptance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sandboxd/ipc"
)

// fileAgent is an agent with a session in the actor's project.
type fileAgent struct {
	*ipc.Client
	session string
}

func (a *actor) fileAgent(p *peer, kind string) fileAgent {
	a.t.Helper()
	ctx, cancel := within(a.t)
	defer cancel()
	// Not over a connection that an earlier daemon has left half dead.
	opener := ipc.Client{Socket: p.agent.Socket}
	defer opener.Close()
	s, err := opener.OpenSession(ctx, ipc.SessionRequest{Kind: kind, Root: a.project})
	if err != nil {
		a.t.Fatal(err)
	}
	client := &ipc.Client{Socket: p.agent.Socket, Secret: s.Secret}
	a.t.Cleanup(client.Close)
	return fileAgent{client, s.ID}
}

func (f fileAgent) do(ctx context.Context, r ipc.FileRequest) (ipc.FileResult, error) {
	r.Session = f.session
	return f.File(ctx, r)
}

// question waits for the question about a call.
func question(ctx context.Context, t *testing.T, person *ipc.Client, call string) ipc.Approval {
	t.Helper()
	for ctx.Err() == nil {
		list, err := person.Approvals(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range list.Approvals {
			if q.CallID == call { // an answer is to what was looked at
				if q, err = person.Approval(ctx, ipc.ApprovalRequest{ID: q.ID}); err != nil {
					t.Fatal(err)
				}
				return q
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("no question about %s was put", call)
	return ipc.Approval{}
}

// decide answers a question, and a second time where that is needed. It returns
// how many answers it took.
func decide(ctx context.Context, t *testing.T, person *ipc.Client, q ipc.Approval, answer ipc.Answer) int {
	t.Helper()
	answer.ID, answer.Rev, answer.Hash = q.ID, q.Rev, q.Hash
	d, err := person.Decide(ctx, answer)
	if err != nil {
		t.Fatal(err)
	}
	if !d.ConfirmAgain {
		return 1
	}
	answer.Confirm, answer.Rev = true, d.Rev
	if d, err = person.Decide(ctx, answer); err != nil || d.ConfirmAgain {
		t.Fatalf("the second yes: %+v, %v", d, err)
	}
	return 2
}

// Issue "The file tool", 5 (R-FS-01, R-FS-02, R-FS-03, R-AP-13): the operations
// of the source specification with their default actions, through the socket. A
// question is denied, and nothing has changed then.
//
//   - Row 001-25 yes: file_read, file_grep auto
//   - Row 001-26 yes: file_edit asks, safe path auto
//   - Row 001-27 yes: file_create asks, safe path auto
//   - Row 001-28 yes: file_create_overwrite always asks
//   - Row 001-29 yes: file_append asks unless safe
//   - Row 001-32 yes: file_delete double confirmation
//   - Row 001-36 yes: file_mkdir auto
//   - Row 001-37 yes: file_rmdir prompts
//   - Row 001-34 yes: file_move prompts
//   - Row 001-35 different: file_copy auto | a copy is judged as its destination (R-FS-02)
//   - Row 001-30 yes: file_insert_after asks
//   - Row 001-31 yes: file_insert_before asks
func TestFileOperationTable(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.sh("mkdir -p d empty .vscode && echo x > main.go && echo x > notes.md && echo x > d/f.go && echo x > .vscode/s.json")
		a.start()
		person := a.personPeer("ann", true)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		a.trust(ctx, person)
		agent := a.fileAgent(a.agentPeer("editor"), ipc.KindAPI)
		edit := []ipc.Edit{{Find: "x", Replace: "y"}}
		const auto, asks, twice, blocked = "auto", "asks", "asks twice", "blocked"
		for i, row := range []struct {
			tool string
			req  ipc.FileRequest
			want string
		}{
			{"file_read", ipc.FileRequest{Op: "read", Path: "main.go"}, auto},
			{"file_list", ipc.FileRequest{Op: "list", Path: "."}, auto},
			{"file_stat", ipc.FileRequest{Op: "stat", Path: "main.go"}, auto},
			{"file_grep", ipc.FileRequest{Op: "grep", Path: ".", Pattern: "x"}, auto},
			{"file_mkdir", ipc.FileRequest{Op: "mkdir", Path: "made"}, auto},
			{"file_mkdir of a protected name", ipc.FileRequest{Op: "mkdir", Path: ".idea"}, twice},
			{"file_create", ipc.FileRequest{Op: "create", Path: "new.go"}, asks},
			{"file_create of a safe path", ipc.FileRequest{Op: "create", Path: "new.md"}, auto},
			{"file_create_overwrite", ipc.FileRequest{Op: "write", Path: "main.go", Content: "z"}, asks},
			{"file_create_overwrite of a safe path", ipc.FileRequest{Op: "write", Path: "notes.md", Content: "z"}, asks},
			{"file_edit", ipc.FileRequest{Op: "edit", Path: "main.go", Edits: edit}, asks},
			{"file_edit of a safe path", ipc.FileRequest{Op: "edit", Path: "notes.md", Edits: edit}, auto},
			{"file_edit of a protected path", ipc.FileRequest{Op: "edit", Path: ".vscode/s.json", Edits: edit}, twice},
			{"file_multi_edit", ipc.FileRequest{Op: "multi-edit", Path: "main.go", Edits: edit}, asks},
			{"file_append", ipc.FileRequest{Op: "append", Path: "main.go", Content: "z"}, asks},
			{"file_insert_before", ipc.FileRequest{Op: "insert", Path: "main.go", Content: "z", Line: 1, Before: true}, asks},
			{"file_insert_after", ipc.FileRequest{Op: "insert", Path: "main.go", Content: "z", Line: 1}, asks},
			{"file_delete", ipc.FileRequest{Op: "delete", Path: "main.go"}, twice},
			{"file_delete of a safe path", ipc.FileRequest{Op: "delete", Path: "notes.md"}, twice},
			{"file_rmdir", ipc.FileRequest{Op: "rmdir", Path: "empty"}, twice},
			{"file_rmdir with all", ipc.FileRequest{Op: "rmdir", Path: "d", Recursive: true}, twice},
			{"file_move", ipc.FileRequest{Op: "move", Path: "main.go", To: "other.go"}, twice},
			{"file_copy", ipc.FileRequest{Op: "copy", Path: "main.go", To: "other.go"}, asks},
			{"file_copy to a safe path", ipc.FileRequest{Op: "copy", Path: "main.go", To: "other.md"}, auto},
			{"file_copy onto a file", ipc.FileRequest{Op: "copy", Path: "main.go", To: "notes.md"}, asks},
			{"file_read outside", ipc.FileRequest{Op: "read", Path: "/etc/passwd"}, blocked},
			{"file_create outside", ipc.FileRequest{Op: "create", Path: "/tmp/new.md"}, blocked},
			{"file_read of a secret", ipc.FileRequest{Op: "read", Path: ".ssh/id_rsa"}, blocked},
		} {
			before := a.sh("find . -path ./.git -prune -o -type f -exec sha256sum {} + | sort; find . -path ./.git -prune -o -print | sort")
			row.req.CallID = strconv.Itoa(i)
			got := make(chan error, 1)
			go func() {
				_, err := agent.do(ctx, row.req)
				got <- err
			}()
			outcome := auto
			if row.want == asks || row.want == twice {
				q := question(ctx, t, &person.approver, row.req.CallID)
				if tool, _, _ := strings.Cut(row.tool, " "); q.Tool != tool {
					t.Errorf("%s is asked about as %s", row.tool, q.Tool)
				}
				if outcome = asks; q.Confirm {
					outcome = twice
				}
				decide(ctx, t, &person.approver, q, ipc.Answer{Mode: "soft"})
			}
			err := <-got
			switch ipc.CodeOf(err) {
			case ipc.CodeBlocked:
				outcome = blocked
			case ipc.CodeDenied:
				if after := a.sh("find . -path ./.git -prune -o -type f -exec sha256sum {} + | sort; find . -path ./.git -prune -o -print | sort"); after != before {
					t.Errorf("%s was denied and changed something:\n%s\n---\n%s", row.tool, before, after)
				}
			default:
				if err != nil || row.want != auto {
					t.Errorf("%s: %v", row.tool, err)
				}
			}
			if outcome != row.want {
				t.Errorf("%s: %s, want %s (%v)", row.tool, outcome, row.want, err)
			}
		}
	})
}

// R-AP-10, R-AP-13: a batch of file operations of which the first question is
// answered with "approve all" still asks, twice, for the deletion, the move and
// the protected path; the other edits run.
func TestFileBatchStillAsksForDeletes(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.sh("mkdir .vscode && for f in a b c d e; do echo x > $f.go; done; echo x > .vscode/s.json")
		a.start()
		person := a.personPeer("ann", true)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		a.trust(ctx, person)
		agent := a.fileAgent(a.agentPeer("editor"), ipc.KindAPI)
		edit := []ipc.Edit{{Find: "x", Replace: "y"}}
		calls := []struct {
			req  ipc.FileRequest
			asks int // how many answers it takes
		}{
			{ipc.FileRequest{Op: "edit", Path: "a.go", Edits: edit}, 1},
			{ipc.FileRequest{Op: "edit", Path: "b.go", Edits: edit}, 0},
			{ipc.FileRequest{Op: "delete", Path: "c.go"}, 2},
			{ipc.FileRequest{Op: "append", Path: "d.go", Content: "y\n"}, 0},
			{ipc.FileRequest{Op: "move", Path: "e.go", To: "f.go"}, 2},
			{ipc.FileRequest{Op: "edit", Path: ".vscode/s.json", Edits: edit}, 2},
		}
		batch := ipc.BatchRequest{Session: agent.session, ID: "b"}
		for i, c := range calls {
			batch.Calls = append(batch.Calls, ipc.BatchCall{CallID: fmt.Sprint("call-", i),
				File: &ipc.FileCall{Op: c.req.Op, FileRequest: c.req}})
		}
		got := make(chan ipc.BatchResult, 1)
		go func() {
			r, err := agent.Batch(ctx, batch)
			if err != nil {
				t.Error(err)
			}
			got <- r
		}()
		for i, c := range calls {
			if c.asks == 0 {
				continue
			}
			q := question(ctx, t, &person.approver, fmt.Sprint("call-", i))
			answer := ipc.Answer{Allow: true}
			if i == 0 {
				answer.Scope = "batch"
			}
			if n := decide(ctx, t, &person.approver, q, answer); n != c.asks {
				t.Errorf("%s %s took %d answers, want %d", c.req.Op, c.req.Path, n, c.asks)
			}
		}
		r := <-got
		if r.Ran != len(calls) {
			t.Errorf("%d of %d ran: %+v", r.Ran, len(calls), r.Results)
		}
		for i, c := range calls {
			if want := map[bool]string{true: ipc.DecisionAsk, false: ipc.DecisionAuto}[c.asks > 0]; len(r.Results) > i &&
				r.Results[i].File != nil && r.Results[i].File.Decision != want {
				t.Errorf("%s %s: %s, want %s", c.req.Op, c.req.Path, r.Results[i].File.Decision, want)
			}
		}
		a.sh("grep -q y a.go; grep -q y b.go; test ! -e c.go; grep -q y d.go; test -e f.go; grep -q y .vscode/s.json")
	})
}

// R-FS-06: the worker is itself under the session's OS profile. What the tool's
// own rules permit, and the profile does not, the kernel refuses.
func TestFileWorkerMeetsTheKernel(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.sh("mkdir closed && echo CANARY > closed/secret.md && echo x > open.md && git config user.name before")
		config := fmt.Sprintf("[sandbox]\nhidden = [%q]\n", filepath.Join(a.project, "closed"))
		if err := os.WriteFile(filepath.Join(a.dir, "config.toml"), []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
		a.start("--mode", "approve-all", "--config", filepath.Join(a.dir, "config.toml"))
		agent := a.fileAgent(a.agentPeer("editor"), ipc.KindAPI)
		ctx, cancel := within(t)
		defer cancel()
		if _, err := agent.do(ctx, ipc.FileRequest{Op: "write", Path: "open.md", Content: "y"}); err != nil {
			t.Fatal(err)
		}
		for _, req := range []ipc.FileRequest{
			{Op: "read", Path: "closed/secret.md"}, {Op: "grep", Path: ".", Pattern: "CANARY", Recursive: true},
			{Op: "list", Path: "closed"},
			{Op: "write", Path: "closed/secret.md", Content: "gone"}, {Op: "create", Path: "closed/new.md", Content: "new"},
			{Op: "delete", Path: "closed/secret.md"},
		} {
			r, err := agent.do(ctx, req)
			if said := fmt.Sprint(r, err); strings.Contains(said, "CANARY\\n") || len(r.Matches) > 0 || r.Content != "" ||
				len(r.Entries) > 0 {
				t.Errorf("%s %s shows what the sandbox hides: %s", req.Op, req.Path, said)
			}
			if req.Op != "grep" && err == nil {
				t.Errorf("%s %s was carried out: %+v", req.Op, req.Path, r)
			}
		}
		if got := a.sh("cat closed/*"); got != "CANARY\n" {
			t.Errorf("what the sandbox hides was changed: %q", got)
		}

		// A mode is no person: what the sandbox holds stays held (R-AP-18).
		for _, path := range []string{".git/config", ".git/hooks/pre-commit", ".envrc"} {
			if _, err := agent.do(ctx, ipc.FileRequest{Op: "write", Path: path,
				Content: "evil"}); ipc.CodeOf(err) != ipc.CodeDenied {
				t.Errorf("writing %s: %v", path, err)
			}
		}

		// The worker's view follows the host: what took another's place is what
		// it sees, as a new sandbox would.
		a.sh("git config user.name after")
		if r, err := agent.do(ctx, ipc.FileRequest{Op: "read", Path: ".git/config"}); err != nil ||
			!strings.Contains(r.Content, "after") {
			t.Errorf("the worker sees an old file: %q, %v", r.Content, err)
		}

		for _, p := range a.workers() {
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"Seccomp:\t2\n", "NoNewPrivs:\t1\n", "CapEff:\t0000000000000000\n"} {
				if !strings.Contains(string(status), want) {
					t.Errorf("the worker lacks %q:\n%s", want, status)
				}
			}
			if mine, theirs := namespace(t, os.Getpid()), namespace(t, p.pid); mine == theirs {
				t.Error("the worker sees the host's mounts")
			}
		}
		if len(a.workers()) != 1 {
			t.Errorf("%d workers for one session", len(a.workers()))
		}
		if _, err := agent.CloseSession(ctx, ipc.CloseRequest{Session: agent.session}); err != nil {
			t.Fatal(err)
		}
		if left := a.workers(); len(left) > 0 {
			t.Errorf("the session is closed and its worker lives: %v", left)
		}
	})
}

// workers are the processes that serve file operations for the actor's daemon.
func (a *actor) workers() (list []process) {
	for _, p := range processes() {
		if p.state != 'Z' && strings.HasPrefix(p.cmdline, "sandboxd file-worker") && a.descends(p.pid) {
			list = append(list, p)
		}
	}
	return list
}

// descends reports whether a process is one of the daemon's.
func (a *actor) descends(pid int) bool {
	daemon := a.daemonPid()
	for pid > 1 && daemon > 0 {
		if pid == daemon {
			return true
		}
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		pid, _ = strconv.Atoi(fields[1])
	}
	return false
}

func namespace(t *testing.T, pid int) string {
	t.Helper()
	s, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", pid))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// R-FS-08: an undo is judged as the write that it is. What lay under a protected
// name comes back only with a person's own yes, whatever the mode is.
func TestUndoOfProtectedIsAPersons(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.sh("mkdir .vscode && echo old > .vscode/s.json && echo old > notes.md")
		a.start()
		person := a.personPeer("ann", true)
		peer := a.agentPeer("editor")
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		a.trust(ctx, person)
		agent := a.fileAgent(peer, ipc.KindCLI)
		edit := []ipc.Edit{{Find: "old", Replace: "new"}}
		with := func(agent fileAgent, r ipc.FileRequest, answer ipc.Answer) (ipc.FileResult, error) {
			type outcome struct {
				ipc.FileResult
				error
			}
			done := make(chan outcome, 1)
			r.CallID = fmt.Sprint(time.Now().UnixNano())
			go func() {
				f, err := agent.do(ctx, r)
				done <- outcome{f, err}
			}()
			decide(ctx, t, &person.approver, question(ctx, t, &person.approver, r.CallID), answer)
			o := <-done
			return o.FileResult, o.error
		}
		guarded, err := with(agent, ipc.FileRequest{Op: "edit", Path: ".vscode/s.json", Edits: edit}, ipc.Answer{Allow: true})
		if err != nil {
			t.Fatal(err)
		}
		ordinary, err := agent.do(ctx, ipc.FileRequest{Op: "edit", Path: "notes.md", Edits: edit})
		if err != nil {
			t.Fatal(err)
		}
		// In another session, after a restart, which keeps what can be undone.
		a.start("--mode", "approve-all")
		agent = a.fileAgent(peer, ipc.KindCLI)
		if _, err := agent.do(ctx, ipc.FileRequest{Op: "undo", UndoID: guarded.UndoID}); ipc.CodeOf(err) != ipc.CodeDenied {
			t.Errorf("approve-all restored what was protected: %v", err)
		}
		if _, err := agent.do(ctx, ipc.FileRequest{Op: "undo", UndoID: ordinary.UndoID}); err != nil {
			t.Errorf("an ordinary undo under approve-all: %v", err)
		}
		a.sh("grep -q new .vscode/s.json; grep -q old notes.md")
		a.start()
		agent = a.fileAgent(peer, ipc.KindCLI)
		if _, err := with(agent, ipc.FileRequest{Op: "undo", UndoID: guarded.UndoID},
			ipc.Answer{Mode: "soft"}); ipc.CodeOf(err) != ipc.CodeDenied {
			t.Errorf("a no: %v", err)
		}
		a.sh("grep -q new .vscode/s.json")
		if _, err := with(agent, ipc.FileRequest{Op: "undo", UndoID: guarded.UndoID}, ipc.Answer{Allow: true}); err != nil {
			t.Errorf("a person's yes: %v", err)
		}
		a.sh("grep -q old .vscode/s.json")
		// A program does not get at what another session did.
		program := a.fileAgent(peer, ipc.KindAPI)
		if _, err := program.do(ctx, ipc.FileRequest{Op: "undo",
			UndoID: ordinary.UndoID}); ipc.CodeOf(err) != ipc.CodeNotFound {
			t.Errorf("another session's change: %v", err)
		}
	})
}
