package worker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"sandboxd/files"
	"sandboxd/internal/fdconn"
)

// ErrBroken is returned when the worker died, or when question and answer no longer match. The
// client is unusable. The result of a change under way is unknown: start another worker and Settle
// it.
var ErrBroken = errors.New("the file worker is gone")

// Client is the daemon's side of a worker. Its methods may be called
// concurrently; the worker answers one question at a time.
type Client struct {
	mu     sync.Mutex
	link   link
	broken error
}

// NewClient sets a worker up. It owns conn from now on.
func NewClient(conn *net.UnixConn, setup Setup) (*Client, error) {
	c := &Client{link: link{conn}}
	_, _, err := c.ask(context.Background(), asked{question: question{Verb: verbSetup, Setup: &setup}})
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("set up file worker: %w", err)
	}
	return c, nil
}

// Close hangs up, which ends the worker.
func (c *Client) Close() error { return c.link.conn.Close() }

// Facts returns the real paths of a request and their entries. Facts.Conflict is the obstacle to
// performing the request; judge first, since a conflict can reveal more than an agent may know.
func (c *Client) Facts(ctx context.Context, req files.Request) (files.Facts, error) {
	r, _, err := c.ask(ctx, asked{question: question{Verb: verbFacts, Request: &req}, body: req.Content})
	if err != nil {
		return files.Facts{}, err
	}
	if r.Facts == nil {
		return files.Facts{}, c.fail(errors.New("no facts in its answer"))
	}
	return *r.Facts, nil
}

// Preview returns a request's change for a person to see.
func (c *Client) Preview(ctx context.Context, req files.Request) (files.Preview, error) {
	r, body, err := c.ask(ctx, asked{question: question{Verb: verbPreview, Request: &req}, body: req.Content})
	if err != nil {
		return files.Preview{}, err
	}
	if r.Preview == nil || r.OldLen < 0 || r.OldLen > len(body) {
		return files.Preview{}, c.fail(errors.New("no preview in its answer"))
	}
	p := *r.Preview
	if p.OldSize >= 0 {
		p.Old = body[:r.OldLen:r.OldLen]
	}
	if p.NewSize >= 0 {
		p.New = body[r.OldLen:]
	}
	return p, nil
}

// Do performs a request, if its facts still equal those of the decision; otherwise it returns a
// *files.Conflict with the reason Changed. keeper gets every change before it happens; it may be
// nil for operations that only read.
//
// After a *files.Conflict nothing was changed, after a *files.PartialError a part, and after
// ErrBroken it is unknown.
func (c *Client) Do(ctx context.Context, req files.Request, facts files.Facts,
	keeper files.Keeper) (files.Result, error) {
	q := question{Verb: verbDo, Request: &req, Facts: &facts}
	r, body, err := c.ask(ctx, asked{question: q, body: req.Content, keeper: keeper})
	if err != nil {
		return files.Result{}, err
	}
	if r.Result == nil {
		return files.Result{}, c.fail(errors.New("no result in its answer"))
	}
	out := *r.Result
	out.Content = body
	return out, nil
}

// Undo undoes a change. keeper gets the changes of the undo itself.
func (c *Client) Undo(
	ctx context.Context, kept files.Kept, how files.UndoHow, keeper files.Keeper,
) (files.Result, error) {
	steps := kept.Steps()
	q := question{Verb: verbUndo, Steps: steps, Blobs: make([]bool, len(steps)), How: &how}
	for i := range steps {
		q.Blobs[i] = kept.HasContent(i)
	}
	r, _, err := c.ask(ctx, asked{question: q, kept: kept, keeper: keeper})
	if err != nil {
		return files.Result{}, err
	}
	if r.Result == nil {
		return files.Result{}, c.fail(errors.New("no result in its answer"))
	}
	return *r.Result, nil
}

// Settle returns how many steps of an interrupted change were made, and removes its temporary
// files.
func (c *Client) Settle(ctx context.Context, steps []files.Step) (made int, err error) {
	r, _, err := c.ask(ctx, asked{question: question{Verb: verbSettle, Steps: steps}})
	if err != nil {
		return 0, err
	}
	if r.Made < 0 || r.Made > len(steps) {
		return 0, c.fail(fmt.Errorf("it says that %d of %d steps were made", r.Made, len(steps)))
	}
	return r.Made, nil
}

// asked is a question, and the answers to what the worker asks meanwhile.
type asked struct {
	question
	body   []byte
	fds    []*os.File // of the caller
	kept   files.Kept
	keeper files.Keeper
	found  func(entries []byte, contents []*os.File) error // of a scan
}

