package acceptance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"sandboxd/ipc"
)

// lineClient is one of clients/conformance/drivers.
type lineClient struct {
	mu      sync.Mutex
	in      io.Writer
	next    int
	waiting map[int]chan suiteReply
}

// startDriver runs a driver as the actor.
func startDriver(a *actor, env []string, name string, args ...string) *lineClient {
	a.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := a.command(ctx, name, args...)
	cmd.Env = append(cmd.Env, env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		a.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		a.t.Fatal(err)
	}
	var errs safeBuffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	d := &lineClient{in: in, waiting: map[int]chan suiteReply{}}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for r := bufio.NewReader(out); ; {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			var reply suiteReply
			if err := json.Unmarshal(line, &reply); err != nil {
				reply.Error = map[string]any{"code": "driver", "message": string(line)}
			}
			d.mu.Lock()
			if c := d.waiting[reply.ID]; c != nil {
				c <- reply
				delete(d.waiting, reply.ID)
			}
			d.mu.Unlock()
		}
	}()
	a.t.Cleanup(func() {
		in.Close()
		cancel()
		<-read
		cmd.Wait()
		if s := errs.String(); s != "" {
			a.t.Errorf("%s said: %s", name, s)
		}
	})
	return d
}

func (d *lineClient) call(ctx context.Context, r suiteRequest) suiteReply {
	c := make(chan suiteReply, 1)
	d.mu.Lock()
	d.next++
	r.ID = d.next
	d.waiting[r.ID] = c
	line, err := json.Marshal(r)
	if err == nil {
		_, err = d.in.Write(append(line, '\n'))
	}
	d.mu.Unlock()
	if err != nil {
		return suiteReply{Error: map[string]any{"code": "driver", "message": err.Error()}}
	}
	select {
	case reply := <-c:
		return reply
	case <-ctx.Done():
		return suiteReply{Error: map[string]any{"code": "driver", "message": "no answer: " + ctx.Err().Error()}}
	}
}

// curlClient makes each request with curl, by what docs/openapi.yaml says of
// the operation.
type curlClient struct {
	a   *actor
	api *openAPI
}

func (c *curlClient) call(ctx context.Context, r suiteRequest) suiteReply {
	op, ok := c.api.operations[r.Op]
	if !ok {
		return suiteReply{Error: map[string]any{"code": "driver", "message": "no operation " + r.Op}}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	args, stdin := c.arguments(op, r)
	cmd := c.a.command(ctx, "curl", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return suiteReply{Error: map[string]any{"code": "driver", "message": err.Error()}}
	}
	defer cmd.Wait()
	defer cancel()
	return readCurl(bufio.NewReader(out), op, r.Until)
}

func (c *curlClient) arguments(op *operation, r suiteRequest) (args []string, stdin []byte) {
	path, query, body := op.path, url.Values{}, map[string]any{}
	for k, v := range r.Params {
		switch {
		case strings.Contains(path, "{"+k+"}"):
			path = strings.ReplaceAll(path, "{"+k+"}", url.PathEscape(fmt.Sprint(v)))
		case op.query[k] != nil:
			if v == true {
				v = "1"
			}
			query.Set(k, fmt.Sprint(v))
		default:
			body[k] = v
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	args = []string{"-sS", "-N", "-D", "-", "--unix-socket", r.Socket, "-X", op.method, "http://sandboxd" + path}
	if r.Secret != "" {
		args = append(args, "-H", "Authorization: Bearer "+r.Secret)
	}
	switch {
	case op.raw:
		stdin = []byte(fmt.Sprint(body["data"]))
		if body["data"] == nil {
			stdin = nil
		}
		args = append(args, "-H", "Content-Type: application/octet-stream", "--data-binary", "@-")
	case op.body:
		stdin, _ = json.Marshal(body)
		args = append(args, "-H", "Content-Type: application/json", "--data-binary", "@-")
	}
	return args, stdin
}

// readCurl reads what curl -D - prints: the header, then the body.
func readCurl(in *bufio.Reader, op *operation, until string) suiteReply {
	status, stream := 0, ""
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return suiteReply{Error: map[string]any{"code": "driver", "message": "curl: no answer"}}
		}
		line = strings.TrimSpace(line)
		fmt.Sscanf(line, "HTTP/1.1 %d", &status)
		if line == "" && status != 100 {
			break
		}
	}
	if status < 300 {
		stream = op.stream
	}
	if stream == "" {
		b, _ := io.ReadAll(in)
		var body map[string]any
		if err := json.Unmarshal(b, &body); err != nil {
			return suiteReply{Error: map[string]any{"code": "driver", "message": err.Error()}}
		}
		if e, ok := body["error"].(map[string]any); ok && status >= 300 {
			e["status"] = float64(status)
			return suiteReply{Error: e}
		}
		return suiteReply{Answer: any(body)}
	}
	reply := suiteReply{Events: []any{}}
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return reply
		}
		if stream == "text/event-stream" {
			var ok bool
			if line, ok = bytes.CutPrefix(line, []byte("data: ")); !ok {
				continue
			}
		}
		var e map[string]any
		if json.Unmarshal(line, &e) == nil {
			reply.Events = append(reply.Events, e)
		}
		if until != "" && e["type"] == until {
			return reply
		}
	}
}

