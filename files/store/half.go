package store

import (
	"context"
	"fmt"
	"os"
	"slices"

	"sandboxd/files"
)

// Halves lists the undos of which only a part was made, the latest first, until each is taken back or completed.
func (s *Store) Halves() (list []Record) {
	all := s.List("")
	for _, r := range all {
		if r.Of == 0 || r.Takes == nil || r.State != Made {
			continue
		}
		left := slices.ContainsFunc(all, func(o Record) bool {
			return (o.ID == r.Takes.ID || o.Exec == r.Takes.ID) && o.State == Made
		})
		again := slices.ContainsFunc(all, func(o Record) bool {
			return o.Of == 0 && o.Takes != nil && o.Takes.ID == r.Takes.ID && slices.Equal(o.Takes.Paths, r.Takes.Paths) &&
				o.Time.After(r.Time)
		})
		if left && !again {
			list = append(list, r)
		}
	}
	return list
}

// Resume returns a keeper for another attempt at the missing steps of a pending change. It keeps no content, as the
// change has it, and refuses a step that is none of the change's.
func (s *Store) Resume(id string) (*Resumed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.records[id]
	if !ok || r.State != Pending {
		return nil, fmt.Errorf("resume change %q: it is not pending", id)
	}
	r.Steps = slices.Clone(r.Steps)
	return &Resumed{store: s, record: r}, nil
}

// Resumed implements files.Keeper.
type Resumed struct {
	store  *Store
	record Record
}

// Steps are those of the change, with the temporary names that the attempt uses.
func (k *Resumed) Steps() []files.Step { return k.record.Steps }

// Keep implements files.Keeper.
func (k *Resumed) Keep(_ context.Context, steps []files.Step, _ []*os.File, last bool) error {
	for _, step := range steps {
		i := slices.IndexFunc(k.record.Steps, func(s files.Step) bool { return sameStep(s, step) })
		if i < 0 {
			return &files.Conflict{Path: step.Path, Reason: files.Changed, Found: "something else than before",
				Hint: "it changed after the undo was cut off"}
		}
		k.record.Steps[i].Temp = step.Temp
	}
	if !last {
		return nil
	}
	if err := k.store.write(k.record); err != nil {
		return err
	}
	k.store.mu.Lock()
	defer k.store.mu.Unlock()
	k.store.records[k.record.ID] = k.record
	return nil
}

// sameStep reports whether two steps do the same. One that sets a folder's attributes loses nothing, and finds the
// attributes of the first attempt.
func sameStep(a, b files.Step) bool {
	if a.Kind != b.Kind || a.Path != b.Path || a.To != b.To {
		return false
	}
	return a.Kind == files.AttrStep || a.Before.Same(b.Before) && a.After.Same(b.After)
}
