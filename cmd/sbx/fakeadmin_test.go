package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"sandboxd/ipc"
	"sandboxd/ipc/ipctest"
)

// fakeAdmin is a daemon for approvers, with questions that the real one would not
// send. It writes down what it was answered.
type fakeAdmin struct {
	*ipctest.Backend
	mu        sync.Mutex
	changed   *sync.Cond
	questions []ipc.Approval
	answers   []ipc.Answer
}

func newFakeAdmin(questions ...ipc.Approval) *fakeAdmin {
	o := &fakeAdmin{Backend: ipctest.New(), questions: questions}
	o.changed = sync.NewCond(&o.mu)
	return o
}

func (o *fakeAdmin) find(id string) int {
	return slices.IndexFunc(o.questions, func(q ipc.Approval) bool { return q.ID == id })
}

func (o *fakeAdmin) Approvals(context.Context, ipc.Caller) (ipc.ApprovalList, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return ipc.ApprovalList{Approvals: slices.Clone(o.questions)}, nil
}

func (o *fakeAdmin) Approval(_ context.Context, _ ipc.Caller, r ipc.ApprovalRequest) (ipc.Approval, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := o.find(r.ID); i >= 0 {
		return o.questions[i], nil
	}
	return ipc.Approval{}, &ipc.Error{Code: ipc.CodeNotFound, Message: "there is no such question"}
}

func (o *fakeAdmin) Decide(_ context.Context, _ ipc.Caller, a ipc.Answer) (ipc.Decided, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := o.find(a.ID)
	if i < 0 {
		return ipc.Decided{}, &ipc.Error{Code: ipc.CodeAlreadyDecided, Message: "already decided by somebody else"}
	}
	o.answers = append(o.answers, a)
	o.changed.Broadcast()
	o.questions = slices.Delete(o.questions, i, i+1)
	return ipc.Decided{ID: a.ID, Allowed: a.Allow, Scope: a.Scope, Note: a.Note, Mode: a.Mode, How: "person",
		Time: time.Now()}, nil
}

// sent waits for n answers.
func (o *fakeAdmin) sent(n int) []ipc.Answer {
	timer := time.AfterFunc(30*time.Second, o.changed.Broadcast)
	defer timer.Stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	for end := time.Now().Add(30 * time.Second); len(o.answers) < n && time.Now().Before(end); {
		o.changed.Wait()
	}
	return slices.Clone(o.answers)
}

// watcher is a stream of news: that all questions are there, and no more.
type watcher struct{}

func (o *fakeAdmin) News(context.Context, ipc.Caller, ipc.NewsRequest) (ipc.Stream[ipc.News], error) {
	return &watcher{}, nil
}

func (w *watcher) Next(ctx context.Context) (ipc.News, error) {
	<-ctx.Done()
	return ipc.News{}, ctx.Err()
}

func (w *watcher) Close() error { return nil }
