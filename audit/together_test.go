package audit

import (
	"path/filepath"
	"sync"
	"testing"
)

// R-AU-01: records that are appended together stand in the log one behind the other,
// however many come at once.
func TestAppendTogether(t *testing.T) {
	l, err := Open(filepath.Join(t.TempDir(), "log"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := l.Append(Record{Category: Decision, Operation: "approved"},
				Record{Category: Execution, Operation: "start"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	page, err := l.Query(Filter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range page.Entries {
		if e.Record.Category != Chain {
			got = append(got, e.Record.Operation)
		}
	}
	if len(got) != 40 {
		t.Fatalf("%d records: %q", len(got), got)
	}
	for i, op := range got {
		if want := []string{"approved", "start"}[i%2]; op != want {
			t.Errorf("record %d is %q, want %q", i, op, want)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(Record{Category: Decision}, Record{Category: Execution}); err == nil {
		t.Error("a closed log takes records")
	}
}

// One that can't be recorded keeps the others out.
func TestAppendAllOrNothing(t *testing.T) {
	l, err := Open(filepath.Join(t.TempDir(), "log"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	before := l.Head().Seq
	if err := l.Append(Record{Category: Decision, Operation: "approved"},
		Record{Operation: "of no category"}); err == nil {
		t.Error("a record without a category was taken")
	}
	if got := l.Head().Seq; got != before {
		t.Errorf("%d records were written", got-before)
	}
}
