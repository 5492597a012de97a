package ipc_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"sandboxd/ipc"
)

// R-IP-05: each limit answers with its code, and is free again afterwards.
func TestConnectionLimit(t *testing.T) {
	h, _, _ := house(t, ipc.Limits{Connections: 4})
	var held []net.Conn
	for range 3 { // the house's own client holds one
		c, err := net.Dial("unix", h.Agent.Socket)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, "GET /v1/version HTTP/1.1\r\nHost: s\r\n\r\n")
		if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.StatusCode != 200 {
			t.Fatalf("%+v, %v", resp, err)
		}
		held = append(held, c)
	}
	status, body := raw(t, h.Agent.Socket, "GET", "/v1/version", "")
	if status != 429 || codeIn(body) != ipc.CodeLimit {
		t.Errorf("one more: %d %s", status, body)
	}
	// Those who answer are not crowded out by those who ask.
	if _, err := h.Approver.Version(t.Context()); err != nil {
		t.Errorf("approver: %v", err)
	}
	for _, c := range held {
		c.Close()
	}
	eventually(t, "there is room again", func() bool {
		status, _ := raw(t, h.Agent.Socket, "GET", "/v1/version", "")
		return status == 200
	})
}

// Only some of the refused peers get a reason; the rest are just closed, so that refusals cost the
// server nothing.
func TestRefusedConnectionsAreBounded(t *testing.T) {
	h, _, _ := house(t, ipc.Limits{ProcConnections: 1})
	before := descriptors(t)
	var held []net.Conn
	defer func() {
		for _, c := range held {
			c.Close()
		}
	}()
	closed := 0
	for range 100 {
		c, err := net.Dial("unix", h.Agent.Socket)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	for _, c := range held {
		c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); err == io.EOF {
			closed++
		}
	}
	if closed < 60 {
		t.Errorf("%d of 100 were closed at once", closed)
	}
	// Ours, theirs, and two for each that gets a reason.
	if n := descriptors(t) - before; n > 100+2*32+10 {
		t.Errorf("%d descriptors more", n)
	}
}

func TestRequestLimit(t *testing.T) {
	h, _, s := house(t, ipc.Limits{Requests: 3})
	var streams []ipc.Stream[ipc.Event]
	for range 3 {
		started, err := h.Agent.StartExec(t.Context(), ipc.ExecRequest{Session: s.ID, Command: "wait", Keep: true})
		if err != nil {
			t.Fatal(err)
		}
		// On the other socket, which counts by itself.
		e, err := h.Approver.ExecEvents(t.Context(), ipc.EventsRequest{ID: started.ID})
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, e)
	}
	if _, err := h.Approver.Version(t.Context()); ipc.CodeOf(err) != ipc.CodeLimit {
		t.Errorf("a fourth: %v", err)
	}
	for _, e := range streams {
		e.Close()
	}
	eventually(t, "there is room again", func() bool {
		_, err := h.Approver.Version(t.Context())
		return err == nil
	})
}

// Bodies that are being read count against their user, not against others.
func TestBufferLimit(t *testing.T) {
	h, _, s := house(t, ipc.Limits{Buffered: 300 << 10})
	body := `{"session":"` + s.ID + `","content":"` + strings.Repeat("x", 200<<10) + `"}`
	var held []net.Conn
	hold := func() {
		c, err := net.Dial("unix", h.Agent.Socket)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
		// one byte is still to come
		fmt.Fprintf(c, "POST /v1/files/write HTTP/1.1\r\nHost: s\r\nContent-Length: %d\r\n\r\n%s", len(body)+1, body)
	}
	eventually(t, "memory is short", func() bool {
		hold() // again: the request below may have come first, and had this one refused
		status, answer := raw(t, h.Agent.Socket, "POST", "/v1/files/write", body)
		return status == 429 && codeIn(answer) == ipc.CodeLimit
	})
	if _, err := h.Approver.Mode(t.Context(), ipc.ModeRequest{}); err != nil {
		t.Errorf("on the other socket: %v", err)
	}
	for _, c := range held {
		c.Close()
	}
	secret := "Authorization: Bearer " + string(s.Secret) + "\r\n"
	eventually(t, "there is memory again", func() bool {
		req := strings.Replace(request("POST", "/v1/files/write", body), "Host: s\r\n", "Host: s\r\n"+secret, 1)
		resp, _, conn := send(t, h.Agent.Socket, req)
		if conn != nil {
			conn.Close()
		}
		return resp != nil && resp.StatusCode == 200
	})
}

