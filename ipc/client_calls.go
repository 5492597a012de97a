package ipc

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// pathOf puts ids into a path, and values that are not empty into its query.
func pathOf(base string, id string, tail string, q ...string) string {
	p := base
	if id != "" {
		p += "/" + url.PathEscape(id) + tail
	}
	v := url.Values{}
	for i := 0; i+1 < len(q); i += 2 {
		if q[i+1] != "" {
			v.Set(q[i], q[i+1])
		}
	}
	if len(v) > 0 {
		p += "?" + v.Encode()
	}
	return p
}

func flagOf(b bool) string {
	if b {
		return "1"
	}
	return ""
}

func numberOf(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

func timeOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}

// missing refuses an id that would make another path of the one meant.
func missing(what, id string) error {
	if id == "" {
		return badRequest(what + " is missing")
	}
	return nil
}

// onlyDone drops a Done.
func onlyDone(_ Done, err error) error { return err }

// Version identifies the server.
func (c *Client) Version(ctx context.Context) (Version, error) {
	return fetch[Version](ctx, c, "GET", "/v1/version")
}

// Status returns the state of the daemon and of this host.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return fetch[Status](ctx, c, "GET", "/v1/status")
}

// Doctor has the host examined.
func (c *Client) Doctor(ctx context.Context, r DoctorRequest) (Doctor, error) {
	return fetch[Doctor](ctx, c, "GET", pathOf("/v1/doctor", "", "", "prove", flagOf(r.Prove)))
}

// Profile shows, explains or compares profiles.
func (c *Client) Profile(ctx context.Context, r ProfileRequest) (Profile, error) {
	return fetch[Profile](ctx, c, "GET", pathOf("/v1/profile", "", "", "session", r.Session, "path", r.Path, "against",
		r.Against))
}

// OpenSession opens one, or finds the terminal's own again.
func (c *Client) OpenSession(ctx context.Context, r SessionRequest) (Session, error) {
	return ask[Session](ctx, c, "POST", "/v1/sessions", r)
}

// Sessions lists those that the caller may see.
func (c *Client) Sessions(ctx context.Context) (SessionList, error) {
	return fetch[SessionList](ctx, c, "GET", "/v1/sessions")
}

// Jobs lists what commands left running.
func (c *Client) Jobs(ctx context.Context) (JobList, error) {
	return fetch[JobList](ctx, c, "GET", "/v1/jobs")
}

// Job returns one of them with its newest output.
func (c *Client) Job(ctx context.Context, r JobRequest) (Job, error) {
	if err := missing("id", r.ID); err != nil {
		return Job{}, err
	}
	return fetch[Job](ctx, c, "GET", pathOf("/v1/jobs", r.ID, ""))
}

// StopJob ends one of them, and returns when it has ended.
func (c *Client) StopJob(ctx context.Context, r JobRequest) (Job, error) {
	if err := missing("id", r.ID); err != nil {
		return Job{}, err
	}
	return ask[Job](ctx, c, "POST", pathOf("/v1/jobs", r.ID, "/stop"), r)
}

// Turn reports to the daemon that the user spoke.
func (c *Client) Turn(ctx context.Context, r TurnRequest) (Turn, error) {
	if err := missing("session", r.Session); err != nil {
		return Turn{}, err
	}
	return ask[Turn](ctx, c, "POST", pathOf("/v1/sessions", r.Session, "/turn"), r)
}

// CloseSession ends a session and its commands.
func (c *Client) CloseSession(ctx context.Context, r CloseRequest) (Closed, error) {
	if err := missing("session", r.Session); err != nil {
		return Closed{}, err
	}
	return fetch[Closed](ctx, c, "DELETE", pathOf("/v1/sessions", r.Session, ""))
}

// Check asks for a decision. It waits for a person where one must be asked.
func (c *Client) Check(ctx context.Context, r CheckRequest) (Verdict, error) {
	return ask[Verdict](ctx, c, "POST", "/v1/check", r)
}

