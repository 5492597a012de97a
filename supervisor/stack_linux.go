package supervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sandboxd/approval"
	"sandboxd/files"
	"sandboxd/layer"
)

// dependsError is returned for a change set whose command saw held ones.
type dependsError struct{ above []string }

func (e *dependsError) Error() string {
	return "it depends on " + heldIDs(e.above) + ", which has not landed: land that first"
}

// heldIDs names the held change sets of runs.
func heldIDs(execs []string) string {
	var list []string
	for _, exec := range execs {
		list = append(list, heldID(exec))
	}
	return strings.Join(list, ", ")
}

// whyHeld is why a change set is held, for people.
func (n layerNote) whyHeld() string {
	switch {
	case n.Stale != "":
		return n.Stale
	case len(n.Above) > 0 && n.Held == errAskedToHold.Error():
		return n.Held + "; it depends on " + heldIDs(n.Above)
	}
	return n.Held
}

// layersOf opens the layers of runs.
func (s *Supervisor) layersOf(execs []string) (list []*layer.Layer, err error) {
	for _, exec := range execs {
		l, err := layer.Open(filepath.Join(s.layers, exec))
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, nil
}

// seeHeld keeps the change sets that a run sees from landing and being dropped until release is called.
func (s *Supervisor) seeHeld(root string, j *judgement) (release func(), err error) {
	if len(j.above) == 0 {
		return func() {}, nil
	}
	p := s.projects.of(root)
	p.settling.Lock()
	defer p.settling.Unlock()
	for _, exec := range j.above {
		if _, note, err := s.heldNote(heldID(exec)); err != nil || note.Stale != "" || note.Had != nil {
			return nil, &RequestError{heldID(exec) + ", which the command was to see, has landed or was dropped: run it again"}
		}
	}
	for _, exec := range j.above {
		p.seeing[exec]++
	}
	return func() {
		p.settling.Lock()
		defer p.settling.Unlock()
		for _, exec := range j.above {
			if p.seeing[exec]--; p.seeing[exec] == 0 {
				delete(p.seeing, exec)
			}
		}
	}, nil
}

// unseen fails where running commands see a held change set. The caller has settling.
func (p *project) unseen(id string) error {
	for exec, n := range p.seeing {
		if heldID(exec) == id {
			return &files.Conflict{Op: files.Undo, Path: id, Reason: files.Changed,
				Found: fmt.Sprintf("commands that run and see it: %d", n), Hint: "try again when they have ended"}
		}
	}
	return nil
}

// settles fails where a held change set can't land because of those that its command saw.
func (s *Supervisor) settles(note layerNote, r FileRequest) error {
	if r.Drop {
		return nil
	}
	id := heldID(note.Exec)
	if note.Stale != "" {
		return &files.Conflict{Op: files.Undo, Path: id, Reason: files.Changed, Found: note.Stale,
			Hint: "drop it, and run the command again"}
	}
	for _, exec := range note.Above {
		if _, _, err := s.heldNote(heldID(exec)); err == nil {
			return &files.Conflict{Op: files.Undo, Path: id, Reason: files.Changed,
				Found: "it depends on " + heldID(exec) + ", which has not landed",
				Hint:  fmt.Sprintf("sbx changes land %s first", heldID(exec))}
		}
	}
	return nil
}

// outdate notes of all change sets whose commands saw that of a run that it is dropped.
func (s *Supervisor) outdate(exec string) error {
	entries, err := os.ReadDir(s.layers)
	if err != nil {
		return err
	}
	for _, e := range entries {
		dir, note, err := s.heldNote(heldID(e.Name()))
		if err != nil || !slices.Contains(note.Above, exec) || note.Stale != "" {
			continue
		}
		r := &layeredRun{s: s, dir: dir, rec: note.Record, granted: note.Granted, had: note.Had, above: note.Above,
			chosen: note.Chosen, stale: "stale: its command saw " + heldID(exec) + ", which was dropped"}
		if err := r.note(note.Held); err != nil {
			return err
		}
		set, c := s.heldSet(note, approval.ChangeStale)
		s.publish(note.Record, nil, set, c)
	}
	return nil
}
