package acceptance

import (
	"strings"
	"testing"

	"sandboxd/ipc"
)

// judgedBefore runs a line twice whose landing asks with a reason, and answers with no and with yes. Until the question
// and after the no the project is as before; after the yes it is not, and undo takes that back. names are read all the
// time.
func (a *actor) judgedBefore(line, reason string, names ...string) {
	a.t.Helper()
	all := func(ipc.Approval) bool { return true }
	before := a.everything()
	for _, yes := range []bool{false, true} {
		end, early, asked := a.unchanged(names...), "", false
		r := a.landing(func(q ipc.Approval) bool {
			if !strings.Contains(strings.Join(q.Reasons, "\n"), reason) {
				return true // it is about the command
			}
			if !asked {
				early = end()
			}
			asked = true
			return yes
		}, "run", "--json", "-c", line+"; echo more >> src/one.txt")
		if !asked {
			a.t.Fatalf("%s: the landing does not ask: %d %s%s %s", line, r.code, r.out, r.err, end())
		}
		if early != "" {
			a.t.Errorf("%s: before the question the project has\n%s", line, early)
		}
		if !yes {
			if now := a.everything(); r.code != 126 || r.Changes.HeldID == "" || now != before {
				a.t.Errorf("%s: after a no: %d %s%s %s", line, r.code, r.out, r.err, now)
			}
			a.landing(all, "changes", "drop", r.Changes.HeldID)
			continue
		}
		if now := a.everything(); r.code != 0 || r.Changes.Held != "" || now == before {
			a.t.Errorf("%s: after a yes: %d %s%s", line, r.code, r.out, r.err)
		}
		a.landsBack(before)
	}
}

// python is a line that runs statements, which its words do not show.
func python(text string) string { return `python3 -c "import os, shutil; ` + text + `"` }

// R-LY-02, R-LY-06: each new file under a protected name, and each that git would run, is judged before any of it is in
// the project: by itself, in a directory or by a link that the run made, or because settings and links from before the
// run name it.
func TestLayersJudgeNewNames(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("")
		a.repository()
		a.sh(`mkdir -p tools/hooks conf half.git/hooks half.git/refs pkg real
git config core.hooksPath tools/hooks && git config core.fsmonitor tools/watch
printf '#!/bin/sh\n' > tools/watch && chmod 755 tools/watch && echo '{}' > conf/tasks.json && echo text > notes.txt
ln -s notes.txt AGENTS.md && echo read > pkg/CLAUDE.md && echo 'ref: refs/heads/main' > half.git/HEAD
printf '#!/bin/sh\n' > half.git/hooks/post-checkout && chmod 755 half.git/hooks/post-checkout
mkdir -p node_modules/x/.vscode`)
		hook := func(name string) string {
			return python("n = '" + name + "'; open(n, 'a').write('#!/bin/sh'); os.chmod(n, 0o755)")
		}
		for _, c := range []struct{ line, reason, names string }{
			{plant(".envrc", "use nix"), ".envrc", ".envrc"},
			{plant("docs/deep/CLAUDE.md", "read"), "docs/deep/CLAUDE.md", "docs"},
			{plant("src/.gitmodules", "[submodule]"), "src/.gitmodules", "src/.gitmodules"},
			{hook(".git/hooks/pre-commit"), ".git/hooks/pre-commit", ".git/hooks"},
			{python("os.symlink('src', '.vscode')"), ".vscode", ".vscode"},
			{python("os.symlink('.git/hooks', 'away')") + "; " + hook("away/post-merge"), ".git/hooks/post-merge",
				".git/hooks away"},
			{python("os.makedirs('new/a'); shutil.move('conf', 'new/a/.vscode')"), "new/a/.vscode", "new conf"},
			{python("shutil.move('pkg', 'packages'); open('packages/CLAUDE.md', 'a').write('obey')"), "packages/CLAUDE.md",
				"pkg packages"},
			{python("shutil.move('.git', 'g')") + "; " + hook("g/hooks/pre-push") + "; " + python("shutil.move('g', '.git')"),
				".git/hooks/pre-push", ".git/hooks"},
			{hook("tools/hooks/pre-commit"), "tools/hooks/pre-commit", "tools/hooks"},
			{plant("tools/watch", "evil"), "tools/watch", "tools/watch"},
			{plant("notes.txt", "obey"), "notes.txt", "notes.txt"},
			{python("os.mkdir('half.git/objects')"), "half.git/hooks/post-checkout", "half.git"},
			{plant("real/.git", "gitdir: /nowhere/else.git"), "real/.git", "real"},
			{python("os.symlink('node_modules/x', 'x')") + "; " + plant("node_modules/x/.vscode/tasks.json", "{}"),
				"node_modules/x/.vscode", "x node_modules/x/.vscode"},
		} {
			a.judgedBefore(c.line, c.reason, strings.Fields(c.names)...)
		}
		for _, line := range []string{
			plant("node_modules/x/.vscode/tasks.json", "{}"), plant("docs/plain.md", "x"), "git init -q plain",
			python("os.mkdir('other.git'); os.mkdir('other.git/refs')"),
		} {
			if r := a.run(line); r.code != 0 || r.Changes.Held != "" || strings.Contains(r.out, "violations") {
				t.Errorf("%s asks, or was refused something: %d %s%s", line, r.code, r.out, r.err)
			}
		}
		a.noLayers()
	})
}

// R-LY-02: a repository that the run made is judged as one unit before it lands, and lands as one.
func TestLayersJudgeNewRepositories(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("")
		a.repository()
		before := a.everything()
		for _, c := range []struct{ line, reason string }{
			{"git init -q sub; " + plant("sub/.git/hooks/pre-commit", "#!/bin/sh"), "sub/.git/hooks/pre-commit"},
			{"git init -q sub; " + plant("sub/.git/config", "[core]\\n\\thooksPath = ../h\\n"), "core.hookspath"},
			{"git init -q --bare sub; " + plant("sub/hooks/update", "#!/bin/sh"), "sub/hooks/update"},
			{"git init -q sub; " + plant("sub/.vscode/tasks.json", "{}"), "sub/.vscode"},
		} {
			for _, yes := range []bool{false, true} {
				end, early, asked := a.unchanged("sub"), "", false
				r := a.landing(func(q ipc.Approval) bool {
					if strings.Contains(strings.Join(q.Reasons, "\n"), c.reason) && !asked {
						early, asked = end(), true
						return yes
					}
					return yes || !asked
				}, "run", "--json", "-c", c.line)
				if !asked || early != "" {
					t.Fatalf("%s: asked %v, before that the project has %q: %d %s%s", c.line, asked, early, r.code, r.out, r.err)
				}
				switch now := a.everything(); {
				case yes && (r.code != 0 || r.Changes.Held != "" || !a.there("sub/HEAD") && !a.there("sub/.git/HEAD")):
					t.Errorf("%s: after a yes: %d %s%s", c.line, r.code, r.out, r.err)
				case !yes && (r.code != 126 || now != before):
					t.Errorf("%s: after a no: %d %s%s %s", c.line, r.code, r.out, r.err, now)
				}
				if !yes {
					a.landing(func(ipc.Approval) bool { return true }, "changes", "drop", r.Changes.HeldID)
				}
			}
			a.sh("rm -rf sub") // undo refuses the objects of a new repository
			before = a.everything()
		}
		a.noLayers()
	})
}
