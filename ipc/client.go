package ipc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"
)

// ErrNoDaemon is in the error where nobody serves the socket: it is absent, or
// stale.
var ErrNoDaemon = errors.New("no daemon is running there")

// ErrForeign is in the error where the socket is served by somebody else than
// this user or root. Nothing was sent.
var ErrForeign = errors.New("the socket is served by another user")

// UserHeader names the user whose daemon an approver means, to a system's
// broker: a login name or a number. Daemons themselves don't look at it.
const UserHeader = "Sandboxd-User"

// Client asks a daemon. Its methods are those of [Backend], without the caller.
// They may be called concurrently. An answer that is a refusal is an [*Error].
type Client struct {
	Socket string // path of agent.sock or approver.sock
	Secret Secret // of the API session in use; empty: none
	// User is whose daemon an approver means where a system's broker serves the
	// socket; empty: the caller's own.
	User string
	// Start is called where nobody serves the socket; when it returns nil, the
	// socket is tried once more. Its error is returned as it is. nil: there is
	// nothing to start.
	Start func(context.Context) error
	// Patience is how long an answer may take before the daemon is asked whether it answers at all; 0: no limit. A
	// daemon that does not has requests fail after ten times as long, except for POST, which may wait for a person.
	Patience time.Duration
	// Unanswered is called, maybe more than once and concurrently, with an error that has ErrUnanswered in it while a
	// request waits for such a daemon; nil: nobody is to know.
	Unanswered func(error)

	once  sync.Once
	http  *http.Client
	wires wires
}

// Close ends the connections that are idle.
func (c *Client) Close() {
	if c.http != nil {
		c.http.CloseIdleConnections()
	}
	c.wires.close()
}

// maxAnswer bounds one answer, or one event, in bytes of memory.
const maxAnswer = 64 << 20

// client is the HTTP side, made at first use.
func (c *Client) client() *http.Client {
	c.once.Do(func() {
		c.http = newHTTP(func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx, c.Socket) })
	})
	return c.http
}

func newHTTP(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            dial,
			DisableCompression:     true,
			MaxResponseHeaderBytes: 64 << 10,
			MaxIdleConnsPerHost:    16,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// dial connects to one of the daemon's sockets, and starts the daemon where
// nobody serves it.
func (c *Client) dial(ctx context.Context, socket string) (net.Conn, error) {
	conn, err := dial(ctx, socket)
	if err == nil || c.Start == nil {
		return conn, err
	}
	if err := c.Start(ctx); err != nil {
		return nil, &startError{err}
	}
	return dial(ctx, socket)
}

// startError is an error of Client.Start on its way through package http.
type startError struct{ error }

func (e *startError) Unwrap() error { return e.error }

// requestError says that an error is one of asking the daemon. Package http has added the method and a URL, which mean
// nothing to people. Errors of Client.Start, of connecting, and of the daemon are returned as they are.
func requestError(err error) error {
	var start *startError
	if errors.As(err, &start) {
		return start.error
	}
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	var connecting *connectError
	if errors.As(err, &connecting) || CodeOf(err) != "" || errors.Is(err, ErrUnanswered) {
		return err
	}
	cut := []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE}
	if slices.ContainsFunc(cut, func(e error) bool { return errors.Is(err, e) }) ||
		strings.HasPrefix(err.Error(), "http: server closed") {
		return &closedError{err}
	}
	return fmt.Errorf("ask the daemon: %w", withoutCall(err))
}

// ErrEnded is in the error of a request whose connection ended before the whole answer: whether it was carried out is
// not known.
var ErrEnded = errors.New("the daemon ended before it answered")

// closedError is the end of a connection before the whole answer.
type closedError struct{ err error }

func (e *closedError) Error() string   { return ErrEnded.Error() }
func (e *closedError) Unwrap() []error { return []error{ErrEnded, e.err} }

// withoutCall returns the reason in an error of package net, without the network, its addresses and the system call.
func withoutCall(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	var call *os.SyscallError
	if errors.As(err, &call) {
		err = call.Err
	}
	return err
}

// connectError is an error of connecting to a socket.
type connectError struct {
	socket string
	err    error
}

func (e *connectError) Error() string { return fmt.Sprintf("connect to %q: %v", e.socket, e.err) }
func (e *connectError) Unwrap() error { return e.err }

func accepted(resp *http.Response) bool { return resp.StatusCode >= 200 && resp.StatusCode < 300 }

// dial connects and verifies the listener's user before a byte is sent.
func dial(ctx context.Context, socket string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, &connectError{socket, ErrNoDaemon}
	case err != nil:
		return nil, &connectError{socket, withoutCall(err)}
	}
	uid, err := serverUID(conn)
	if err == nil && uid != 0 && uid != os.Geteuid() {
		err = fmt.Errorf("%w (uid %d)", ErrForeign, uid)
	}
	if err != nil {
		conn.Close()
		return nil, &connectError{socket, err}
	}
	return conn, nil
}

