package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Issue "The main job", 4: real work runs unharmed and with the same result as outside.
func TestWorkloads(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.approveAll()
		t.Run("go test of a third-party module", func(t *testing.T) { goModule(t, a) })
		t.Run("git init, add, commit", func(t *testing.T) {
			const script = `rm -rf sub && mkdir sub && cd sub && git init -q . && git config user.name T && git config user.email t@example.invalid &&
				echo a > a && git add a && git commit -qm one && git log --format=%s && git status --short | wc -l`
			got := a.sbx("run", "-c", script)
			if want := a.sh(script); got.code != 0 || got.out != want {
				t.Errorf("%v\nwant %q", got, want)
			}
		})
		t.Run("C compile", func(t *testing.T) {
			a.sh(`printf '#include <stdio.h>\nint main(void){puts("compiled");return 0;}\n' > hello.c`)
			got := a.sbx("run", "-c", "gcc -O2 -o hello hello.c && ./hello")
			if got.code != 0 || got.out != "compiled\n" {
				t.Error(got)
			}
		})
		t.Run("Node", func(t *testing.T) {
			a.sh(`cat > work.js <<'E'
const {spawnSync} = require('child_process'); const fs = require('fs'); const {Worker} = require('worker_threads');
fs.writeFileSync('node.out', 'x'.repeat(1000));
const r = spawnSync('sh', ['-c', 'wc -c < node.out']); console.log(r.stdout.toString().trim());
new Worker('require("worker_threads").parentPort.postMessage(6*7)', {eval: true}).on('message', m => console.log(m));
E`)
			got := a.sbx("run", "--", "node", "work.js")
			if want := a.sh("node work.js"); got.code != 0 || got.out != want {
				t.Errorf("%v\nwant %q", got, want)
			}
		})
		t.Run("100 MB through a pipe", func(t *testing.T) {
			const script = "head -c 100000000 /dev/zero | tr '\\0' 'x' | sha256sum"
			got := a.sbx("run", "-c", script)
			if want := a.sh(script); got.code != 0 || got.out != want {
				t.Errorf("%v\nwant %q", got, want)
			}
		})
	})
}

// goModule runs the tests of mvdan.cc/sh/v3/syntax, copied into the project,
// inside and compares with what they say outside.
func goModule(t *testing.T, a *actor) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "mvdan.cc/sh/v3").Output()
	if err != nil {
		t.Fatal(err)
	}
	module := filepath.Join(a.project, "module")
	cache := filepath.Join(a.project, "modcache")
	env := append(os.Environ(), "GOFLAGS=-mod=mod")
	for _, args := range [][]string{
		{"cp", "-r", strings.TrimSpace(string(out)), module},
		{"chmod", "-R", "u+w", module},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	// What the module needs is fetched outside, into a cache inside the project.
	fetch := exec.Command("go", "test", "-run", "^$", "./syntax")
	built := filepath.Join(a.project, "gocache")
	fetch.Dir, fetch.Env = module, append(env, "GOMODCACHE="+cache, "GOFLAGS=-mod=mod -modcacherw", "GOCACHE="+built)
	if out, err := fetch.CombinedOutput(); err != nil {
		t.Fatalf("fetch: %v: %s", err, out)
	}
	if a.cred != nil {
		exec.Command("chown", "-R", a.name, module, cache, built).Run()
	}
	goroot, _ := exec.Command("go", "env", "GOROOT").Output()
	gobin := filepath.Join(strings.TrimSpace(string(goroot)), "bin", "go")
	// Its zsh cases fail anywhere when a start of zsh takes two seconds.
	script := "export GOMODCACHE=" + cache + " GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local GOCACHE=" + built +
		"; cd module && " +
		gobin + " test -count=1 -skip TestParseConfirm/zsh -json ./syntax | grep -E '\"Action\":\"(pass|fail|skip)\"' | " +
		"sed -E 's/.*\"Action\":\"([a-z]+)\".*\"Test\":\"([^\"]*)\".*/\\1 \\2/; t; d' | sort"
	inside := a.sbx("run", "--", "bash", "-c", script)
	outside := a.do(nil, "bash", "-c", script)
	if inside.code != 0 || inside.out != outside.out || strings.Count(inside.out, "\n") < 50 ||
		strings.Contains(inside.out, "fail ") {
		t.Errorf("inside: exit %d, %d tests; outside: exit %d, %d tests\n%s\n%.2000s", inside.code,
			strings.Count(inside.out, "\n"),
			outside.code, strings.Count(outside.out, "\n"), inside.err, diff(outside.out, inside.out))
	}
}

// diff lists the lines that only one of two texts has.
func diff(want, got string) string {
	var b strings.Builder
	has := map[string]bool{}
	for _, l := range strings.Split(got, "\n") {
		has[l] = true
	}
	for _, l := range strings.Split(want, "\n") {
		if !has[l] {
			b.WriteString("only outside: " + l + "\n")
		}
		delete(has, l)
	}
	for l := range has {
		b.WriteString("only inside: " + l + "\n")
	}
	return b.String()
}
