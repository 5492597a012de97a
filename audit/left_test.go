package audit_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sandboxd/audit"
)

// A line longer than any of ours, as a disk that goes bad or somebody else may leave one,
// is one bad line: it keeps neither the log from being written nor the rest from being read.
func TestEndlessLine(t *testing.T) { // R-AU-02, R-AU-03
	for name, junk := range map[string]string{"torn": strings.Repeat("x", 17<<20), "ended": strings.Repeat("x", 17<<20) +
		"\n", "holes": strings.Repeat("\x00", 17<<20)} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "log")
			l := open(t, dir, audit.Options{})
			fill(t, l, 3)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "00000001.jsonl")
			f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.WriteString(junk)
			if err := errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
			if page, err := audit.Query(dir, audit.Filter{}); err != nil || len(page.Entries) != 4 {
				t.Errorf("a query found %d, %v", len(page.Entries), err)
			}
			if _, err := audit.Verify(dir); err == nil {
				t.Error("it was not found")
			}
			l = open(t, dir, audit.Options{})
			fill(t, l, 2)
			if got := l.Opening(); got.Repair == nil && got.Broken == nil {
				t.Errorf("it was not reported: %+v", got)
			}
			if page, err := l.Query(audit.Filter{}); err != nil || len(page.Entries) != 7 {
				t.Errorf("a query found %d, %v", len(page.Entries), err)
			}
		})
	}
}

// What was found changed is on record also where that could not be written when it was
// found, as on a full disk: the new file was there by then, empty.
func TestFoundChangedLater(t *testing.T) { // R-AU-02
	dir := filepath.Join(t.TempDir(), "log")
	l := open(t, dir, audit.Options{})
	fill(t, l, 3)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	first := filepath.Join(dir, "00000001.jsonl")
	text, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.WriteFile(first, bytes.Replace(text, []byte(`"subject":"2"`), []byte(`"subject":"9"`), 1), 0o600),
		os.WriteFile(filepath.Join(dir, "00000002.jsonl"), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		l = open(t, dir, audit.Options{})
		page, err := l.Query(audit.Filter{Category: audit.Chain})
		found := slices.DeleteFunc(page.Entries, func(e audit.Entry) bool { return e.Operation != "found-changed" })
		if err != nil || len(found) != 1 || found[0].Detail["file"] != "00000001.jsonl" ||
			(l.Opening().Broken != nil) != (i == 0) {
			t.Errorf("opening %d: recorded is %+v, reported is %+v, %v", i, found, l.Opening().Broken, err)
		}
		fill(t, l, 1)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