// serverUID is the user that listens at the other end of c.
func serverUID(c net.Conn) (int, error) {
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var uid int
	var uerr error
	if err := raw.Control(func(fd uintptr) { uid, uerr = peerUID(int(fd)) }); err != nil {
		return 0, err
	}
	return uid, uerr
}

// do sends a request and returns the answer's body, which the caller closes.
func (c *Client) do(ctx context.Context, method, path string, body io.Reader,
	header map[string]string) (io.ReadCloser, error) {
	ctx, headed, closed := c.watched(ctx, method == http.MethodPost)
	req, err := http.NewRequestWithContext(ctx, method, "http://sandboxd"+path, body)
	if err != nil {
		headed()
		closed()
		return nil, err
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	if c.User != "" {
		req.Header.Set(UserHeader, c.User)
	}
	if c.Secret != "" {
		req.Header.Set("Authorization", "Bearer "+string(c.Secret))
	}
	resp, err := c.client().Do(req)
	headed()
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, ErrUnanswered) {
			err = cause
		}
		closed()
		return nil, requestError(err)
	}
	resp.Body = &answerBody{resp.Body, closed}
	if accepted(resp) {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	return nil, readError(resp)
}

// readError makes an *Error of an answer that is one.
func readError(resp *http.Response) error {
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	var e errorBody
	if err != nil || json.Unmarshal(b, &e) != nil || e.Error == nil {
		return &Error{Code: CodeInternal, Status: resp.StatusCode, Message: "the daemon answered " + resp.Status +
			" without saying why"}
	}
	e.Error.Status = resp.StatusCode
	return e.Error
}

// ask sends a request with a JSON body and decodes the answer.
func ask[Resp, Req any](ctx context.Context, c *Client, method, path string, req Req) (Resp, error) {
	var resp Resp
	body, err := encodeBody(req)
	if err != nil {
		return resp, err
	}
	return resp, c.roundTrip(ctx, method, path, bytes.NewReader(body),
		map[string]string{"Content-Type": "application/json"}, &resp)
}

// altered follows the name of a field with a text that is not UTF-8.
const altered = " is not UTF-8 and cannot be sent unaltered; give it, or the file or directory that it names, " +
	"another name"

// encodeBody writes a request as a body.
func encodeBody[Req any](req Req) ([]byte, error) {
	body := encode(req)
	if bytes.Contains(body, []byte(`\ufffd`)) { // the output of encoding/json for bytes that are not UTF-8
		if field, ok := notUTF8(reflect.ValueOf(req), "request"); ok {
			return nil, badRequest(field + altered)
		}
	}
	return body, nil
}

// fetch sends a request without a body and decodes the answer.
func fetch[Resp any](ctx context.Context, c *Client, method, path string) (Resp, error) {
	var resp Resp
	return resp, c.roundTrip(ctx, method, path, nil, nil, &resp)
}

// roundTrip decodes the answer into resp, a pointer.
func (c *Client) roundTrip(ctx context.Context, method, path string, body io.Reader, header map[string]string,
	resp any) error {
	answer, err := c.do(ctx, method, path, body, header)
	if err != nil {
		return err
	}
	return readAnswer(answer, resp)
}

// readAnswer decodes an answer into resp, a pointer, and closes it.
func readAnswer(answer io.ReadCloser, resp any) error {
	defer answer.Close()
	b, err := io.ReadAll(io.LimitReader(answer, maxAnswer))
	if err != nil {
		return fmt.Errorf("read the daemon's answer: %w", err)
	}
	if err := json.Unmarshal(b, resp); err != nil {
		return fmt.Errorf("read the daemon's answer: %w", err)
	}
	return nil
}

// notUTF8 finds a string that JSON would silently alter, and its place.
func notUTF8(v reflect.Value, where string) (string, bool) {
	switch v.Kind() {
	case reflect.String:
		return where, !utf8.ValidString(v.String())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return notUTF8(v.Elem(), where)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return "", false // base64, or checked by the producer of the JSON
		}
		for i := range v.Len() {
			if field, bad := notUTF8(v.Index(i), where); bad {
				return field, true
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			for _, part := range []reflect.Value{it.Key(), it.Value()} {
				if field, bad := notUTF8(part, where); bad {
					return field, true
				}
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() {
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if field, bad := notUTF8(v.Field(i), name); bad {
				return field, true
			}
		}
	}
	return "", false
}

// Exists reports whether the socket answers, and verifies its server; it sends nothing.
func (c *Client) Exists(ctx context.Context) error {
	conn, err := dial(ctx, c.Socket)
	if err != nil {
		return err
	}
	return conn.Close()
}
