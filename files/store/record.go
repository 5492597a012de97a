package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sandboxd/files"
	"sandboxd/internal/durable"
)

// State is how far a change is known to have come.
type State string

const (
	// Pending: kept, and perhaps made.
	Pending State = "pending"
	// Made can be undone.
	Made State = "made"
	// Undone was undone by the change UndoneBy.
	Undone State = "undone"
)

// Record is one change.
type Record struct {
	// ID names the change; letters, digits, "-" and "_".
	ID      string `json:"id"`
	Session string `json:"session,omitempty"`
	// Project is the session's folder, for settling the change after the session's end.
	Project string    `json:"project,omitempty"`
	Time    time.Time `json:"time"`
	Op      files.Op  `json:"op"`
	// Undoes is the change that this one takes back. Where that is a run of several change sets, it is the run's id, and
	// Parts are theirs.
	Undoes   string   `json:"undoes,omitempty"`
	Parts    []string `json:"parts,omitempty"`
	UndoneBy string   `json:"undone_by,omitempty"`
	// Takes is the task of an undo, so that one that was cut off can be finished.
	Takes *Takes `json:"takes,omitempty"`
	// Of is how many steps a change had of which only a part was made; 0: it is whole.
	Of int `json:"of,omitempty"`
	// Run: the steps are those of a direct run, whose command is Note, or take one back.
	Run bool `json:"run,omitempty"`
	// Exec is the run's id.
	Exec string `json:"exec,omitempty"`
	// Guarded: quarantined or protected; only an approver restores it (R-FS-08).
	Guarded bool `json:"guarded,omitempty"`
	// By is who had it made, in the words of the store's owner.
	By json.RawMessage `json:"by,omitempty"`
	// Note is for people: why something was quarantined, for instance.
	Note string `json:"note,omitempty"`

	State State `json:"state"`
	// Bytes is the size of the contents and of the extended attributes.
	Bytes int64 `json:"bytes"`
	// What describes the first steps.
	What []string `json:"what,omitempty"`
	// Steps are in memory only while the change is pending; [Store.Kept] reads those of others.
	Steps []files.Step `json:"steps"`
	// Contents are file names below the store, by step; "" where a step loses
	// none.
	Contents []string `json:"contents"`
	// Open are the steps whose content is a file that another program had open, for reading or writing, when a landing had
	// displaced it. Nil: that was not noted, as by earlier versions.
	Open []int `json:"open"`
}

// Takes is the part of a change that an undo takes back, and how.
type Takes struct {
	// ID is that of the change, or of a run of several change sets.
	ID string `json:"id"`
	// Paths narrow it, if there are any.
	Paths []string      `json:"paths,omitempty"`
	How   files.UndoHow `json:"how"`
}

// undone returns the ids of the change sets that this one takes back.
func (r Record) undone() []string {
	if len(r.Parts) > 0 || r.Undoes == "" {
		return r.Parts
	}
	return []string{r.Undoes}
}

// maxWhat bounds how many steps of a change are described.
const maxWhat = 100

func what(steps []files.Step) (list []string) {
	for i, step := range steps {
		if i == maxWhat {
			return append(list, fmt.Sprintf("and %d more", len(steps)-i))
		}
		list = append(list, step.String())
	}
	return list
}

// head returns the part of a record that stays in memory.
func (r Record) head() Record {
	if r.State != Pending && r.Steps != nil {
		r.What, r.Steps, r.Contents = what(r.Steps), nil, nil
	}
	return r
}

// ErrNotFound is a change that the store does not have, or no more.
var ErrNotFound = errors.New("no such change; it may be older than what undo keeps")

const version = 1

// file is the encoding of a record on disk.
type file struct {
	Version int `json:"version"`
	Record
}

func (s *Store) recordFile(id string) string { return filepath.Join(s.dir, "undo", id, "record.json") }

// write puts a record on disk, whole or not at all.
func (s *Store) write(r Record) error {
	r.What = what(r.Steps)
	data, err := json.MarshalIndent(file{version, r}, "", " ")
	if err != nil {
		return fmt.Errorf("keep record %q: %w", r.ID, err)
	}
	if err := durable.Replace(s.recordFile(r.ID), durable.Seal(data)); err != nil {
		return fmt.Errorf("keep record %q: %w", r.ID, err)
	}
	return nil
}

// read gets a record from disk.
func (s *Store) read(id string) (Record, error) {
	data, err := os.ReadFile(s.recordFile(id))
	if errors.Is(err, os.ErrNotExist) {
		return Record{}, fmt.Errorf("undo %q: %w", id, ErrNotFound)
	}
	var f file
	if err == nil {
		data, err = durable.Unseal(data)
	}
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err == nil && (f.Version != version || f.ID != id || len(f.Contents) != len(f.Steps)) {
		err = errors.New("it is not one of this version")
	}
	if err != nil {
		return Record{}, &files.Conflict{Op: files.Undo, Path: id, Reason: files.Damaged,
			Found: fmt.Sprintf("its record %s: %v", s.recordFile(id), err),
			Hint: fmt.Sprintf("what it replaced is in %s and %s, as far as it is kept: copy it from there, and delete them",
				filepath.Dir(s.recordFile(id)), filepath.Join(s.dir, "trash", id))}
	}
	return f.Record, nil
}

// readHead gets the part of a record that stays in memory, from the part of its file before the steps.
func (s *Store) readHead(id string) (Record, error) {
	whole, err := os.ReadFile(s.recordFile(id))
	if err == nil {
		whole, err = durable.Unseal(whole)
	}
	if err != nil {
		return s.read(id)
	}
	dec, head := json.NewDecoder(bytes.NewReader(whole)), map[string]json.RawMessage{}
	var before json.Token
	for _, err = dec.Token(); err == nil && dec.More() && before != "steps"; {
		var value json.RawMessage
		if before, err = dec.Token(); err == nil && before != "steps" {
			name, _ := before.(string)
			err = dec.Decode(&value)
			head[name] = value
		}
	}
	var got file
	data, merr := json.Marshal(head)
	if errors.Join(err, merr) != nil || json.Unmarshal(data, &got) != nil || got.Version != version || got.ID != id ||
		got.State == Pending || got.What == nil {
		r, err := s.read(id)
		return r.head(), err
	}
	return got.Record, nil
}

// whole returns a record with its steps.
func (s *Store) whole(r Record) (Record, error) {
	if r.State == Pending || r.Steps != nil {
		return r, nil
	}
	return s.read(r.ID)
}

// validID keeps an id from being a path.
func validID(id string) error {
	if id == "" || len(id) > 64 {
		return fmt.Errorf("undo %q: not the id of a change", id)
	}
	for _, c := range id {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '_') {
			return fmt.Errorf("undo %q: not the id of a change", id)
		}
	}
	return nil
}
