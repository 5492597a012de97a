package acceptance

import (
	"os"
	"path/filepath"
	"slices"
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

// slowTools are those of make workloads, which has their packages.
var slowTools = []string{
	"npm install --offline --no-audit --no-fund --cache ./cache ./pack/one-1.0.0.tgz && for i in 1 2; do " +
		"npm ci --offline --no-audit --no-fund --cache ./cache || exit; done; rm -rf cache",
	"cd gomod && GOPROXY=off /usr/local/go/bin/go mod vendor",
	"cd crate && cargo build -q --offline && target/debug/crate > log && rm -r target",
	"python3 -m venv .venv && .venv/bin/pip install -q --no-index pack/one-1.0-py3-none-any.whl && " +
		".venv/bin/python -c 'import one; print(one.value)' > log && rm -r .venv",
	"cmake -S c -B build > log && cmake --build build >> log && build/one > log && rm -r build",
	initdb,
}

// initdb is a tool that refuses to run as root.
const initdb = "PATH=$PATH:/usr/lib/postgresql/15/bin; initdb -D data -A trust -U me > /dev/null && " +
	"test -s data/PG_VERSION && find data -type d | sort > log && rm -r data"

// slowProject makes what they work on.
const slowProject = `mkdir -p gomod/dep crate/src c
printf 'module example.org/m\n\ngo 1.26\n\nrequire example.org/dep v0.0.0\n' > gomod/go.mod
printf '\nreplace example.org/dep => ./dep\n' >> gomod/go.mod
printf 'module example.org/dep\n\ngo 1.26\n' > gomod/dep/go.mod; echo 'package dep' > gomod/dep/dep.go
printf 'package main\n\nimport _ "example.org/dep"\n\nfunc main() {}\n' > gomod/main.go
printf '[package]\nname = "crate"\nversion = "0.1.0"\nedition = "2021"\n' > crate/Cargo.toml
echo 'fn main() { println!("built"); }' > crate/src/main.rs
printf 'cmake_minimum_required(VERSION 3.20)\nproject(one C)\nadd_executable(one one.c)\n' > c/CMakeLists.txt
printf '#include <stdio.h>\nint main(void) { puts("built"); }\n' > c/one.c
python3 -c 'import zipfile
z, info = zipfile.ZipFile("pack/one-1.0-py3-none-any.whl", "w"), "one-1.0.dist-info/"
z.writestr("one.py", "value = 1\n")
z.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: one\nVersion: 1.0\n")
z.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
z.writestr(info + "RECORD", "one.py,,\n" + info + "METADATA,,\n" + info + "WHEEL,,\n" + info + "RECORD,,\n")'
`

// outcome is what a line leaves: names, kinds, modes, links' targets and contents, without git's directories and what
// has times in it.
const outcome = `export GIT_OPTIONAL_LOCKS=0
find . -name .git -prune -o -name '.package-lock.json' -prune -o ! -type d -printf '%p %y %m %l\n' | sort
find . -name .git -prune -o -name 'a.db*' -o -name '.package-lock.json' -o -type f -exec sha256sum {} + | sort
git status --porcelain | sort; git log --format=%s; git fsck --no-dangling --no-progress 2>&1`

// R-LY-02, R-LY-04: tools that make, move and replace many files leave in a layered run what they leave outside, and
// undo gives back what was there.
func TestLayeredTools(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		a.repository()
		a.sh(`mkdir -p pack/package && cd pack && echo '{"name":"one","version":"1.0.0"}' > package/package.json &&
echo 'module.exports = 1' > package/index.js && tar czf one-1.0.0.tgz package && rm -r package`)
		lines := layeredTools
		if os.Getenv("SBX_WORKLOADS") != "" {
			lines = slices.Concat(lines, slowTools)
			a.sh(slowProject)
		}
		for _, line := range lines {
			if line == initdb && a.cred == nil {
				continue
			}
			twin := filepath.Join(a.dir, "twin", filepath.Base(a.project))
			a.sh("rm -rf " + twin + " && mkdir -p " + filepath.Dir(twin) + " && cp -a . " + twin)
			want := a.sh("cd " + twin + "; (" + line + ") > /dev/null 2>&1; " + outcome)
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
