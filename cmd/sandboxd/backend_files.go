package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"sandboxd/approval"
	"sandboxd/files"
	"sandboxd/ipc"
	"sandboxd/supervisor"
)

func (b *backend) File(ctx context.Context, c ipc.Caller, r ipc.FileRequest) (ipc.FileResult, error) {
	place, err := placeOf(r.Batch)
	if err != nil {
		return ipc.FileResult{}, err
	}
	if c.Role == ipc.RoleApprover && r.UndoID == "" && r.DryRun {
		return ipc.FileResult{Decision: ipc.DecisionAuto, Changes: wireChanges(b.sup.Changes(nil, r.OfSession, r.Paths))}, nil
	}
	s, peer, done, err := b.inPlace(c, r.Session, r.UndoID)
	if err != nil {
		return ipc.FileResult{}, err
	}
	defer done()
	return b.file(ctx, c, peer, s, r, place)
}

func (b *backend) file(
	ctx context.Context, c ipc.Caller, peer supervisor.Peer, s *supervisor.Session, r ipc.FileRequest, place place,
) (ipc.FileResult, error) {
	if r.Op == string(files.Undo) && r.UndoID == "" && r.DryRun {
		return ipc.FileResult{Decision: ipc.DecisionAuto, Changes: wireChanges(b.sup.Changes(s, r.OfSession, r.Paths))}, nil
	}
	q, err := fileRequest(r)
	if err != nil {
		return ipc.FileResult{}, err
	}
	q.Inline, q.Batch, q.Group, q.Next = b.inline(c, s, r.Inline), place.batch, place.group, place.next
	out, err := b.sup.File(ctx, s, peer, q)
	if err != nil {
		return ipc.FileResult{}, fileError(err, out)
	}
	return wireFile(r, out), nil
}

// HeldChanges lists the changes of commands that did not land, in the session's project; for an approver, in every
// project.
func (b *backend) HeldChanges(_ context.Context, c ipc.Caller, r ipc.HeldRequest) (ipc.HeldChanges, error) {
	var s *supervisor.Session
	if c.Role != ipc.RoleApprover {
		var err error
		if s, err = b.session(c, r.Session); err != nil {
			return ipc.HeldChanges{}, err
		}
	}
	out := ipc.HeldChanges{Changes: []ipc.HeldChange{}}
	for _, h := range b.sup.HeldChanges(s) {
		out.Changes = append(out.Changes, wireHeld(h))
	}
	return out, nil
}

func (b *backend) HeldChange(ctx context.Context, c ipc.Caller, r ipc.HeldRequest) (ipc.HeldChange, error) {
	s, peer, done, err := b.inPlace(c, r.Session, r.ID)
	if err != nil {
		return ipc.HeldChange{}, err
	}
	defer done()
	h, err := b.sup.Held(ctx, s, peer, r.ID)
	if err != nil {
		return ipc.HeldChange{}, fileError(err, supervisor.FileResult{})
	}
	return wireHeld(h), nil
}

func (b *backend) Land(ctx context.Context, c ipc.Caller, r ipc.LandRequest) (ipc.FileResult, error) {
	s, peer, done, err := b.inPlace(c, r.Session, r.ID)
	if err != nil {
		return ipc.FileResult{}, err
	}
	defer done()
	q := supervisor.FileRequest{Request: files.Request{Op: files.Undo}, UndoID: r.ID, Held: true, Drop: r.Drop,
		Paths: r.Paths, CallID: r.CallID, DryRun: r.DryRun, Inline: b.inline(c, s, r.Inline), Description: r.Description}
	out, err := b.sup.File(ctx, s, peer, q)
	if err != nil {
		return ipc.FileResult{}, fileError(err, out)
	}
	return wireFile(ipc.FileRequest{}, out), nil
}

// inPlace finds the session in which a caller sees a change set, and the requester of its landing or undoing: the
// process whose command wrote it where an approver has that done, which keeps that process from answering.
func (b *backend) inPlace(
	c ipc.Caller, session, id string,
) (s *supervisor.Session, requester supervisor.Peer, done func(), err error) {
	if c.Role != ipc.RoleApprover {
		s, err = b.session(c, session)
		return s, peerOf(c.Peer), func() {}, err
	}
	s, requester, done, err = b.sup.InPlaceOf(id)
	if err != nil {
		return nil, requester, nil, fileError(err, supervisor.FileResult{})
	}
	if requester.PID == 0 { // nobody noted it
		requester = peerOf(c.Peer)
	}
	return s, requester, done, nil
}

