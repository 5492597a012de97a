package ipc_test

import (
	"bytes"
	"context"
	"fmt"
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

// besieged is a server that complains about itself to f, and that leaves
// nothing open when f ends; goroutines are counted by TestMain.
func besieged(f *testing.F) (*ipctest.Backend, *ipc.Sockets) {
	f.Helper()
	before := descriptors(f)
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
			Limits: ipc.Limits{Body: 4096, FileBody: 4096, Grace: 10 * time.Millisecond}, Log: slog.New(complaints{f}),
		}
		served <- s.Serve(ctx)
	}()
	f.Cleanup(func() {
		b.Close()
		cancel()
		<-served
		sockets.Close()
		if n := descriptors(f); n > before+2 { // the runtime's own poller
			f.Errorf("%d descriptors are left open", n-before)
		}
	})
	return b, sockets
}

var succeeded = regexp.MustCompile(`(?m)^HTTP/1\.[01] 2`)

// FuzzFrames: whatever bytes come over a socket, nothing breaks, and nothing
// is changed without an answer that says so (R-IP-05).
func FuzzFrames(f *testing.F) {
	f.Add([]byte(request("GET", "/v1/version", "")), false)
	f.Add([]byte(request("POST", "/v1/sessions", `{"kind":"api"}`)), false)
	f.Add([]byte(request("POST", "/v1/exec", `{"session":"session-1","command":"echo"}`)), false)
	f.Add([]byte(request("POST", "/v1/approvals/x/decision", `{"rev":1,"hash":"h","allow":true}`)), true)
	f.Add([]byte(request("GET", "/v1/exec/exec-1/events?from_seq=1", "")+request("POST", "/v1/reload", "")), true)
	f.Add([]byte("POST /v1/exec/x/stdin?eof=1 HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: "+
		"chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"), false)
	f.Add([]byte("GET /v1/events HTTP/1.0\r\nLast-Event-ID: 9\r\nAuthorization: Bearer x\r\n\r\n"), true)
	b, sockets := besieged(f)
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
		c.SetDeadline(time.Now().Add(20 * time.Second))
		c.Write(frames)
		c.CloseWrite()
		answers, _ := io.ReadAll(c)
		if b.Changes() != before && !succeeded.Match(answers) {
			t.Errorf("something was changed by %q, answered with %q", frames, answers)
		}
	})
}

// FuzzHeader: any header is followed by one answer of ours, and a change only with a success.
func FuzzHeader(f *testing.F) {
	for _, h := range []string{
		"Authorization: Bearer x", "Idempotency-Key: " + "k", "Last-Event-ID: 18446744073709551616", "Content-Length: -1",
		"Transfer-Encoding: chunked, chunked", "Content-Type: application/json; charset=\xff", "Host: other",
		"Connection: upgrade\r\nUpgrade: websocket", "Expect: 100-continue", "A : b", "\x00", ": x", "X: " +
			string(make([]byte, 100)),
	} {
		f.Add([]byte(h), "POST", "/v1/sessions", "{}")
		f.Add([]byte(h), "GET", "/v1/events", "")
	}
	b, sockets := besieged(f)
	f.Fuzz(func(t *testing.T, header []byte, method, path, body string) {
		before := b.Changes()
		c, err := net.DialUnix("unix", nil, sockets.Agent.Addr().(*net.UnixAddr))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(20 * time.Second))
		fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: s\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n\r\n%s", method, path,
			len(body), header, body)
		c.CloseWrite()
		answer, _ := io.ReadAll(c)
		if len(answer) > 0 && !bytes.HasPrefix(answer, []byte("HTTP/1.")) {
			t.Errorf("%q was answered with %q", header, answer)
		}
		if b.Changes() != before && !succeeded.Match(answer) {
			t.Errorf("something was changed by %q %q %q %q, answered with %q", method, path, header, body, answer)
		}
	})
}
