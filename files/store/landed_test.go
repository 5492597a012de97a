package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sandboxd/files"
	"sandboxd/internal/durable"
)

// What another program that had a displaced file open writes to it later is the version that undo restores, and the
// bound on bytes does not evict it (R-LY-03).
func TestLateVersions(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "state"), Options{KeepBytes: 1000, Now: func() time.Time { return now }})
	land := func(id, displaced string) {
		t.Helper()
		must(t, os.WriteFile(displaced, []byte("before"), 0o600))
		writer, err := os.OpenFile(displaced, os.O_WRONLY, 0)
		must(t, err)
		f, err := os.Open(displaced)
		must(t, err)
		k, err := s.Landing(id)
		must(t, err)
		step := overwrite("/p/f", "before")
		must(t, k.Keep(context.Background(), []files.Step{{Path: "f", Before: step.Before}}, []*os.File{f}, true))
		info, err := f.Stat()
		must(t, err)
		step.Before.ModTime = info.ModTime().UnixNano()
		must(t, s.KeepLanded(Record{ID: id, Project: "/p", Session: "ann"}, "/p", []files.Step{step}, k))
		must(t, errors.Join(f.Close(), writer.Close()))
		now = now.Add(time.Second)
	}
	late := func(id string, want ...string) files.State {
		t.Helper()
		k, err := s.Kept(id)
		must(t, err)
		if !slices.Equal(k.Late(), want) {
			t.Errorf("%s: late %q", id, k.Late())
		}
		return k.Steps()[0].Before
	}
	linked, copied := filepath.Join(dir, "linked"), filepath.Join(dir, "copied")
	land("linked", linked)
	must(t, os.Link(linked, filepath.Join(dir, "again")))
	late("linked")
	must(t, os.WriteFile(linked, []byte("later"), 0o600))
	if got := late("linked", "/p/f"); got.Hash != files.Sum([]byte("later")) || got.Size != 5 {
		t.Errorf("undo would restore %+v", got)
	}
	// An earlier version noted neither who had it open, nor a hash.
	data, err := os.ReadFile(s.recordFile("linked"))
	must(t, err)
	data, err = durable.Unseal(data)
	must(t, err)
	old := strings.Replace(string(data), ",\n \"open\": [\n  0\n ]", "", 1)
	if old == string(data) {
		t.Fatalf("no file is noted as open in %s", data)
	}
	must(t, os.WriteFile(s.recordFile("linked"), []byte(old), 0o600))
	late("linked", "/p/f")
	must(t, os.WriteFile(copied, nil, 0o600))
	must(t, os.Link(copied, copied+"2"))
	land("copied", copied)
	must(t, os.WriteFile(copied, []byte("later"), 0o600))
	late("copied")
	land("more", filepath.Join(dir, "more"))
	if _, err := s.Prune(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get("linked"); err != nil {
		t.Errorf("the later version was evicted: %v", err)
	}
	if _, err := s.Get("copied"); err == nil {
		t.Error("the bound evicts nothing")
	}
}
