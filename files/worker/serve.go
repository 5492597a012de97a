package worker

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"sandboxd/files"
	"sandboxd/files/tree"
	"sandboxd/internal/fdconn"
)

// Serve answers the daemon until it hangs up, which is nil. It closes conn.
func Serve(conn *net.UnixConn) error {
	defer conn.Close()
	s := &server{link: link{conn}, umask: umask()}
	defer s.close()
	for {
		var q question
		body, fds, err := s.link.receive(&q)
		if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("file worker: %w", err)
		}
		r, content := s.answer(q, body, fds)
		fdconn.Close(fds)
		err = s.link.send(r, content)
		if errors.Is(err, errFrame) { // of which nothing was sent
			err = s.link.send(reply{Conflict: tooLong(q.Request)}, nil)
		}
		if err != nil {
			return fmt.Errorf("file worker: %w", err)
		}
	}
}

// tooLong returns a conflict for a request whose answer exceeds a frame.
func tooLong(req *files.Request) *files.Conflict {
	c := &files.Conflict{Reason: files.TooLarge, Found: "an answer of more than can be sent", Hint: "ask for less"}
	if req != nil {
		c.Op, c.Path = req.Op, req.Path
	}
	return c
}

// server is the worker's side of one connection.
type server struct {
	link     link
	rules    *files.Rules
	trees    map[string]*tree.Tree // by root path
	unopened map[string]error      // why a root is not among them
	umask    uint32
	// run: an undo of a run is under way, which may name files in any bytes, and with several names.
	run bool
	// bulk: a change of many steps is under way, see tree.Tree.InBulk.
	bulk bool
}

func (s *server) close() {
	for _, t := range s.trees {
		t.Close()
	}
}

// answer carries one question out.
func (s *server) answer(q question, body []byte, fds []*os.File) (r reply, content []byte) {
	if q.Request != nil {
		q.Request.Content = body
	}
	if q.Verb != verbSetup && s.rules == nil {
		return reply{Error: "the worker was not set up"}, nil
	}
	var err error
	switch {
	case q.Verb == verbSetup && q.Setup != nil:
		err = s.setup(*q.Setup)
	case q.Verb == verbFacts && q.Request != nil:
		facts := s.facts(*q.Request)
		r.Facts = &facts
	case q.Verb == verbPreview && q.Request != nil:
		var p files.Preview
		if p, err = s.preview(*q.Request); err == nil {
			r.Preview, r.OldLen = &p, len(p.Old)
			content = append(append(content, p.Old...), p.New...)
		}
	case q.Verb == verbDo && q.Request != nil && q.Facts != nil:
		var out files.Result
		if out, err = s.do(*q.Request, *q.Facts); err == nil {
			r.Result, content = &out, out.Content
		}
	case q.Verb == verbUndo && q.How != nil:
		var out files.Result
		if out, err = s.undo(q.Steps, q.Blobs, *q.How); err == nil {
			r.Result = &out
		}
	case q.Verb == verbScan && q.Limits != nil:
		r, err = s.scan(string(body), fds, *q.Limits)
	case q.Verb == verbLayer && q.Layer != nil:
		r.Layer, err = s.layer(fds, *q.Layer)
	case q.Verb == verbSettle:
		r.Made = s.settle(q.Steps)
	default:
		err = fmt.Errorf("no such question: %q", q.Verb)
	}
	s.report(&r, err)
	return r, content
}

// report puts an error into a reply.
func (s *server) report(r *reply, err error) {
	if err == nil {
		return
	}
	var partial *files.PartialError
	if errors.As(err, &partial) {
		r.Done, err = partial.Done, partial.Err // the client says again where it stopped
	}
	if c := (*files.Conflict)(nil); errors.As(err, &c) {
		r.Conflict = c
		return
	}
	r.Error = err.Error()
}

func (s *server) setup(setup Setup) error {
	rules, err := files.NewRules(setup.Config, setup.Place)
	if err != nil {
		return err
	}
	trees := map[string]*tree.Tree{}
	s.unopened = map[string]error{}
	for _, root := range rules.Roots() {
		if trees[root.Path] != nil {
			continue
		}
		t, err := tree.Open(root.Path, tree.Options{ManyNames: setup.Config.HardLinks == "read"})
		if err != nil {
			// A missing root does not affect the others; paths in it will be reported as missing.
			s.unopened[root.Path] = err
			continue
		}
		trees[root.Path] = t
	}
	s.close()
	s.rules, s.trees = rules, trees
	return nil
}

// at is the tree of an absolute, clean path, and the path below it.
func (s *server) at(abs string) (*tree.Tree, string, error) {
	root, rel, ok := s.rules.Locate(abs)
	if !ok {
		return nil, "", &files.Conflict{Path: abs, Reason: files.Outside, Found: "no sandbox that holds it"}
	}
	t, ok := s.trees[root.Path]
	if !ok {
		return nil, "", &files.Conflict{Path: abs, Reason: files.NotThere,
			Found: fmt.Sprintf("no folder for the sandbox %q: %v", root.Name, s.unopened[root.Path])}
	}
	if s.run {
		t = t.OfRun()
	}
	if s.bulk {
		t = t.InBulk()
	}
	return t, rel, nil
}

// keep asks the keeper, by way of the daemon.
func (s *server) keep(steps []files.Step, old []*os.File, last bool) error {
	r := reply{Keep: true, More: !last, Steps: steps, Blobs: make([]bool, len(steps))}
	var fds []*os.File
	for i, f := range old {
		if f != nil {
			r.Blobs[i] = true
			fds = append(fds, f)
		}
	}
	got, err := s.turn(r, nil, verbKept, fds...)
	fdconn.Close(got)
	return err
}

// need asks the daemon for the kept content of a step, counted from 0.
func (s *server) need(step int) (*os.File, error) {
	fds, err := s.turn(reply{Need: step + 1}, nil, verbContent)
	if err == nil && len(fds) != 1 {
		err = fmt.Errorf("%d contents instead of one", len(fds))
	}
	if err != nil {
		fdconn.Close(fds)
		return nil, err
	}
	return fds[0], nil
}

// turn asks the daemon something in the middle of its own question.
func (s *server) turn(r reply, body []byte, want verb, fds ...*os.File) ([]*os.File, error) {
	if err := s.link.send(r, body, fds...); err != nil {
		return nil, err
	}
	var q question
	_, got, err := s.link.receive(&q)
	switch {
	case err != nil:
		return nil, err
	case q.Refused != nil:
		return got, q.Refused
	case q.Verb != want:
		return got, fmt.Errorf("%q instead of %q", q.Verb, want)
	}
	return got, nil
}

// umask reads the process's, which can only be done by setting it.
func umask() uint32 {
	m := unix.Umask(0o077)
	unix.Umask(m)
	return uint32(m)
}
