package ipc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sandboxd/ipc"
	"sandboxd/ipc/ipctest"
)

// R-IP-02: what becomes of a command whose client hangs up is what it asked for.
func TestHangUpEndsOrKeeps(t *testing.T) {
	h, b, s := house(t, ipc.Limits{})
	for _, keep := range []bool{false, true} {
		started, err := h.Agent.StartExec(t.Context(), ipc.ExecRequest{Session: s.ID, Command: "wait", Keep: keep})
		if err != nil {
			t.Fatal(err)
		}
		stream, err := h.Agent.ExecEvents(t.Context(), ipc.EventsRequest{ID: started.ID})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		stream.Close()
		eventually(t, "the stream is closed on the other side", func() bool { return b.OpenStreams() == 0 })
		if keep {
			if err := h.Agent.CancelExec(t.Context(), ipc.CancelRequest{ID: started.ID}); err != nil {
				t.Error(err)
			}
		}
		stream, err = h.Agent.ExecEvents(t.Context(), ipc.EventsRequest{ID: started.ID, FromSeq: 2})
		if err != nil {
			t.Fatal(err)
		}
		events := drain(t, stream)
		if x := events[len(events)-1].Exit; x == nil || !x.Cancelled {
			t.Errorf("keep %v: %+v", keep, x)
		}
	}
}

// A client that is killed hangs up.
func TestKilledClient(t *testing.T) {
	h, b, _ := house(t, ipc.Limits{})
	c := start(t, "follow "+h.Agent.Socket, nil)
	eventually(t, "it follows", func() bool { return b.OpenStreams() == 1 })
	c.Process.Kill()
	eventually(t, "its stream is closed", func() bool { return b.OpenStreams() == 0 })
}

// A check whose caller is gone asks nobody any longer.
func TestHangUpWhileAsked(t *testing.T) {
	h, _, s := house(t, ipc.Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := h.Agent.Check(ctx, ipc.CheckRequest{Session: s.ID, Command: "ask me"})
		done <- err
	}()
	pending := func() int {
		l, err := h.Approver.Approvals(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(l.Approvals)
	}
	eventually(t, "it is asked", func() bool { return pending() == 1 })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	eventually(t, "it is asked no more", func() bool { return pending() == 0 })
}

// A client that hangs up in the middle of what it says has said nothing.
func TestHangUpInTheMiddle(t *testing.T) {
	h, b, s := house(t, ipc.Limits{})
	before := b.Changes()
	whole := request("POST", "/v1/exec", `{"session":"`+s.ID+`","command":"echo hi"}`)
	for i := 0; i < len(whole)-1; i += 3 {
		c, err := net.Dial("unix", h.Agent.Socket)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, whole[:i])
		c.Close()
	}
	if _, err := h.Agent.Version(t.Context()); err != nil {
		t.Error(err)
	}
	if b.Changes() != before {
		t.Error("something was changed")
	}
}

// The server ends though clients hold on: within its grace, with everything
// closed.
func TestServerEnds(t *testing.T) {
	dir := place(t)
	sockets, err := ipc.Listen(ipc.SocketDir{Path: filepath.Join(dir, "s")})
	if err != nil {
		t.Fatal(err)
	}
	defer sockets.Close()
	b := ipctest.New()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		s := ipc.Server{
			Backend: b, Agent: []net.Listener{sockets.Agent}, Approver: []net.Listener{sockets.Approver},
			Limits: ipc.Limits{Grace: 100 * time.Millisecond},
		}
		served <- s.Serve(ctx)
	}()
	c := &ipc.Client{Socket: filepath.Join(dir, "s", ipc.AgentSocket)}
	defer c.Close()
	p := &ipc.Client{Socket: filepath.Join(dir, "s", ipc.ApproverSocket)}
	defer p.Close()
	s, err := c.OpenSession(t.Context(), ipc.SessionRequest{Kind: ipc.KindCLI})
	if err != nil {
		t.Fatal(err)
	}
	started, err := c.StartExec(t.Context(), ipc.ExecRequest{Session: s.ID, Command: "wait"})
	if err != nil {
		t.Fatal(err)
	}
	events, err := c.ExecEvents(t.Context(), ipc.EventsRequest{ID: started.ID})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	news, err := p.News(t.Context(), ipc.NewsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	defer news.Close()
	cancel()
	select {
	case err := <-served:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("it does not end")
	}
	if n := b.OpenStreams(); n != 0 {
		t.Errorf("%d streams are open", n)
	}
	for range 10 { // what was sent before is still readable
		if _, err = events.Next(t.Context()); err != nil {
			break
		}
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the stream was cut, and says %v", err)
	}
	b.Close()
}

// A service manager's sockets are served like our own, and stay where they are.
func TestActivation(t *testing.T) {
	path := filepath.Join(place(t), "from-systemd")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		s := ipc.Server{Backend: ipctest.New(), Agent: []net.Listener{l}}
		served <- s.Serve(ctx)
	}()
	c := &ipc.Client{Socket: path}
	if _, err := c.Version(t.Context()); err != nil {
		t.Error(err)
	}
	c.Close()
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
}

// failing is a backend that misbehaves.
type failing struct{ *ipctest.Backend }

func (failing) Version(context.Context, ipc.Caller) (ipc.Version, error) {
	return ipc.Version{}, errors.New("open /home/other/secret: no such file")
}
func (failing) Sessions(context.Context, ipc.Caller) (ipc.SessionList, error) { panic("oops") }
func (failing) ExecEvents(context.Context, ipc.Caller, ipc.EventsRequest) (ipc.Stream[ipc.Event], error) {
	return broken{}, nil
}

type broken struct{}

func (broken) Next(context.Context) (ipc.Event, error) { return ipc.Event{}, errors.New("internal") }
func (broken) Close() error                            { return nil }

// A fault in the backend is an answer without details, not an end.
func TestBackendFails(t *testing.T) {
	b := ipctest.New()
	h := ipctest.Start(t, failing{b}, ipc.Limits{})
	for range 2 {
		status, body := raw(t, h.Agent.Socket, "GET", "/v1/version", "")
		if status != 500 || codeIn(body) != ipc.CodeInternal || len(body) > 200 {
			t.Errorf("error: %d %s", status, body)
		}
		status, body = raw(t, h.Agent.Socket, "GET", "/v1/sessions", "")
		if status != 500 || codeIn(body) != ipc.CodeInternal {
			t.Errorf("panic: %d %s", status, body)
		}
	}
	s, err := h.Agent.ExecEvents(t.Context(), ipc.EventsRequest{ID: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Next(t.Context()); ipc.CodeOf(err) != ipc.CodeInternal {
		t.Errorf("stream: %v", err)
	}
	if _, err := h.Agent.Status(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
