package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"sandboxd/ipc"
	"sandboxd/ipc/ipctest"
)

// office is a daemon for approvers, with questions of the test's own making.
// It answers as the real one does, and writes down what it was sent.
type office struct {
	*ipctest.Backend
	mu        sync.Mutex
	changed   *sync.Cond
	questions []ipc.Approval
	answers   []ipc.Answer
	revoked   []string
	resumed   []string
	watchers  map[*watcher]bool
}

func newOffice(questions ...ipc.Approval) *office {
	o := &office{Backend: ipctest.New(), questions: questions, watchers: map[*watcher]bool{}}
	o.changed = sync.NewCond(&o.mu)
	return o
}

func (o *office) find(id string) int {
	return slices.IndexFunc(o.questions, func(q ipc.Approval) bool { return q.ID == id })
}

func (o *office) Approvals(context.Context, ipc.Caller) (ipc.ApprovalList, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := ipc.ApprovalList{Approvals: []ipc.Approval{}}
	for _, q := range o.questions {
		list.Approvals = append(list.Approvals, brief(q))
	}
	return list, nil
}

// brief is a question as lists hold it.
func brief(q ipc.Approval) ipc.Approval {
	q.Presentation, q.Past = nil, nil
	q.Suggestions = slices.Clone(q.Suggestions)
	for i := range q.Suggestions {
		q.Suggestions[i].Past = nil
	}
	return q
}

func (o *office) Approval(_ context.Context, _ ipc.Caller, r ipc.ApprovalRequest) (ipc.Approval, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := o.find(r.ID); i >= 0 {
		return o.questions[i], nil
	}
	return ipc.Approval{}, &ipc.Error{Code: ipc.CodeNotFound, Message: "there is no such question"}
}

func (o *office) Decide(_ context.Context, c ipc.Caller, a ipc.Answer) (ipc.Decided, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := o.find(a.ID)
	if i < 0 {
		return ipc.Decided{}, &ipc.Error{Code: ipc.CodeAlreadyDecided, Message: "already decided by somebody else"}
	}
	q := &o.questions[i]
	if a.Rev != q.Rev || a.Hash != q.Hash {
		return ipc.Decided{}, &ipc.Error{Code: ipc.CodeStale, Message: "the question has changed"}
	}
	o.answers = append(o.answers, a)
	o.changed.Broadcast()
	if a.Allow && q.Confirm && !a.Confirm {
		return ipc.Decided{ID: a.ID, ConfirmAgain: true, Rev: q.Rev}, nil
	}
	d := ipc.Decided{ID: a.ID, Allowed: a.Allow, Scope: a.Scope, Note: a.Note, Mode: a.Mode, By: "uid 0 (pid 7)", How: "person", Time: time.Now()}
	if a.Scope != "" && a.Scope != "once" && a.Scope != "batch" {
		d.Grant = "g-1"
	}
	if a.Scope == "batch" && !a.Allow {
		d.Reason, d.Why = "quit", fmt.Sprintf("stopped by uid 0; completed %d of %d operations, cancelled %d", q.Batch.Index, q.Batch.Total, q.Batch.Total-q.Batch.Index)
	}
	o.questions = slices.Delete(o.questions, i, i+1)
	kind := ipc.NewsDenied
	if a.Allow {
		kind = ipc.NewsGranted
	}
	o.tell(ipc.News{Type: kind, Decision: &d})
	return d, nil
}

// put adds a question, or replaces it by its new state.
func (o *office) put(q ipc.Approval) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := o.find(q.ID); i >= 0 {
		o.questions[i] = q
	} else {
		o.questions = append(o.questions, q)
	}
	b := brief(q)
	o.tell(ipc.News{Type: ipc.NewsRequested, Approval: &b})
}

// sent waits for n answers.
func (o *office) sent(n int) []ipc.Answer {
	timer := time.AfterFunc(30*time.Second, o.changed.Broadcast)
	defer timer.Stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	for end := time.Now().Add(30 * time.Second); len(o.answers) < n && time.Now().Before(end); {
		o.changed.Wait()
	}
	return slices.Clone(o.answers)
}

func (o *office) Revoke(_ context.Context, _ ipc.Caller, r ipc.GrantRequest) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.revoked = append(o.revoked, r.ID)
	return nil
}

func (o *office) Turn(_ context.Context, _ ipc.Caller, r ipc.TurnRequest) (ipc.Turn, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.resumed = append(o.resumed, r.Session)
	return ipc.Turn{Turn: 2, Cleared: "stopped"}, nil
}

// watcher is one stream of news.
type watcher struct {
	office *office
	news   chan ipc.News
}

// tell is called with mu held.
func (o *office) tell(n ipc.News) {
	n.Time = time.Now()
	for w := range o.watchers {
		w.news <- n
	}
}

func (o *office) News(context.Context, ipc.Caller, ipc.NewsRequest) (ipc.Stream[ipc.News], error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := &watcher{o, make(chan ipc.News, 200)}
	for _, q := range o.questions {
		b := brief(q)
		w.news <- ipc.News{Type: ipc.NewsRequested, Approval: &b}
	}
	o.watchers[w] = true
	return w, nil
}

func (w *watcher) Next(ctx context.Context) (ipc.News, error) {
	select {
	case n := <-w.news:
		return n, nil
	case <-ctx.Done():
		return ipc.News{}, ctx.Err()
	}
}

func (w *watcher) Close() error {
	w.office.mu.Lock()
	defer w.office.mu.Unlock()
	delete(w.office.watchers, w)
	return nil
}
