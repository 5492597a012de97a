package gateway

import (
	"context"
	"slices"

	"sandboxd/ipc"
)

// remote is the backend as the gateway offers it: stopping the daemon and switching its questions
// off need a terminal.
type remote struct {
	ipc.Backend
	g *Gateway
}

func atTerminal(what string) error {
	return &ipc.Error{Code: ipc.CodeForbidden, Message: what + " takes a terminal", Hint: "use sbx there"}
}

func (b *remote) Shutdown(context.Context, ipc.Caller, ipc.ShutdownRequest) error {
	return atTerminal("ending the daemon")
}

func (b *remote) Reload(context.Context, ipc.Caller) (ipc.Reloaded, error) {
	return ipc.Reloaded{}, atTerminal("loading the configuration")
}

func (b *remote) Trust(context.Context, ipc.Caller, ipc.TrustRequest) (ipc.Trust, error) {
	return ipc.Trust{}, atTerminal("trusting a directory")
}

func (b *remote) Change(context.Context, ipc.Caller, ipc.SettingsChange) (ipc.SettingsChanged, error) {
	return ipc.SettingsChanged{}, atTerminal("changing the configuration")
}

func (b *remote) Setting(context.Context, ipc.Caller, ipc.SettingRequest) (ipc.EffectiveValue, error) {
	return ipc.EffectiveValue{}, atTerminal("reading the configuration")
}

func (b *remote) Invite(context.Context, ipc.Caller) (ipc.Invitation, error) {
	return ipc.Invitation{}, atTerminal("inviting another browser")
}

func (b *remote) AddFrontEnd(context.Context, ipc.Caller, ipc.FrontEndRequest) (ipc.FrontEnd, error) {
	return ipc.FrontEnd{}, atTerminal("adding a front end")
}

func (b *remote) SetMode(ctx context.Context, c ipc.Caller, m ipc.Mode) (ipc.Mode, error) {
	if m.Mode == "approve_all" {
		return ipc.Mode{}, atTerminal("approving everything")
	}
	return b.Backend.SetMode(ctx, c, m)
}

// Decide refuses the process that asks, where it is found behind the connection.
func (b *remote) Decide(ctx context.Context, c ipc.Caller, a ipc.Answer) (ipc.Decided, error) {
	who, ok := ctx.Value(callerKey{}).(caller)
	if !ok || who.process == nil || b.g.related == nil {
		return b.Backend.Decide(ctx, c, a)
	}
	ids := []string{a.ID}
	if a.Scope == "group" { // further questions of the session go with it
		open, err := b.Backend.Approvals(ctx, c)
		if err != nil {
			return ipc.Decided{}, err
		}
		ids = append(ids, sameSession(open.Approvals, a.ID)...)
	}
	for _, id := range ids {
		if why := b.g.related(*who.process, id); why != "" {
			return ipc.Decided{}, &ipc.Error{Code: ipc.CodeSelfApproval, Message: why + " can't answer",
				Hint: "a person answers, in a browser or with sbx approve"}
		}
	}
	return b.Backend.Decide(ctx, c, a)
}

// sameSession returns the ids of the open questions in the session of id.
func sameSession(open []ipc.Approval, id string) (ids []string) {
	i := slices.IndexFunc(open, func(q ipc.Approval) bool { return q.ID == id })
	for _, q := range open {
		if i >= 0 && q.Session == open[i].Session {
			ids = append(ids, q.ID)
		}
	}
	return ids
}

// watcher only looks on.
type watcher struct{ *remote }

var lookOn = &ipc.Error{Code: ipc.CodeForbidden, Message: "this front end may only look on",
	Hint: "its role is watcher; sbx web add NAME --role approver makes one that may answer"}

func (b *watcher) Decide(context.Context, ipc.Caller, ipc.Answer) (ipc.Decided, error) {
	return ipc.Decided{}, lookOn
}
func (b *watcher) Revoke(context.Context, ipc.Caller, ipc.GrantRequest) error   { return lookOn }
func (b *watcher) ResetStats(context.Context, ipc.Caller) error                 { return lookOn }
func (b *watcher) Distrust(context.Context, ipc.Caller, ipc.TrustRequest) error { return lookOn }
func (b *watcher) CancelExec(context.Context, ipc.Caller, ipc.CancelRequest) error {
	return lookOn
}
func (b *watcher) StopJob(context.Context, ipc.Caller, ipc.JobRequest) (ipc.Job, error) {
	return ipc.Job{}, lookOn
}
func (b *watcher) SetMode(context.Context, ipc.Caller, ipc.Mode) (ipc.Mode, error) {
	return ipc.Mode{}, lookOn
}

// File lists what can be undone.
func (b *watcher) File(ctx context.Context, c ipc.Caller, r ipc.FileRequest) (ipc.FileResult, error) {
	if !r.DryRun {
		return ipc.FileResult{}, lookOn
	}
	return b.remote.File(ctx, c, r)
}
func (b *watcher) Land(context.Context, ipc.Caller, ipc.LandRequest) (ipc.FileResult, error) {
	return ipc.FileResult{}, lookOn
}
func (b *watcher) Turn(context.Context, ipc.Caller, ipc.TurnRequest) (ipc.Turn, error) {
	return ipc.Turn{}, lookOn
}
func (b *watcher) CloseSession(context.Context, ipc.Caller, ipc.CloseRequest) (ipc.Closed, error) {
	return ipc.Closed{}, lookOn
}
func (b *watcher) RemoveFrontEnd(context.Context, ipc.Caller, ipc.FrontEndName) error { return lookOn }
