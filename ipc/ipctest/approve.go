package ipctest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"sandboxd/ipc"
)

// ask puts a question and waits for its answer.
func (b *Backend) ask(ctx context.Context, c ipc.Caller, description string) (ipc.Decided, error) {
	b.mu.Lock()
	q := &question{decided: make(chan struct{})}
	q.ID = b.id("approval")
	q.Approval = ipc.Approval{
		ID: q.ID, Rev: 1, Hash: "hash of " + q.ID, Tool: "bash", Description: description, Claimed: true,
		UID: c.Peer.UID, PID: c.Peer.PID, Risk: "low", Created: time.Now().UTC(), Scopes: []string{"once", "session"},
	}
	b.questions[q.ID] = q
	b.mu.Unlock()
	b.tell(ipc.News{Type: ipc.NewsRequested, Approval: &q.Approval})
	select {
	case <-q.decided:
		return q.outcome, nil
	case <-ctx.Done():
		b.mu.Lock()
		delete(b.questions, q.ID)
		b.mu.Unlock()
		b.tell(ipc.News{Type: ipc.NewsDenied, Decision: &ipc.Decided{ID: q.ID, Reason: "cancelled"}})
		return ipc.Decided{}, ctx.Err()
	}
}

func (b *Backend) tell(n ipc.News) {
	b.news.put(func(seq uint64) ipc.News {
		n.Seq, n.Time = seq, time.Now().UTC()
		return n
	}, nil)
}

// Approvals implements [ipc.Backend].
func (b *Backend) Approvals(context.Context, ipc.Caller) (ipc.ApprovalList, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := ipc.ApprovalList{Approvals: []ipc.Approval{}}
	for _, q := range b.questions {
		list.Approvals = append(list.Approvals, q.Approval)
	}
	return list, nil
}

// Approval implements [ipc.Backend].
func (b *Backend) Approval(_ context.Context, _ ipc.Caller, r ipc.ApprovalRequest) (ipc.Approval, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q, ok := b.questions[r.ID]
	if !ok {
		return ipc.Approval{}, notFound("question")
	}
	a := q.Approval
	a.Presentation = &ipc.Presentation{Kind: "text", Content: a.Description}
	return a, nil
}

// Decide implements [ipc.Backend].
func (b *Backend) Decide(_ context.Context, c ipc.Caller, a ipc.Answer) (ipc.Decided, error) {
	b.mu.Lock()
	q, ok := b.questions[a.ID]
	switch {
	case !ok:
		b.mu.Unlock()
		return ipc.Decided{}, notFound("question")
	case q.outcome.ID != "":
		b.mu.Unlock()
		return ipc.Decided{}, &ipc.Error{Code: ipc.CodeAlreadyDecided, Message: "already decided by " + q.outcome.By}
	case a.Rev != q.Rev || a.Hash != q.Hash:
		b.mu.Unlock()
		return ipc.Decided{}, &ipc.Error{
			Code:    ipc.CodeStale,
			Message: "the question has changed",
			Hint:    "look at it again",
		}
	}
	b.changed++
	q.outcome = ipc.Decided{
		ID: q.ID, Allowed: a.Allow, Reason: "answered", Scope: a.Scope, By: fmt.Sprintf("uid %d", c.Peer.UID),
		How: "person", Note: a.Note, Mode: a.Mode, Time: time.Now().UTC(),
	}
	if a.Scope == "session" {
		g := ipc.Grant{
			ID:    b.id("grant"),
			Allow: a.Allow,
			Scope: a.Scope,
			Tool:  q.Tool,
			What:  q.Description,
			By:    q.outcome.By,
		}
		b.grants[g.ID] = g
		q.outcome.Grant = g.ID
	}
	close(q.decided)
	outcome := q.outcome
	b.mu.Unlock()
	kind := ipc.NewsDenied
	if a.Allow {
		kind = ipc.NewsGranted
	}
	b.tell(ipc.News{Type: kind, Decision: &outcome})
	return outcome, nil
}

// News implements [ipc.Backend].
func (b *Backend) News(_ context.Context, _ ipc.Caller, r ipc.NewsRequest) (ipc.Stream[ipc.News], error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.streams++
	gap := func(from, to uint64) ipc.News {
		return ipc.News{Seq: to, Type: ipc.NewsGap, Gap: &ipc.Gap{From: from, To: to}}
	}
	closed := func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.streams--
	}
	return b.news.open(r.After+1, false, gap, closed), nil
}

// Grants implements [ipc.Backend].
func (b *Backend) Grants(context.Context, ipc.Caller) (ipc.GrantList, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := ipc.GrantList{Grants: []ipc.Grant{}}
	for _, g := range b.grants {
		list.Grants = append(list.Grants, g)
	}
	return list, nil
}

// Grant implements [ipc.Backend].
func (b *Backend) Grant(_ context.Context, _ ipc.Caller, r ipc.GrantRequest) (ipc.Grant, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g, ok := b.grants[r.ID]
	if !ok {
		return g, notFound("grant")
	}
	g.Explain = []string{"somebody said so"}
	return g, nil
}

// Revoke implements [ipc.Backend].
func (b *Backend) Revoke(_ context.Context, _ ipc.Caller, r ipc.GrantRequest) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.grants[r.ID]; !ok {
		return notFound("grant")
	}
	b.changed++
	delete(b.grants, r.ID)
	return nil
}

