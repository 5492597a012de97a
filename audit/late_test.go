package audit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// R-AU-01: the record of a completed event is in the file, in its place in the chain, when PutAfter
// returns, and on the disk soon after.
func TestPutAfter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	var mirrored []uint64
	l, err := Open(dir, Options{Mirror: func(m Mirrored) { mirrored = append(mirrored, m.Seq) }})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		if i%3 == 0 {
			err = l.Append(Record{Category: Decision, Operation: "approved"})
		} else {
			err = l.PutAfter(Record{Category: Execution, Operation: "end"})
		}
		if err != nil {
			t.Fatal(err)
		}
		if sum, err := Verify(dir); err != nil || sum.Records != uint64(i+2) {
			t.Fatalf("after %d: %+v, %v", i, sum, err)
		}
		if i%7 == 0 {
			onDisk(t, l, uint64(i+2)) // nothing comes after it, and it is not forgotten
		}
	}
	if sum, err := l.Verify(); err != nil || sum.Records != 31 {
		t.Fatalf("%+v, %v", sum, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for i, seq := range mirrored {
		if seq != uint64(i)+1 {
			t.Fatalf("mirrored in the order %v", mirrored)
		}
	}
	if len(mirrored) != 31 {
		t.Errorf("%d records were mirrored", len(mirrored))
	}
}

// onDisk waits until as many records are on the disk.
func onDisk(t *testing.T, l *Log, seq uint64) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); l.Head().Seq < seq; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("record %d is not on the disk: %v", seq, l.Err())
		}
	}
}

// R-AU-03: each waiting caller gets the error of records that do not reach the disk, nothing is
// written behind them, and they are removed, with a record, when the log continues.
func TestLateFails(t *testing.T) {
	t.Run("redo", func(t *testing.T) { lateFails(t, false) })
	t.Run("full", func(t *testing.T) { lateFails(t, true) })
}

// lateFails has the redo file fail, or where full is set the log's own.
func lateFails(t *testing.T, full bool) {
	dir := filepath.Join(t.TempDir(), "log")
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, w, err := os.Pipe() // fdatasync(2) of a pipe fails: EINVAL
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ends := 0
	for l.mu.Lock(); l.late.waiting == nil; l.mu.Lock() { // else it was on the disk before it could be looked at
		l.mu.Unlock()
		if err := l.PutAfter(Record{Category: Execution, Operation: "end"}); err != nil {
			t.Fatal(err)
		}
		ends++
	}
	onDisk := l.late.head
	if l.head == onDisk {
		t.Error("what is late has no number of its own")
	}
	failing, by := &l.file, w
	if full {
		l.redo.end = redoSize
	} else {
		failing = &l.redo.file
		if by, err = os.Open((*failing).Name()); err != nil { // which can't be written
			t.Fatal(err)
		}
		defer by.Close()
	}
	file := *failing
	*failing = by
	l.sync()
	w.Close()
	*failing = file
	if full {
		l.redo.end = l.size - l.firm
	}
	l.mu.Unlock()
	if got := l.Head(); got != onDisk {
		t.Errorf("the head is %v, and only %v was ever on the disk", got, onDisk)
	}
	if err := l.Err(); err == nil || full && !strings.Contains(err.Error(), "fdatasync") {
		t.Errorf("it is not reported: %v", err)
	}
	if err := l.Append(Record{Category: Decision}); err == nil {
		t.Error("a log that failed takes records")
	}
	deadline := time.Now().Add(20 * time.Second)
	for err = l.Append(Record{Category: Decision}); err != nil; err = l.Append(Record{Category: Decision}) {
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	sum, err := Verify(dir)
	if err != nil || sum.Records != uint64(ends+3) || len(sum.Repairs) != 1 { // began, the ends, recovered, the decision
		t.Errorf("%+v, %v", sum, err)
	}
	page, err := l.Query(Filter{Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, e := range page.Entries {
		if op := e.Record.Operation; op == "end" || op == "recovered" {
			order = append(order, op)
		}
	}
	if want := append(slices.Repeat([]string{"end"}, ends-1), "recovered", "end"); !slices.Equal(order, want) {
		t.Errorf("the log has %q, want %q: the end that failed comes first", order, want)
	}
}

// R-AU-01: what may be late reaches the disk also while more of it keeps coming, from
// several sides, and no record is lost or doubled.
func TestLateIsNotPutOff(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	const sides = 4
	stop := make(chan struct{})
	var put atomic.Int64
	var wg sync.WaitGroup
	for range sides {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(lateness / 8):
				}
				if err := l.PutAfter(Record{Category: Execution, Operation: "end"}); err != nil {
					t.Error(err)
					return
				}
				put.Add(1)
			}
		})
	}
	for range 60 {
		if err := l.PutAfter(Record{Category: Execution, Operation: "end"}); err != nil {
			t.Fatal(err)
		}
		put.Add(1)
		l.mu.Lock()
		seq := l.head.Seq
		l.mu.Unlock()
		onDisk(t, l, seq)
	}
	close(stop)
	wg.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if sum, err := Verify(dir); err != nil || sum.Records != uint64(put.Load())+1 {
		t.Errorf("%+v, %v after %d records", sum, err, put.Load())
	}
}
