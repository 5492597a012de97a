package durable

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "state")
	for _, text := range []string{"first", "", "third, longer than the others"} {
		if err := Replace(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); string(got) != text {
			t.Errorf("got %q (%v), want %q", got, err, text)
		}
	}
	if st, err := os.Stat(name); err != nil || st.Mode() != 0o600 {
		t.Errorf("got %v (%v), want a file of mode 0600", st, err)
	}
	blocked := filepath.Join(dir, "blocked")
	if err := os.MkdirAll(filepath.Join(blocked, "entry"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{blocked, filepath.Join(dir, "absent", "state")} {
		if err := Replace(bad, []byte("x")); err == nil {
			t.Errorf("%s: got no error", bad)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("got %v (%v), want state and blocked, and nothing beside them", entries, err)
	}
}
