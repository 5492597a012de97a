package aftermath_test

import "testing"

// A copy of a protected file is no news in a new work tree, at the same path from its top, and in a folder that was
// moved as a whole. Elsewhere it means something else. R-OS-03
func TestCopiesOfProtectedFiles(t *testing.T) {
	const settings = repository + "; mkdir -p ex/.vscode ex/.github/workflows; echo x > ex/.vscode/tasks.json; " +
		"echo x > ex/.envrc; echo x > ex/.github/workflows/ci.yml; git add .; git commit -qm ex; "
	for _, tt := range []struct {
		name, before, command string
		found                 []string
		check                 string // must succeed afterwards
	}{
		{
			"a hook of a nested repository", repository + "; git init -q sub; echo ./x > sub/.git/hooks/pre-commit",
			"cp sub/.git/hooks/pre-commit .git/hooks/", []string{".git/hooks/pre-commit"}, "[ ! -e .git/hooks/pre-commit ]",
		},
		{
			"settings copied up", settings, "cp -r ex/.vscode .; cp ex/.envrc .; cp -r ex/.github .",
			[]string{".envrc", ".github/workflows", ".vscode"}, "[ ! -e .vscode ]",
		},
		{
			"settings moved up", settings, "mv ex/.vscode .; mv ex/.github/ .",
			[]string{".github/workflows", ".vscode", "kept ex/.vscode"},
			"[ ! -e .vscode ] && [ ! -e .github/workflows ]",
		},
		{"a folder's settings copied beside it", settings, "cp -r ex new", []string{
			"new/.envrc", "new/.github/workflows", "new/.vscode"}, "",
		},
		{
			"a repository made around a copy", settings + "mkdir app; sleep 0.1",
			"git init -q app; cp ex/.envrc app", []string{"app/.envrc"}, "",
		},
		{"a folder moved as a whole", settings, "mkdir pk; mv ex pk/new", nil, "[ -e pk/new/.vscode/tasks.json ]"},
		{"a work tree", settings, "git worktree add -q wt", nil, "[ -e wt/ex/.envrc ] && git -C wt status"},
		{
			"a work tree of what is elsewhere now", settings + "mv ex moved",
			"git worktree add -q wt && git clone -q . sub", nil, "[ -e wt/ex/.envrc ] && [ -e sub/ex/.envrc ]",
		},
		{"a work tree with one more", settings, "git worktree add -q wt; cp ex/.envrc wt", []string{"wt/.envrc"}, ""},
		{"a copy of the repository", settings, "git clone -q . sub", nil, "[ -e sub/ex/.envrc ]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.sh(tt.before)
			b.expect(b.command(tt.command), tt.found, tt.check)
		})
	}
}
