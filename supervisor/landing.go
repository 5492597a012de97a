package supervisor

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sandboxd/files"
	"sandboxd/files/store"
	"sandboxd/layer"
)

// landAsk is one reason to ask a person before a change set lands.
type landAsk struct {
	Path string `json:"path,omitempty"` // absolute; "" is the whole change set
	Why  string `json:"why"`
	// Guarded: only a person's own yes counts.
	Guarded bool `json:"guarded,omitempty"`
	// NoUndo: the landing can't be undone.
	NoUndo bool `json:"no_undo,omitempty"`
}

func (a landAsk) String() string {
	if a.Path == "" {
		return a.Why
	}
	return a.Path + ": " + a.Why
}

// askError is returned for a change set that does not land before a person was asked.
type askError struct{ asks []landAsk }

func (e *askError) Error() string {
	var list []string
	for _, a := range e.asks[:min(len(e.asks), 3)] {
		list = append(list, a.String())
	}
	if more := len(e.asks) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return "a person is to look at it before it lands: " + strings.Join(list, "; ")
}

// budgetAsk asks about a landing whose undo needs more than the undo store keeps.
func (s *Supervisor) budgetAsk(steps []files.Step) []landAsk {
	bytes, most := store.Bytes(steps), s.Undo.MostBytes()
	if most <= 0 || bytes <= most {
		return nil
	}
	return []landAsk{{NoUndo: true, Why: fmt.Sprintf("it can't be undone: that needs %s, more than files.undo.keep_bytes",
		files.SizeText(bytes))}}
}

// noUndo reports whether a person was asked about a landing that can't be undone.
func noUndo(asks []landAsk) bool {
	return slices.ContainsFunc(asks, func(a landAsk) bool { return a.NoUndo })
}

// notAsked are the reasons that a person was not asked about.
func notAsked(asks, before []landAsk) (list []landAsk) {
	asked := map[string]bool{}
	for _, a := range before {
		asked[a.Path] = true
	}
	for _, a := range asks {
		if !asked[a.Path] {
			list = append(list, a)
		}
	}
	return list
}

// The kinds of violations that a landing adds: what did not land, and what landed otherwise than the command left it.
const (
	violationNotLanded = "not_landed"
	violationAltered   = "altered"
	// violationNoUndo is the kind of what an undo lacks.
	violationNoUndo = "no_undo"
	// maxLeftBehind bounds the violations of each.
	maxLeftBehind = 20
)

// tellLeftBehind puts the objects into the result that did not land as the command left them. Those in dependencies' or
// build trees are minor.
func (r *Result) tellLeftBehind(root string, set *layer.Set) {
	if len(set.Skipped)+len(set.Altered) == 0 {
		return
	}
	built := buildTrees(root)
	add := func(kind string, notes []layer.Note) {
		for _, n := range notes[:min(len(notes), maxLeftBehind)] {
			r.Violations = append(r.Violations, Violation{
				Kind: kind, Op: "land", Object: path.Join(root, string(n.Path)), Rule: n.Reason, By: "layer", Count: 1,
				Minor: built(string(n.Path)), Hint: "a command that needs it: sbx run --direct",
			})
		}
		if more := len(notes) - maxLeftBehind; more > 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%d more paths did not land as the command left them", more))
		}
	}
	add(violationNotLanded, set.Skipped)
	add(violationAltered, set.Altered)
}

// tellUndo puts into the result what an undo of the changes lacks.
func (r *Result) tellUndo(c *Changes) {
	lacks := c.LeftOut
	if len(lacks) == 0 && !c.Covered {
		lacks = []string{c.Why}
	}
	for _, what := range lacks[:min(len(lacks), maxLeftBehind)] {
		r.Violations = append(r.Violations, Violation{Kind: violationNoUndo, Op: "undo", Object: what, Rule: "undo lacks it",
			By: "layer", Count: 1, Hint: "sbx undo restores the rest"})
	}
}

// evictedBy names the changes of the last day that can't be undone any more since the store of undo had no
// room left for a later one beside them.
func (s *Supervisor) evictedBy(id string) (warnings []string) {
	const most = 3
	list := s.Undo.Evicted(id)
	for _, r := range list[:min(len(list), most)] {
		what := string(r.Op)
		if r.Note != "" {
			what = r.Note
		}
		warnings = append(warnings, fmt.Sprintf("%s of %s can't be undone any more (%s): undo keeps no more than "+
			"[files.undo] keep_bytes, and needed its room", r.ID, r.Time.Format("15:04"), what))
	}
	if more := len(list) - most; more > 0 {
		warnings = append(warnings, fmt.Sprintf("nor can %d others", more))
	}
	return warnings
}

// tellKept has the result of a command say what undo keeps of it, and no more keeps of others.
func (r *Result) tellKept(s *Supervisor, root string) {
	r.tellWritten(root)
	if c := r.Changes; c != nil && c.Undo != "" {
		r.Warnings = append(r.Warnings, s.evictedBy(c.Undo)...)
	}
}

// tellWritten has the result of a command that was ended, by a limit, a signal or its client, name what it had written
// by then, which may be a half of it.
func (r *Result) tellWritten(root string) {
	c := r.Changes
	if r.Exit.Cause == "" && r.Exit.Signal == 0 || c == nil || c.Undo == "" {
		return
	}
	var paths []string
	for _, p := range slices.Concat(c.Created, c.Modified, c.Deleted) {
		if rel, err := filepath.Rel(root, p); err == nil {
			p = rel
		}
		paths = append(paths, p)
	}
	if len(paths) > 3 {
		paths = append(paths[:3], fmt.Sprintf("%d more", len(paths)-3))
	}
	r.Warnings = append(r.Warnings, fmt.Sprintf("what it changed before it ended is in the project (%s): sbx undo %s "+
		"takes it back", strings.Join(paths, ", "), c.Undo))
}

// landAsked asks about the change set of a run that has ended, which is held, and lands it after a yes.
func (s *Supervisor) landAsked(ctx context.Context, e *Exec) (FileResult, error) {
	c, err := s.fileCall(e.Session, e.Peer, FileRequest{
		Request: files.Request{Op: files.Undo}, UndoID: heldID(e.ID), Held: true,
		CallID: e.Request.CallID, Inline: e.Request.Inline, Description: e.Request.Description,
	})
	if err != nil {
		return FileResult{}, err
	}
	c.run = e
	defer s.asking.forget(c.exec)
	return s.decideFile(ctx, &fileAction{s: s, c: c})
}
