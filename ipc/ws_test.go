package ipc_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"sandboxd/ipc"
	"sandboxd/ipc/ipctest"
)

// rpc is a client of one WebSocket, for tests.
type rpc struct {
	t    testing.TB
	conn *websocket.Conn
	next int
}

func open(t testing.TB, socket string, header http.Header) (*rpc, error) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	conn, _, err := websocket.Dial(t.Context(), "ws://sandboxd/v1/ws", &websocket.DialOptions{HTTPClient: c, HTTPHeader: header})
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(64 << 20)
	t.Cleanup(func() { conn.CloseNow() })
	return &rpc{t: t, conn: conn}, nil
}

func mustOpen(t testing.TB, socket string) *rpc {
	t.Helper()
	r, err := open(t, socket, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// begin sends a call and returns its id.
func (r *rpc) begin(method, params string) string {
	r.t.Helper()
	r.next++
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, r.next, method, params))
	return fmt.Sprint(r.next)
}

func (r *rpc) send(message string) {
	r.t.Helper()
	if err := r.conn.Write(r.t.Context(), websocket.MessageText, []byte(message)); err != nil {
		r.t.Fatal(err)
	}
}

// message is a received message, of either kind.
type message struct {
	ID     json.RawMessage
	Result json.RawMessage
	Error  *ipc.RPCError
	Method string
	Params ipc.RPCValueParams
}

func (r *rpc) read() message {
	r.t.Helper()
	ctx, done := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer done()
	_, b, err := r.conn.Read(ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	var m message
	if err := json.Unmarshal(b, &m); err != nil {
		r.t.Fatalf("%s: %v", b, err)
	}
	return m
}

// answer reads up to the answer of the call, and returns the values before it.
func (r *rpc) answer(id string) (message, []message) {
	r.t.Helper()
	var values []message
	for {
		m := r.read()
		if string(m.ID) == id {
			return m, values
		}
		values = append(values, m)
	}
}

func (r *rpc) call(method, params string) message {
	r.t.Helper()
	m, _ := r.answer(r.begin(method, params))
	return m
}

// result is a call that must succeed.
func result[T any](r *rpc, method, params string) T {
	r.t.Helper()
	m := r.call(method, params)
	var v T
	if m.Error != nil || json.Unmarshal(m.Result, &v) != nil {
		r.t.Fatalf("%s %s: %s %+v", method, params, m.Result, m.Error)
	}
	return v
}

// R-IP-02, R-IP-06: one WebSocket carries a session, a command with its input,
// terminal and signals, and its events, under the names of the operations.
func TestWebSocket(t *testing.T) {
	h, _, _ := house(t, ipc.Limits{})
	r := mustOpen(t, h.Agent.Socket)
	if v := result[ipc.Version](r, "version", "{}"); v.Product != ipc.Product {
		t.Errorf("version: %+v", v)
	}
	s := result[ipc.Session](r, "session.open", `{"agent":"web","root":"/proj"}`)
	if s.Secret == "" {
		t.Fatalf("session: %+v", s)
	}
	with := func(rest string) string { return fmt.Sprintf(`{"secret":%q,%s}`, string(s.Secret), rest) }
	if m := r.call("session.turn", fmt.Sprintf(`{"id":%q}`, s.ID)); m.Error == nil || m.Error.Data.Code != ipc.CodeSecret {
		t.Errorf("without the secret: %+v", m)
	}
	if turn := result[ipc.Turn](r, "session.turn", with(`"id":"`+s.ID+`"`)); turn.Turn != 1 {
		t.Errorf("turn: %+v", turn)
	}
	if m := r.call("file", with(`"op":"read","session":"`+s.ID+`","path":"x"`)); m.Error != nil || !strings.Contains(string(m.Result), `"path":"x"`) {
		t.Errorf("file: %s %+v", m.Result, m.Error)
	}

	cat := result[ipc.ExecStarted](r, "exec.start", with(`"session":"`+s.ID+`","command":"cat","stdin":"stream"`))
	stream := r.begin("exec.events", with(`"id":"`+cat.ID+`","from_seq":1`))
	var want strings.Builder
	for i := range 40 { // more than can be taken at once, in order
		piece := fmt.Sprintf("piece %d\n", i)
		want.WriteString(piece)
		r.begin("exec.stdin", with(`"id":"`+cat.ID+`","data":"`+base64.StdEncoding.EncodeToString([]byte(piece))+`"`))
	}
	r.begin("exec.stdin", with(`"id":"`+cat.ID+`","eof":true`))
	end, values := r.answer(stream)
	var got strings.Builder
	for _, v := range values {
		if v.Error != nil {
			t.Errorf("%+v", v.Error)
		}
		if v.Method == "" {
			continue
		}
		var e ipc.Event
		if err := json.Unmarshal(v.Params.Value.RawMessage, &e); err != nil || v.Method != "exec.events" || string(v.Params.Call.RawMessage) != stream {
			t.Fatalf("%+v, %v", v, err)
		}
		got.Write(e.Data)
	}
	if got.String() != want.String() || string(end.Result) != `{"ok":true}` {
		t.Errorf("cat: %q, %+v", got.String(), end)
	}

	run := result[ipc.ExecStarted](r, "exec.start", with(`"session":"`+s.ID+`","command":"wait"`))
	stream = r.begin("exec.events", with(`"id":"`+run.ID+`"`))
	// Calls are carried out side by side: what has to come first is waited for.
	_, values = r.answer(r.begin("exec.resize", with(`"id":"`+run.ID+`","cols":100,"rows":30`)))
	r.begin("exec.signal", with(`"id":"`+run.ID+`","signal":"INT"`))
	_, more := r.answer(stream)
	var all strings.Builder
	for _, v := range append(values, more...) {
		all.Write(v.Params.Value.RawMessage)
	}
	for _, want := range []string{base64.StdEncoding.EncodeToString([]byte("100x30")), `"signal":"INT"`} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no %s among %s", want, all.String())
		}
	}
}

