package aftermath_test

import "testing"

// Folders of dependencies bring settings of their own, and git's files there count as everywhere.
// R-FS-03 R-OS-03
func TestWhatARunLeavesInDependencies(t *testing.T) {
	for _, tt := range []struct {
		name, before, command string
		found                 []string
		check                 string // must succeed afterwards
	}{
		{
			"dependencies bring their own settings", "mkdir -p node_modules/a",
			"mkdir -p node_modules/a/.vscode; echo x | tee node_modules/a/.vscode/tasks.json node_modules/a/.npmrc",
			nil, "[ -e node_modules/a/.npmrc ]",
		},
		{
			"a hook in dependencies", "",
			"git init -q vendor/x; echo x > vendor/x/.git/hooks/pre-commit",
			[]string{"vendor/x/.git/hooks/pre-commit"}, "",
		},
		{
			"a repository in a dependency's settings", "",
			"mkdir -p vendor/x; git init -q vendor/x/.vscode; git -C vendor/x/.vscode config core.fsmonitor 'sh evil'",
			[]string{"vendor/x/.vscode/.git/config"}, "",
		},
		{
			"settings moved out of dependencies",
			"mkdir -p node_modules/a/.vscode; echo x > node_modules/a/.vscode/tasks.json",
			"mv node_modules/a app",
			[]string{"app/.vscode"}, "[ ! -e app/.vscode ]",
		},
		{
			"settings moved into dependencies", "mkdir -p node_modules app/.vscode; echo x > app/.vscode/tasks.json",
			"mv app/.vscode node_modules",
			[]string{"kept app/.vscode"}, "[ -e app/.vscode/tasks.json ]",
		},
		{
			"a link to dependencies with settings",
			"mkdir -p node_modules/a/.vscode; echo x > node_modules/a/.vscode/tasks.json",
			"ln -s node_modules/a app",
			[]string{"app", "node_modules/a/.vscode"}, "[ ! -e app ]",
		},
		{
			"settings behind a link to dependencies", "mkdir -p node_modules/a; ln -s node_modules/a app",
			"mkdir app/.vscode; echo x > app/.vscode/tasks.json",
			[]string{"app", "node_modules/a/.vscode"}, "[ ! -e app/.vscode ]",
		},
		{
			"a link to dependencies without settings", "mkdir -p node_modules/.bin",
			"ln -s node_modules/.bin bin",
			nil, "[ -e bin ]",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			if tt.before != "" {
				b.sh(tt.before)
			}
			b.expect(b.command(tt.command), tt.found, tt.check)
		})
	}
}
