package aftermath_test

import (
	"os"
	"path/filepath"
	"testing"
)

// Where the trash lies on another file system, things are copied there and removed, whatever
// the command has left to hinder that (R-FS-08).
func TestTrashOnAnotherFileSystem(t *testing.T) {
	for _, tt := range []struct {
		name, before, command string
		found                 []string
		check                 string
		trash                 string // must succeed in the run's folder of the trash
	}{
		{"a file and what was there", "echo mine > AGENTS.md", "echo theirs > AGENTS.md", []string{"AGENTS.md"}, "grep -qx mine AGENTS.md", "grep -qx theirs 001-AGENTS.md"},
		{"a link", "", "ln -s evil AGENTS.md", []string{"AGENTS.md"}, "[ ! -L AGENTS.md ]", "[ $(readlink 001-AGENTS.md) = evil ]"},
		{"a link in a folder", "", "mkdir .vscode; ln -s evil .vscode/tasks.json; echo x > .vscode/settings.json", []string{".vscode"}, "[ ! -e .vscode ]", "[ $(readlink 001-.vscode/tasks.json) = evil ]; grep -qx x 001-.vscode/settings.json"},
		{"temporary names", "", "echo x > AGENTS.md; touch .sandboxd-back", []string{"AGENTS.md"}, "[ ! -e AGENTS.md ]", "grep -qx x 001-AGENTS.md"},
		{"what can't be read", "git init -q .", "cp /bin/true .git/hooks/pre-commit; chmod 111 .git/hooks/pre-commit", []string{".git/hooks/pre-commit"}, "[ ! -e .git/hooks/pre-commit ]", "cmp 001-pre-commit /bin/true"},
		{"a folder with its mode", "", "mkdir -m 750 .vscode; echo x > .vscode/tasks.json", []string{".vscode"}, "[ ! -e .vscode ]", "[ $(stat -c %a 001-.vscode) = 750 ]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			dir, err := os.MkdirTemp(otherFileSystem(t, b.project), "aftermath-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			b.trash = filepath.Join(dir, "trash")
			if tt.before != "" {
				b.sh(tt.before)
			}
			b.expect(b.command(tt.command), tt.found, tt.check)
			b.sh("cd " + filepath.Join(b.trash, "x-1") + "; " + tt.trash)
		})
	}
}

// otherFileSystem is a directory from which nothing can be renamed into the project.
func otherFileSystem(t *testing.T, project string) string {
	t.Helper()
	for _, dir := range []string{"/dev/shm", os.TempDir(), "/var/tmp"} {
		from, err := os.MkdirTemp(dir, "aftermath-")
		if err != nil {
			continue
		}
		defer os.RemoveAll(from)
		if err := os.Rename(from, filepath.Join(project, "moved")); err != nil {
			return dir
		}
		os.Remove(filepath.Join(project, "moved"))
	}
	t.Fatal("there is no other file system")
	return ""
}
