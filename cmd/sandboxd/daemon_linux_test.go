package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sandboxd/ipc"
	"sandboxd/supervisor"
)

// The test binary is the file worker, too, as sandboxd is, and has sandboxd-launch beside it.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == supervisor.FileWorkerArg {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// served is a daemon in this process, and its clients.
type served struct {
	t               *testing.T
	base, project   string
	agent, approver *ipc.Client
}

// serveHere runs a daemon until the test ends. Its state directory holds config as its configuration.
func serveHere(t *testing.T, config string, args ...string) *served {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("../sandboxd-launch/build.sh", filepath.Join(filepath.Dir(self), "sandboxd-launch"))
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	base, err := os.MkdirTemp("", "sbxd") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	s := &served{t: t, base: base, project: filepath.Join(base, "project")}
	if err := os.Mkdir(s.project, 0o755); err != nil {
		t.Fatal(err)
	}
	s.configure(config)
	f, rest, err := parseFlags(
		append([]string{"--config", filepath.Join(base, "config.toml"), "--socket-dir", filepath.Join(base, "s"),
			"--state-dir", filepath.Join(base, "st")}, args...),
	)
	if err != nil || len(rest) > 0 {
		t.Fatal(rest, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	log := &strings.Builder{}
	go func() { ended <- serve(ctx, f, log) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("got %v, want the daemon to end well\n%s", err, log)
		}
	})
	s.agent = &ipc.Client{Socket: filepath.Join(base, "s", ipc.AgentSocket)}
	s.approver = &ipc.Client{Socket: filepath.Join(base, "s", ipc.ApproverSocket)}
	t.Cleanup(s.agent.Close)
	t.Cleanup(s.approver.Close)
	deadline := time.Now().Add(30 * time.Second)
	for s.approver.Exists(t.Context()) != nil {
		time.Sleep(5 * time.Millisecond)
		if time.Now().After(deadline) {
			t.Fatal("got no daemon in 30 s")
		}
	}
	return s
}

func (s *served) configure(config string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.base, "config.toml"), []byte(config), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// must returns v and ends the test where err is set.
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatalf("got %v, want no error", err)
		}
		return v
	}
}

