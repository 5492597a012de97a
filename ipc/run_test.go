package ipc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sandboxd/ipc"
	"sandboxd/ipc/ipctest"
)

// R-IP-02: a command that is started and followed in one exchange is the same command: it reads
// input, signals and sizes, ends, and can be followed again.
func TestRunExec(t *testing.T) {
	h, b, s := house(t, ipc.Limits{})
	c := h.Agent
	begin := func(r ipc.ExecRequest) (string, ipc.Stream[ipc.Event]) {
		t.Helper()
		r.Session = s.ID
		started, events, err := c.RunExec(t.Context(), r)
		if err != nil || started.ID == "" || started.Session != nil {
			t.Fatalf("%+v, %v", started, err)
		}
		return started.ID, events
	}
	id, events := begin(ipc.ExecRequest{Command: "echo hello"})
	got := drain(t, events)
	if types, output := shape(got); types != "queued started stdout exit" || output != "hello\n" {
		t.Errorf("%q %q", types, output)
	}
	if got[0].Seq != 1 || got[0].Queued == nil || got[0].Queued.ID != id {
		t.Errorf("the first event is %+v, of %q", got[0], id)
	}
	if got := run(t, c, ipc.ExecRequest{Session: s.ID, Command: "fail 3"}); got[0].Queued != nil {
		t.Errorf("what is followed by itself begins with %+v", got[0])
	}

	id, events = begin(ipc.ExecRequest{Command: "cat", Stdin: ipc.StdinStream})
	if err := c.WriteStdin(t.Context(), ipc.StdinRequest{ID: id, Data: []byte("in"), EOF: true}); err != nil {
		t.Error(err)
	}
	if _, output := shape(drain(t, events)); output != "in" {
		t.Errorf("cat: %q", output)
	}

	id, events = begin(ipc.ExecRequest{Command: "wait"})
	if err := errors.Join(c.ResizeExec(t.Context(), ipc.ResizeRequest{ID: id, Cols: 100, Rows: 30}),
		c.SignalExec(t.Context(), ipc.SignalRequest{ID: id, Signal: "INT"})); err != nil {
		t.Error(err)
	}
	got = drain(t, events)
	if _, output := shape(got); output != "100x30" || got[len(got)-1].Exit.Signal != "INT" {
		t.Errorf("resize and signal: %q, %+v", output, got[len(got)-1].Exit)
	}

	_, events = begin(ipc.ExecRequest{Command: "ask no?"})
	l, err := h.Approver.Approvals(t.Context())
	for ; err == nil && len(l.Approvals) == 0; l, err = h.Approver.Approvals(t.Context()) {
		time.Sleep(time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Approver.Decide(t.Context(), ipc.Answer{ID: l.Approvals[0].ID, Rev: l.Approvals[0].Rev,
		Hash: l.Approvals[0].Hash}); err != nil {
		t.Error(err)
	}
	if got = drain(t, events); got[len(got)-1].Exit.Denied == nil {
		t.Errorf("denied: %+v", got[len(got)-1].Exit)
	}
	eventually(t, "the streams are closed", func() bool { return b.OpenStreams() == 0 })
}

// R-IP-02: hanging up means what it means for the events by themselves, and what
// was kept is followed from where the connection was lost.
func TestRunExecHangUp(t *testing.T) {
	h, b, s := house(t, ipc.Limits{})
	c := h.Agent
	for _, keep := range []bool{false, true} {
		started, events, err := c.RunExec(t.Context(), ipc.ExecRequest{Session: s.ID, Command: "wait", Keep: keep})
		if err != nil {
			t.Fatal(err)
		}
		events.Close()
		eventually(t, "the stream is closed on the other side", func() bool { return b.OpenStreams() == 0 })
		if keep {
			if err := c.SignalExec(t.Context(), ipc.SignalRequest{ID: started.ID, Signal: "TERM"}); err != nil {
				t.Error(err)
			}
		}
		again, err := c.ExecEvents(t.Context(), ipc.EventsRequest{ID: started.ID, FromSeq: 2})
		if err != nil {
			t.Fatal(err)
		}
		got := drain(t, again)
		if x := got[len(got)-1].Exit; got[0].Seq != 2 || x == nil || x.Cancelled == keep {
			t.Errorf("keep %v: from %d, %+v", keep, got[0].Seq, x)
		}
	}
}

// R-IP-02: a retried request starts nothing twice, and gets all events.
func TestRunExecOnce(t *testing.T) {
	h, b, s := house(t, ipc.Limits{})
	req := ipc.ExecRequest{Session: s.ID, Command: "echo once", IdempotencyKey: "r1"}
	before := b.Changes()
	ids := make([]string, 10)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			started, events, err := h.Agent.RunExec(t.Context(), req)
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = started.ID
			if types, output := shape(drain(t, events)); types != "queued started stdout exit" || output != "once\n" {
				t.Errorf("%q %q", types, output)
			}
		})
	}
	all.Wait()
	if started, err := h.Agent.StartExec(t.Context(), req); err != nil || started.ID != ids[0] {
		t.Errorf("the same without its events: %+v, %v", started, err)
	}
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) != 1 || b.Changes() != before+1 {
		t.Errorf("%v were started", ids)
	}
	req.Command = "echo other"
	if _, _, err := h.Agent.RunExec(t.Context(), req); ipc.CodeOf(err) != ipc.CodeConflict {
		t.Errorf("another command: %v", err)
	}
}

