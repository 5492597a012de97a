package supervisor

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sandboxd/files"
	"sandboxd/profile"
	"sandboxd/supervisor/aftermath"
)

// quarantine puts a run's trash down, as aftermath leaves it.
func quarantine(t *testing.T, trash, exec, project string, at time.Time) aftermath.Item {
	t.Helper()
	dir := filepath.Join(trash, exec)
	item := aftermath.Item{Path: filepath.Join(project, ".vscode"), Trash: filepath.Join(dir, "001-.vscode"), Why: "made",
		Exec: exec, Project: project, Time: at}
	for _, d := range []string{item.Trash, filepath.Join(item.Trash, "sub")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b, err := json.Marshal([]aftermath.Item{item})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"001-.vscode/tasks.json": make([]byte, 1000), manifest: b} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(item.Trash, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(dir, manifest), at, at); err != nil {
		t.Fatal(err)
	}
	return item
}

// What was quarantined is a change that removed it, a folder after all it holds;
// a link is a link, whatever it leads to. Only a person restores it (R-FS-08),
// and only in the project that it was taken from.
func TestQuarantinedIsAChange(t *testing.T) {
	s := &Supervisor{trash: t.TempDir()}
	item := quarantine(t, s.trash, "x-1", "/p", time.Now())
	sess := &Session{Kind: KindCLI, Root: "/p"}
	id := QuarantineID(item)
	if id != "x-1-001" {
		t.Errorf("the id is %q", id)
	}
	for _, id := range []string{id, "x-1"} {
		u, err := s.quarantined(id, sess)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, step := range u.kept.Steps() {
			got = append(got, string(step.Kind)+" "+step.Path+" "+step.Before.Target)
		}
		want := []string{"remove /p/.vscode/link /etc/passwd", "rmdir /p/.vscode/sub ", "remove /p/.vscode/tasks.json ",
			"rmdir /p/.vscode "}
		if len(got) != len(want) || !u.guarded {
			t.Fatalf("%s: %q, guarded %v", id, got, u.guarded)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: step %d is %q, want %q", id, i, got[i], want[i])
			}
		}
	}
	for _, id := range []string{"x-2-001", "x-1-002", "x-1/../x-1-001", "x-", "x-..-001"} {
		if _, err := s.quarantined(id, sess); err == nil {
			t.Errorf("%s was found", id)
		}
	}
	if _, err := s.quarantined(id, &Session{Kind: KindCLI, Root: "/other"}); err == nil {
		t.Error("it was found from another project")
	}
	if list := s.quarantinedIn("/p", nil); len(list) != 1 || list[0].ID != id || !list[0].Guarded {
		t.Errorf("the list is %+v", list)
	}
	if list := s.quarantinedIn("/other", nil); len(list) != 0 {
		t.Errorf("another project's list is %+v", list)
	}
}

// An entry whose name is not text is not restored under another name: the error
// names its path in the trash.
func TestQuarantinedNameThatIsNoText(t *testing.T) {
	for _, spoil := range []func(dir string) error{
		func(dir string) error { return os.WriteFile(filepath.Join(dir, "t\xffx.json"), nil, 0o600) },
		func(dir string) error { return os.Symlink("\xff", filepath.Join(dir, "l")) },
	} {
		s := &Supervisor{trash: t.TempDir()}
		item := quarantine(t, s.trash, "x-1", "/p", time.Now())
		if err := spoil(item.Trash); err != nil {
			t.Fatal(err)
		}
		_, err := s.quarantined(QuarantineID(item), &Session{Kind: KindCLI, Root: "/p"})
		if err == nil || !strings.Contains(err.Error(), item.Trash) {
			t.Errorf("%v", err)
		}
	}
}

// What was quarantined goes with age and size, the oldest first; folders of the
// undo store stay.
func TestTrashIsPruned(t *testing.T) {
	now := time.Now()
	left := func(keepFor time.Duration, keepBytes int64) (list []string) {
		s := &Supervisor{trash: t.TempDir()}
		quarantine(t, s.trash, "x-old", "/p", now.Add(-48*time.Hour))
		quarantine(t, s.trash, "x-new", "/p", now.Add(-time.Hour))
		if err := os.Mkdir(filepath.Join(s.trash, "f-1"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(s.trash, "x-old", "001-.vscode", "sub"), 0); err != nil {
			t.Fatal(err)
		}
		if err := s.pruneTrash(keepFor, keepBytes, now); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(s.trash)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			list = append(list, e.Name())
		}
		return list
	}
	for _, c := range []struct {
		keepFor   time.Duration
		keepBytes int64
		want      int
	}{{0, 0, 3}, {24 * time.Hour, 0, 2}, {0, 2000, 2}, {0, 10_000, 3}, {time.Minute, 0, 1}, {0, 1, 1}} {
		if got := left(c.keepFor, c.keepBytes); len(got) != c.want {
			t.Errorf("keep %v and %d bytes: %q is left, want %d", c.keepFor, c.keepBytes, got, c.want)
		}
	}
}

