package ipc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// ndjson sends a stream as one JSON object a line until it ends: values that are
// there together, and the end with the last one, in one write. A reader that takes
// nothing for Limits.Write is cut off.
func ndjson[T any](x *exchange, s Stream[T]) {
	defer s.Close()
	x.Header().Set("Content-Type", "application/x-ndjson")
	x.WriteHeader(http.StatusOK)
	out := &lines{x: x, empty: true}
	defer out.end()
	for {
		if !isReady(s) && out.flush() != nil {
			return
		}
		v, err := s.Next(x.r.Context())
		if err == io.EOF || x.r.Context().Err() != nil {
			return
		}
		if err != nil {
			out.put(encode(errorBody{x.asError(err)}), true)
			return
		}
		if out.put(encode(v), !canWait(v)) != nil {
			return
		}
	}
}

// linger bounds how long a value waits that can.
const linger = 5 * time.Millisecond

// canWait reports whether a value can be sent with the next one, or a moment later: nobody acts
// upon it, and waking its reader takes a processor from the command that is being started.
func canWait(v any) bool {
	e, ok := v.(Event)
	return ok && (e.Type == EventQueued || e.Type == EventStarted || e.Decision != nil)
}

// lines is the body of an answer that is flushed when it has to be.
type lines struct {
	x *exchange

	mu     sync.Mutex
	empty  bool // nothing of it was put: then the head goes alone
	urgent bool // something has to go out now
	timer  *time.Timer
	ended  bool
	err    error
}

func (l *lines) put(b []byte, urgent bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.empty, l.urgent = false, l.urgent || urgent
	if l.timer == nil && !l.urgent {
		l.timer = time.AfterFunc(linger, l.late)
	}
	return l.x.put(b)
}

// flush sends the buffered values.
func (l *lines) flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if (l.urgent || l.empty) && l.err == nil {
		l.send()
	}
	return l.err
}

// send sends all; mu is held.
func (l *lines) send() {
	l.stop()
	l.empty, l.urgent, l.err = false, false, l.x.flush()
}

func (l *lines) late() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended && l.timer != nil {
		l.send()
	}
}

func (l *lines) stop() {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
}

// end leaves the buffered values to the end of the answer.
func (l *lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.stop()
}

// sse sends news as Server-Sent Events (HTML Living Standard §9.2), with a
// comment line when there has been none for a while.
func sse(x *exchange, s Stream[News]) {
	defer s.Close()
	x.Header().Set("Content-Type", "text/event-stream")
	x.Header().Set("Cache-Control", "no-store")
	x.WriteHeader(http.StatusOK)
	if x.send([]byte(": sandboxd\n\n")) != nil {
		return
	}
	ctx := x.r.Context()
	for {
		wait, cancel := context.WithTimeout(ctx, x.limits.Heartbeat)
		n, err := s.Next(wait)
		quiet := wait.Err() != nil && ctx.Err() == nil
		cancel()
		var out []byte
		switch {
		case err == nil:
			if n.Seq != 0 { // else it is not one that a client could come back to
				out = fmt.Appendf(out, "id: %d\n", n.Seq)
			}
			out = fmt.Appendf(out, "event: %s\ndata: %s\n", n.Type, encode(n))
		case err == io.EOF || ctx.Err() != nil:
			return
		case quiet && errors.Is(err, context.DeadlineExceeded):
			out = []byte(":\n\n")
		default:
			x.send(fmt.Appendf(nil, "event: error\ndata: %s\n", encode(errorBody{x.asError(err)})))
			return
		}
		if x.send(out) != nil {
			return
		}
	}
}

// send writes and flushes within the time for one event.
func (x *exchange) send(b []byte) error {
	if err := x.put(b); err != nil {
		return err
	}
	return x.flush()
}

// put writes bytes that are flushed later.
func (x *exchange) put(b []byte) error {
	x.within(x.limits.Write)
	_, err := x.Write(b)
	return err
}

func (x *exchange) flush() error {
	x.within(x.limits.Write)
	return http.NewResponseController(x.ResponseWriter).Flush()
}

// within bounds the next write. Writes in close succession share a deadline.
func (x *exchange) within(limit time.Duration) {
	now := time.Now()
	if now.Sub(x.timed) < limit/16 {
		return
	}
	x.timed = now
	http.NewResponseController(x.ResponseWriter).SetWriteDeadline(now.Add(limit))
}

// encode returns one line of JSON, with its newline. Our values have our own types, so it cannot
// fail.
func encode[T any](v T) []byte {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return []byte(`{"error":{"code":"internal","message":"an answer could not be encoded"}}` + "\n")
	}
	return buf.Bytes()
}
