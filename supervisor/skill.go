package supervisor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"mvdan.cc/sh/v3/syntax"

	"sandboxd/approval"
	"sandboxd/audit"
	"sandboxd/shell"
)

// Skill is a file whose permissions an agent wants for a turn (R-SH-05).
type Skill struct {
	Path  string
	Allow []string // as in [permissions] allow
}

// maxSkill bounds what is read of a skill's file.
const maxSkill = 4 << 20

// useSkills puts each skill's list to a person, as one question about the
// file's content and the list. A yes grants it until the turn ends; an answer
// of a wider scope holds for the same content and list again. It returns when
// every list is granted, refused, or waits for a person.
func (s *Supervisor) useSkills(sess *Session, peer Peer, turn int, skills []Skill) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.work.Done()
	var calls []approval.Call
	var patterns [][]approval.Pattern
	for _, k := range skills {
		c, p, err := s.skillCall(sess, turn, k)
		if err != nil {
			return err
		}
		calls, patterns = append(calls, c), append(patterns, p)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	sess.mu.Lock()
	sess.endTurn = cancel
	sess.mu.Unlock()
	for i := range calls {
		waits := make(chan struct{})
		e := &Exec{Session: sess, Peer: peer, log: newEventLog(0)}
		calls[i].Named = func(id string) { s.asking.add(e, id) }
		calls[i].Asked = func(approval.Pending) { close(waits) }
		done := make(chan error, 1)
		s.work.Go(func() {
			defer s.asking.forget(e)
			done <- s.grantSkill(ctx, sess, peer, calls[i], patterns[i])
		})
		select {
		case <-waits:
		case err := <-done:
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// grantSkill decides about one skill and, where that is a yes, grants its list
// for the turn in which it was asked for.
func (s *Supervisor) grantSkill(ctx context.Context, sess *Session, peer Peer, call approval.Call, patterns []approval.Pattern) error {
	d, err := s.Approval.Decide(ctx, call)
	if err != nil {
		return err
	}
	rec := audit.Record{Session: sess.ID, Turn: call.Turn, Agent: sess.Agent.String(), Claimed: sess.Agent.ID == "",
		Peer: auditPeer(peer), Tool: call.Tool, Subject: call.Request.Description, Digest: call.Digest}
	if err := s.record(withDecision(rec, d)); err != nil || !d.Approved {
		return err
	}
	by := d.By
	if by == (approval.Identity{}) { // a mode or a rule said so
		by = approval.Identity{Principal: sess.Principal(), Name: string(d.Reason)}
	}
	for _, p := range patterns {
		if ctx.Err() != nil || sess.Turn() != call.Turn {
			return nil // the turn is over
		}
		_, err := s.Approval.AddGrant(by, approval.Grant{Effect: approval.Allow, Scope: approval.ScopeTurn, Match: p, Principal: sess.Principal(),
			Session: sess.ID, Source: "skill " + call.Payload["path"].(string), Why: d.Note, Request: d.Request, Description: p.String()})
		if err != nil {
			return err
		}
	}
	return nil
}

// skillCall is the question about a skill, and what a yes grants.
func (s *Supervisor) skillCall(sess *Session, turn int, k Skill) (approval.Call, []approval.Pattern, error) {
	bad := func(format string, args ...any) (approval.Call, []approval.Pattern, error) {
		return approval.Call{}, nil, &RequestError{fmt.Sprintf("skill %q: ", k.Path) + fmt.Sprintf(format, args...)}
	}
	if !filepath.IsAbs(k.Path) {
		return bad("give its absolute path")
	}
	if len(k.Allow) == 0 {
		return bad("it asks for nothing")
	}
	sum, err := digestOfFile(k.Path)
	if err != nil {
		return bad("%s", reason(err))
	}
	var patterns []approval.Pattern
	list := make([]any, len(k.Allow))
	for i, text := range k.Allow {
		p, err := permitted(text)
		if err != nil {
			return bad("%v", err)
		}
		patterns, list[i] = append(patterns, p), text
	}
	payload := map[string]any{"path": k.Path, "sha256": sum, "allow": list}
	r := &approval.Request{Tool: "skill", Payload: payload, Reasons: []string{"until the turn ends, these run unasked"},
		Description: fmt.Sprintf("Skill %s allows itself: %s", k.Path, strings.Join(k.Allow, ", "))}
	return approval.Call{Principal: sess.Principal(), Session: sess.ID, Agent: sess.Agent, Turn: turn, Tool: "skill",
		Payload: payload, Request: r, Digest: toolDigest("skill", payload, "")}, patterns, nil
}

func digestOfFile(name string) (string, error) {
	// Not to wait at a named pipe (open(2)).
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !fi.Mode().IsRegular() || fi.Size() > maxSkill {
		return "", fmt.Errorf("it is not a file of at most %d bytes", maxSkill)
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxSkill)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// permitted is a permission as a grant. A skill can name tools, and commands
// by their words; every command at once is no list.
func permitted(text string) (approval.Pattern, error) {
	p, err := shell.ParsePermission(text)
	if err != nil {
		return approval.Pattern{}, err
	}
	command := strings.EqualFold(p.Tool, "bash")
	switch {
	case command && p.Any:
		return approval.Pattern{}, fmt.Errorf("permission %q: name the commands", text)
	case p.Any:
		return approval.Pattern{Tool: p.Tool, Any: true}, nil
	case !command:
		return approval.Pattern{}, fmt.Errorf("permission %q: only Bash takes something in parentheses here", text)
	}
	words := strings.Fields(p.Command)
	for _, w := range words {
		if q, err := syntax.Quote(w, syntax.LangBash); err != nil || q != w {
			return approval.Pattern{}, fmt.Errorf("permission %q: plain words only", text)
		}
	}
	asks := approval.Equal("asks", []any{words})
	if p.Prefix {
		asks = approval.Prefix("asks", words...)
	}
	// A skill's list is of what the agent may run, which it may do itself.
	return approval.Pattern{Tool: "bash", Where: []approval.Condition{asks, approval.Equal("plain", true)}, Free: []string{"line", "argv", "tty", "cwd", "elsewhere"}}, nil
}