// What one project's commands leave displaces its own older, not another project's.
func TestTrashOfOthersStays(t *testing.T) {
	now := time.Now()
	s := &Supervisor{trash: t.TempDir()}
	quarantine(t, s.trash, "x-other", "/other", now.Add(-time.Hour))
	for i := range 5 {
		quarantine(t, s.trash, fmt.Sprintf("x-%d", i), "/p", now.Add(time.Duration(i)*time.Minute))
	}
	if err := s.pruneTrash(0, 3*sizeBelow(filepath.Join(s.trash, "x-0"))+500, now); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(s.trash)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{"x-3", "x-4", "x-other"}; !slices.Equal(left, want) {
		t.Errorf("left is %q, want %q", left, want)
	}
}

// A protected file alone is granted where its folder may be written; where the
// folder is protected as well, the nearest one that exists is.
func TestProtectedPlaces(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, ".git/hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	spec := profile.Spec{Rules: []profile.Rule{{Kind: profile.Allow, Access: profile.Read | profile.Write, Path: root}}}
	for _, name := range profile.ProtectedNames(profile.Executed) {
		spec.Rules = append(spec.Rules, profile.Rule{Kind: profile.Protect, Path: root, Name: name})
	}
	p, err := profile.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"main.go": "", ".envrc": ".envrc", ".git/config": ".git/config", ".git/hooks/pre-commit": ".git/hooks",
		".git/hooks/a/b": ".git/hooks",
	} {
		var wanted []string
		if want != "" {
			wanted = []string{filepath.Join(root, want)}
		}
		got := protectedPlaces(p, []string{filepath.Join(root, path)})
		if len(got) != len(wanted) || len(got) == 1 && got[0] != wanted[0] {
			t.Errorf("%s: %q, want %q", path, got, wanted)
			continue
		}
		wide, err := widenFiles(p, nil, got)
		if err != nil {
			t.Fatal(err)
		}
		if v := wide.Allows(profile.OpWrite, filepath.Join(root, path)); !v.Allowed {
			t.Errorf("%s can't be written with %q granted", path, got)
		}
		for _, other := range []string{".vscode/x", "AGENTS.md"} {
			if v := wide.Allows(profile.OpWrite, filepath.Join(root, other)); v.Allowed {
				t.Errorf("with %s granted, %s can be written", path, other)
			}
		}
	}
}

// R-FS-08: each step of an undo is judged as the write that it is.
func TestUndoIsJudgedByItsSteps(t *testing.T) {
	rules, err := files.NewRules(files.Defaults(), files.Place{Project: "/p", Roots: map[string]string{"project": "/p"}})
	if err != nil {
		t.Fatal(err)
	}
	file, absent := files.State{Kind: files.File}, files.State{Kind: files.Absent}
	for _, c := range []struct {
		name    string
		step    files.Step
		guarded bool
		want    files.Decision
		twice   bool
	}{
		{"content comes back", files.Step{Kind: files.PutStep, Path: "/p/a.go", Before: file, After: file}, false, files.Ask,
			false},
		{"a safe file comes back", files.Step{Kind: files.PutStep, Path: "/p/a.md", Before: absent, After: file}, false,
			files.Auto, false},
		{"what was quarantined comes back", files.Step{Kind: files.PutStep, Path: "/p/a.md", Before: absent, After: file},
			true, files.Ask, true},
		{"a new file goes", files.Step{Kind: files.RemoveStep, Path: "/p/a.md", Before: file, After: absent}, false,
			files.Ask, true},
		{"a protected file comes back", files.Step{Kind: files.PutStep, Path: "/p/.vscode/a", Before: absent, After: file},
			false, files.Ask, true},
		{"a move goes back", files.Step{Kind: files.RenameStep, Path: "/p/a.md", To: "/p/b.md", Before: file, After: absent},
			false, files.Ask, true},
		{"outside", files.Step{Kind: files.PutStep, Path: "/etc/a.md", Before: absent, After: file}, true, files.Block,
			false},
	} {
		v := rules.JudgeUndo("f-1", []files.Step{c.step}, c.guarded)
		if twice := v.Protected || v.Delete; v.Decision != c.want || twice != c.twice {
			t.Errorf("%s: %s, twice %v (%s); want %s, %v", c.name, v.Decision, twice, v.Why, c.want, c.twice)
		}
	}
}
