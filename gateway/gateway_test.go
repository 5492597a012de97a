package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"sandboxd/ipc"
	"sandboxd/ipc/ipctest"
)

// served is a gateway in front of the test backend.
type served struct {
	*Gateway
	backend *ipctest.Backend
	agent   ipc.Caller
	session ipc.Session
}

const foreignOrigin = "https://chat.example"

func serve(t *testing.T, store string) *served {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &served{backend: ipctest.New(), agent: ipc.Caller{Peer: ipc.Peer{UID: os.Getuid(), PID: os.Getpid()}}}
	s.Gateway, err = New(Options{Backend: s.backend, Listener: l, Origins: []string{foreignOrigin}, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		s.backend.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	s.session, err = s.backend.OpenSession(
		t.Context(),
		s.agent,
		ipc.SessionRequest{Kind: ipc.KindAPI, Root: "/p", Cwd: "/p"},
	)
	if err != nil {
		t.Fatal(err)
	}
	s.agent.Secret = s.session.Secret
	return s
}

// ask has a command put a question, and returns its id.
func (s *served) ask(t *testing.T, text string) string {
	t.Helper()
	_, err := s.backend.StartExec(
		t.Context(),
		s.agent,
		ipc.ExecRequest{Session: s.session.ID, Command: "ask " + text, Keep: true},
	)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		list, err := s.backend.Approvals(t.Context(), s.agent)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range list.Approvals {
			if q.Description == text {
				return q.ID
			}
		}
	}
	t.Fatalf("no question %q", text)
	return ""
}

// client sends requests as a browser or a front end.
type client struct {
	http  http.Client
	base  string
	token string
}

func (c *client) do(t *testing.T, method, path, body string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, c.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := c.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func (s *served) stranger() *client { return &client{base: strings.TrimSuffix(s.URL(), "/")} }

func (s *served) frontEnd(t *testing.T, name string, role string) *client {
	t.Helper()
	f, err := s.AddFrontEnd(s.agent.Peer, ipc.FrontEndRequest{Name: name, Role: role})
	if err != nil {
		t.Fatal(err)
	}
	c := s.stranger()
	c.token = string(f.Token)
	return c
}

// browser enters with an invitation.
func (s *served) browser(t *testing.T) *client {
	t.Helper()
	invited, err := s.Invite(s.agent.Peer)
	if err != nil {
		t.Fatal(err)
	}
	_, secret, _ := strings.Cut(invited.URL, "#")
	c := s.stranger()
	if c.http.Jar, err = cookiejar.New(nil); err != nil {
		t.Fatal(err)
	}
	status, body := c.do(t, "POST", "/enter", `{"invitation":"`+secret+`"}`, "Origin", c.base)
	var key struct{ Key string }
	if err := json.Unmarshal([]byte(body), &key); status != 200 || err != nil || key.Key == "" {
		t.Fatalf("enter: got %d %s, want a key", status, body)
	}
	c.token = key.Key
	status, body = s.stranger().do(t, "POST", "/enter", `{"invitation":"`+secret+`"}`, "Origin", c.base)
	if status < 400 {
		t.Errorf("the same invitation again: got %d %s, want a refusal", status, body)
	}
	return c
}

// R-IP-05: who may send what to the gateway.
func TestRequests(t *testing.T) {
	s := serve(t, "")
	stranger, browser := s.stranger(), s.browser(t)
	approver, watcher := s.frontEnd(t, "chat", ipc.FrontEndApprover), s.frontEnd(t, "board", ipc.FrontEndWatcher)
	for _, c := range []struct {
		name         string
		who          *client
		method, path string
		body         string
		header       []string
		status       int
		want         string
	}{
		{"the page", stranger, "GET", "/", "", nil, 200, "<html"},
		{"another name", stranger, "GET", "/", "", []string{"Host", "evil.example"}, 421, "sbx web"},
		{"a link to the page", stranger, "GET", "/", "",
			[]string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"},
			200, "<html"},
		{"a foreign page", browser, "GET", "/v1/approvals", "",
			[]string{"Origin", "https://evil.example"}, 403, "another site"},
		{"a foreign frame", browser, "GET", "/v1/approvals", "",
			[]string{"Sec-Fetch-Site", "cross-site"}, 403, "another site"},
		{"a typed post", browser, "POST", "/leave", "", []string{"Sec-Fetch-Site", "none"}, 403, "another site"},
		{"a configured origin without a token", stranger, "GET", "/v1/approvals", "",
			[]string{"Origin", foreignOrigin}, 403, "token"},
		{"a configured origin asks first", stranger, "OPTIONS", "/v1/approvals", "",
			[]string{"Origin", foreignOrigin, "Access-Control-Request-Method", "GET"}, 204, ""},
		{"a configured origin with a token", approver, "GET", "/v1/approvals", "",
			[]string{"Origin", foreignOrigin}, 200, "approvals"},
		{"a configured origin enters", stranger, "POST", "/enter",
			`{"invitation":"x"}`, []string{"Origin", foreignOrigin, "Authorization", "Bearer x"}, 403, "own page"},
		{"no secret", stranger, "GET", "/v1/approvals", "", nil, 401, "nobody known"},
		{"a wrong token", &client{base: stranger.base, token: "wrong"}, "GET", "/v1/approvals", "",
			nil, 401, "nobody known"},
		{"a browser", browser, "GET", "/v1/approvals", "", nil, 200, "approvals"},
		{"a front end", approver, "GET", "/v1/approvals", "", nil, 200, "approvals"},
		{"a watcher", watcher, "GET", "/v1/approvals", "", nil, 200, "approvals"},
		{"a watcher answers", watcher, "POST", "/v1/agent/tool_permission",
			`{"permission_id":"x","behavior":"allow"}`, nil, 404, "nothing was decided"},
		{"an answer of another form", approver, "POST", "/v1/agent/tool_permission",
			`{"permission_id":"x","behavior":"maybe"}`, nil, 400, "nothing was decided"},
		{"an answer with an unknown key", approver, "POST", "/v1/agent/tool_permission",
			`{"x":1}`, nil, 400, "nothing was decided"},
		{"an answer that is no JSON", approver, "POST", "/v1/agent/tool_permission", `x`,
			[]string{"Content-Type", "text/plain"}, 415, "application/json"},
		{"a ticket for a stranger", stranger, "POST", "/ticket", "", nil, 401, "nobody known"},
	} {
		status, body := c.who.do(t, c.method, c.path, c.body, c.header...)
		if status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: got %d %.200s, want %d %s", c.name, status, body, c.status, c.want)
		}
	}
	if status, _ := browser.do(t, "POST", "/leave", ""); status != 200 {
		t.Errorf("leave: got %d, want 200", status)
	}
	if status, _ := browser.do(t, "GET", "/v1/approvals", ""); status != 401 {
		t.Errorf("a browser that left: got %d, want 401", status)
	}
}

// stream returns the events of the chat protocol's stream.
func (c *client) stream(t *testing.T) func() map[string]any {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", c.base+"/v1/agent/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := c.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	return func() map[string]any {
		t.Helper()
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				var event map[string]any
				if err := json.Unmarshal([]byte(data), &event); err != nil {
					t.Fatalf("%s: %v", data, err)
				}
				return event
			}
		}
		t.Fatalf("the stream ended: %v", lines.Err())
		return nil
	}
}

