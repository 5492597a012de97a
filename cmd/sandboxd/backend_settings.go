package main

import (
	"context"
	"fmt"
	"path/filepath"

	"sandboxd/approval"
	"sandboxd/approval/answerer"
	"sandboxd/config"
	"sandboxd/ipc"
	"sandboxd/supervisor"
)

// Setting returns a setting as it is in force for the sessions of a directory.
func (b *backend) Setting(_ context.Context, _ ipc.Caller, r ipc.SettingRequest) (ipc.EffectiveValue, error) {
	return b.effective(r.Key, supervisor.Where{UID: servedUser(), Dir: r.Dir})
}

func (b *backend) effective(key string, at supervisor.Where) (ipc.EffectiveValue, error) {
	cfg, err := b.sup.ConfigFor(at)
	if err != nil {
		return ipc.EffectiveValue{}, wireError(err)
	}
	value, from, err := cfg.Value(key)
	if err != nil {
		return ipc.EffectiveValue{}, &ipc.Error{Code: ipc.CodeBadRequest, Message: err.Error()}
	}
	return ipc.EffectiveValue{Key: key, Value: value, From: from.String(), PerProject: config.PerProject(key)}, nil
}

// Change changes settings on a person's word. No process tree with a session changes what its own commands may do
// (R-IP-01), wherever the change would be kept: the person at the session's very terminal may.
func (b *backend) Change(_ context.Context, c ipc.Caller, r ipc.SettingsChange) (ipc.SettingsChanged, error) {
	var none ipc.SettingsChanged
	if c.Peer.UID != servedUser() {
		return none, &ipc.Error{Code: ipc.CodeForbidden,
			Message: "the configuration is changed by the user whose it is", Hint: "that user runs sbx config set"}
	}
	scopes := 0
	for _, named := range []bool{r.User, r.Session != "", r.Dir != ""} {
		if named {
			scopes++
		}
	}
	if scopes != 1 || r.Dir != "" && !filepath.IsAbs(r.Dir) {
		return none, &ipc.Error{Code: ipc.CodeBadRequest,
			Message: "say for which project (an absolute path), session, or user"}
	}
	for _, s := range b.sup.Sessions(servedUser()) {
		if related := relatedToSession(c.Peer, s); related != answerer.Unrelated && !b.ownTerminal(c.Peer, s) {
			return none, &ipc.Error{Code: ipc.CodeSelfApproval, Hint: "in another terminal",
				Message: string(related) + " can't change the configuration"}
		}
	}
	at := supervisor.Where{UID: servedUser(), Dir: r.Dir, By: identity(c, approval.ViaTerminal).String()}
	if r.Session != "" {
		var err error
		if at.Session, err = b.sessionToChange(c, r.Session); err != nil {
			return none, err
		}
	}
	var edits []config.Edit
	for _, e := range r.Edits {
		edits = append(edits, config.Edit{Key: e.Key, Do: config.Change(e.Do), Values: e.Values})
	}
	kept, err := b.sup.Change(at, edits)
	if err != nil {
		return none, &ipc.Error{Code: ipc.CodeBadRequest, Message: err.Error()}
	}
	if r.User {
		if err := b.reload(); err != nil {
			return none, wireError(err)
		}
	}
	changed := ipc.SettingsChanged{Kept: kept, Values: []ipc.EffectiveValue{}}
	for _, e := range r.Edits {
		v, err := b.effective(e.Key, at)
		if err != nil {
			return none, err
		}
		changed.Values = append(changed.Values, v)
	}
	return changed, nil
}

// sessionToChange finds a session by its id, or that of the caller's terminal.
func (b *backend) sessionToChange(c ipc.Caller, id string) (*supervisor.Session, error) {
	if id != "here" {
		return b.anySession(c, id)
	}
	var found *supervisor.Session
	for _, s := range b.sup.Sessions(servedUser()) {
		if b.ownTerminal(c.Peer, s) {
			found = s
		}
	}
	if found == nil {
		return nil, &ipc.Error{Code: ipc.CodeNotFound, Message: "this terminal has no session",
			Hint: fmt.Sprintf("sbx session ls lists them; name one: --session=%s", "ID")}
	}
	return found, nil
}