// webSocketClient makes each request over a WebSocket of its own, and checks each
// answer and each event against docs/openapi.yaml.
type webSocketClient struct {
	api *openAPI
	t   *testing.T
}

func (c *webSocketClient) call(ctx context.Context, r suiteRequest) suiteReply {
	failed := func(err error) suiteReply {
		return suiteReply{Error: map[string]any{"code": "driver", "message": err.Error()}}
	}
	op := c.api.operations[r.Op]
	dialer := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", r.Socket)
	}}}
	ws, _, err := websocket.Dial(ctx, "ws://sandboxd/v1/ws", &websocket.DialOptions{HTTPClient: dialer})
	if err != nil {
		return failed(err)
	}
	defer ws.CloseNow()
	ws.SetReadLimit(64 << 20)
	params := map[string]any{}
	maps.Copy(params, r.Params)
	if r.Secret != "" {
		params["secret"] = r.Secret
	}
	if data, ok := params["data"].(string); ok && op.raw {
		params["data"] = []byte(data) // base64
	}
	if err := wsjson.Write(ctx, ws, map[string]any{"jsonrpc": "2.0", "id": 1, "method": r.Op, "params": params}); err != nil {
		return failed(err)
	}
	var reply suiteReply
	for {
		var m struct {
			Params struct{ Value any }
			Result any
			Error  *struct{ Data map[string]any }
		}
		if err := wsjson.Read(ctx, ws, &m); err != nil {
			return failed(err)
		}
		if m.Error != nil {
			var code struct{ Code ipc.Code }
			b, _ := json.Marshal(m.Error.Data)
			json.Unmarshal(b, &code)
			if err := c.api.check("Error", m.Error.Data); err != nil {
				c.t.Errorf("%s: %v", r.Op, err)
			}
			m.Error.Data["status"] = nil // the suite has HTTP's
			return suiteReply{Error: m.Error.Data}
		}
		v := m.Params.Value
		if v == nil {
			v = m.Result
		}
		if op.stream != "" && m.Params.Value == nil {
			return reply // the end of the stream
		}
		if err := c.api.check(op.out, v); err != nil {
			c.t.Errorf("%s: %v: %v", r.Op, err, v)
		}
		if op.stream == "" {
			return suiteReply{Answer: v}
		}
		reply.Events = append(reply.Events, v)
		if e, _ := v.(map[string]any); r.Until != "" && e["type"] == r.Until {
			return reply
		}
	}
}

// goClient is ipc.Client.
type goClient struct{}

func (goClient) call(ctx context.Context, r suiteRequest) suiteReply {
	f, ok := goOperations[r.Op]
	if !ok {
		return suiteReply{Error: map[string]any{"code": "driver", "message": "ipc.Client has no " + r.Op}}
	}
	c := &ipc.Client{Socket: r.Socket, Secret: ipc.Secret(r.Secret)}
	defer c.Close()
	b, _ := json.Marshal(r.Params)
	answer, err := f(ctx, c, params{b, r.Until})
	var refused *ipc.Error
	if errors.As(err, &refused) {
		return suiteReply{Error: map[string]any{"code": string(refused.Code), "status": float64(refused.Status), "message": refused.Message}}
	} else if err != nil {
		return suiteReply{Error: map[string]any{"code": "client", "message": err.Error()}}
	}
	b, _ = json.Marshal(answer)
	var v any
	json.Unmarshal(b, &v)
	if list, ok := v.([]any); ok {
		return suiteReply{Events: list}
	}
	return suiteReply{Answer: v}
}