// Stats implements [ipc.Backend].
func (b *Backend) Stats(context.Context, ipc.Caller) (ipc.Stats, error) {
	return ipc.Stats{Overall: ipc.Counts{Total: 1}}, nil
}

// Advice implements [ipc.Backend].
func (b *Backend) Advice(context.Context, ipc.Caller) (ipc.Advice, error) {
	return ipc.Advice{
		Decisions: 7,
		Asked:     3,
		Proposals: []ipc.Proposal{{List: "presets.use", Value: "go", Questions: 3}},
	}, nil
}

// ResetStats implements [ipc.Backend].
func (b *Backend) ResetStats(context.Context, ipc.Caller) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed++
	return nil
}

// Audit implements [ipc.Backend]: one record that repeats the request.
func (b *Backend) Audit(_ context.Context, _ ipc.Caller, r ipc.AuditRequest) (ipc.AuditPage, error) {
	raw, err := json.Marshal(r)
	return ipc.AuditPage{Records: []json.RawMessage{raw}}, err
}

// VerifyAudit implements [ipc.Backend].
func (b *Backend) VerifyAudit(_ context.Context, _ ipc.Caller, r ipc.AuditVerifyRequest) (ipc.AuditVerdict, error) {
	return ipc.AuditVerdict{OK: true, Seq: r.AnchorSeq, Hash: r.AnchorHash}, nil
}

// Mode implements [ipc.Backend].
func (b *Backend) Mode(_ context.Context, _ ipc.Caller, r ipc.ModeRequest) (ipc.Mode, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return ipc.Mode{Session: r.Session, Mode: b.mode}, nil
}

// SetMode implements [ipc.Backend].
func (b *Backend) SetMode(_ context.Context, _ ipc.Caller, m ipc.Mode) (ipc.Mode, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed++
	m.Was, b.mode = b.mode, m.Mode
	return m, nil
}

// Trusted implements [ipc.Backend].
func (b *Backend) Trusted(context.Context, ipc.Caller) (ipc.TrustList, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := ipc.TrustList{Trusted: []ipc.Trust{}}
	for _, t := range b.trusted {
		list.Trusted = append(list.Trusted, t)
	}
	return list, nil
}

// Trust implements [ipc.Backend].
func (b *Backend) Trust(_ context.Context, c ipc.Caller, r ipc.TrustRequest) (ipc.Trust, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed++
	t := ipc.Trust{Dir: r.Dir, UID: c.Peer.UID}
	b.trusted[r.Dir] = t
	return t, nil
}

// Invite implements [ipc.Backend]. There is no gateway here.
func (b *Backend) Invite(context.Context, ipc.Caller) (ipc.Invitation, error) {
	return ipc.Invitation{
		URL:     "http://127.0.0.1:1/#secret",
		Address: "http://127.0.0.1:1/",
		Expires: time.Now().Add(time.Minute),
	}, nil
}

// FrontEnds implements [ipc.Backend].
func (b *Backend) FrontEnds(context.Context, ipc.Caller) (ipc.FrontEndList, error) {
	return ipc.FrontEndList{FrontEnds: []ipc.FrontEnd{}}, nil
}

// AddFrontEnd implements [ipc.Backend].
func (b *Backend) AddFrontEnd(_ context.Context, c ipc.Caller, r ipc.FrontEndRequest) (ipc.FrontEnd, error) {
	return ipc.FrontEnd{Name: r.Name, Role: r.Role, UID: c.Peer.UID, Created: time.Now(), Token: "token"}, nil
}

// RemoveFrontEnd implements [ipc.Backend].
func (b *Backend) RemoveFrontEnd(_ context.Context, _ ipc.Caller, r ipc.FrontEndName) error {
	return &ipc.Error{Code: ipc.CodeNotFound, Message: "there is no such front end"}
}

// Distrust implements [ipc.Backend].
func (b *Backend) Distrust(_ context.Context, _ ipc.Caller, r ipc.TrustRequest) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.trusted[r.Dir]; !ok {
		return notFound("directory")
	}
	b.changed++
	delete(b.trusted, r.Dir)
	return nil
}

// Setting implements [ipc.Backend].
func (b *Backend) Setting(_ context.Context, _ ipc.Caller, r ipc.SettingRequest) (ipc.EffectiveValue, error) {
	return ipc.EffectiveValue{Key: r.Key, Value: r.Dir}, nil
}

// Change implements [ipc.Backend].
func (b *Backend) Change(_ context.Context, _ ipc.Caller, r ipc.SettingsChange) (ipc.SettingsChanged, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed++
	return ipc.SettingsChanged{Kept: r.Dir, Values: []ipc.EffectiveValue{}}, nil
}

// Reload implements [ipc.Backend].
func (b *Backend) Reload(context.Context, ipc.Caller) (ipc.Reloaded, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed++
	return ipc.Reloaded{Config: []ipc.ConfigFile{}}, nil
}

// Shutdown implements [ipc.Backend]. It only counts.
func (b *Backend) Shutdown(context.Context, ipc.Caller, ipc.ShutdownRequest) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed++
	return nil
}

var _ ipc.Backend = (*Backend)(nil)
