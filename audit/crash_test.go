package audit_test

import (
	"bufio"
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sandboxd/audit"
)

// R-OP-03: after kill -9 every acknowledged record is there, and the chain holds.
func TestKilled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	reported := map[string]bool{}
	for range 5 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "AUDIT_TEST_ACT=append "+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// It is killed in the middle of things: some records after the first
		// ones, at a moment that the test does not choose.
		kill := sync.OnceFunc(func() {
			time.AfterFunc(time.Duration(rand.IntN(100))*time.Millisecond, func() { cmd.Process.Kill() })
		})
		n := 0
		// A line that the kill cut short was not acknowledged.
		for lines := bufio.NewReader(out); ; {
			id, err := lines.ReadString('\n')
			if err != nil {
				break
			}
			if strings.HasPrefix(id, "error") {
				t.Error(id)
			}
			reported[strings.TrimSpace(id)] = true
			if n++; n == 12 {
				kill()
			}
		}
		cmd.Wait()
	}
	if len(reported) < 50 {
		t.Fatalf("only %d records", len(reported))
	}
	l := open(t, dir, audit.Options{})
	sum, err := l.Verify()
	if err != nil {
		t.Fatal(err)
	}
	page, err := l.Query(audit.Filter{Category: audit.Execution, Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range page.Entries {
		delete(reported, e.CallID)
	}
	if len(reported) > 0 {
		t.Errorf("%d records are lost of %d: %v", len(reported), sum.Records, reported)
	}
}

// A torn end is moved aside and a record says so, wherever the tear is.
func TestTornEnd(t *testing.T) {
	dir, files, _ := written(t, 3, audit.Options{})
	const name = "00000001.jsonl"
	whole := files[name]
	start := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for _, cut := range []int{start + 1, start + 40, len(whole) - 2, len(whole) - 1} {
		for _, zeros := range []int{0, 10} {
			write(t, dir, name, append(bytes.Clone(whole[:cut]), make([]byte, zeros)...))
			removeRedo(t, dir)
			l, err := audit.Open(dir, audit.Options{})
			if err != nil {
				t.Fatal(err)
			}
			o := l.Opening()
			if o.Repair == nil || o.Repair.Bytes != int64(cut-start+zeros) || o.Broken != nil || o.Head.Seq != 3 {
				t.Fatalf("cut at %d: %+v", cut, o)
			}
			aside, err := os.ReadFile(filepath.Join(dir, o.Repair.Aside))
			if err != nil || !bytes.Equal(aside, append(bytes.Clone(whole[start:cut]), make([]byte, zeros)...)) {
				t.Errorf("cut at %d: aside is %q, %v", cut, aside, err)
			}
			fill(t, l, 1)
			sum, err := l.Verify()
			if err != nil || sum.Records != 5 || len(sum.Repairs) != 1 || sum.Repairs[0].Detail["aside"] != o.Repair.Aside {
				t.Errorf("cut at %d: %+v, %v", cut, sum, err)
			}
			l.Close()
		}
	}
	// The first record of all can be torn too.
	write(t, dir, name, whole[:20])
	removeRedo(t, dir)
	l := open(t, dir, audit.Options{})
	fill(t, l, 1)
	if sum, err := l.Verify(); err != nil || sum.Records != 3 || l.Opening().Repair == nil {
		t.Errorf("%+v, %v", sum, err)
	}
}

// removeRedo makes sure that a torn record is one that was never acknowledged.
func removeRedo(t *testing.T, dir string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, "redo")); err != nil {
		t.Fatal(err)
	}
}