// R-IP-04: a chat front end reads each question from its stream, and its answers decide them.
func TestChatStream(t *testing.T) {
	s := serve(t, "")
	chat, board := s.frontEnd(t, "chat", ipc.FrontEndApprover), s.frontEnd(t, "board", ipc.FrontEndWatcher)
	next, seen := chat.stream(t), board.stream(t)
	for _, behavior := range []string{"allow", "deny"} {
		id := s.ask(t, behavior+" it")
		if got := next(); got["type"] != "tool_permission" || got["permission_id"] != id ||
			got["text"] != behavior+" it" {
			t.Fatalf("%s: got %v, want the question %s", behavior, got, id)
		}
		seen()
		answer := `{"permission_id":"` + id + `","behavior":"` + behavior + `"}`
		if status, body := board.do(t, "POST", "/v1/agent/tool_permission", answer); status != 403 {
			t.Errorf("a watcher's answer: got %d %s, want 403", status, body)
		}
		wrong := strings.Replace(answer, "{", `{"cwd":"/elsewhere",`, 1)
		if status, body := chat.do(t, "POST", "/v1/agent/tool_permission", wrong); status != 404 {
			t.Errorf("an answer for another directory: got %d %s, want 404", status, body)
		}
		if status, body := chat.do(t, "POST", "/v1/agent/tool_permission", answer); status != 200 {
			t.Errorf("%s: got %d %s, want 200", behavior, status, body)
		}
		if got := next(); got["type"] != "tool_permission_resolved" || got["behavior"] != behavior {
			t.Errorf("after the answer: got %v, want %s", got, behavior)
		}
		seen()
		if status, _ := chat.do(t, "POST", "/v1/agent/tool_permission", answer); status != 409 {
			t.Errorf("the same answer again: got %d, want 409", status)
		}
	}
}