// The terminal's session is opened with the command; a program's is not.
func TestRunExecOpens(t *testing.T) {
	h, _, _ := house(t, ipc.Limits{})
	c := &ipc.Client{Socket: h.Agent.Socket}
	defer c.Close()
	started, events, err := c.RunExec(t.Context(),
		ipc.ExecRequest{Open: &ipc.SessionRequest{Kind: ipc.KindCLI, Root: "/proj"}, Command: "echo x"})
	if err != nil || started.Session == nil || started.Session.ID == "" || started.Session.Root != "/proj" ||
		started.Session.Secret != "" {
		t.Fatalf("%+v, %v", started.Session, err)
	}
	if _, output := shape(drain(t, events)); output != "x\n" {
		t.Errorf("%q", output)
	}
	if again, err := c.StartExec(t.Context(), ipc.ExecRequest{Open: &ipc.SessionRequest{Kind: ipc.KindCLI},
		Command: "echo x"}); err != nil || again.Session == nil {
		t.Errorf("without its events: %+v, %v", again, err)
	}
}

// What is refused is refused before anything is started, as an answer of its own.
func TestRunExecRefused(t *testing.T) {
	h, b, s := house(t, ipc.Limits{Body: 4 << 10})
	before := b.Changes()
	own := `"session":"` + s.ID + `"`
	cli := `"open":{"kind":"cli"}`
	for body, want := range map[string]ipc.Code{
		`{`:                                  ipc.CodeBadRequest,
		`{}`:                                 ipc.CodeBadRequest,
		`{"command":"echo"}`:                 ipc.CodeBadRequest,
		`{` + own + `}`:                      ipc.CodeBadRequest,
		`{` + own + `,"command":"a\u0000b"}`: ipc.CodeBadRequest,
		`{` + own + `,` + cli + `,"command":"echo"}`:                   ipc.CodeBadRequest,
		`{"ticket":"x",` + cli + `,"command":"echo"}`:                  ipc.CodeBadRequest,
		`{"open":{},"command":"echo"}`:                                 ipc.CodeBadRequest,
		`{"open":{"kind":"api"},"command":"echo"}`:                     ipc.CodeBadRequest,
		`{"open":{"kind":"cli","cwd":"a\u0000"},"command":"echo"}`:     ipc.CodeBadRequest,
		`{` + cli + `,"idempotency_key":"k","command":"echo"}`:         ipc.CodeBadRequest,
		`{"session":"none","command":"echo"}`:                          ipc.CodeNotFound,
		`{` + own + `,"stdio":["stdin"],"command":"echo"}`:             ipc.CodeNotFound,
		`{` + own + `,"stdio":"none","command":"echo"}`:                ipc.CodeBadRequest,
		`{` + own + `,"stdio":["none"],"command":"echo"}`:              ipc.CodeBadRequest,
		`{` + own + `,"stdio":["stdout","stdin"],"command":"echo"}`:    ipc.CodeBadRequest,
		`{` + own + `,"command":"` + strings.Repeat("x", 5<<10) + `"}`: ipc.CodeTooLarge,
	} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", "http://sandboxd/v1/exec/events", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+string(s.Secret))
		resp, err := over(h.Agent.Socket).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var e struct{ Error ipc.Error }
		if err := json.NewDecoder(resp.Body).Decode(&e); err != nil || e.Error.Code != want ||
			resp.StatusCode != e.Error.HTTPStatus() || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%.80s: %s %+v %v, want %s", body, resp.Status, e.Error, err, want)
		}
		resp.Body.Close()
	}
	stranger := &ipc.Client{Socket: h.Agent.Socket, Secret: "guessed"}
	defer stranger.Close()
	if _, _, err := stranger.RunExec(t.Context(),
		ipc.ExecRequest{Session: s.ID, Command: "echo"}); ipc.CodeOf(err) != ipc.CodeSecret {
		t.Errorf("without the secret: %v", err)
	}
	if err := batch(t, h, s, ipc.ExecRequest{Command: "echo",
		Open: &ipc.SessionRequest{Kind: ipc.KindCLI}}); ipc.CodeOf(err) != ipc.CodeBadRequest {
		t.Errorf("in a batch: %v", err)
	}
	if _, _, err := h.Approver.RunExec(t.Context(),
		ipc.ExecRequest{Session: s.ID, Command: "echo"}); ipc.CodeOf(err) != ipc.CodeMethod {
		t.Errorf("on the approver's socket: %v", err)
	}
	if n := b.Changes() - before; n != 0 {
		t.Errorf("%d things were done", n)
	}
}

