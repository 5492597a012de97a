package audit

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// powerLoss copies an open log as a power failure can leave it: of the newest file all synced
// bytes, and of the bytes behind them a part, or blocks that were never written; of the redo file
// all synced bytes and a part of those on their way. It returns the last acknowledged record.
func powerLoss(t testing.TB, l *Log, r *rand.Rand, to string) Anchor {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := os.Mkdir(to, 0o700); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(l.dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		switch e.Name() {
		case fileName(l.number):
			firm, rest := data[:l.firm], data[l.firm:]
			part := r.IntN(len(rest) + 1)
			data = append(slices.Clone(firm), rest[:part]...)
			if r.IntN(3) == 0 {
				data = append(data, make([]byte, r.IntN(len(rest)-part+1))...)
			}
			// and blocks before it may be missing
			for at := len(firm); r.IntN(2) == 0 && at < min(len(data), len(firm)+int(l.redo.end)); at += r.IntN(4096) + 1 {
				clear(data[at:min(at+r.IntN(2048), len(data), len(firm)+int(l.redo.end))])
			}
		case redoName:
			on := bytes.Repeat([]byte(`{"seq":7,`), 200)
			if l.redo.end < int64(len(data)) {
				copy(data[l.redo.end:], on[:r.IntN(len(on))])
			}
		}
		if err := os.WriteFile(filepath.Join(to, e.Name()), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if l.late.waiting != nil {
		return l.late.head
	}
	return l.head
}

// R-AU-01, R-OP-03: whatever a power failure leaves behind the synced bytes, every acknowledged
// record is there again, the chain holds, and the log reports the repair.
func TestPowerLoss(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	dir := t.TempDir()
	restored := 0
	for range 6 {
		name := filepath.Join(dir, "log-"+strings.Repeat("x", r.IntN(50)+1))
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
		opts := Options{RotateSize: int64(r.IntN(100_000) + 2000)}
		l, err := Open(name, opts)
		if err != nil {
			t.Fatal(err)
		}
		for range r.IntN(60) + 1 {
			record := Record{Category: Decision, Subject: strings.Repeat("s", r.IntN(1<<r.IntN(16)))}
			if r.IntN(3) > 0 {
				err = l.Append(record)
			} else {
				err = l.PutAfter(record)
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.IntN(4) > 0 {
				continue
			}
			after := name + "-after"
			promised := powerLoss(t, l, r, after)
			sum, err := Verify(after, promised)
			bad := &BadRecord{}
			reported := !errors.As(err, &bad) || sum.Waiting == 0 || !bad.incomplete && !bad.short || strings.Contains(bad.Problem, "puts them back")
			if err != nil && bad.File == "" || !reported || sum.Head.Seq+sum.Waiting < promised.Seq {
				t.Errorf("before the next opening: %+v, %v", sum, err)
			}
			waiting := sum.Waiting
			for again := range 2 { // the second time nothing is left to do
				m, err := Open(after, opts)
				if err != nil {
					t.Fatal(err)
				}
				o := m.Opening()
				if again == 0 {
					if restored += o.Restored; o.Restored != int(waiting) {
						t.Errorf("%d records were restored, and Verify said %d", o.Restored, waiting)
					}
				} else if o.Restored > 0 || o.Repair != nil {
					t.Errorf("the second opening: %+v", o)
				}
				if o.Broken != nil || o.Head.Seq < promised.Seq {
					t.Fatalf("%+v, and %+v was promised", o, promised)
				}
				if err := m.Append(record); err != nil {
					t.Fatal(err)
				}
				if err := m.Close(); err != nil {
					t.Fatal(err)
				}
				sum, err := Verify(after, promised)
				if err != nil {
					t.Fatal(err)
				}
				if o.Restored > 0 && !slices.ContainsFunc(sum.Repairs, func(e Entry) bool { return e.Operation == "restored" }) {
					t.Errorf("%d records were restored, and the log does not say so: %+v", o.Restored, sum.Repairs)
				}
			}
			if err := os.RemoveAll(after); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if t.Logf("%d records were restored", restored); restored == 0 {
		t.Error("nothing was ever restored: the test proves nothing")
	}
}

// R-AU-01: who takes the redo file away, or puts another in its place, takes no record away.
func TestRedoIsTakenAway(t *testing.T) {
	for what, take := range map[string]func(path string) error{
		"removed":  os.Remove,
		"renamed":  func(p string) error { return os.Rename(p, p+".old") },
		"replaced": func(p string) error { return errors.Join(os.Remove(p), os.WriteFile(p, make([]byte, redoSize), 0o600)) },
		"a link":   func(p string) error { return errors.Join(os.Remove(p), os.Symlink("/dev/null", p)) },
		"short":    func(p string) error { return os.Truncate(p, 100) },
		"a folder": func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) },
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			l, err := Open(filepath.Join(dir, "log"), Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 6 {
				if i == 2 {
					if err := take(filepath.Join(dir, "log", redoName)); err != nil {
						t.Fatal(err)
					}
				}
				if err := l.Append(Record{Category: Decision, Operation: "approved"}); err != nil {
					t.Fatal(err)
				}
				if i == 2 && l.firm != l.size {
					t.Error("the log's own file is not on the disk")
				}
			}
			promised := powerLoss(t, l, rand.New(rand.NewPCG(1, 2)), filepath.Join(dir, "after"))
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if what == "a link" || what == "a folder" { // the next opening reports it
				os.RemoveAll(filepath.Join(dir, "after", redoName))
			}
			m, err := Open(filepath.Join(dir, "after"), Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if m.Opening().Head.Seq < promised.Seq {
				t.Errorf("%+v, and %+v was promised", m.Opening(), promised)
			}
		})
	}
}

// The remains of another chain do not continue a new one.
func TestRedoOfAnotherChain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, fileName(1))); err != nil {
		t.Fatal(err)
	}
	if l, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	head := l.Head()
	l.Close()
	if err := os.Truncate(filepath.Join(dir, fileName(1)), 0); err != nil {
		t.Fatal(err)
	}
	if l, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if o := l.Opening(); o.Head != head || o.Restored != 1 {
		t.Errorf("%+v, and its own chain ends with %+v", o, head)
	}
}

// R-AU-03: lines that the log's own file lacks on the disk are written there again before the log
// continues: its pages count as written after fsync(2) has failed.
func TestRewrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := l.Append(Record{Category: Decision, Operation: "approved"}); err != nil {
			t.Fatal(err)
		}
	}
	l.mu.Lock()
	end, file, firm := l.redo.end, l.file, l.firm
	r, w, err := os.Pipe() // fdatasync(2) of a pipe fails
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	l.file = w
	if err := l.flush(); err == nil || end == 0 {
		t.Fatalf("%v, %d bytes", err, end)
	}
	l.fail(errors.New("no disk"), nil)
	l.file = file
	// As if the disk had never got them, and the system had read that back.
	f, err := os.OpenFile(l.path(1), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, 100), firm+10); err != nil {
		t.Fatal(err)
	}
	f.Close()
	l.mu.Unlock()
	if err := l.Recover(); err != nil {
		t.Fatal(err)
	}
	if sum, err := l.Verify(); err != nil || sum.Records != 5 || len(sum.Repairs) != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