// A header or a body that never comes does not hold anything for long.
func TestSlowWriters(t *testing.T) {
	h, b, _ := house(t, ipc.Limits{Read: 100 * time.Millisecond})
	before := b.Changes()
	for name, what := range map[string]string{
		"no request": "",
		"header":     "POST /v1/exec HTTP/1.1\r\nHost: s\r\n",
		"body":       "POST /v1/exec HTTP/1.1\r\nHost: s\r\nContent-Length: 100\r\n\r\n{\"session\":",
		"chunk":      "POST /v1/exec HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("unix", h.Agent.Socket)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			io.WriteString(c, what)
			c.SetReadDeadline(time.Now().Add(10 * time.Second))
			if _, err := io.ReadAll(c); err != nil {
				t.Errorf("it was not closed: %v", err)
			}
		})
	}
	if b.Changes() != before {
		t.Error("something was changed")
	}
}

// A long wait for a person is not a slow writer.
func TestWaitingIsNotSlow(t *testing.T) {
	h, _, s := house(t, ipc.Limits{Read: 50 * time.Millisecond, Write: 50 * time.Millisecond, Idle: 50 * time.Millisecond})
	answered := make(chan error, 1)
	go func() {
		v, err := h.Agent.Check(context.Background(), ipc.CheckRequest{Session: s.ID, Command: "ask me"})
		if err == nil && !v.Allowed {
			err = fmt.Errorf("%+v", v)
		}
		answered <- err
	}()
	time.Sleep(300 * time.Millisecond)
	eventually(t, "the answer is taken", func() bool {
		l, err := h.Approver.Approvals(t.Context())
		if err != nil || len(l.Approvals) == 0 {
			return false
		}
		q := l.Approvals[0]
		_, err = h.Approver.Decide(t.Context(), ipc.Answer{ID: q.ID, Rev: q.Rev, Hash: q.Hash, Allow: true})
		return err == nil
	})
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// R-IP-05: a watcher that reads nothing is cut off, and slows nobody; one that lags and comes back
// gets the gap.
func TestSlowReaders(t *testing.T) {
	h, b, s := house(t, ipc.Limits{Write: time.Second})
	started, err := h.Agent.StartExec(t.Context(), ipc.ExecRequest{Session: s.ID, Command: "flood 400", Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		c, err := net.Dial("unix", h.Approver.Socket)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, request("GET", "/v1/exec/"+started.ID+"/events?watch=1", "")) // and read nothing
	}
	stream, err := h.Agent.ExecEvents(t.Context(), ipc.EventsRequest{ID: started.ID})
	if err != nil {
		t.Fatal(err)
	}
	events := drain(t, stream)
	if types, output := shape(events); !strings.HasSuffix(types, "exit") || len(output) == 0 {
		t.Errorf("%d events, %d bytes", len(events), len(output))
	}
	eventually(t, "the watchers are cut off", func() bool { return b.OpenStreams() == 0 })
	late, err := h.Approver.ExecEvents(t.Context(), ipc.EventsRequest{ID: started.ID, Watch: true})
	if err != nil {
		t.Fatal(err)
	}
	events = drain(t, late)
	if events[0].Type != ipc.EventGap || events[0].Gap.From != 1 || events[0].Gap.To+1 != events[1].Seq {
		t.Errorf("%+v", events[0])
	}
}

// Nothing is left of a thousand requests from many connections: no goroutine
// (TestMain), no descriptor, no counter.
func TestNoLeak(t *testing.T) {
	h, b, s := house(t, ipc.Limits{})
	before := descriptors(t)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			c := &ipc.Client{Socket: h.Agent.Socket, Secret: s.Secret}
			defer c.Close()
			for i := range 10 {
				if _, output := shape(run(t, c, ipc.ExecRequest{Session: s.ID,
					Command: fmt.Sprint("echo ", i)})); output != fmt.Sprintln(i) {
					t.Errorf("%q", output)
				}
				c.StartExec(context.Background(), ipc.ExecRequest{Session: "no such", Command: "x"})
			}
		})
	}
	all.Wait()
	eventually(t, "the descriptors are closed", func() bool { return descriptors(t) <= before })
	if n := b.OpenStreams(); n != 0 {
		t.Errorf("%d streams", n)
	}
}

// descriptors counts ours.
func descriptors(t testing.TB) int {
	t.Helper()
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		if entries, err := os.ReadDir(dir); err == nil {
			return len(entries)
		}
	}
	t.Fatal("descriptors cannot be counted")
	return 0
}
