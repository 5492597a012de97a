package audit

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzSeal: what is sealed unseals to itself, is one line of printable
// text, and no prefix of it passes for a record.
func FuzzSeal(f *testing.F) {
	f.Add("subject", "agent", `{"a":1}`)
	f.Add("\n", ",\"hash\":\"", `{"hash":"x","seq":3}`)
	f.Add("\u202e\x1b", "\xff", `{"a":{"b":[1,2,{"c":null}]}}`)
	f.Fuzz(func(t *testing.T, subject, agent, input string) {
		r := Record{Category: Decision, Subject: subject, Agent: agent, Input: json.RawMessage(input)}
		object, err := encodeRecord(r, []string{"secret"}, 256<<10)
		if err != nil {
			return
		}
		line, hash := seal(7, strings.Repeat("a", 64), object)
		body, ok := bytes.CutSuffix(line, []byte("\n"))
		if !ok || bytes.ContainsAny(body, "\n\r\x1b\x7f") || !utf8.Valid(body) {
			t.Fatalf("%q", line)
		}
		e, err := unseal(body)
		if err != nil || e.Seq != 7 || e.Hash != hash || e.Prev != strings.Repeat("a", 64) {
			t.Fatalf("%+v, %v", e, err)
		}
		if err := e.open(); err != nil {
			t.Fatal(err)
		}
		if want := strings.ToValidUTF8(subject, "\ufffd"); e.Subject != want && e.Cut == nil &&
			!strings.Contains(subject, "\xff") {
			// Several bad bytes in a row may become several U+FFFD.
			if strings.ReplaceAll(e.Subject, "\ufffd", "") != strings.ReplaceAll(want, "\ufffd", "") {
				t.Fatalf("%q became %q", subject, e.Subject)
			}
		}
		for _, i := range []int{len(body) - 1, len(body) / 2, 0} {
			if _, err := unseal(body[:i]); err == nil {
				t.Fatalf("%q passes", body[:i])
			}
		}
	})
}

// FuzzUnseal: no line makes it panic.
func FuzzUnseal(f *testing.F) {
	object, _ := encodeRecord(Record{Category: Decision}, nil, 1<<20)
	line, _ := seal(1, zeroHash, object)
	f.Add(line)
	f.Add([]byte(`{"seq":1,"prev":"","hash":""}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if e, err := unseal(line); err == nil {
			e.open()
		}
	})
}

// BenchmarkAppend shows what group commit is for.
func BenchmarkAppend(b *testing.B) {
	l, err := Open(b.TempDir()+"/log", Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	r := Record{Category: Decision, Tool: "bash", Subject: "git status", Session: "s", Decision: "approved"}
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := l.Append(r); err != nil {
				b.Error(err)
			}
		}
	})
}

// R-AU-01: what is excluded is in no record, at any depth and in any case; the rest keeps its text.
func TestWithoutKeys(t *testing.T) {
	input := json.RawMessage(`{"z":1.0,"a":{"SECRET":1,"b":[{"secret":2,"c":"<"}]}}`)
	if got, err := withoutKeys(input, []string{"secret"}); err != nil || string(got) != `{"a":{"b":[{"c":"<"}]},"z":1.0}` {
		t.Errorf("withoutKeys = %s, %v", got, err)
	}
	for _, input := range []string{`{`, `{} {}`, `[]`} {
		if got, err := withoutKeys(json.RawMessage(input), nil); err == nil {
			t.Errorf("withoutKeys(%s) = %s, want an error", input, got)
		}
	}
}
