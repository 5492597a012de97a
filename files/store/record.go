package store

import (
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
	// Undoes is the change that this one takes back.
	Undoes   string `json:"undoes,omitempty"`
	UndoneBy string `json:"undone_by,omitempty"`
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

	State State        `json:"state"`
	Steps []files.Step `json:"steps"`
	// Contents are file names below the store, by step; "" where a step loses
	// none.
	Contents []string `json:"contents"`
	// Bytes is the size of the contents and of the extended attributes.
	Bytes int64 `json:"bytes"`
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
	data, err := json.MarshalIndent(file{version, r}, "", " ")
	if err != nil {
		return fmt.Errorf("keep record %q: %w", r.ID, err)
	}
	if err := durable.Replace(s.recordFile(r.ID), data); err != nil {
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
	if err != nil {
		return Record{}, fmt.Errorf("undo %q: %w", id, err)
	}
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return Record{}, fmt.Errorf("undo %q: its record is damaged: %w", id, err)
	}
	if f.Version != version || f.ID != id || len(f.Contents) != len(f.Steps) {
		return Record{}, fmt.Errorf("undo %q: its record is not one of this version", id)
	}
	return f.Record, nil
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