// code is the code of a refusal, empty for none.
func code(err error) ipc.Code {
	var e *ipc.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// session opens one of the agent's in the project, with its secret in the client.
func (s *served) session() ipc.Session {
	s.t.Helper()
	got := must(
		s.agent.OpenSession(s.t.Context(), ipc.SessionRequest{Kind: ipc.KindAPI, Root: s.project, Label: "test"}),
	)(
		s.t,
	)
	s.agent.Secret = got.Secret
	return got
}

// output runs a command to its end and returns what it wrote.
func (s *served) output(r ipc.ExecRequest) (string, *ipc.Exit) {
	s.t.Helper()
	_, events, err := s.agent.RunExec(s.t.Context(), r)
	if err != nil {
		s.t.Fatalf("got %v, want a command", err)
	}
	defer events.Close()
	var out strings.Builder
	for {
		e, err := events.Next(s.t.Context())
		switch {
		case err != nil:
			s.t.Fatalf("got %v, want the command's end", err)
		case e.Type == ipc.EventStdout || e.Type == ipc.EventStderr:
			out.Write(e.Data)
		case e.Type == ipc.EventExit:
			return out.String(), e.Exit
		}
	}
}

// until follows a command until it wrote text, or to its end where that is empty, and returns what it wrote.
func (s *served) until(id, text string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	events := must(s.agent.ExecEvents(ctx, ipc.EventsRequest{ID: id, Watch: true}))(s.t)
	defer events.Close()
	var out strings.Builder
	for {
		e, err := events.Next(ctx)
		if err != nil {
			s.t.Fatalf("got %v after %q, want %q", err, &out, text)
		}
		out.Write(e.Data)
		if text != "" && strings.Contains(out.String(), text) || text == "" && e.Exit != nil {
			return out.String()
		}
	}
}

// What agents ask for, in a trusted project and with every question approved.
func TestAgentsOperations(t *testing.T) {
	s := serveHere(t, "[approval]\ntimeout = \"5s\"\n", "--mode", "approve-all")
	ctx := t.Context()
	must(s.approver.Trust(ctx, ipc.TrustRequest{Dir: s.project}))(t)
	session := s.session()
	if !session.Trusted || session.Root != s.project {
		t.Errorf("got %+v, want a session in the trusted project", session)
	}
	out, exit := s.output(ipc.ExecRequest{Session: session.ID, Command: "echo one > a.txt; cat a.txt"})
	if out != "one\n" || exit.Code != 0 {
		t.Errorf("got %q and %+v, want one line and status 0", out, exit)
	}
	out, exit = s.output(ipc.ExecRequest{Session: session.ID, Argv: []string{"sh", "-c", "exit 7"}})
	if exit.Code != 7 {
		t.Errorf("got %q and %+v, want status 7", out, exit)
	}
	sleep := ipc.ExecRequest{Session: session.ID, Argv: []string{"sleep", "60"}, TTY: true, TimeoutMS: 100}
	if _, exit := s.output(sleep); !exit.TimedOut {
		t.Errorf("got %+v, want the command's time to be up", exit)
	}
}

// The file tool, in a trusted project and with every question approved.
func TestAgentsFiles(t *testing.T) {
	s := serveHere(t, "", "--mode", "approve-all")
	ctx := t.Context()
	must(s.approver.Trust(ctx, ipc.TrustRequest{Dir: s.project}))(t)
	session := s.session()
	if err := os.WriteFile(filepath.Join(s.project, "a.txt"), []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	read := must(s.agent.File(ctx, ipc.FileRequest{Op: "read", Session: session.ID, Path: "a.txt"}))(t)
	if read.Content != "one\n" {
		t.Errorf("got %q, want the file's content", read.Content)
	}
	edit := ipc.FileRequest{
		Op:      "edit",
		Session: session.ID,
		Path:    "a.txt",
		Edits:   []ipc.Edit{{Find: "one", Replace: "two"}},
	}
	must(s.agent.File(ctx, edit))(t)
	must(s.agent.File(ctx, ipc.FileRequest{Op: "undo", Session: session.ID, UndoID: "last"}))(t)
	if b, _ := os.ReadFile(filepath.Join(s.project, "a.txt")); string(b) != "one\n" {
		t.Errorf("got %q after the undo, want the file as it was", b)
	}
	if _, err := s.agent.File(ctx, ipc.FileRequest{Op: "read", Session: session.ID, Path: "absent"}); code(
		err,
	) == "" {
		t.Errorf("got %v for a file that does not exist, want a refusal with a code", err)
	}
}

// Batches, tickets and standard input, in a trusted project and with every question approved.
func TestAgentsCalls(t *testing.T) {
	s := serveHere(t, "", "--mode", "approve-all")
	ctx := t.Context()
	must(s.approver.Trust(ctx, ipc.TrustRequest{Dir: s.project}))(t)
	session := s.session()
	if err := os.WriteFile(filepath.Join(s.project, "a.txt"), []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	batch := must(s.agent.Batch(ctx, ipc.BatchRequest{Session: session.ID, Calls: []ipc.BatchCall{
		{CallID: "1", Exec: &ipc.ExecRequest{Argv: []string{"cat", "a.txt"}}},
		{CallID: "2", File: &ipc.FileCall{Op: "create", FileRequest: ipc.FileRequest{Path: "b.txt", Content: "b\n"}}},
		{
			CallID: "3",
			Check:  &ipc.CheckRequest{Tool: "web_fetch", Args: json.RawMessage(`{"url": "https://example.org/"}`)},
		},
	}}))(t)
	if len(batch.Results) != 3 || batch.Ran != 3 || batch.Cancelled != 0 {
		t.Errorf("got %+v, want three results", batch)
	}
	if b, err := os.ReadFile(filepath.Join(s.project, "b.txt")); string(b) != "b\n" {
		t.Errorf("got %q (%v), want the batch's file", b, err)
	}

	dry := must(s.agent.Check(ctx, ipc.CheckRequest{Session: session.ID, Command: "git status", DryRun: true}))(t)
	if dry.Decision != ipc.DecisionAuto {
		t.Errorf("got %+v for git status, want it to run unasked", dry)
	}
	checked := must(
		s.agent.Check(ctx, ipc.CheckRequest{Session: session.ID, CallID: "c1", Command: "touch c", TicketMS: 60_000}),
	)(
		t,
	)
	if checked.Ticket == "" {
		t.Fatalf("got %+v, want a ticket", checked)
	}
	after := must(s.agent.AfterCall(ctx, ipc.AfterCallRequest{Session: session.ID, CallID: "c1"}))(t)
	if after.Ran != ipc.RanOutside {
		t.Errorf("got %+v, want a call that ran outside", after)
	}
	if _, err := s.agent.StartExec(ctx, ipc.ExecRequest{Ticket: checked.Ticket, Command: "touch c"}); code(
		err,
	) == "" {
		t.Errorf("got %v for a ticket that is void, want a refusal with a code", err)
	}

	kept := must(
		s.agent.StartExec(
			ctx,
			ipc.ExecRequest{Session: session.ID, Argv: []string{"cat"}, Stdin: ipc.StdinStream, Keep: true},
		),
	)(
		t,
	)
	if err := s.agent.WriteStdin(ctx, ipc.StdinRequest{ID: kept.ID, Data: []byte("line\n"), EOF: true}); err != nil {
		t.Errorf("got %v, want the input taken", err)
	}
	if out := s.until(kept.ID, ""); out != "line\n" {
		t.Errorf("got %q, want the input", out)
	}
	must(s.agent.Turn(ctx, ipc.TurnRequest{Session: session.ID}))(t)
	must(s.agent.Profile(ctx, ipc.ProfileRequest{Session: session.ID, Path: s.project + "/.git/hooks/pre-commit"}))(t)
	if list := must(s.agent.Sessions(ctx))(t); len(list.Sessions) != 1 {
		t.Errorf("got %+v, want one session", list)
	}
	must(s.agent.CloseSession(ctx, ipc.CloseRequest{Session: session.ID}))(t)
	if _, err := s.agent.File(ctx, ipc.FileRequest{Op: "read", Session: session.ID, Path: "a.txt"}); code(err) == "" {
		t.Errorf("got %v in a closed session, want a refusal with a code", err)
	}
}

// What approvers ask for; and R-AP-13: the process that asks cannot answer itself.
func TestApproversOperations(t *testing.T) {
	s := serveHere(t, "[approval]\ntimeout = \"60s\"\n")
	ctx := t.Context()
	if v := must(s.approver.Version(ctx))(t); v.Version != ipc.Release {
		t.Errorf("got %+v, want release %s", v, ipc.Release)
	}
	must(s.approver.Status(ctx))(t)
	if d := must(s.approver.Doctor(ctx, ipc.DoctorRequest{}))(t); len(d.Enforcement.Layers) == 0 {
		t.Errorf("got %+v, want the layers of this host", d)
	}
	session := s.session()
	started := must(s.agent.StartExec(ctx, ipc.ExecRequest{Session: session.ID, Command: "touch x", Keep: true}))(t)
	var question ipc.Approval
	for deadline := time.Now().Add(20 * time.Second); question.ID == ""; time.Sleep(5 * time.Millisecond) {
		if list := must(s.approver.Approvals(ctx))(t); len(list.Approvals) > 0 {
			question = list.Approvals[0]
		}
		if time.Now().After(deadline) {
			t.Fatal("got no question in 20 s")
		}
	}
	question = must(s.approver.Approval(ctx, ipc.ApprovalRequest{ID: question.ID}))(t)
	answer := ipc.Answer{ID: question.ID, Rev: question.Rev, Hash: question.Hash, Allow: true}
	if _, err := s.approver.Decide(ctx, answer); code(err) == "" {
		t.Errorf("got %v for an answer by the process that asks, want a refusal", err)
	}
	if err := s.agent.CancelExec(ctx, ipc.CancelRequest{ID: started.ID}); err != nil {
		t.Errorf("got %v, want the command to be cancelled", err)
	}
	s.until(started.ID, "")
	if _, err := os.Lstat(filepath.Join(s.project, "x")); err == nil {
		t.Error("got the file of a command that was cancelled while it asked")
	}

	news := must(s.approver.News(ctx, ipc.NewsRequest{After: 1}))(t)
	if first := must(news.Next(ctx))(t); first.Type == "" {
		t.Errorf("got %+v, want the news of the question", first)
	}
	news.Close()
}

// What approvers set and read beside questions.
func TestApproversSettings(t *testing.T) {
	s := serveHere(t, "[gateway]\nlisten = \"127.0.0.1:0\"\n")
	ctx := t.Context()
	session := s.session()
	must(s.approver.Grants(ctx))(t)
	if _, err := s.approver.SetMode(ctx, ipc.Mode{Session: session.ID, Mode: "approve_all"}); code(err) == "" {
		t.Errorf("got %v for approve-all by the process that asks, want a refusal with a code", err)
	}
	if _, err := s.approver.SetMode(ctx, ipc.Mode{Mode: "strict"}); code(err) != ipc.CodeBadRequest {
		t.Errorf("got %v for the daemon's mode, want %s", err, ipc.CodeBadRequest)
	}
	must(s.approver.AddFrontEnd(ctx, ipc.FrontEndRequest{Name: "bot", Role: ipc.FrontEndApprover}))(t)
	if list := must(s.approver.FrontEnds(ctx))(t); len(list.FrontEnds) == 0 {
		t.Errorf("got %+v, want the new front end", list)
	}
	if err := s.approver.RemoveFrontEnd(ctx, ipc.FrontEndName{Name: "bot"}); err != nil {
		t.Errorf("got %v, want the front end removed", err)
	}
	must(s.approver.Invite(ctx))(t)
	if err := s.approver.Revoke(ctx, ipc.GrantRequest{ID: "g-absent"}); code(err) == "" {
		t.Errorf("got %v for a grant that does not exist, want a refusal with a code", err)
	}
	must(s.approver.Stats(ctx))(t)
	if err := s.approver.ResetStats(ctx); err != nil {
		t.Errorf("got %v, want the counts to be reset", err)
	}
	if _, err := s.approver.Trust(ctx, ipc.TrustRequest{Dir: s.project}); code(err) == "" {
		t.Errorf("got %v for the project of its own session, want a refusal with a code", err)
	}
	other := filepath.Join(s.base, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	trust := must(s.approver.Trust(ctx, ipc.TrustRequest{Dir: other}))(t)
	if list := must(s.approver.Trusted(ctx))(t); !slices.ContainsFunc(
		list.Trusted,
		func(one ipc.Trust) bool { return one.Dir == trust.Dir },
	) {
		t.Errorf("got %+v, want %s in it", list, trust.Dir)
	}
	if err := s.approver.Distrust(ctx, ipc.TrustRequest{Dir: other}); err != nil {
		t.Errorf("got %v, want the trust to be taken back", err)
	}
	s.configure("[approval]\nmode = \"strict\"\n")
	must(s.approver.Reload(ctx))(t)
	if m := must(s.approver.Mode(ctx, ipc.ModeRequest{}))(t); m.Mode != "strict" {
		t.Errorf("got %+v after the reload, want mode strict", m)
	}
	s.configure("[approval\n")
	if _, err := s.approver.Reload(ctx); code(err) == "" {
		t.Errorf("got %v for a broken configuration, want a refusal with a code", err)
	}
	page := must(s.approver.Audit(ctx, ipc.AuditRequest{Session: session.ID}))(t)
	if len(page.Records) == 0 {
		t.Errorf("got %+v, want the session's records", page)
	}
	if v := must(s.approver.VerifyAudit(ctx, ipc.AuditVerifyRequest{}))(t); !v.OK {
		t.Errorf("got %+v, want a log that is whole", v)
	}
	if _, err := s.agent.Approvals(ctx); err == nil {
		t.Error("got questions over the agents' socket, want a refusal")
	}
	if err := s.approver.Shutdown(ctx, ipc.ShutdownRequest{Now: true}); err != nil {
		t.Errorf("got %v, want the daemon to stop", err)
	}
}