type params struct {
	raw   []byte
	until string
}

// text is a parameter of a path or query.
func (p params) text(name string) string {
	var m map[string]any
	json.Unmarshal(p.raw, &m)
	if v, ok := m[name]; ok {
		return fmt.Sprint(v)
	}
	return ""
}

func (p params) number(name string) uint64 {
	var n uint64
	fmt.Sscan(p.text(name), &n)
	return n
}

func bodyOf[T any](p params) (v T) {
	json.Unmarshal(p.raw, &v)
	return v
}

type goOperation = func(ctx context.Context, c *ipc.Client, p params) (any, error)

func taking[Req, Resp any](f func(*ipc.Client, context.Context, Req) (Resp, error)) goOperation {
	return func(ctx context.Context, c *ipc.Client, p params) (any, error) { return f(c, ctx, bodyOf[Req](p)) }
}

func giving[Resp any](f func(*ipc.Client, context.Context) (Resp, error)) goOperation {
	return func(ctx context.Context, c *ipc.Client, p params) (any, error) { return f(c, ctx) }
}

func doing(f func(ctx context.Context, c *ipc.Client, p params) error) goOperation {
	return func(ctx context.Context, c *ipc.Client, p params) (any, error) {
		return ipc.Done{OK: true}, f(ctx, c, p)
	}
}

func listening[T any](open func(ctx context.Context, c *ipc.Client, p params) (ipc.Stream[T], error)) goOperation {
	return func(ctx context.Context, c *ipc.Client, p params) (any, error) {
		s, err := open(ctx, c, p)
		if err != nil {
			return nil, err
		}
		defer s.Close()
		list := []T{}
		for {
			e, err := s.Next(ctx)
			if err == io.EOF {
				return list, nil
			} else if err != nil {
				return nil, err
			}
			list = append(list, e)
			b, _ := json.Marshal(e)
			var kind struct{ Type string }
			if json.Unmarshal(b, &kind); p.until != "" && kind.Type == p.until {
				return list, nil
			}
		}
	}
}

