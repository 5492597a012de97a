package store

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sandboxd/files"
	"sandboxd/files/snapshot"
)

// Parts are several change sets of one run as a single one. It implements files.Kept.
type Parts struct {
	// Changes are the paths of all of them.
	Changes snapshot.Changes
	steps   []files.Step
	of      []partStep
	again   bool
	late    []string
}

// partStep is the step of a change set that lost what another one restores.
type partStep struct {
	kept *Kept
	step int
}

// Parts joins change sets of one run, the latest first as those of OfExec: each path goes from its state before the
// first step to that after the last one.
func (s *Store) Parts(sets []Record) (*Parts, error) {
	out, root := &Parts{}, sets[0].Project
	before, after, first := map[string]files.State{}, map[string]files.State{}, map[string]partStep{}
	for _, set := range slices.Backward(sets) {
		kept, err := s.Kept(set.ID)
		if err != nil {
			return nil, err
		}
		out.again = out.again || kept.Again()
		out.late = append(out.late, kept.Late()...)
		for i, step := range kept.Steps() {
			if _, known := before[step.Path]; !known {
				before[step.Path], first[step.Path] = step.Before, partStep{kept, i}
			}
			after[step.Path] = step.After
		}
	}
	var err error
	out.steps, out.Changes, err = snapshot.Steps(root, entries(root, before), entries(root, after))
	for _, step := range out.steps {
		out.of = append(out.of, first[step.Path])
	}
	return out, err
}

// entries are the states of paths as a manifest.
func entries(root string, states map[string]files.State) snapshot.Source {
	var list []snapshot.Entry
	for abs, state := range states {
		if state.Kind != files.Absent {
			rel := strings.TrimPrefix(strings.TrimPrefix(abs, path.Clean(root)), string(filepath.Separator))
			list = append(list, snapshot.Entry{Path: rel, State: state})
		}
	}
	return snapshot.List(list)
}

// Steps are the joined steps.
func (p *Parts) Steps() []files.Step { return slices.Clone(p.steps) }

// HasContent reports whether the content that a step lost is kept.
func (p *Parts) HasContent(step int) bool {
	_, loses := p.steps[step].Content()
	return loses && p.of[step].kept.HasContent(p.of[step].step)
}

// Content opens it for reading.
func (p *Parts) Content(step int) (*os.File, error) { return p.of[step].kept.Content(p.of[step].step) }

// Again reports whether an undo of one of them was cut off.
func (p *Parts) Again() bool { return p.again }

// Late is as that of Kept.
func (p *Parts) Late() []string { return p.late }
