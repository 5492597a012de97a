package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"syscall"

	"sandboxd/cmd/sbx/internal/ask"
	"sandboxd/cmd/sbx/internal/term"
	"sandboxd/ipc"
)

// approveAll asks the person at this terminal for one request after the other.
func (a *app) approveAll(ctx context.Context, once, plain bool) error {
	tty, err := term.Open()
	if err != nil {
		return fmt.Errorf("%w; answer one request at a time: sbx approve ID --allow or --deny (sbx pending lists them)", err)
	}
	defer tty.Close()
	tty.MakePlain(plain)
	client, err := a.approver(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	stream, err := client.News(ctx, ipc.NewsRequest{})
	if err != nil {
		return err
	}
	defer stream.Close()
	list, err := client.Approvals(ctx) // the stream repeats them; the list gives their number
	if err != nil {
		return err
	}
	if !tty.Plain {
		person := ask.Person{Terminal: tty, Approver: client}
		return ask.Queue{Person: person, ApproverAdmin: client, Once: once}.Serve(ctx, list.Approvals, stream.Next)
	}
	q := &queue{app: a, tty: tty, client: client, once: once, open: map[string]ipc.Approval{}, seen: map[string]bool{}}
	for _, p := range list.Approvals {
		q.add(p)
	}
	news, broken := make(chan ipc.News), make(chan error, 1)
	go func() { broken <- pump(ctx, stream, news) }()
	return q.serve(ctx, news, broken)
}

// pump hands the stream's news on.
func pump(ctx context.Context, stream ipc.Stream[ipc.News], news chan<- ipc.News) error {
	for {
		n, err := stream.Next(ctx)
		if err != nil {
			return err
		}
		select {
		case news <- n:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// queue holds the requests that are open, in order of arrival.
type queue struct {
	*app
	tty    *term.Terminal
	client *ipc.Client
	once   bool

	order    []string
	open     map[string]ipc.Approval
	seen     map[string]bool // was on this terminal
	asked    string          // the one that is on the screen
	stop     context.CancelFunc
	done     chan error
	reported bool // that there is nothing to do
}

func (q *queue) add(a ipc.Approval) {
	if _, known := q.open[a.ID]; !known && !q.seen[a.ID] {
		q.order = append(q.order, a.ID)
	}
	q.open[a.ID] = a
}

// remove takes a request out that is decided; if it is on the screen, its
// question ends.
func (q *queue) remove(id, by string) {
	delete(q.open, id)
	if id == q.asked && q.stop != nil {
		if by != "" {
			fmt.Fprintln(q.tty)
			q.note("already decided by %s", by)
		}
		q.stop()
	}
}

func (q *queue) serve(ctx context.Context, news <-chan ipc.News, broken <-chan error) error {
	defer func() {
		if q.done != nil { // the terminal gets its settings back first
			q.stop()
			<-q.done
		}
	}()
	for {
		if q.asked == "" && !q.next(ctx) && q.once {
			return nil
		}
		select {
		case n := <-news:
			q.take(n)
		case <-ctx.Done():
			return nil // Ctrl-C, between two questions
		case err := <-broken:
			if ctx.Err() != nil {
				return nil
			}
			if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
				return fmt.Errorf("the daemon has left; sbx approve waits again when there is something to do")
			}
			return err
		case err := <-q.done:
			q.asked, q.done = "", nil
			if err != nil {
				q.complain(err)
			}
		}
	}
}

func (q *queue) take(n ipc.News) {
	switch {
	case n.Approval != nil:
		q.add(*n.Approval)
	case n.Decision != nil && n.Decision.ID != "":
		q.remove(n.Decision.ID, n.Decision.By)
	}
}

// next puts the next request on the screen; false: there is none.
func (q *queue) next(ctx context.Context) bool {
	for len(q.order) > 0 {
		id := q.order[0]
		q.order = q.order[1:]
		a, ok := q.open[id]
		if !ok {
			continue
		}
		q.seen[id], q.asked, q.reported = true, id, false
		if n := len(q.open) - 1; n > 0 {
			fmt.Fprintf(q.tty, "(%s after this one)\n", plural(n, "request"))
		}
		ctx, stop := context.WithCancel(ctx)
		q.stop, q.done = stop, make(chan error, 1)
		go func(done chan<- error) {
			defer stop()
			_, err := ask.Person{Terminal: q.tty, Approver: q.client}.Ask(ctx, a)
			done <- err
		}(q.done)
		return true
	}
	if !q.reported && !q.once {
		fmt.Fprintln(q.tty, "Waiting for requests. Ctrl-C leaves.")
		q.reported = true
	}
	return false
}