// A newest file that was changed is left in place as evidence. The log continues in a new file,
// records that, and never verifies again.
func TestOpenChanged(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"a byte of the last record": func(b []byte) []byte { b[len(b)-100] ^= 1; return b },
		"a byte in the middle":      func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"a byte of the first":       func(b []byte) []byte { b[30] ^= 1; return b },
		"a record removed":          func(b []byte) []byte { return b[bytes.IndexByte(b, '\n')+1:] },
		"all of it":                 func(b []byte) []byte { return []byte("hello\n") },
		"a torn record in the middle": func(b []byte) []byte {
			i := bytes.IndexByte(b, '\n')
			return append(bytes.Clone(b[:i-5]), append([]byte("\x00\n"), b[i+1:]...)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, files, head := written(t, 6, audit.Options{})
			const file = "00000001.jsonl"
			changed := damage(bytes.Clone(files[file]))
			write(t, dir, file, changed)
			l := open(t, dir, audit.Options{})
			if o := l.Opening(); o.Broken == nil || o.Broken.File != file || o.Repair != nil {
				t.Errorf("%+v", o)
			}
			fill(t, l, 2)
			if got := contents(t, dir)[file]; !bytes.Equal(got, changed) {
				t.Error("the evidence was changed")
			}
			var bad *audit.BadRecord
			if _, err := l.Verify(head); !errors.As(err, &bad) || bad.File != file {
				t.Errorf("verify: %v", err)
			}
			page, err := l.Query(audit.Filter{Category: audit.Chain, Last: true})
			if err != nil || page.Entries[len(page.Entries)-1].Operation != "found-changed" {
				t.Errorf("query: %+v, %v", page, err)
			}
			l.Close()
			// The next opening has nothing new to say.
			l = open(t, dir, audit.Options{})
			if o := l.Opening(); o.Broken != nil || o.Repair != nil {
				t.Errorf("again: %+v", o)
			}
			fill(t, l, 1)
		})
	}
}

// Somebody who touches the log while it is open is noticed at the next record.
func TestTouchedWhileOpen(t *testing.T) {
	const name = "00000001.jsonl"
	for what, touch := range map[string]func(path string) error{
		"cut":      func(p string) error { return os.Truncate(p, 100) },
		"removed":  os.Remove,
		"replaced": func(p string) error { return errors.Join(os.Rename(p, p+".old"), os.WriteFile(p, nil, 0o600)) },
		"changed and cut": func(p string) error {
			b, _ := os.ReadFile(p)
			return os.WriteFile(p, bytes.ToUpper(b[:len(b)-1]), 0o600)
		},
	} {
		t.Run(what, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "log")
			l := open(t, dir, audit.Options{})
			fill(t, l, 3)
			if err := touch(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			r := audit.Record{Category: audit.Decision}
			if err := l.Append(r); !errors.Is(err, audit.ErrLost) {
				t.Errorf("append: %v", err)
			}
			if err := l.Recover(); !errors.Is(err, audit.ErrLost) {
				t.Errorf("recover: %v", err)
			}
			if err := l.Append(r); !errors.Is(err, audit.ErrLost) {
				t.Errorf("append again: %v", err)
			}
			if _, err := l.Verify(); err == nil {
				t.Error("verify finds nothing")
			}
		})
	}
	t.Run("added to", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "log")
		l := open(t, dir, audit.Options{})
		fill(t, l, 3)
		f, _ := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_APPEND, 0)
		f.WriteString("hello\n")
		f.Close()
		if err := l.Append(audit.Record{Category: audit.Decision}); err == nil {
			t.Fatal("it was not noticed")
		}
		if l.Err() == nil {
			t.Error("the failure does not stick")
		}
		if err := l.Recover(); err != nil {
			t.Fatal(err)
		}
		fill(t, l, 1)
		sum, err := l.Verify()
		if err != nil || len(sum.Repairs) != 1 || sum.Repairs[0].Operation != "recovered" {
			t.Fatalf("%+v, %v", sum, err)
		}
		if b, err := os.ReadFile(filepath.Join(dir, sum.Repairs[0].Detail["aside"])); err != nil || string(b) != "hello\n" {
			t.Errorf("%q, %v", b, err)
		}
	})
}