// R-IP-04: a question comes, is looked at and answered over the approver's
// WebSocket; a strict decision is strict here too.
func TestWebSocketQuestion(t *testing.T) {
	h, b, s := house(t, ipc.Limits{})
	r := mustOpen(t, h.Approver.Socket)
	stream := r.begin("events", "{}")
	started, err := h.Agent.StartExec(t.Context(), ipc.ExecRequest{Session: s.ID, Command: "ask may I?", Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	m := r.read()
	var n ipc.News
	if err := json.Unmarshal(m.Params.Value.RawMessage, &n); err != nil || m.Method != "events" || n.Type != ipc.NewsRequested {
		t.Fatalf("%+v, %v", m, err)
	}
	q := result[ipc.Approval](r, "approval.show", `{"id":"`+n.Approval.ID+`"}`)
	before := b.Changes()
	for _, bad := range []string{
		fmt.Sprintf(`{"id":%q,"rev":%d,"hash":%q,"ALLOW":true}`, q.ID, q.Rev, q.Hash),
		fmt.Sprintf(`{"id":%q,"rev":%d,"hash":%q}`, q.ID, q.Rev, q.Hash),
		fmt.Sprintf(`{"rev":%d,"hash":%q,"allow":true}`, q.Rev, q.Hash),
	} {
		if m := r.call("approval.decide", bad); m.Error == nil || m.Error.Code != -32602 {
			t.Errorf("%s: %+v", bad, m)
		}
	}
	if b.Changes() != before {
		t.Error("something was decided")
	}
	d := result[ipc.Decided](r, "approval.decide", fmt.Sprintf(`{"id":%q,"rev":%d,"hash":%q,"allow":true}`, q.ID, q.Rev, q.Hash))
	if !d.Allowed {
		t.Errorf("%+v", d)
	}
	eventually(t, "the command has run", func() bool {
		e, err := h.Agent.ExecEvents(t.Context(), ipc.EventsRequest{ID: started.ID})
		if err != nil {
			return false
		}
		_, out := shape(drain(t, e))
		return out == "may I?\n"
	})
	cancel := r.begin("rpc.cancel", `{"call":`+stream+`}`)
	seen := map[string]message{}
	for len(seen) < 2 {
		if m := r.read(); m.ID != nil {
			seen[string(m.ID)] = m
		}
	}
	if seen[cancel].Error != nil || seen[stream].Error == nil || seen[stream].Error.Data.Code != ipc.CodeConflict {
		t.Errorf("cancel: %+v", seen)
	}
	eventually(t, "the stream is closed", func() bool { return b.OpenStreams() == 0 })
}

// R-IP-05: a message that is no call is answered with JSON-RPC's own errors, changes nothing, and
// the socket continues.
func TestWebSocketMalformed(t *testing.T) {
	h, b, s := house(t, ipc.Limits{})
	r := mustOpen(t, h.Agent.Socket)
	before := b.Changes()
	exec := `{"session":"` + s.ID + `","secret":"` + string(s.Secret) + `","command":"echo"`
	for _, c := range []struct {
		message string
		code    int
	}{
		{`{`, -32700},
		{`hello`, -32700},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700},
		{`[]`, -32600},
		{`[{"jsonrpc":"2.0","id":1,"method":"version"}]`, -32600},
		{`{}`, -32600},
		{`{"jsonrpc":"1.0","id":1,"method":"version"}`, -32600},
		{`{"jsonrpc":"2.0","id":null,"method":"version"}`, -32600},
		{`{"jsonrpc":"2.0","id":{},"method":"version"}`, -32600},
		{`{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 300) + `","method":"version"}`, -32600},
		{`{"jsonrpc":"2.0","id":1,"id":2,"method":"version"}`, -32600},
		{`{"jsonrpc":"2.0","ID":1,"method":"session.open"}`, -32600},
		{`{"jsonrpc":"2.0","method":"session.open","params":{}}`, -32600},
		{`{"jsonrpc":"2.0","id":1,"method":"ws"}`, -32600},
		{`{"jsonrpc":"2.0","id":1,"method":7}`, -32600},
		{`{"jsonrpc":"2.0","id":1,"method":"approval.decide"}`, -32601},
		{`{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}`, -32601},
		{`{"jsonrpc":"2.0","id":1,"method":"rpc.cancel"}`, -32602},
		{`{"jsonrpc":"2.0","id":1,"method":"version","params":[]}`, -32602},
		{`{"jsonrpc":"2.0","id":1,"method":"exec.start","params":` + exec + `,"argv":["ls"]}}`, -32602},
		{`{"jsonrpc":"2.0","id":1,"method":"exec.start","params":` + exec + `,"command":"ls"}}`, -32600},
		{`{"jsonrpc":"2.0","id":1,"method":"exec.start","params":` + exec + `,"secret":7}}`, -32600},
		{`{"jsonrpc":"2.0","id":1,"method":"exec.cancel","params":{}}`, -32602},
		{`{"jsonrpc":"2.0","id":1,"method":"exec.cancel","params":{"id":7}}`, -32602},
		{`{"jsonrpc":"2.0","id":1,"method":"exec.events","params":{"id":"x","from_seq":-1}}`, -32602},
		{`{"jsonrpc":"2.0","id":1,"method":"exec.events","params":{"id":"x","from_seq":[1]}}`, -32602},
		{`{"jsonrpc":"2.0","id":1,"method":"exec.stdin","params":{"id":"x","data":"?"}}`, -32602},
		{`{"jsonrpc":"2.0","id":1,"method":"exec.events","params":{"id":"none"}}`, -32000},
		{`{"jsonrpc":"2.0","id":1,"method":"file","params":{"op":"format"}}`, -32000},
	} {
		r.send(c.message)
		if m := r.read(); m.Error == nil || m.Error.Code != c.code || m.Error.Data == nil {
			t.Errorf("%s: %s %+v, want %d", c.message, m.Result, m.Error, c.code)
		}
	}
	if b.Changes() != before {
		t.Errorf("%d changes came of rejected calls", b.Changes()-before)
	}
	if v := result[ipc.Version](r, "version", "{}"); v.Product != ipc.Product {
		t.Error("the connection does not continue")
	}
}

// R-IP-05: what is no WebSocket, or comes from a web page, does not become one.
func TestWebSocketHandshake(t *testing.T) {
	h, _, _ := house(t, ipc.Limits{})
	upgrade := "GET /v1/ws HTTP/1.1\r\nHost: s\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
	for _, c := range []struct {
		name, from, to string
		status         int
	}{
		{"as it should be", "", "", 101},
		{"no upgrade", "Upgrade: WebSocket\r\n", "", 426},
		{"another connection", "keep-alive, Upgrade", "close", 426},
		{"an old version", "Version: 13", "Version: 8", 400},
		{"no key", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n", "", 400},
		{"a short key", "AAAAAAAAAAAAAAAAAAAAAA==", "AAAA", 400},
		{"two keys", "\r\n\r\n", "\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", 400},
		{"HTTP/1.0", "HTTP/1.1", "HTTP/1.0", 426},
		{"a web page", "\r\n\r\n", "\r\nOrigin: http://evil.example\r\n\r\n", 403},
		{"a web page of this host", "\r\n\r\n", "\r\nOrigin: http://s\r\n\r\n", 403},
		{"a file of this host", "\r\n\r\n", "\r\nOrigin: null\r\n\r\n", 403},
	} {
		what := upgrade
		if c.from != "" {
			what = strings.Replace(upgrade, c.from, c.to, 1)
		}
		conn, err := net.Dial("unix", h.Agent.Socket)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(20 * time.Second))
		fmt.Fprint(conn, what)
		line := make([]byte, 12)
		if _, err := conn.Read(line); err != nil || string(line[9:]) != fmt.Sprint(c.status) {
			t.Errorf("%s: %q, %v; want %d", c.name, line, err, c.status)
		}
		conn.Close()
	}
}

// R-IP-05: calls in flight, the size of a message and how long it may take are
// bounded, and so is how long a reader may take nothing.
func TestWebSocketLimits(t *testing.T) {
	closedWith := func(t *testing.T, r *rpc, want websocket.StatusCode) {
		t.Helper()
		ctx, done := context.WithTimeout(t.Context(), 20*time.Second)
		defer done()
		for {
			if _, _, err := r.conn.Read(ctx); err != nil {
				if got := websocket.CloseStatus(err); got != want || ctx.Err() != nil {
					t.Errorf("it ended with %v, want %v", err, want)
				}
				return
			}
		}
	}
	t.Run("calls", func(t *testing.T) {
		h, _, s := house(t, ipc.Limits{Calls: 3})
		r := mustOpen(t, h.Agent.Socket)
		for range 3 {
			r.begin("check", `{"session":"`+s.ID+`","secret":"`+string(s.Secret)+`","command":"ask me"}`)
		}
		if m := r.call("version", "{}"); m.Error == nil || m.Error.Data.Code != ipc.CodeLimit {
			t.Errorf("a fourth: %+v", m)
		}
		r.send(`{"jsonrpc":"2.0","method":"rpc.cancel","params":{"call":1}}`)
		if m := r.read(); string(m.ID) != "1" || m.Error == nil {
			t.Errorf("cancelled: %+v", m)
		}
		result[ipc.Version](r, "version", "{}")
		r.send(`{"jsonrpc":"2.0","id":2,"method":"version"}`)
		if m := r.read(); m.Error == nil || m.Error.Code != -32600 {
			t.Errorf("an id in flight: %+v", m)
		}
		r.conn.CloseNow()
		eventually(t, "the questions are withdrawn", func() bool {
			l, err := h.Approver.Approvals(t.Context())
			return err == nil && len(l.Approvals) == 0
		})
	})
	t.Run("requests of a process", func(t *testing.T) {
		h, _, s := house(t, ipc.Limits{Requests: 2})
		r := mustOpen(t, h.Agent.Socket)
		eventually(t, "the limit is reached", func() bool {
			r.begin("check", `{"session":"`+s.ID+`","secret":"`+string(s.Secret)+`","command":"ask me"}`)
			m := r.call("version", "{}")
			return m.Error != nil && m.Error.Data.Code == ipc.CodeLimit
		})
	})
	t.Run("size", func(t *testing.T) {
		h, _, _ := house(t, ipc.Limits{Body: 1000, FileBody: 1000})
		r := mustOpen(t, h.Agent.Socket)
		if m := r.call("session.open", `{"label":"`+strings.Repeat("x", 1500)+`"}`); m.Error == nil || m.Error.Data.Code != ipc.CodeTooLarge {
			t.Errorf("a large body: %+v", m)
		}
		r.conn.Write(t.Context(), websocket.MessageText, make([]byte, 6000))
		closedWith(t, r, websocket.StatusMessageTooBig)
	})
	t.Run("memory", func(t *testing.T) {
		h, _, _ := house(t, ipc.Limits{Buffered: 100 << 10})
		r := mustOpen(t, h.Agent.Socket)
		r.conn.Write(t.Context(), websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":1,"method":"version","params":{"x":"`+strings.Repeat("x", 200<<10)))
		closedWith(t, r, websocket.StatusTryAgainLater)
		eventually(t, "there is memory again", func() bool {
			r := mustOpen(t, h.Agent.Socket)
			return r.call("version", `{"x":"`+strings.Repeat("x", 10<<10)+`"}`).Error == nil
		})
	})
	t.Run("kind", func(t *testing.T) {
		h, _, _ := house(t, ipc.Limits{})
		r := mustOpen(t, h.Agent.Socket)
		r.conn.Write(t.Context(), websocket.MessageBinary, []byte("{}"))
		closedWith(t, r, websocket.StatusUnsupportedData)
	})
	t.Run("slow writer", func(t *testing.T) {
		h, _, _ := house(t, ipc.Limits{Read: 100 * time.Millisecond})
		r := mustOpen(t, h.Agent.Socket)
		w, err := r.conn.Writer(t.Context(), websocket.MessageText)
		if err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(strings.Repeat("{", 8000))) // and never the rest
		closedWith(t, r, -1)
	})
	t.Run("slow reader", func(t *testing.T) {
		h, b, s := house(t, ipc.Limits{Write: 200 * time.Millisecond})
		r := mustOpen(t, h.Agent.Socket)
		started := result[ipc.ExecStarted](r, "exec.start", `{"session":"`+s.ID+`","secret":"`+string(s.Secret)+`","command":"flood 2000"}`)
		r.begin("exec.events", `{"id":"`+started.ID+`","secret":"`+string(s.Secret)+`"}`)
		eventually(t, "it follows", func() bool { return b.OpenStreams() == 1 })
		eventually(t, "it is cut off", func() bool { return b.OpenStreams() == 0 })
	})
	t.Run("silence", func(t *testing.T) {
		h, b, s := house(t, ipc.Limits{Write: 200 * time.Millisecond, Heartbeat: 50 * time.Millisecond})
		r := mustOpen(t, h.Agent.Socket)
		started := result[ipc.ExecStarted](r, "exec.start", `{"session":"`+s.ID+`","secret":"`+string(s.Secret)+`","command":"wait"}`)
		r.begin("exec.events", `{"id":"`+started.ID+`","secret":"`+string(s.Secret)+`"}`)
		eventually(t, "it follows", func() bool { return b.OpenStreams() == 1 })
		// Nobody reads, so no ping is answered.
		eventually(t, "it is given up", func() bool { return b.OpenStreams() == 0 })
	})
}

// A WebSocket that waits for nothing closes with the server, cleanly; one with
// a call in flight has the server's grace.
func TestWebSocketEndsWithServer(t *testing.T) {
	b := ipctest.New()
	ended := make(chan struct{})
	handler := &ipc.Handler{Backend: b, Role: ipc.RoleAgent, Ending: ended, Caller: func(*http.Request) (ipc.Caller, *ipc.Error) {
		return ipc.Caller{Role: ipc.RoleAgent}, nil
	}}
	server := httptest.NewServer(handler)
	defer server.Close()
	dial := func() *rpc {
		conn, _, err := websocket.Dial(t.Context(), strings.Replace(server.URL, "http", "ws", 1)+"/v1/ws", nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.CloseNow() })
		return &rpc{t: t, conn: conn}
	}
	idle, busy := dial(), dial()
	s := result[ipc.Session](busy, "session.open", "{}")
	check := busy.begin("check", `{"session":"`+s.ID+`","secret":"`+string(s.Secret)+`","command":"ask me"}`)
	result[ipc.Version](busy, "version", "{}")
	close(ended)
	if _, _, err := idle.conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("idle: %v", err)
	}
	eventually(t, "nothing new is taken", func() bool {
		m := busy.call("version", "{}")
		return m.Error != nil && m.Error.Data.Code == ipc.CodeShuttingDown
	})
	busy.send(`{"jsonrpc":"2.0","method":"rpc.cancel","params":{"call":` + check + `}}`)
	if m := busy.read(); string(m.ID) != check {
		t.Errorf("%+v", m)
	}
	if _, _, err := busy.conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("busy: %v", err)
	}
	handler.Wait()
	b.Close()
}

// The handler of a gateway: its owner says who the caller is, and which web
// pages may open a WebSocket.
func TestHandlerOrigins(t *testing.T) {
	refused := errors.New("x")
	handler := &ipc.Handler{
		Backend: ipctest.New(), Role: ipc.RoleApprover, Origins: []string{"http://127.0.0.1:8080"},
		Caller: func(r *http.Request) (ipc.Caller, *ipc.Error) {
			if r.Header.Get("Cookie") != "token=1" {
				return ipc.Caller{}, &ipc.Error{Code: ipc.CodeForbidden, Message: refused.Error()}
			}
			return ipc.Caller{Peer: ipc.Peer{UID: 7}, Role: ipc.RoleApprover}, nil
		},
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	for _, c := range []struct {
		origin, cookie string
		ok             bool
	}{
		{"http://127.0.0.1:8080", "token=1", true},
		{"", "token=1", true}, // no web page
		{"", "", false},
		{"http://127.0.0.1:8080", "", false},
		{"http://127.0.0.1:8081", "token=1", false},
		{"https://127.0.0.1:8080", "token=1", false},
		{server.URL, "token=1", false}, // being the host is not being allowed
		{"null", "token=1", false},
		{"http://127.0.0.1:8080.evil.example", "token=1", false},
	} {
		header := http.Header{"Cookie": {c.cookie}}
		if c.origin != "" {
			header.Set("Origin", c.origin)
		}
		conn, resp, err := websocket.Dial(t.Context(), strings.Replace(server.URL, "http", "ws", 1)+"/v1/ws", &websocket.DialOptions{HTTPHeader: header})
		if (err == nil) != c.ok || err != nil && resp.StatusCode != 403 {
			t.Errorf("%+v: %v", c, err)
		}
		if conn != nil {
			conn.CloseNow()
		}
	}
	handler.Wait()
}