// maxHeldPaths bounds the paths of each kind that are listed of a held change set.
const maxHeldPaths = 1000

func wireHeld(h supervisor.HeldChange) ipc.HeldChange {
	first := func(list []string) []string { return list[:min(len(list), maxHeldPaths)] }
	w := ipc.HeldChange{ID: h.ID, Exec: h.Exec, Session: h.Session, Project: h.Project, Time: h.Time, Command: h.Command,
		Why: h.Why, Digest: h.Digest, Created: first(h.Created), Modified: first(h.Modified), Deleted: first(h.Deleted),
		Count: h.Len(), Conflicts: first(h.Conflicts), Files: wireParts(h.Files)}
	return w
}

func wireChangeSet(session string, c *approval.ChangeSet) *ipc.ChangeSet {
	return &ipc.ChangeSet{ID: c.ID, Session: session, Exec: c.Exec, Project: c.Project, Digest: c.Digest,
		State: string(c.State), Why: c.Why, UndoID: c.Undo, Created: c.Created, Modified: c.Modified, Deleted: c.Deleted,
		Left: c.Left}
}

func wireParts(parts []supervisor.HeldFile) (list []ipc.HeldFile) {
	left := maxHeldText
	for _, f := range parts[:min(len(parts), maxHeldPaths)] {
		file := ipc.HeldFile{Path: f.Path, What: f.What}
		if text := wholeOf(f.Shown); text != "" && len(text) <= left {
			file.Kind, file.Content = string(f.Shown.Kind), text
			left -= len(text)
			file.Added, file.Removed = countLines(f.Shown.Kind, text)
		}
		list = append(list, file)
	}
	return list
}

// maxHeldText bounds the differences of one held change set.
const maxHeldText = 1 << 20

