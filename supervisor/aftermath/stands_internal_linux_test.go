package aftermath

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// An entry that somebody saves under a protected name between the scan and the removal is
// theirs: it stays, and the check puts nothing in its place (R-FS-08).
func TestSavedBetweenLookAndTaking(t *testing.T) {
	for name, c := range map[string]struct {
		at, before string // before: empty for nothing
		person     func(at string) error
		kept       bool
	}{
		"replaced":      {"AGENTS.md", "mine", func(at string) error { return replace(at, "person's") }, true},
		"replaced, new": {"AGENTS.md", "", func(at string) error { return replace(at, "person's") }, true},
		"written": {"AGENTS.md", "mine", func(at string) error { return os.WriteFile(at, []byte("person's"), 0o644) },
			true},
		"configuration": {".git/config", "[user]\nname = n\n",
			func(at string) error { return replace(at, "[user]\nname = person\n") }, true},
		"in a directory": {".vscode/tasks.json", "", func(at string) error { return replace(at, "person's") }, true},
		"beside it": {".vscode/tasks.json", "",
			func(at string) error { return replace(filepath.Dir(at)+"/settings.json", "person's") }, true},
		"removed":     {"AGENTS.md", "", os.Remove, true},
		"touched":     {"AGENTS.md", "mine", func(at string) error { return os.Chtimes(at, time.Time{}, time.Now()) }, false},
		"not touched": {".vscode/tasks.json", "", func(string) error { return nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			at := filepath.Join(w.root, c.at)
			if c.before != "" {
				must(t, replace(at, c.before))
			}
			s := Before(w.profile, &Cache{}, "")
			defer s.Done()
			run := Run{ID: "x-1", Start: time.Now(), Trash: filepath.Join(filepath.Dir(w.root), "trash")}
			must(t, os.MkdirAll(filepath.Dir(at), 0o755))
			must(t, replace(at, "[core]\nfsmonitor = command's\n"))
			run.End = time.Now().Add(time.Second)
			check := s.check(walk(s.profile, s.cache, "", nil), run)
			must(t, c.person(at))
			theirs, _ := os.ReadFile(at)
			for at, e := range check.now.entries {
				if !check.done(at) && (filepath.Dir(at) == w.root || filepath.Base(at) == "config") {
					check.look(at, e)
				}
			}
			check.trash.close(check.items)
			if len(check.items) != 1 || check.items[0].Kept != c.kept {
				t.Errorf("found %+v", check.items)
			}
			if now, _ := os.ReadFile(at); c.kept && string(now) != string(theirs) {
				t.Errorf("%s holds %q, want %q", c.at, now, theirs)
			}
		})
	}
}

// While another active command can write there, the change may be that command's: the
// earlier entry is restored.
func TestChangedByAnotherCommandBeforeTheTaking(t *testing.T) {
	w := newWorld(t, 1)
	at := filepath.Join(w.root, "AGENTS.md")
	must(t, replace(at, "mine"))
	cache := &Cache{}
	s := Before(w.profile, cache, "")
	defer s.Done()
	other := Before(w.profile, cache, "")
	defer other.Done()
	run := Run{ID: "x-1", Start: time.Now(), Trash: filepath.Join(filepath.Dir(w.root), "trash")}
	must(t, replace(at, "one command's"))
	run.End = time.Now().Add(time.Second)
	check := s.check(walk(s.profile, cache, "", nil), run)
	must(t, replace(at, "another command's"))
	check.look(at, check.now.entries[at])
	check.trash.close(check.items)
	if now, err := os.ReadFile(at); err != nil || string(now) != "mine" || len(check.items) != 1 || check.items[0].Kept {
		t.Errorf("it holds %q (%v); found %+v", now, err, check.items)
	}
}

// replace writes a file as editors do.
func replace(at, text string) error {
	if err := os.WriteFile(at+"~", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(at+"~", at)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
