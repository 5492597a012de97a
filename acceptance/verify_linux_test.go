package acceptance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// damaged is what was done to a log, and where sbx log verify must find it.
type damaged struct {
	name string
	do   func(files [][]byte) [][]byte // the contents of the files, in order; nil: removed
	file int                           // from 0; -1: the tail
	line int                           // from 1
	says string
}

// R-AU-02: the log of a real daemon, over many files: whatever is edited,
// removed, put elsewhere, doubled or cut is found by sbx log verify, at its place.
func TestLogVerifyFindsEveryDamage(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	config := filepath.Join(a.dir, "config.toml")
	if err := os.WriteFile(config, []byte("[audit]\nrotate_size = \"6KiB\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.start("--config", config)
	for i := range 12 {
		if got := a.sbx("run", "--", "cat", "README", "-"+strings.Repeat("n", 1+i%3)); got.code != 0 {
			t.Fatal(got)
		}
	}
	a.stop()
	dir := filepath.Join(a.stateDir(), "audit")
	names, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if len(names) < 4 {
		t.Fatalf("no rotations: %v", names)
	}
	var whole [][]byte
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		whole = append(whole, b)
	}
	anchors := filepath.Join(a.dir, "anchors")
	verify := func() result { return a.sbx("log", "verify", "--dir", dir, "--anchors", anchors) }
	if got := a.sbx("log", "anchor", "--dir", dir, anchors); got.code != 0 {
		t.Fatal(got)
	}
	if got := verify(); got.code != 0 {
		t.Fatal(got)
	}

	// each changes the lines of one file.
	each := func(n int, change func(l [][]byte) [][]byte) func([][]byte) [][]byte {
		return func(files [][]byte) [][]byte {
			l := bytes.SplitAfter(files[n], []byte("\n"))
			files[n] = bytes.Join(change(l[:len(l)-1]), nil)
			return files
		}
	}
	last := len(whole) - 1
	list := []damaged{
		{"a file emptied", each(1, func([][]byte) [][]byte { return nil }), 2, 1, "is in its place"},
		{"a file removed", func(f [][]byte) [][]byte { f[1] = nil; return f }, 1, 0, "file is missing"},
		{"files exchanged", func(f [][]byte) [][]byte { f[1], f[2] = f[2], f[1]; return f }, 1, 1, "is in its place"},
		{"a file doubled", func(f [][]byte) [][]byte { f[2] = f[1]; return f }, 2, 1, "is in its place"},
		{"the first record of a file moved to the next", func(f [][]byte) [][]byte {
			first, rest, _ := bytes.Cut(f[1], []byte("\n"))
			f[1], f[2] = rest, slices.Concat(first, []byte("\n"), f[2])
			return f
		}, 1, 1, "is in its place"},
		{"the tail cut off", each(last, func(l [][]byte) [][]byte { return l[:len(l)-1] }), -1, 0, "tail was cut off"},
		{"the newest file removed", func(f [][]byte) [][]byte { f[last] = nil; return f }, -1, 0, "tail was cut off"},
		{"cut in the middle of the last record", func(f [][]byte) [][]byte { f[last] = f[last][:len(f[last])-20]; return f }, -1, 0, ""},
	}
	for _, n := range []int{0, 1, last - 1} { // whole files: what is done to the last record is a cut
		in := " in file " + strconv.Itoa(n+1)
		list = append(list,
			damaged{"edited" + in, each(n, func(l [][]byte) [][]byte {
				l[1] = bytes.Replace(l[1], []byte(`"time":"20`), []byte(`"time":"21`), 1)
				return l
			}), n, 2, "changed"},
			damaged{"removed" + in, each(n, func(l [][]byte) [][]byte { return slices.Delete(l, 1, 2) }), n, 2, "is in its place"},
			damaged{"reordered" + in, each(n, func(l [][]byte) [][]byte { l[0], l[1] = l[1], l[0]; return l }), n, 1, "is in its place"},
			damaged{"duplicated" + in, each(n, func(l [][]byte) [][]byte { return slices.Insert(l, 1, l[0]) }), n, 2, "is in its place"},
			damaged{"truncated" + in, each(n, func(l [][]byte) [][]byte { l[0] = l[0][:40]; return l[:1] }), n, 1, "incomplete"},
		)
	}
	for _, d := range list {
		t.Run(d.name, func(t *testing.T) {
			files := make([][]byte, len(whole))
			for i, b := range whole {
				files[i] = bytes.Clone(b)
			}
			for i, b := range d.do(files) {
				os.Remove(names[i])
				if b == nil {
					continue
				}
				if err := os.WriteFile(names[i], b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got := verify()
			place := ""
			if d.file >= 0 {
				place = "(" + filepath.Base(names[d.file])
			}
			if d.line > 0 {
				place += fmt.Sprintf(" line %d)", d.line)
			}
			if got.code != 1 || !strings.Contains(got.out, "BAD: record ") || !strings.Contains(got.out, place) || !strings.Contains(got.out, d.says) {
				t.Errorf("want %s %q: %v", place, d.says, got)
			}
		})
	}
	for i, b := range whole {
		if err := os.WriteFile(names[i], b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := verify(); got.code != 0 {
		t.Errorf("as it was: %v", got)
	}
}
