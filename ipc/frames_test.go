package ipc_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"sandboxd/ipc"
	"sandboxd/ipc/ipctest"
)

// complaints fails the test when the server logs that something of it broke.
type complaints struct{ t testing.TB }

func (c complaints) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }
func (c complaints) Handle(_ context.Context, r slog.Record) error {
	c.t.Errorf("the server logs %q", r.Message)
	r.Attrs(func(a slog.Attr) bool { c.t.Log(a); return true })
	return nil
}
func (c complaints) WithAttrs([]slog.Attr) slog.Handler { return c }
func (c complaints) WithGroup(string) slog.Handler      { return c }

var succeeded = regexp.MustCompile(`(?m)^HTTP/1\.[01] 2`)

// FuzzFrames: whatever bytes come over a socket, nothing breaks, and nothing
// is changed without an answer that says so (R-IP-05).
func FuzzFrames(f *testing.F) {
	f.Add([]byte(request("GET", "/v1/version", "")), false)
	f.Add([]byte(request("POST", "/v1/sessions", `{"kind":"api"}`)), false)
	f.Add([]byte(request("POST", "/v1/exec", `{"session":"session-1","command":"echo"}`)), false)
	f.Add([]byte(request("POST", "/v1/approvals/x/decision", `{"rev":1,"hash":"h","allow":true}`)), true)
	f.Add([]byte(request("GET", "/v1/exec/exec-1/events?from_seq=1", "")+request("POST", "/v1/reload", "")), true)
	f.Add([]byte("POST /v1/exec/x/stdin?eof=1 HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"), false)
	f.Add([]byte("GET /v1/events HTTP/1.0\r\nLast-Event-ID: 9\r\nAuthorization: Bearer x\r\n\r\n"), true)
	b := ipctest.New()
	sockets, err := ipc.Listen(ipc.SocketDir{Path: filepath.Join(place(f), "s")})
	if err != nil {
		f.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		s := ipc.Server{
			Backend: b, Agent: []net.Listener{sockets.Agent}, Approver: []net.Listener{sockets.Approver},
			Limits: ipc.Limits{Body: 4096, Grace: 10 * time.Millisecond}, Log: slog.New(complaints{f}),
		}
		served <- s.Serve(ctx)
	}()
	f.Cleanup(func() {
		b.Close()
		cancel()
		<-served
		sockets.Close()
	})
	f.Fuzz(func(t *testing.T, frames []byte, approver bool) {
		before := b.Changes()
		to := sockets.Agent
		if approver {
			to = sockets.Approver
		}
		c, err := net.DialUnix("unix", nil, to.Addr().(*net.UnixAddr))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(time.Second))
		c.Write(frames)
		c.CloseWrite()
		answers, _ := io.ReadAll(c)
		if b.Changes() != before && !succeeded.Match(answers) {
			t.Errorf("something was changed by %q, answered with %q", frames, answers)
		}
	})
}