func batch(t *testing.T, h *ipctest.House, s ipc.Session, r ipc.ExecRequest) error {
	_, err := h.Agent.Batch(t.Context(), ipc.BatchRequest{Session: s.ID, Calls: []ipc.BatchCall{{Exec: &r}}})
	return err
}

// over is a plain HTTP client on a socket.
func over(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}}}
}

// A follower counts as a request in flight, and one too many starts nothing.
func TestRunExecLimit(t *testing.T) {
	h, b, s := house(t, ipc.Limits{Requests: 2})
	req := ipc.ExecRequest{Session: s.ID, Command: "wait"}
	var open []ipc.Stream[ipc.Event]
	for range 2 {
		_, events, err := h.Agent.RunExec(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, events)
	}
	before := b.Changes()
	if _, _, err := h.Agent.RunExec(t.Context(), req); ipc.CodeOf(err) != ipc.CodeLimit || b.Changes() != before {
		t.Errorf("a third: %v, %d started", err, b.Changes()-before)
	}
	for _, e := range open {
		e.Close()
	}
	eventually(t, "there is room again", func() bool {
		_, events, err := h.Agent.RunExec(t.Context(), ipc.ExecRequest{Session: s.ID, Command: "echo"})
		if err == nil {
			events.Close()
		}
		return err == nil
	})
}

// A server that ends cuts the stream, and the client can tell.
func TestRunExecServerEnds(t *testing.T) {
	dir := place(t)
	b := ipctest.New()
	defer b.Close()
	sockets, err := ipc.Listen(ipc.SocketDir{Path: filepath.Join(dir, "s")})
	if err != nil {
		t.Fatal(err)
	}
	defer sockets.Close()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		s := ipc.Server{Backend: b, Agent: []net.Listener{sockets.Agent}, Approver: []net.Listener{sockets.Approver},
			Limits: ipc.Limits{Grace: 50 * time.Millisecond}}
		served <- s.Serve(ctx)
	}()
	c := &ipc.Client{Socket: filepath.Join(dir, "s", ipc.AgentSocket)}
	defer c.Close()
	_, events, err := c.RunExec(t.Context(), ipc.ExecRequest{Open: &ipc.SessionRequest{Kind: ipc.KindCLI},
		Command: "wait"})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	for err == nil {
		_, err = events.Next(t.Context())
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) || b.OpenStreams() != 0 {
		t.Errorf("the stream was cut, and says %v; %d are open", err, b.OpenStreams())
	}
	if _, _, err := c.RunExec(t.Context(), ipc.ExecRequest{Open: &ipc.SessionRequest{Kind: ipc.KindCLI},
		Command: "wait"}); !errors.Is(err, ipc.ErrNoDaemon) {
		t.Errorf("afterwards: %v", err)
	}
}