var goOperations = map[string]goOperation{
	"version": giving((*ipc.Client).Version),
	"status":  giving((*ipc.Client).Status),
	"doctor":  taking((*ipc.Client).Doctor),
	"profile": taking((*ipc.Client).Profile),

	"session.open": taking((*ipc.Client).OpenSession),
	"session.list": giving((*ipc.Client).Sessions),
	"session.turn": func(ctx context.Context, c *ipc.Client, p params) (any, error) {
		r := bodyOf[ipc.TurnRequest](p)
		r.Session = p.text("id")
		return c.Turn(ctx, r)
	},
	"session.close": func(ctx context.Context, c *ipc.Client, p params) (any, error) {
		return c.CloseSession(ctx, ipc.CloseRequest{Session: p.text("id")})
	},
	"check":       taking((*ipc.Client).Check),
	"check.after": taking((*ipc.Client).AfterCall),
	"exec.start":  taking((*ipc.Client).StartExec),
	"exec.run": listening(func(ctx context.Context, c *ipc.Client, p params) (ipc.Stream[ipc.Event], error) {
		_, events, err := c.RunExec(ctx, bodyOf[ipc.ExecRequest](p))
		return events, err
	}),
	"exec.events": listening(func(ctx context.Context, c *ipc.Client, p params) (ipc.Stream[ipc.Event], error) {
		return c.ExecEvents(ctx, ipc.EventsRequest{ID: p.text("id"), FromSeq: p.number("from_seq"), Watch: p.text("watch") == "true"})
	}),
	"exec.stdin": doing(func(ctx context.Context, c *ipc.Client, p params) error {
		return c.WriteStdin(ctx, ipc.StdinRequest{ID: p.text("id"), Data: []byte(p.text("data")), EOF: p.text("eof") == "true"})
	}),
	"exec.signal": doing(func(ctx context.Context, c *ipc.Client, p params) error {
		return c.SignalExec(ctx, ipc.SignalRequest{ID: p.text("id"), Signal: p.text("signal")})
	}),
	"exec.resize": doing(func(ctx context.Context, c *ipc.Client, p params) error {
		return c.ResizeExec(ctx, ipc.ResizeRequest{ID: p.text("id"), Cols: uint16(p.number("cols")), Rows: uint16(p.number("rows"))})
	}),
	"exec.cancel": doing(func(ctx context.Context, c *ipc.Client, p params) error {
		return c.CancelExec(ctx, ipc.CancelRequest{ID: p.text("id")})
	}),
	"job.list": giving((*ipc.Client).Jobs),
	"job.show": func(ctx context.Context, c *ipc.Client, p params) (any, error) {
		return c.Job(ctx, ipc.JobRequest{ID: p.text("id")})
	},
	"job.stop": func(ctx context.Context, c *ipc.Client, p params) (any, error) {
		return c.StopJob(ctx, ipc.JobRequest{ID: p.text("id")})
	},
	"file": func(ctx context.Context, c *ipc.Client, p params) (any, error) {
		r := bodyOf[ipc.FileRequest](p)
		r.Op = p.text("op")
		return c.File(ctx, r)
	},
	"change.list": taking((*ipc.Client).HeldChanges),
	"change.show": taking((*ipc.Client).HeldChange),
	"change.land": func(ctx context.Context, c *ipc.Client, p params) (any, error) {
		r := bodyOf[ipc.LandRequest](p)
		r.ID = p.text("id")
		return c.Land(ctx, r)
	},
	"batch": taking((*ipc.Client).Batch),

	"approval.list": giving((*ipc.Client).Approvals),
	"approval.show": taking((*ipc.Client).Approval),
	"approval.decide": func(ctx context.Context, c *ipc.Client, p params) (any, error) {
		r := bodyOf[ipc.Answer](p)
		r.ID = p.text("id")
		return c.Decide(ctx, r)
	},
	"events": listening(func(ctx context.Context, c *ipc.Client, p params) (ipc.Stream[ipc.News], error) {
		return c.News(ctx, ipc.NewsRequest{After: p.number("after")})
	}),
	"grant.list": giving((*ipc.Client).Grants),
	"grant.show": taking((*ipc.Client).Grant),
	"grant.revoke": doing(func(ctx context.Context, c *ipc.Client, p params) error {
		return c.Revoke(ctx, ipc.GrantRequest{ID: p.text("id")})
	}),
	"stats":       giving((*ipc.Client).Stats),
	"advice":      giving((*ipc.Client).Advice),
	"stats.reset": doing(func(ctx context.Context, c *ipc.Client, _ params) error { return c.ResetStats(ctx) }),
	"audit": func(ctx context.Context, c *ipc.Client, p params) (any, error) {
		return c.Audit(ctx, ipc.AuditRequest{Session: p.text("session"), Tool: p.text("tool"), Category: p.text("category"),
			Decision: p.text("decision"), AfterSeq: p.number("after_seq"), Limit: int(p.number("limit")), Last: p.text("last") == "true"})
	},
	"audit.verify": func(ctx context.Context, c *ipc.Client, p params) (any, error) {
		return c.VerifyAudit(ctx, ipc.AuditVerifyRequest{AnchorSeq: p.number("anchor_seq"), AnchorHash: p.text("anchor_hash")})
	},
	"mode":       taking((*ipc.Client).Mode),
	"mode.set":   taking((*ipc.Client).SetMode),
	"trust.list": giving((*ipc.Client).Trusted),
	"trust.add":  taking((*ipc.Client).Trust),
	"setting.get": func(ctx context.Context, c *ipc.Client, p params) (any, error) {
		return c.Setting(ctx, ipc.SettingRequest{Key: p.text("id"), Dir: p.text("dir")})
	},
	"setting.change": taking((*ipc.Client).Change),
	"trust.remove": doing(func(ctx context.Context, c *ipc.Client, p params) error {
		return c.Distrust(ctx, ipc.TrustRequest{Dir: p.text("dir")})
	}),
	"web.invite": giving((*ipc.Client).Invite),
	"web.list":   giving((*ipc.Client).FrontEnds),
	"web.add":    taking((*ipc.Client).AddFrontEnd),
	"web.remove": doing(func(ctx context.Context, c *ipc.Client, p params) error {
		return c.RemoveFrontEnd(ctx, ipc.FrontEndName{Name: p.text("id")})
	}),
	"reload": giving((*ipc.Client).Reload),
	"shutdown": doing(func(ctx context.Context, c *ipc.Client, p params) error {
		return c.Shutdown(ctx, bodyOf[ipc.ShutdownRequest](p))
	}),
}