// countLines counts the lines that a presentation of a file adds and removes.
func countLines(kind approval.Kind, text string) (added, removed int) {
	if kind == approval.KindFileContent {
		return strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1, 0
	}
	if kind != approval.KindDiff {
		return 0, 0
	}
	_, text, _ = strings.Cut(text, "\n@@") // the head has lines that begin with signs, too
	for line := range strings.Lines(text) {
		switch line[0] {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}

// wholeOf is the whole text of a presentation.
func wholeOf(p *approval.Presentation) string {
	if p == nil {
		return ""
	}
	if full, ok := p.Metadata["full_content"].(string); ok {
		return full
	}
	return p.Content
}

// fileRequest is a request in the domain's words, without its place in a batch.
func fileRequest(r ipc.FileRequest) (supervisor.FileRequest, error) {
	content := []byte(r.Content)
	if r.Encoding == "base64" {
		var err error
		if content, err = base64.StdEncoding.DecodeString(r.Content); err != nil {
			return supervisor.FileRequest{}, &ipc.Error{Code: ipc.CodeBadRequest, Message: "content is not base64: " +
				err.Error()}
		}
	}
	q := supervisor.FileRequest{UndoID: r.UndoID, Force: r.Force, Rest: r.Rest, Paths: r.Paths, CallID: r.CallID,
		DryRun: r.DryRun, Description: r.Description, Request: files.Request{
			Op: files.Op(r.Op), Path: r.Path, To: r.To, Content: content, Exact: r.Exact, Anchor: r.Anchor, Line: r.Line,
			Before: r.Before,
			Offset: r.Offset, Limit: r.Limit, Pattern: r.Pattern, Glob: r.Glob, Context: r.Context, Recursive: r.Recursive,
			IfHash: r.IfHash, Mode: r.Mode, Parents: r.Parents}}
	for _, e := range r.Edits {
		q.Edits = append(q.Edits, files.Replacement{Find: e.Find, Replace: e.Replace, Count: e.Count})
	}
	return q, nil
}

// wireFile converts the result of an operation. Content is text if it is
// UTF-8 and the request did not ask for base64.
func wireFile(r ipc.FileRequest, f supervisor.FileResult) ipc.FileResult {
	e := wireEnforcement(f.Report)
	w := ipc.FileResult{ID: f.ID, UndoID: f.Undo, Decision: wireFileDecision(f.Decision), Why: f.Decision.Why,
		Rule: f.Verdict.Rule,
		Path: f.Path, To: f.To, Hash: f.Hash, Size: f.Size, Binary: f.Binary, Truncated: f.Truncated, Changed: f.Changed,
		Replaced:    f.Replaced,
		Enforcement: &e, Warnings: wireTexts(f.Warnings)}
	if w.Why == "" || f.Verdict.Decision == files.Block {
		w.Why = f.Verdict.Why
	}
	switch {
	case len(f.Content) == 0:
	case r.Encoding == "base64" || !utf8.Valid(f.Content):
		w.Content, w.Encoding = base64.StdEncoding.EncodeToString(f.Content), "base64"
	default:
		w.Content = string(f.Content)
	}
	w.Diff, w.Files = wholeOf(f.Shown), wireParts(f.Files)
	if f.Info != nil {
		i := wireInfo(*f.Info)
		w.Info = &i
	}
	for _, i := range f.Entries {
		w.Entries = append(w.Entries, wireInfo(i))
	}
	for _, m := range f.Matches {
		w.Matches = append(w.Matches, ipc.Match{Path: m.Path, Line: m.Line, Text: m.Text, Context: m.Context,
			Clipped: m.Clipped})
	}
	for _, why := range slices.Sorted(maps.Keys(f.Skipped)) {
		w.Skipped = append(w.Skipped, ipc.Skipped{Why: why, Count: f.Skipped[why]})
	}
	return w
}

// wireFileDecision says how it came about: auto, or ask where a person was, or
// would be, asked.
func wireFileDecision(d approval.Decision) string {
	switch {
	case d.Outcome == approval.WouldAsk, d.How == approval.HowPerson:
		return ipc.DecisionAsk
	case d.Approved:
		return ipc.DecisionAuto
	}
	return ipc.DecisionDeny
}

func wireInfo(i files.Info) ipc.FileInfo {
	return ipc.FileInfo{Path: i.Path, Type: string(i.Kind), Size: i.Size, Mode: i.Mode,
		ModTime: time.Unix(0, i.ModTime).UTC(), Target: i.Target}
}

func wireChanges(list []supervisor.Change) []ipc.Change {
	out := []ipc.Change{}
	for _, c := range list {
		out = append(out, ipc.Change{ID: c.ID, Session: c.Session, Time: c.Time, Op: c.Op, What: c.What, Undoes: c.Undoes,
			UndoneBy: c.UndoneBy, Guarded: c.Guarded, Note: c.Note,
			Project: c.Project, Exec: c.Exec})
	}
	return out
}

// conflictCodes are the codes of conflicts; the default is CodeConflict.
var conflictCodes = map[files.Reason]ipc.Code{
	files.NotThere: ipc.CodeNotFound, files.Outside: ipc.CodeForbidden, files.Forbidden: ipc.CodeForbidden,
	files.Invalid: ipc.CodeBadRequest, files.BadPath: ipc.CodeBadRequest, files.TooLarge: ipc.CodeTooLarge,
	files.Failed: ipc.CodeInternal,
}

// fileError converts the error of an operation into one with a code. The error of a
// change that was made in part says how to undo that part.
func fileError(err error, out supervisor.FileResult) error {
	var denied *supervisor.FileDenied
	var conflict *files.Conflict
	var partial *files.PartialError
	switch {
	case errors.As(err, &denied):
		e := denialError(denied.Result)
		return &e
	case errors.As(err, &partial):
		return &ipc.Error{Code: ipc.CodeConflict, Message: err.Error(),
			Hint: fmt.Sprintf("undo %s takes back what was done", out.Undo)}
	case errors.As(err, &conflict):
		code, known := conflictCodes[conflict.Reason]
		if !known {
			code = ipc.CodeConflict
		}
		return &ipc.Error{Code: code, Message: conflict.Error(), Conflict: &ipc.FileConflict{
			Reason: string(conflict.Reason), Path: conflict.Path, Expected: conflict.Expected, Found: conflict.Found,
			Line:    conflict.Line,
			Nearest: conflict.Nearest, Hint: conflict.Hint, Hash: conflict.Hash, Edit: conflict.Edit}}
	}
	return wireError(err)
}

// denialError is a refusal, in words that are ready for a model.
func denialError(r supervisor.Result) ipc.Error {
	d := wireDenial(r)
	e := ipc.Error{Code: d.Code, Message: d.Message}
	if e.Code == "" { // withdrawn before it was decided
		e.Code = ipc.CodeDenied
	}
	return e
}