// A daemon from before an upgrade may still run: what to do about it is said.
func TestRunExecOlderDaemon(t *testing.T) {
	path := filepath.Join(place(t), ipc.AgentSocket)
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	old := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusMethodNotAllowed)
		io.WriteString(w, `{"error":{"code":"method_not_allowed","message":"this path does not take that method"}}`)
	})}
	go old.Serve(l)
	defer old.Close()
	c := &ipc.Client{Socket: path}
	defer c.Close()
	_, _, err = c.RunExec(t.Context(), ipc.ExecRequest{Session: "s", Command: "ls"})
	var e *ipc.Error
	if !errors.As(err, &e) || !strings.Contains(e.Message, "older") || !strings.Contains(e.Hint, "sbx stop") {
		t.Errorf("%v", err)
	}
}

// Values that are ready together are sent together: the last event comes with the end.
func TestEventsInOneWrite(t *testing.T) {
	h, _, s := house(t, ipc.Limits{})
	c, err := net.Dial("unix", h.Agent.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	id, err := h.Agent.StartExec(t.Context(), ipc.ExecRequest{Session: s.ID, Command: "echo hello", Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	run := func() int {
		fmt.Fprintf(c, "GET /v1/exec/%s/events HTTP/1.1\r\nHost: s\r\nAuthorization: Bearer %s\r\n\r\n", id.ID,
			string(s.Secret))
		reads := &counted{Conn: c}
		resp, err := http.ReadResponse(bufio.NewReaderSize(reads, 64<<10), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || strings.Count(string(body), "\n") != 4 {
			t.Fatalf("%q, %v", body, err)
		}
		return reads.n
	}
	run() // to its end
	if n := run(); n != 1 {
		t.Errorf("an ended command's events came in %d pieces", n)
	}
}

type counted struct {
	net.Conn
	n int
}

func (c *counted) Read(b []byte) (int, error) {
	c.n++
	return c.Conn.Read(b)
}

// The same over a WebSocket.
func TestRunExecWebSocket(t *testing.T) {
	h, _, s := house(t, ipc.Limits{})
	r := mustOpen(t, h.Agent.Socket)
	end, values := r.answer(r.begin("exec.run", fmt.Sprintf(`{"secret":%q,"session":%q,"command":"echo hi"}`,
		string(s.Secret), s.ID)))
	if end.Error != nil || len(values) != 4 || values[0].Method != "exec.run" {
		t.Fatalf("%+v %+v", end.Error, values)
	}
	var first ipc.Event
	if err := json.Unmarshal(values[0].Params.Value.RawMessage, &first); err != nil || first.Queued == nil ||
		first.Queued.ID == "" {
		t.Errorf("%+v, %v", first, err)
	}
	if m := r.call("exec.run", fmt.Sprintf(`{"session":%q,"command":"echo hi"}`, s.ID)); m.Error == nil ||
		m.Error.Data.Code != ipc.CodeSecret {
		t.Errorf("without the secret: %+v", m)
	}
	// A call that is cancelled has hung up.
	id := r.begin("exec.run", fmt.Sprintf(`{"secret":%q,"session":%q,"command":"wait"}`, string(s.Secret), s.ID))
	if m := r.read(); m.Method != "exec.run" {
		t.Fatalf("%+v", m)
	}
	r.begin("rpc.cancel", `{"call":`+id+`}`)
	if m, _ := r.answer(id); m.Error == nil || m.Error.Data.Code != ipc.CodeConflict {
		t.Errorf("cancelled: %+v", m)
	}
}
