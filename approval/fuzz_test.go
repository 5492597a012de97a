package approval

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// FuzzGrants: reading any file ends without a panic,
// and what was read is what is written again.
func FuzzGrants(f *testing.F) {
	f.Add([]byte(`{"version":1,"grants":[]}`))
	f.Add([]byte(`{"version":1,"written":"2026-01-02T03:04:05Z","grants":[{"id":"a","effect":"allow","scope":"global","match":{"tool":"bash","any":true},"principal":{"uid":1000},"created":"2026-01-02T03:04:05Z","by":{"principal":{"uid":1000}},"source":"person","uses":1}]}`))
	f.Add([]byte(`{"version":1,"grants":[{"id":"a","effect":"deny","scope":"agent","agent":"x","match":{"tool":"bash","where":[{"key":"n","op":"equal","value":1e400}]},"created":"2026-01-02T03:04:05Z"}]}`))
	f.Add([]byte(`{"version":2}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		grants, err := parseGrants(data)
		if err != nil {
			return
		}
		path := filepath.Join(t.TempDir(), "grants.json")
		if err := NewFileStore(path).Save(grants); err != nil {
			return // a year after 9999 can be read but not written
		}
		written, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseGrants(written)
		if err != nil || len(again) != len(grants) {
			t.Fatalf("written and read: %d grants of %d, %v\n%s", len(again), len(grants), err, written)
		}
		for i := range grants {
			if !grants[i].Match.equal(again[i].Match) {
				t.Fatalf("%v became %v", grants[i].Match, again[i].Match)
			}
		}
	})
}

// FuzzFingerprint: any JSON object has a fingerprint or an error, it does not
// depend on how the object is written, and never panics.
func FuzzFingerprint(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1,"b":[1.0,null,"x"]}`, `{"a":{"b":{"c":[[[]]]}}}`, `{"n":1e400,"m":-0.0e-5}`,
		`{"n":123456789012345678901234567890}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		var v map[string]any
		if dec.Decode(&v) != nil {
			return
		}
		a, err := Fingerprint(v)
		if err != nil {
			return
		}
		spaced, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		dec = json.NewDecoder(bytes.NewReader(spaced))
		dec.UseNumber()
		var w map[string]any
		if err := dec.Decode(&w); err != nil {
			t.Fatal(err)
		}
		if b, err := Fingerprint(w); err != nil || a != b {
			t.Fatalf("%s and %s: %v", data, spaced, err)
		}
	})
}