// ask sends a question and waits for its answer. A context that ends closes the
// connection: an answer that comes later would be taken for another's.
func (c *Client) ask(ctx context.Context, q asked) (reply, []byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return reply{}, nil, c.broken
	}
	if err := sendable(q.Request); err != nil {
		return reply{}, nil, err
	}
	if err := ctx.Err(); err != nil {
		return reply{}, nil, err
	}
	stop := context.AfterFunc(ctx, func() { c.link.conn.Close() })
	defer stop()
	if err := c.link.send(q.question, q.body, q.fds...); err != nil {
		return reply{}, nil, c.failed(ctx, err)
	}
	for {
		var r reply
		body, fds, err := c.link.receive(&r)
		if err != nil {
			return reply{}, nil, c.failed(ctx, err)
		}
		switch {
		case r.Keep:
			refused := asConflict(keepFor(ctx, q.keeper, r, fds), "")
			err = c.link.send(question{Verb: verbKept, Refused: refused}, nil)
		case r.Entries && q.found == nil:
			err = errors.New("entries that were not asked for")
		case r.Entries:
			refused := asConflict(q.found(body, fds), "")
			err = c.link.send(question{Verb: verbKept, Refused: refused}, nil)
		case r.Need > 0:
			err = c.content(q.kept, r.Need-1)
		}
		fdconn.Close(fds)
		switch {
		case err != nil:
			return reply{}, nil, c.failed(ctx, err)
		case !r.Keep && !r.Entries && r.Need == 0:
			return r, body, r.err()
		}
	}
}

// sendable refuses text that is not UTF-8, since a frame is JSON and would change it.
func sendable(r *files.Request) error {
	if r == nil {
		return nil
	}
	for _, p := range []string{r.Path, r.To} {
		if !utf8.ValidString(p) {
			return &files.Conflict{Op: r.Op, Path: strings.ToValidUTF8(p, "\ufffd"), Reason: files.BadPath,
				Found: "bytes that are not UTF-8"}
		}
	}
	texts := []string{r.Anchor, r.Pattern, r.Glob}
	for _, e := range r.Edits {
		texts = append(texts, e.Find, e.Replace)
	}
	for _, s := range texts {
		if !utf8.ValidString(s) {
			return &files.Conflict{Op: r.Op, Path: r.Path, Reason: files.Encoding,
				Found: "a text in the request that is not UTF-8"}
		}
	}
	return nil
}

// content sends the worker a kept content.
func (c *Client) content(kept files.Kept, step int) error {
	var f *os.File
	err := errors.New("a content was asked for that is not kept")
	if kept != nil && step < len(kept.Steps()) {
		f, err = kept.Content(step)
	}
	if err != nil {
		return c.link.send(question{Verb: verbContent, Refused: asConflict(err, "")}, nil)
	}
	defer f.Close()
	return c.link.send(question{Verb: verbContent}, nil, f)
}

// keepFor passes the worker's announced steps to the keeper.
func keepFor(ctx context.Context, keeper files.Keeper, r reply, fds []*os.File) error {
	if keeper == nil {
		return &files.Conflict{Reason: files.Invalid, Found: "a change, and nobody keeps what it loses"}
	}
	old, err := pairBlobs(r.Steps, r.Blobs, fds)
	if err != nil {
		return err
	}
	return keeper.Keep(ctx, r.Steps, old, !r.More)
}

func (r reply) err() error {
	var err error
	switch {
	case r.Conflict != nil:
		err = r.Conflict
	case r.Error != "":
		err = errors.New(r.Error)
	default:
		return nil
	}
	if r.Done > 0 {
		return &files.PartialError{Done: r.Done, Err: err}
	}
	return err
}

// failed makes the client useless. mu is held.
func (c *Client) failed(ctx context.Context, err error) error {
	c.link.conn.Close()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	c.broken = fmt.Errorf("%w: %w", ErrBroken, err)
	return c.broken
}

// fail is failed for an answer that makes no sense.
func (c *Client) fail(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed(context.Background(), err)
}

func pairBlobs(steps []files.Step, blobs []bool, fds []*os.File) ([]*os.File, error) {
	out := make([]*os.File, len(steps))
	next := 0
	for i := range steps {
		if i < len(blobs) && blobs[i] {
			if next == len(fds) {
				return nil, fmt.Errorf("%d contents for more steps", len(fds))
			}
			out[i] = fds[next]
			next++
		}
	}
	return out, nil
}
