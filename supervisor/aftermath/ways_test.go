package aftermath_test

import "testing"

const (
	repository = "git init -q . && echo x > f && git add f && git commit -qm i"
	hooks      = "; mkdir tools; echo true > tools/pre-commit; chmod +x tools/pre-commit; git config core.hooksPath tools"
)

// ways are runs that change what a name of git's configuration, or a link under a protected name, leads to.
var ways = []struct {
	name, before, command string
	found                 []string
	check                 string // must succeed afterwards
}{
	{
		"a folder of hooks replaced by a link",
		repository + hooks,
		"mkdir ev; echo evil > ev/pre-commit; mv tools old; ln -s ev tools",
		[]string{"tools"},
		"[ ! -L tools ] && [ \"$(cat tools/pre-commit)\" = true ] && [ -x tools/pre-commit ]",
	},
	{
		"a folder of hooks replaced by another",
		repository + hooks,
		"mkdir ev; echo evil > ev/pre-commit; mv tools old; mv ev tools",
		[]string{"tools/pre-commit"},
		"[ \"$(cat tools/pre-commit)\" = true ]",
	},
	{
		"a folder of hooks removed",
		repository + hooks,
		"rm -r tools",
		[]string{"kept tools"},
		"[ \"$(cat tools/pre-commit)\" = true ]",
	},
	{
		"a hook that configuration finds removed",
		repository + hooks,
		"rm tools/pre-commit",
		[]string{"kept tools/pre-commit"},
		"[ -x tools/pre-commit ]",
	},
	{
		"a link on the way to hooks changed",
		repository + hooks + "; mv tools t1; ln -s t1 tools",
		"mkdir ev; echo evil > ev/pre-commit; ln -sfn ev tools",
		[]string{"tools"},
		"[ $(readlink tools) = t1 ]",
	},
	{
		"a link to git's hooks changed",
		repository + "; ln -s .git/hooks hk; git config core.hooksPath hk",
		"mkdir ev; echo evil > ev/pre-commit; ln -sfn ev hk",
		[]string{"hk"},
		"[ $(readlink hk) = .git/hooks ]",
	},
	{
		"a link on the way out of the project changed",
		repository + hooks + "; rm -r tools; ln -s /etc tools",
		"mkdir ev; echo evil > ev/pre-commit; ln -sfn ev tools",
		[]string{"tools"},
		"[ $(readlink tools) = /etc ]",
	},
	{
		"a program that is named and missing",
		repository + "; git config core.fsmonitor ./tools/s",
		"mkdir tools; echo evil > tools/s; echo y > tools/other",
		[]string{"tools/s"},
		"[ ! -e tools/s ] && [ -e tools/other ]",
	},
	{
		"a program of an alias in the top directory",
		repository + "; mkdir tools; echo x > tools/s; " +
			"git config alias.x '!$(git rev-parse --show-toplevel)/tools/s'; git config alias.y '!cd tools && ./t'",
		"echo evil > tools/s; echo evil > tools/t",
		[]string{"tools/s", "tools/t"},
		"",
	},
	{
		"an included file by another folder",
		repository + "; mkdir cf; touch cf/inc; git config include.path ../cf/inc",
		"mkdir ev; printf '[core]\nfsmonitor = sh evil\n' > ev/inc; mv cf old; ln -s ev cf",
		[]string{"cf"},
		"! git config core.fsmonitor",
	},
	{
		"a template of repositories",
		repository + "; git config init.templateDir $PWD/tpl",
		"mkdir -p tpl/hooks; echo evil > tpl/hooks/pre-commit",
		[]string{"tpl/hooks/pre-commit"},
		"",
	},
	{
		"a nested repository goes with its hooks",
		repository + "; git init -q sub; mkdir sub/tools; echo x > sub/tools/pre-commit; " +
			"git -C sub config core.hooksPath tools",
		"rm -rf sub",
		nil,
		"[ ! -e sub ]",
	},
	{
		"the folder to which a protected link leads",
		"mkdir notes; echo mine > notes/AG.md; ln -s notes/AG.md CLAUDE.md",
		"mkdir ev; echo evil > ev/AG.md; mv notes old; ln -s ev notes",
		[]string{"notes"},
		"grep -qx mine CLAUDE.md",
	},
	{
		"in a folder to which a protected link leads",
		"mkdir cfg; echo mine > cfg/settings.json; ln -s cfg .vscode; echo '{}' > t; ln -s ../t cfg/launch.json",
		"echo evil > cfg/settings.json; echo evil > cfg/tasks.json; echo evil > t",
		[]string{"cfg/settings.json", "cfg/tasks.json", "t"},
		"grep -qx mine .vscode/settings.json && [ ! -e cfg/tasks.json ]",
	},
	{
		"a protected link to a folder of the project",
		"mkdir src; echo x > src/a",
		"ln -s src .vscode; echo y > src/b",
		[]string{".vscode"},
		"[ -e src/a ] && [ -e src/b ]",
	},
	{
		"a protected name to which a new link leads",
		"",
		"echo evil > CLAUDE.md; ln -s CLAUDE.md AGENTS.md",
		[]string{"AGENTS.md", "CLAUDE.md"},
		"",
	},
}

// A file that git's configuration or a protected link names is protected together with the way to it. R-OS-03
func TestWaysToNamedFiles(t *testing.T) {
	for _, tt := range ways {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			if tt.before != "" {
				b.sh(tt.before)
			}
			b.expect(b.command(tt.command), tt.found, tt.check)
		})
	}
}