// AfterCall says where the command of a call that has ended ran. It waits some seconds for one that just began.
func (c *Client) AfterCall(ctx context.Context, r AfterCallRequest) (AfterCall, error) {
	return ask[AfterCall](ctx, c, "POST", "/v1/check/after", r)
}

// StartExec queues a command.
func (c *Client) StartExec(ctx context.Context, r ExecRequest) (ExecStarted, error) {
	var started ExecStarted
	answer, err := c.exec(ctx, "/v1/exec", r)
	if err != nil {
		return started, err
	}
	return started, readAnswer(answer, &started)
}

// RunExec is StartExec and ExecEvents in one exchange. The stream begins with the
// command's first event.
func (c *Client) RunExec(ctx context.Context, r ExecRequest) (ExecStarted, Stream[Event], error) {
	answer, err := c.exec(ctx, "/v1/exec/events", r)
	if code := CodeOf(err); code == CodeMethod || code == CodeNoRoute || code == "" && speaksOtherwise(err) {
		err = older(code)
	}
	if err != nil {
		return ExecStarted{}, nil, err
	}
	return begun(ctx, &eventReader{lines: answer.wire.linesOf(answer), body: answer, cancel: func() { answer.Close() }})
}

// speaksOtherwise reports an error that is no answer of HTTP: stdio.sock had a protocol of its own once.
func speaksOtherwise(err error) bool {
	return err != nil && strings.Contains(err.Error(), "malformed HTTP")
}

func older(code Code) *Error {
	return &Error{Code: cmp.Or(code, CodeNoRoute),
		Message: "the daemon that runs is older than this program, and does not know its requests",
		Hint:    "end it, and a new one is started: sbx stop"}
}

// begun reads the event with the answer of exec.start.
func begun(ctx context.Context, events *eventReader) (ExecStarted, Stream[Event], error) {
	first, err := events.Next(ctx)
	if err == nil && first.Queued == nil {
		err = errors.New("the first event does not say what was started")
	}
	if err != nil {
		events.Close()
		return ExecStarted{}, nil, requestError(err)
	}
	events.first = &first
	return *first.Queued, events, nil
}

// ExecEvents opens a command's events. The stream ends with io.EOF after the
// exit event; where the connection is lost before, Next returns
// io.ErrUnexpectedEOF, and the events can be opened again from the next number.
func (c *Client) ExecEvents(ctx context.Context, r EventsRequest) (Stream[Event], error) {
	if err := missing("id", r.ID); err != nil {
		return nil, err
	}
	events, err := c.events(ctx, "GET", pathOf("/v1/exec", r.ID, "/events", "from_seq", numberOf(r.FromSeq), "watch",
		flagOf(r.Watch)), nil, nil)
	if err != nil {
		return nil, err
	}
	return events, nil
}

// events sends a request that is answered with events.
func (c *Client) events(ctx context.Context, method, path string, body io.Reader,
	header map[string]string) (*eventReader, error) {
	ctx, cancel := context.WithCancel(ctx)
	answer, err := c.do(ctx, method, path, body, header)
	if err != nil {
		cancel()
		return nil, err
	}
	return &eventReader{lines: newLines(answer), body: answer, cancel: cancel}, nil
}

// WriteStdin sends a piece of input. It returns when the command has room for it.
func (c *Client) WriteStdin(ctx context.Context, r StdinRequest) error {
	return c.StreamStdin(ctx, r.ID, bytes.NewReader(r.Data), r.EOF)
}

// StreamStdin sends everything that from yields, and with eof the end after it.
func (c *Client) StreamStdin(ctx context.Context, id string, from io.Reader, eof bool) error {
	if err := missing("id", id); err != nil {
		return err
	}
	var d Done
	return c.roundTrip(ctx, "POST", pathOf("/v1/exec", id, "/stdin", "eof", flagOf(eof)), from,
		map[string]string{"Content-Type": "application/octet-stream"}, &d)
}

