package supervisor

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"sandboxd/profile"
	"sandboxd/shell"
)

// Only a line of nothing but git and mv, all literal, is given more; what could
// start another program is given nothing.
func TestWidening(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	setup := exec.Command("bash", "-euc", "git init -q . && mkdir -p pk/a/.vscode pk/b src && touch pk/a/.vscode/s.json && ln -s pk link")
	setup.Dir = root
	if out, err := setup.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	spec := profile.Spec{Rules: []profile.Rule{{Kind: profile.Allow, Access: profile.Read | profile.Write | profile.Exec, Path: root}}}
	for _, name := range profile.ProtectedNames(profile.Executed) {
		spec.Rules = append(spec.Rules, profile.Rule{Kind: profile.Protect, Path: root, Name: name})
	}
	p, err := profile.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	config := []string{".git/config"}
	tests := []struct {
		line string
		want []string
	}{
		{"git remote add o x", config},
		{"cd src && git branch --track a b", config},
		{"git -C src push -u o main", config},
		{"git remote add o x && git push -u o HEAD", config},
		{"git config branch.a.remote o 2>/dev/null", config},
		{"mv pk/a pk/c", []string{"pk/a/.vscode"}},
		{"git mv pk/a pk/c", []string{"pk/a/.vscode"}},

		{"git push o main", nil},
		{"git status", nil},
		{"mv pk/b pk/c", nil},
		{"mv .git .git.old", nil},
		{"mv pk/a/.vscode x", nil},
		{"mv link/a x", nil},
		{"git config core.fsmonitor evil", nil},
		{"git config alias.x '!sh'", nil},
		{"git config remote.o.url 'ext::sh'", nil},
		{"git config --file ../x user.name n", nil},
		{"git -c core.sshCommand=evil push -u o main", nil},
		{"git --git-dir=evil remote add o x", nil},
		{"git push -u --receive-pack=evil o main", nil},
		{"git submodule foreach ./evil", nil},
		{"git init --template=evil .", nil},
		{"git remote add o x; ./evil", nil},
		{"./evil && git remote add o x", nil},
		{"git remote add o x | ./evil", nil},
		{"git remote add o $(./evil)", nil},
		{"GIT_SSH_COMMAND=evil git push -u o main", nil},
		{"env git remote add o x", nil},
		{"git() { ./evil; }; git remote add o x", nil},
		{"git remote add o x > .git/hooks/x", nil},
		{"bash -c 'git remote add o x'", nil},
		{"/usr/bin/../../evil/git remote add o x", nil},
	}
	for _, tt := range tests {
		var want []string
		for _, rel := range tt.want {
			want = append(want, filepath.Join(root, rel))
		}
		got := widening(shell.Command{Line: tt.line, Cwd: root, Project: root, Home: root}, p, root)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", tt.line, got, want)
		}
		if len(got) == 0 {
			continue
		}
		wider, err := widen(p, nil, got)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range got {
			if !wider.Allows(profile.OpCreate, path).Allowed {
				t.Errorf("%s: %s stays closed", tt.line, path)
			}
		}
		if wider.Allows(profile.OpCreate, filepath.Join(root, ".git/hooks/x")).Allowed {
			t.Errorf("%s: hooks are open, too", tt.line)
		}
		// The operator's ceiling bounds every yes.
		if held, err := widen(p, &p, got); err != nil || held.Allows(profile.OpWrite, got[0]).Allowed {
			t.Errorf("%s: wider than the operator's profile (%v)", tt.line, err)
		}
	}
	env := shell.Command{Argv: []string{"git", "remote", "add", "o", "x"}, Cwd: root, Env: map[string]string{"GIT_DIR": "evil"}}
	if got := widening(env, p, root); got != nil {
		t.Errorf("with GIT_DIR: %q", got)
	}
	// A .git file that leads out of the project opens nothing.
	if err := os.WriteFile(filepath.Join(root, "src", ".git"), []byte("gitdir: /etc\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := widening(shell.Command{Line: "cd src && git remote add o x", Cwd: root}, p, root); got != nil {
		t.Errorf("by a .git file: %q", got)
	}
}
