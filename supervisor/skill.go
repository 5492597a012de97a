package supervisor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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

// maxSkill bounds the bytes read of a skill's file.
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
	var lists []*skillAction
	for _, k := range skills {
		a := &skillAction{s: s, skill: k, turn: turn, waits: make(chan struct{}),
			e: &Exec{Session: sess, Peer: peer, log: newEventLog(0)}}
		var err error
		if a.call, a.list, err = s.skillCall(sess, peer, turn, k); err != nil {
			return err
		}
		lists = append(lists, a)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	sess.mu.Lock()
	sess.endTurn = cancel
	sess.mu.Unlock()
	for _, a := range lists {
		done := make(chan error, 1)
		s.work.Go(func() {
			defer s.asking.forget(a.e)
			done <- s.grantSkill(ctx, a)
		})
		select {
		case <-a.waits:
		case err := <-done:
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// skillAction is a skill's list: its digest names the file's content, the list, and the content of the files that
// its commands execute.
type skillAction struct {
	s     *Supervisor
	e     *Exec
	skill Skill
	turn  int
	call  approval.Call // as judged last
	list  []skillEntry
	once  sync.Once
	waits chan struct{} // closed when a question is open
}

func (a *skillAction) exec() *Exec { return a.e }

func (a *skillAction) judge(context.Context) (subject, error) {
	var err error
	if a.call, a.list, err = a.s.skillCall(a.e.Session, a.e.Peer, a.turn, a.skill); err != nil {
		return subject{}, err
	}
	a.call.Asked = func(approval.Pending) { a.once.Do(func() { close(a.waits) }) }
	sess := a.e.Session
	rec := audit.Record{Session: sess.ID, Turn: a.turn, Agent: sess.Agent.String(), Claimed: sess.Agent.ID == "",
		Peer: auditPeer(a.e.Peer), Tool: a.call.Tool, Subject: a.call.Request.Description, Digest: a.call.Digest}
	return subject{digest: a.call.Digest, call: a.call, record: rec}, nil
}

func (a *skillAction) decided(approval.Decision) error { return nil }

// grantSkill decides about one skill and, where that is a yes, grants its list for the turn in which it was asked for.
func (s *Supervisor) grantSkill(ctx context.Context, a *skillAction) error {
	d, err := s.authorize(ctx, a)
	if err != nil || !d.Approved {
		return err
	}
	sess := a.e.Session
	by := d.By
	if by == (approval.Identity{}) { // a mode or a rule said so
		by = approval.Identity{Principal: sess.principal(), Name: string(d.Reason)}
	}
	for _, entry := range a.list {
		if ctx.Err() != nil || sess.Turn() != a.turn {
			return nil // the turn is over
		}
		p := entry.granted()
		_, err := s.Approval.AddGrant(by, approval.Grant{Effect: approval.Allow, Scope: approval.ScopeTurn, Match: p,
			Principal: sess.principal(), Session: sess.ID, Source: "skill " + a.skill.Path, Why: d.Note, Request: d.Request,
			Description: p.String()})
		if err != nil {
			return err
		}
	}
	sess.mu.Lock()
	defer sess.mu.Unlock()
	if sess.turn == a.turn {
		sess.skills = append(sess.skills, a.list...)
	}
	return nil
}

// skillCall is the question about a skill, and the entries that a yes grants.
func (s *Supervisor) skillCall(sess *Session, peer Peer, turn int, k Skill) (approval.Call, []skillEntry, error) {
	bad := func(format string, args ...any) (approval.Call, []skillEntry, error) {
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
	var entries []skillEntry
	list, files := make([]any, len(k.Allow)), map[string]any{}
	reasons := []string{"until the turn ends, these run unasked"}
	for i, text := range k.Allow {
		entry, err := permitted(text)
		if err != nil {
			return bad("%v", err)
		}
		reasons = append(reasons, s.foreseeSkill(sess, peer, &entry)...)
		maps.Copy(files, entry.files)
		entries, list[i] = append(entries, entry), text
	}
	payload := map[string]any{"path": k.Path, "sha256": sum, "allow": list}
	if len(files) > 0 {
		payload["files"] = files
	}
	r := &approval.Request{Tool: "skill", Payload: payload, Reasons: reasons,
		Description: fmt.Sprintf("Skill %s allows itself: %s", k.Path, strings.Join(k.Allow, ", "))}
	return approval.Call{Principal: sess.principal(), Session: sess.ID, Agent: sess.Agent, Turn: turn, Tool: "skill",
		Payload: payload, Request: r, Digest: toolDigest("skill", payload, "")}, entries, nil
}

// skillEntry is one permission of a skill's list.
type skillEntry struct {
	pattern approval.Pattern
	// line is the command that it names, "" for another tool.
	line string
	// files are the project's files that the command executes, with their digests at
	// the time of the question.
	files map[string]any
}

// granted is the pattern of the grant: the files that the command executes are those
// of the question (R-AP-05).
func (k skillEntry) granted() approval.Pattern {
	p := k.pattern
	if len(k.files) > 0 {
		p.Where = append(slices.Clone(p.Where), approval.Equal("files", k.files))
	}
	return p
}

// foreseeSkill notes the files that an entry's command executes, and returns why the
// command asks in spite of a yes, or until when it does not.
func (s *Supervisor) foreseeSkill(sess *Session, peer Peer, k *skillEntry) []string {
	if k.line == "" {
		return nil
	}
	asks := func(why string) []string {
		return []string{fmt.Sprintf("%q asks in spite of a yes: %s", k.line, strings.TrimSuffix(why, "."))}
	}
	e, err := s.unstarted(sess, peer, ExecRequest{Line: k.line, callerRuns: true})
	if err != nil {
		return asks(err.Error())
	}
	j, err := s.judge(s.ctx, e)
	if err != nil {
		return asks(err.Error())
	}
	k.files, _ = j.verdict.Payload["files"].(map[string]any)
	switch v := j.verdict; {
	case v.Decision == shell.Auto:
		return nil
	case v.Decision == shell.Block:
		return []string{fmt.Sprintf("%q stays forbidden: %s", k.line, v.Why)}
	case j.trusts:
		return asks("the project is not trusted yet")
	case v.Configured || v.Payload["plain"] != true:
		return asks(v.Why)
	case v.Unseen:
		return asks("it executes code that is not shown")
	case len(k.files) > 0:
		return []string{fmt.Sprintf("%q: with %s as now; it asks after a change", k.line, filesIn(sess, k.files))}
	}
	return nil
}

// filesIn names files for a person, relative to the session's root.
func filesIn(sess *Session, files map[string]any) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		names = append(names, strings.TrimPrefix(name, sess.Root+"/"))
	}
	return strings.Join(names, ", ")
}

// beyondSkill returns why a command asks that a skill's list names: it executes other
// files, or other content, than the person saw the list with.
func (s *Session) beyondSkill(payload map[string]any) string {
	now, _ := payload["files"].(map[string]any)
	rest := maps.Clone(payload)
	delete(rest, "files")
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.skills {
		if !k.pattern.Matches("bash", rest) {
			continue
		}
		other := maps.Clone(now)
		maps.DeleteFunc(other, func(name string, sum any) bool { return k.files[name] == sum })
		if len(other) > 0 {
			return "the skill's list names it, but was approved before this content of " + filesIn(s, other)
		}
	}
	return ""
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

// permitted is a permission as an entry. A skill can name tools, and commands
// by their words; every command at once is no list.
func permitted(text string) (skillEntry, error) {
	p, err := shell.ParsePermission(text)
	if err != nil {
		return skillEntry{}, err
	}
	command := strings.EqualFold(p.Tool, "bash")
	switch {
	case command && p.Any:
		return skillEntry{}, fmt.Errorf("permission %q: name the commands", text)
	case p.Any:
		return skillEntry{pattern: approval.Pattern{Tool: p.Tool, Any: true}}, nil
	case !command:
		return skillEntry{}, fmt.Errorf("permission %q: only Bash takes something in parentheses here", text)
	}
	words := strings.Fields(p.Command)
	for _, w := range words {
		if q, err := syntax.Quote(w, syntax.LangBash); err != nil || q != w {
			return skillEntry{}, fmt.Errorf("permission %q: plain words only", text)
		}
	}
	asks := approval.Equal("asks", []any{words})
	if p.Prefix {
		asks = approval.Prefix("asks", words...)
	}
	// A skill's list has the commands that the agent may run, which it may do itself.
	return skillEntry{line: strings.Join(words, " "), pattern: approval.Pattern{Tool: "bash",
		Where: []approval.Condition{asks, approval.Equal("plain", true)},
		Free:  []string{"line", "argv", "tty", "cwd", "elsewhere"}}}, nil
}