// SignalExec sends a signal to the command.
func (c *Client) SignalExec(ctx context.Context, r SignalRequest) error {
	if err := missing("id", r.ID); err != nil {
		return err
	}
	return onlyDone(ask[Done](ctx, c, "POST", pathOf("/v1/exec", r.ID, "/signal"), r))
}

// ResizeExec sets the size of the command's terminal.
func (c *Client) ResizeExec(ctx context.Context, r ResizeRequest) error {
	if err := missing("id", r.ID); err != nil {
		return err
	}
	return onlyDone(ask[Done](ctx, c, "POST", pathOf("/v1/exec", r.ID, "/resize"), r))
}

// CancelExec ends the command's whole tree.
func (c *Client) CancelExec(ctx context.Context, r CancelRequest) error {
	if err := missing("id", r.ID); err != nil {
		return err
	}
	return onlyDone(fetch[Done](ctx, c, "DELETE", pathOf("/v1/exec", r.ID, "")))
}

// File carries out a file operation.
func (c *Client) File(ctx context.Context, r FileRequest) (FileResult, error) {
	if err := missing("op", r.Op); err != nil {
		return FileResult{}, err
	}
	return ask[FileResult](ctx, c, "POST", pathOf("/v1/files", r.Op, ""), r)
}

// HeldChanges lists the change sets that did not land.
func (c *Client) HeldChanges(ctx context.Context, r HeldRequest) (HeldChanges, error) {
	return fetch[HeldChanges](ctx, c, "GET", pathOf("/v1/changes", "", "", "session", r.Session))
}

// HeldChange shows one of them.
func (c *Client) HeldChange(ctx context.Context, r HeldRequest) (HeldChange, error) {
	if err := missing("id", r.ID); err != nil {
		return HeldChange{}, err
	}
	return fetch[HeldChange](ctx, c, "GET", pathOf("/v1/changes", r.ID, "", "session", r.Session))
}

// Land lands one of them, or a part, or drops it.
func (c *Client) Land(ctx context.Context, r LandRequest) (FileResult, error) {
	if err := missing("id", r.ID); err != nil {
		return FileResult{}, err
	}
	return ask[FileResult](ctx, c, "POST", pathOf("/v1/changes", r.ID, ""), r)
}

// Batch carries out the calls of one model response in order.
func (c *Client) Batch(ctx context.Context, r BatchRequest) (BatchResult, error) {
	return ask[BatchResult](ctx, c, "POST", "/v1/batch", r)
}

// eventReader is the client's side of a stream of lines.
type eventReader struct {
	lines  *bufio.Reader
	body   io.Closer
	cancel context.CancelFunc
	first  *Event // has been read already; nil: nothing has
	ended  bool   // the exit event has been read
}

func (e *eventReader) Next(ctx context.Context) (Event, error) {
	if err := ctx.Err(); err != nil {
		return Event{}, err
	}
	if first := e.first; first != nil {
		e.first = nil
		return *first, nil
	}
	stop := context.AfterFunc(ctx, e.cancel)
	defer stop()
	line, err := readLine(e.lines)
	switch {
	case err == io.EOF && e.ended:
		return Event{}, io.EOF
	case ctx.Err() != nil:
		return Event{}, ctx.Err()
	case err == io.EOF:
		return Event{}, io.ErrUnexpectedEOF
	case err != nil:
		return Event{}, fmt.Errorf("read events: %w", err)
	}
	v, err := readEvent(line)
	e.ended = err == nil && v.Type == EventExit
	return v, err
}

func (e *eventReader) Close() error {
	e.cancel()
	return e.body.Close()
}

// newLines is how both kinds of stream are read.
func newLines(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, 128<<10) }

// readLine reads one line of at most maxAnswer bytes. A line without a newline was cut off.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if err == nil && line == nil {
			return part, nil
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case err == io.EOF && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(line) > maxAnswer:
			return nil, errors.New("a line is too long")
		}
	}
}
