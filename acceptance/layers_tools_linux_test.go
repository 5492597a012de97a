package acceptance

import (
	"path/filepath"
	"strings"
	"testing"
)

// layeredTools are lines that packages' and other tools need a whole project for. None wants the network.
var layeredTools = []string{
	"npm install --offline --no-audit --no-fund --cache ./cache ./pack/one-1.0.0.tgz && rm -rf cache && " +
		"node -e 'require(\"one\")'",
	"git add -A && git stash -q && git stash pop -q && git gc -q && git fsck --no-dangling",
	"git add -A && git commit -qm two && git checkout -qb topic HEAD~1 && echo t > topic.txt && git add topic.txt && " +
		"git commit -qm topic && git rebase -q @{-1} && git log --format=%s > log",
	"printf 'out: src/one.txt\\n\\tcp src/one.txt out\\n' > Makefile && make -s && cat out",
	"python3 -c 'import sqlite3; c = sqlite3.connect(\"a.db\"); c.execute(\"pragma journal_mode = wal\"); " +
		"c.execute(\"create table t (v)\"); c.execute(\"insert into t values (1)\"); c.commit()'",
	"git worktree add -q wt && echo w > wt/w.txt && git -C wt add w.txt && git -C wt commit -qm w",
	"python3 -m venv --without-pip .venv && .venv/bin/python -c 'import sys' && find .venv | sort > log && rm -r .venv",
	"mkdir many && for i in $(seq 500); do echo $i > many/$i; done && tar cf many.tar many && rm -r many && " +
		"tar xf many.tar && rm many.tar",
	"mv node_modules/x node_modules/y && mv src lib",
	"sed -i s/one/uno/ src/one.txt",
	"cp src/one.txt src/.one.swp && echo edited >> src/.one.swp && mv src/.one.swp src/one.txt",
}

// outcome is what a line leaves: names, kinds, modes, links' targets and contents, without git's directories and what
// has times in it.
const outcome = `export GIT_OPTIONAL_LOCKS=0
find . -name .git -prune -o -name '.package-lock.json' -prune -o ! -type d -printf '%p %y %m %l\n' | sort
find . -name .git -prune -o -name 'a.db*' -o -name '.package-lock.json' -o -type f -exec sha256sum {} + | sort
git status --porcelain | sort; git log --format=%s; git fsck --no-dangling --no-progress 2>&1`

// R-LY-02, R-LY-04: tools that make, move and replace many files leave in a layered run what they leave outside, and
// undo gives back what was there.
func TestLayeredTools(t *testing.T) {
	eachUser(t, func(t *testing.T, a *actor) {
		a.layered()
		a.repository()
		a.sh(`mkdir -p pack/package && cd pack && echo '{"name":"one","version":"1.0.0"}' > package/package.json &&
echo 'module.exports = 1' > package/index.js && tar czf one-1.0.0.tgz package && rm -r package`)
		for _, line := range layeredTools {
			twin := filepath.Join(a.dir, "twin", filepath.Base(a.project))
			a.sh("rm -rf " + twin + " && mkdir -p " + filepath.Dir(twin) + " && cp -a . " + twin)
			want := a.sh("cd " + twin + "; { " + line + "; } > /dev/null 2>&1; " + outcome)
			before := a.everything()
			r := a.run(line)
			if r.code != 0 || r.Changes.Kind != "layered" || r.Changes.Held != "" {
				t.Errorf("%q: %d %s%s", line, r.code, r.out, r.err)
				continue
			}
			if got := a.sh(outcome); got != want {
				t.Errorf("%q leaves otherwise than outside: %s", line, lineDifferences(got, want))
			}
			if r := a.sbx("undo", "--last"); r.code != 0 {
				t.Errorf("undo of %q: %d %s%s", line, r.code, r.out, r.err)
			}
			if now := a.everything(); withoutObjects(now) != withoutObjects(before) {
				t.Fatalf("after undo of %q: %s", line, lineDifferences(withoutObjects(now), withoutObjects(before)))
			}
		}
		a.noLayers()
	})
}

// lineDifferences are the lines that only one of two texts has.
func lineDifferences(got, want string) (out string) {
	for _, p := range []struct{ sign, a, b string }{{"+", got, want}, {"-", want, got}} {
		for line := range strings.Lines(p.a) {
			if !strings.Contains(p.b, line) {
				out += p.sign + line
			}
		}
	}
	return out
}
