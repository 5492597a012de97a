package aftermath_test

import (
	"path/filepath"
	"testing"
)

// Where git sends and fetches stays as it was, unless a person permitted the command that changes it. R-OS-03
func TestWhereGitSends(t *testing.T) {
	const remote = repository + "; git remote add origin https://h/a.git; git config branch.x.remote origin; "
	for _, tt := range []struct {
		name, before, command string
		found                 []string
		check                 string // must succeed afterwards
	}{
		{
			"another address", remote, "git remote set-url origin https://evil/x; git config user.name n",
			[]string{".git/config"}, "[ $(git remote get-url origin) = https://h/a.git ]",
		},
		{"another remote for a push", remote, "git remote add e https://evil/x; git config remote.pushDefault e",
			[]string{".git/config"}, "[ -z \"$(git config remote.pushDefault)\" ]"},
		{"a new remote and a new branch", remote,
			"git remote add e https://evil/x; git config branch.new.remote e", nil, "git remote get-url e"},
		{"a remote by a file", remote, "mkdir -p .git/remotes; echo 'URL: https://evil/x' > .git/remotes/o",
			[]string{".git/remotes"}, "[ ! -e .git/remotes/o ]"},
		{"the first remote", repository, "git remote add origin https://h/a.git", nil, "git remote get-url origin"},
		{"an included file", repository + "; echo > inc; git config include.path ../inc; git remote add o https://h/a.git",
			"git config -f inc remote.o.pushurl https://evil/x", []string{"inc"}, "! git config remote.o.pushurl"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.sh(tt.before)
			b.expect(b.command(tt.command), tt.found, tt.check)
		})
	}
	b := newBench(t)
	b.sh(remote)
	b.run.Granted, b.run.Asked = []string{filepath.Join(b.project, ".git/config")}, true
	b.expect(b.command("git remote set-url origin https://h/b.git"), nil, "git remote get-url origin | grep b.git")
}
