package supervisor

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sandboxd/files"
	"sandboxd/files/snapshot"
	"sandboxd/files/store"
	"sandboxd/layer"
	"sandboxd/profile/abspath"
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

// maxDeletes is how many files a run deletes without a question at the landing.
const maxDeletes = 50

// deletionAsk asks about the deletion of many files, or of all that the project has. A file that the set creates
// elsewhere with the same size, mode and time of modification was moved, as mv(1) copies it. Those of git directories
// and of dependencies' and build trees do not count.
func deletionAsk(root string, changes []layer.Change) []landAsk {
	type copied struct {
		size, time int64
		mode       uint32
	}
	of := func(s layer.State) copied { return copied{s.Size, s.MTime, s.Mode} }
	created := map[copied]int{}
	for _, c := range changes {
		if c.Old.Kind == layer.Absent && c.New.Kind == layer.File {
			created[of(c.New)]++
		}
	}
	n, built := 0, buildTrees(root)
	for _, c := range changes {
		switch {
		case c.New.Kind != layer.Absent || c.Old.Kind != layer.File && c.Old.Kind != layer.Symlink:
		case abspath.Contains("/.git", "/"+string(c.Path)), built(string(c.Path)):
		case c.Old.Kind == layer.File && created[of(c.Old)] > 0:
			created[of(c.Old)]--
		default:
			n++
		}
	}
	switch {
	case n > maxDeletes:
		return []landAsk{{Why: fmt.Sprintf("it deletes %d files", n)}}
	case n > 0 && emptied(root, changes):
		return []landAsk{{Why: "it deletes all files of the project"}}
	}
	return nil
}

// emptied reports whether nothing but git's directory is left in the root.
func emptied(root string, changes []layer.Change) bool {
	removed := map[string]bool{".git": true}
	for _, c := range changes {
		if c.New.Kind == layer.Absent {
			removed[string(c.Path)] = true
		} else if path.Dir(string(c.Path)) == "." && c.Path != "." && c.Path != ".git" {
			return false
		}
	}
	entries, err := os.ReadDir(root)
	return err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !removed[e.Name()] })
}

// buildTrees returns whether a path is in a dependencies' or build tree of the project.
func buildTrees(root string) func(rel string) bool {
	index, _ := os.ReadFile(filepath.Join(root, ".git", "index"))
	return func(rel string) bool {
		for dir := filepath.Dir(rel); dir != "."; dir = filepath.Dir(dir) {
			has := func(name string) bool {
				_, err := os.Lstat(filepath.Join(root, filepath.Dir(dir), name))
				return err == nil
			}
			if snapshot.Skips(dir, index, has) {
				return true
			}
		}
		return false
	}
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
