package audit_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sandboxd/audit"
)

// R-AU-02: old files go, on record, and the chain of what is left still holds;
// while many write and somebody verifies and reads.
func TestKeep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l := open(t, dir, audit.Options{RotateSize: 4 << 10, Keep: 3})
	var early audit.Anchor
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := range 100 {
				if err := l.Append(audit.Record{Category: audit.Decision, CallID: fmt.Sprintf("%d-%d", w, i),
					Subject: strings.Repeat("x", 200)}); err != nil {
					t.Error(err)
				}
				if w == 0 && i == 0 {
					early = l.Head()
				}
			}
		})
	}
	for range 20 {
		if _, err := audit.Verify(dir); err != nil {
			t.Errorf("under load: %v", err)
		}
		if _, err := audit.Query(dir, audit.Filter{Limit: 10, Last: true}); err != nil {
			t.Errorf("under load: %v", err)
		}
	}
	writers.Wait()
	head := l.Head()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	files := contents(t, dir)
	if len(files) != 3 {
		t.Errorf("%d files", len(files))
	}
	sum, err := audit.Verify(dir, head, early)
	if err != nil || sum.Head != head || sum.Removed.Seq == 0 || len(sum.Repairs) != 0 {
		t.Errorf("%+v, %v", sum, err)
	}
	if _, err := audit.Verify(dir, audit.Anchor{Seq: sum.Removed.Seq, Hash: strings.Repeat("0", 64)}); err == nil {
		t.Error("an anchor of the last removed record is not compared")
	}

	// Opened again, it continues.
	l = open(t, dir, audit.Options{RotateSize: 4 << 10, Keep: 3})
	if o := l.Opening(); o.Broken != nil || o.Repair != nil {
		t.Errorf("%+v", o)
	}
	l.Close()

	// What somebody else removes is not on record.
	var oldest string
	for name := range contents(t, dir) {
		if oldest == "" || name < oldest {
			oldest = name
		}
	}
	os.Remove(filepath.Join(dir, oldest))
	var bad *audit.BadRecord
	if _, err := audit.Verify(dir); !errors.As(err, &bad) || !strings.Contains(bad.Problem, "missing") {
		t.Errorf("%v", err)
	}
}

// R-AU-03: a clock that jumps, either way, loses and reorders nothing.
func TestClockJumps(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l := open(t, dir, audit.Options{RotateSize: 1000})
	base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, at := range []time.Duration{0, time.Hour, -48 * time.Hour, 24 * 365 * time.Hour, time.Minute} {
		for j := range 4 {
			r := audit.Record{Category: audit.Decision, Time: base.Add(at), CallID: fmt.Sprint(i*4 + j)}
			if err := l.Append(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	if sum, err := l.Verify(); err != nil || sum.Records != 21 {
		t.Errorf("%+v, %v", sum, err)
	}
	page, err := l.Query(audit.Filter{Category: audit.Decision})
	if err != nil || len(page.Entries) != 20 {
		t.Fatalf("%d records, %v", len(page.Entries), err)
	}
	for i, e := range page.Entries {
		if e.CallID != fmt.Sprint(i) {
			t.Errorf("record %d is that of call %s", i, e.CallID)
		}
	}
	page, err = l.Query(audit.Filter{Since: base.Add(-49 * time.Hour), Until: base})
	if err != nil || len(page.Entries) != 4 {
		t.Errorf("%d records of the day before, %v", len(page.Entries), err)
	}
	l.Close()
	l = open(t, dir, audit.Options{RotateSize: 1000})
	defer l.Close()
	if o := l.Opening(); o.Broken != nil || o.Repair != nil {
		t.Errorf("%+v", o)
	}
}

// R-AU-02: what is mirrored is what is on the disk, in order, and only that.
func TestMirror(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	var mirrored strings.Builder
	var last audit.Anchor
	l := open(t, dir, audit.Options{RotateSize: 2000, Mirror: func(m audit.Mirrored) {
		if m.Seq != last.Seq+1 {
			t.Errorf("record %d after %d", m.Seq, last.Seq)
		}
		last = m.Anchor
		mirrored.Write(m.Line)
	}})
	fill(t, l, 50)
	l.Close()
	var whole strings.Builder
	for i := range len(contents(t, dir)) {
		whole.Write(contents(t, dir)[fmt.Sprintf("%08d.jsonl", i+1)])
	}
	if mirrored.String() != whole.String() || last != l.Head() {
		t.Errorf("mirrored %d bytes up to %d, the log has %d up to %d", mirrored.Len(), last.Seq, whole.Len(), l.Head().Seq)
	}
}