// R-IP-04: the web protocol's socket puts questions and takes answers, by token or by ticket.
func TestChatSocket(t *testing.T) {
	s := serve(t, "")
	chat := s.frontEnd(t, "chat", ipc.FrontEndApprover)
	_, body := chat.do(t, "POST", "/ticket", "")
	var ticket struct{ Ticket string }
	if err := json.Unmarshal([]byte(body), &ticket); err != nil || ticket.Ticket == "" {
		t.Fatalf("ticket: got %s (%v)", body, err)
	}
	at := strings.Replace(chat.base, "http", "ws", 1) + "/v1/agent/approvals?ticket=" + ticket.Ticket
	ws, _, err := websocket.Dial(t.Context(), at, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	if again, _, err := websocket.Dial(t.Context(), at, nil); err == nil {
		again.CloseNow()
		t.Error("the same ticket again: got a connection, want a refusal")
	}
	read := func() map[string]any {
		t.Helper()
		_, b, err := ws.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, c := range []struct {
		answer, kind string
		approved     bool
	}{
		{`{"approved":true}`, "approval_resolved", true},
		{`{"approved":false,"mode":"reject_soft","feedback":"not now"}`, "approval_resolved", false},
	} {
		id := s.ask(t, "question "+c.answer)
		if got := read(); got["type"] != "approval_needed" || got["id"] != id {
			t.Fatalf("got %v, want the question %s", got, id)
		}
		for _, bad := range []string{`{}`, `x`, `{"id":"none","approved":true}`} {
			if err := ws.Write(t.Context(), websocket.MessageText, []byte(bad)); err != nil {
				t.Fatal(err)
			}
			if got := read(); got["type"] != "error" {
				t.Errorf("%s: got %v, want an error", bad, got)
			}
		}
		if err := ws.Write(t.Context(), websocket.MessageText, []byte(c.answer)); err != nil {
			t.Fatal(err)
		}
		if got := read(); got["type"] != c.kind || got["approved"] != c.approved {
			t.Errorf("%s: got %v, want %s %v", c.answer, got, c.kind, c.approved)
		}
	}
}

// Front ends are kept over a restart by the hashes of their tokens, and a removed one is refused.
func TestFrontEnds(t *testing.T) {
	store := filepath.Join(t.TempDir(), "web.json")
	s := serve(t, store)
	chat := s.frontEnd(t, "chat", ipc.FrontEndApprover)
	if _, err := s.AddFrontEnd(s.agent.Peer, ipc.FrontEndRequest{Name: "chat"}); ipc.CodeOf(err) != ipc.CodeConflict {
		t.Errorf("the same name: got %v, want %s", err, ipc.CodeConflict)
	}
	if b, err := os.ReadFile(store); err != nil || strings.Contains(string(b), chat.token) {
		t.Errorf("the store: got %s (%v), want no token", b, err)
	}
	after := serve(t, store)
	if list := after.FrontEnds(os.Getuid()); len(list) != 1 || list[0].Name != "chat" {
		t.Errorf("after a restart: got %v, want chat", list)
	}
	chat.base = strings.TrimSuffix(after.URL(), "/")
	if status, _ := chat.do(t, "GET", "/v1/approvals", ""); status != 200 {
		t.Errorf("after a restart: got %d, want 200", status)
	}
	if err := after.RemoveFrontEnd(os.Getuid()+1, "chat"); ipc.CodeOf(err) != ipc.CodeNotFound {
		t.Errorf("another user's removal: got %v, want %s", err, ipc.CodeNotFound)
	}
	if err := after.RemoveFrontEnd(os.Getuid(), "chat"); err != nil {
		t.Error(err)
	}
	if status, _ := chat.do(t, "GET", "/v1/approvals", ""); status != 401 {
		t.Errorf("a removed front end: got %d, want 401", status)
	}
}

// R-IP-04: acts that take a terminal are refused from a browser, and all acts from a watcher.
func TestOperationsThatTakeATerminal(t *testing.T) {
	s := serve(t, "")
	approver, watcher := s.frontEnd(t, "chat", ipc.FrontEndApprover), s.frontEnd(t, "board", ipc.FrontEndWatcher)
	for _, c := range []struct {
		method, path, body string
		approver, watcher  int
	}{
		{"POST", "/v1/shutdown", "{}", 403, 403},
		{"POST", "/v1/reload", "{}", 403, 403},
		{"POST", "/v1/trust", `{"dir":"/p"}`, 403, 403},
		{"POST", "/v1/mode", `{"mode":"approve_all"}`, 403, 403},
		{"POST", "/v1/jobs/j-1/stop", "{}", 404, 403},
		{"POST", "/v1/files/undo", `{"undo_id":"r-1"}`, 404, 403},
		{"POST", "/v1/files/undo", `{"dry_run":true}`, 404, 404}, // passed on: the list of what can be undone
		{"POST", "/v1/changes/h-1", "{}", 404, 403},
	} {
		if status, body := approver.do(t, c.method, c.path, c.body); status != c.approver {
			t.Errorf("approver %s: got %d %.200s, want %d", c.path, status, body, c.approver)
		}
		if status, body := watcher.do(t, c.method, c.path, c.body); status != c.watcher {
			t.Errorf("watcher %s: got %d %.200s, want %d", c.path, status, body, c.watcher)
		}
	}
}
