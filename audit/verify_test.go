package audit_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sandboxd/audit"
)

// written is a log of n records and its files' contents.
func written(t testing.TB, n int, opts audit.Options) (dir string, files map[string][]byte, head audit.Anchor) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "log")
	l := open(t, dir, opts)
	fill(t, l, n)
	l.Close()
	return dir, contents(t, dir), l.Head()
}

func contents(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	files := map[string][]byte{}
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(n)] = b
	}
	return files
}

func write(t testing.TB, dir, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// R-AU-02: any change of any byte of any record is found, and the record that
// is named is the one that holds the byte.
func TestEveryByteCounts(t *testing.T) {
	dir, files, _ := written(t, 5, audit.Options{RotateSize: 700})
	if len(files) < 2 {
		t.Fatal("one file only")
	}
	if _, err := audit.Verify(dir); err != nil {
		t.Fatal(err)
	}
	seq := uint64(0)
	for _, name := range []string{"00000001.jsonl", "00000002.jsonl", "00000003.jsonl"} {
		line := 1
		for i, was := range files[name] {
			changed := bytes.Clone(files[name])
			others := []byte{was ^ 1}
			if i%11 == 0 { // each takes a while
				others = append(others, was^0x20, 0, '\n', ' ')
			}
			for _, b := range others {
				if b == was {
					continue
				}
				changed[i] = b
				write(t, dir, name, changed)
				_, err := audit.Verify(dir)
				var bad *audit.BadRecord
				if !errors.As(err, &bad) || bad.File != name || bad.Line != line || bad.Seq != seq+uint64(line) {
					t.Fatalf("byte %d of %s, %q → %q: %v; want line %d, record %d", i, name, was, b, err, line, seq+uint64(line))
				}
			}
			if was == '\n' {
				line++
			}
		}
		seq += uint64(line - 1)
		write(t, dir, name, files[name])
	}
}

// R-AU-02: any removal, repetition, exchange or insertion of records is found.
func TestEveryRecordCounts(t *testing.T) {
	dir, files, head := written(t, 12, audit.Options{RotateSize: 1 << 20})
	const name = "00000001.jsonl"
	lines := bytes.SplitAfter(files[name], []byte("\n"))
	lines = lines[:len(lines)-1]
	rapid.Check(t, func(t *rapid.T) {
		cut := bytes.Join(lines, nil)
		i := rapid.IntRange(0, len(lines)-1).Draw(t, "i")
		j := rapid.IntRange(0, len(lines)-1).Filter(func(j int) bool { return j != i }).Draw(t, "j")
		changed := make([][]byte, len(lines))
		copy(changed, lines)
		switch rapid.SampledFrom([]string{"remove", "repeat", "swap", "blank", "cut"}).Draw(t, "how") {
		case "remove":
			changed = append(changed[:i:i], changed[i+1:]...)
		case "repeat":
			changed = append(changed[:i:i], append([][]byte{changed[j]}, changed[i:]...)...)
		case "swap":
			changed[i], changed[j] = changed[j], changed[i]
		case "blank":
			changed[i] = append([]byte("\n"), changed[i]...)
		case "cut":
			n := rapid.IntRange(0, len(cut)-1).Draw(t, "bytes")
			changed = [][]byte{cut[:n]}
		}
		if err := os.WriteFile(filepath.Join(dir, name), bytes.Join(changed, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		var bad *audit.BadRecord
		if _, err := audit.Verify(dir, head); !errors.As(err, &bad) || bad.Seq == 0 || bad.Problem == "" {
			t.Fatalf("not found: %v", err)
		}
	})
}

// R-AU-02: each kind of damage is named in words, with its place.
func TestVerifyNames(t *testing.T) {
	dir, files, head := written(t, 20, audit.Options{RotateSize: 1000})
	if len(files) < 5 {
		t.Fatalf("%d files", len(files))
	}
	const second = "00000002.jsonl"
	lines := bytes.SplitAfter(files[second], []byte("\n"))
	first := uint64(bytes.Count(files["00000001.jsonl"], []byte("\n"))) + 1
	for _, c := range []struct {
		name   string
		damage func()
		anchor audit.Anchor
		file   string
		line   int
		seq    uint64
		says   string
	}{
		{"edit", func() {
			write(t, dir, second, bytes.Replace(files[second], []byte(`"tool":"bash"`), []byte(`"tool":"bush"`), 1))
		}, head, second, 1, first, "changed"},
		{"removal of a record", func() { write(t, dir, second, bytes.Join(lines[1:], nil)) }, head, second, 1, first,
			fmt.Sprintf("record %d is in its place", first+1)},
		{"removal of the last record of a file", func() { write(t, dir, second, bytes.Join(lines[:len(lines)-2], nil)) },
			head, "00000003.jsonl", 1, 0, "is in its place"},
		{"truncation of a file in the middle", func() { write(t, dir, second, files[second][:len(files[second])-9]) }, head,
			second, len(lines) - 1, 0, "incomplete"},
		{"a record twice", func() {
			write(t, dir, second, bytes.Join(append([][]byte{lines[0], lines[0]}, lines[1:]...), nil))
		}, head, second, 2, first + 1, fmt.Sprintf("record %d is in its place", first)},
		{"two records exchanged", func() {
			write(t, dir, second, bytes.Join(append([][]byte{lines[1], lines[0]}, lines[2:]...), nil))
		}, head, second, 1, first, fmt.Sprintf("record %d is in its place", first+1)},
		{"a record moved to the next file", func() {
			write(t, dir, second, bytes.Join(lines[1:], nil))
			write(t, dir, "00000003.jsonl", append(bytes.Clone(lines[0]), files["00000003.jsonl"]...))
		}, head, second, 1, first, fmt.Sprintf("record %d is in its place", first+1)},
		{"removal of a file", func() { os.Remove(filepath.Join(dir, second)) }, head, second, 0, first, "file is missing"},
		{"removal of the first file", func() { os.Remove(filepath.Join(dir, "00000001.jsonl")) }, head, "00000001.jsonl", 0,
			1, "file is missing"},
		{"files exchanged", func() {
			write(t, dir, second, files["00000003.jsonl"])
			write(t, dir, "00000003.jsonl", files[second])
		}, head, second, 1, first, "is in its place"},
		{"a file twice", func() { write(t, dir, "00000003.jsonl", files[second]) }, head, "00000003.jsonl", 1, 0,
			"is in its place"},
		{"a file emptied", func() { write(t, dir, second, nil) }, head, "00000003.jsonl", 1, first, "is in its place"},
		{"a tail cut off", func() { os.Remove(filepath.Join(dir, fmt.Sprintf("%08d.jsonl", len(files)))) }, head, "", 0, 0,
			"tail was cut off"},
		{"everything removed", func() {
			for name := range files {
				os.Remove(filepath.Join(dir, name))
			}
		}, head, "", 0, 1, "tail was cut off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.damage()
			_, err := audit.Verify(dir, c.anchor)
			var bad *audit.BadRecord
			if !errors.As(err, &bad) {
				t.Fatalf("%v", err)
			}
			if c.file != "" && (bad.File != c.file || bad.Line != c.line) || c.seq != 0 && bad.Seq != c.seq ||
				!strings.Contains(bad.Error(), c.says) {
				t.Errorf("%v; want %s line %d record %d %q", bad, c.file, c.line, c.seq, c.says)
			}
			for name, b := range files {
				write(t, dir, name, b)
			}
		})
	}
	if sum, err := audit.Verify(dir, head); err != nil || sum.Head != head {
		t.Errorf("restored: %+v, %v", sum, err)
	}
}

// R-AU-02: a rewritten log is a good chain; only the anchor shows it.
func TestRewriteNeedsAnchor(t *testing.T) {
	dir, _, head := written(t, 5, audit.Options{})
	anchor := audit.Anchor{Seq: 3}
	page, err := audit.Query(dir, audit.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	anchor.Hash = page.Entries[2].Hash
	if _, err := audit.Verify(dir, anchor, head); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	l := open(t, dir, audit.Options{})
	fill(t, l, 9)
	if _, err := audit.Verify(dir); err != nil {
		t.Errorf("without an anchor: %v", err)
	}
	var bad *audit.BadRecord
	if _, err := audit.Verify(dir, anchor); !errors.As(err, &bad) || bad.Seq != 3 ||
		!strings.Contains(bad.Problem, "rewritten") {
		t.Errorf("with one: %v", err)
	}
}
