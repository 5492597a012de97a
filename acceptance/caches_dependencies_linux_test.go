package acceptance

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// R-LY-08 R-OS-07 R-OS-09: dependencies that neither the project nor the person has are fetched by the tools of each
// language, in mode allowlist with the presets, into caches of the project's own, unasked under the policy contained.
// They verify. Modules that only the person's cache has are used from there. The person's caches stay as they are, and
// no other project writes to this one's.
func TestDependencyCaches(t *testing.T) {
	t.Parallel()
	eachUserInWorld(t, func(t *testing.T, a *actor, w *world) {
		s := newSite(t, w, newAuthority(t), "good.example", "203.0.113.5")
		s.servePip()
		s.serveCrates()
		a.lendModule()
		a.configured(deny + `
[network]
mode = "allowlist"
allow = ["good.example:80"]
ask = false
[presets]
use = ["go", "node", "python", "rust", "jvm"]
[environment]
set = {GOPROXY = "http://good.example/go", GONOSUMDB = "*", GOTOOLCHAIN = "local"}
`)
		first, second := a.project, a.project+"-second"
		t.Cleanup(func() {
			a.project = first
			a.removeCaches(filepath.Base(first))
			a.sh("rm -rf " + second)
		})
		a.dependencyProject()
		if r := a.sbx("trust", "--contained"); r.code != 0 {
			t.Fatal(r)
		}
		before := a.personsCaches()
		for _, line := range dependencyLines {
			r := a.sbx("run", "-c", line.command)
			if r.code != 0 || !strings.Contains(r.out, line.want) {
				t.Errorf("%s: want %q: %v", line.command, line.want, r)
			}
		}
		r := a.sbx("run", "--", "/usr/bin/python3", "spoil.py")
		if r.code != 0 || !strings.Contains(r.out, "lent: refused") || strings.Contains(r.out, "written") {
			t.Errorf("writing through a link into the person's cache: %v", r)
		}
		if after := a.personsCaches(); after != before {
			t.Errorf("the person's caches changed:\n%s", diff(before, after))
		}
		out := a.sh("git status --porcelain --ignored")
		if strings.Contains(out, "go-mod") || strings.Contains(out, ".cargo/registry") {
			t.Errorf("a cache is in the project: %s", out)
		}
		if r := a.sbx("profile", "show"); !strings.Contains(r.out, "/.cache/sandboxd/"+filepath.Base(first)) {
			t.Errorf("sbx profile does not show the cache: %v", r)
		}
		a.sh("cp -r " + first + " " + second)
		a.project = second
		if r := a.sbx("trust", "--contained"); r.code != 0 {
			t.Fatal(r)
		}
		of := a.cacheOf(first)
		if err := os.WriteFile(filepath.Join(second, "of"), []byte(of), 0o644); err != nil {
			t.Fatal(err)
		}
		a.chown(filepath.Join(second, "of"))
		r = a.sbx("run", "--", "/usr/bin/python3", "spoil.py")
		_, err := os.Lstat(filepath.Join(of, "planted"))
		if r.code != 0 || err == nil || !strings.Contains(r.out, "other: refused") {
			t.Errorf("another project wrote to this one's cache: %v", r)
		}
		a.project = first
		if r := a.sbx("trust", "--remove", "."); r.code != 0 {
			t.Error(r)
		}
		if entries, err := os.ReadDir(of); err != nil || len(entries) > 0 {
			t.Errorf("the cache after the trust was withdrawn: %v %v", entries, err)
		}
	})
}

// dependencyLines are commands and a part of their output. Rust's name the system's cargo.
var dependencyLines = []struct{ command, want string }{
	{
		"cd g && go get tiny.example/m@v1.0.0 && go get lent.example/m@v1.0.0 && go mod verify && go build ./...",
		"all modules verified",
	},
	{"cd g && go mod tidy && go mod verify && ls $(go env GOMODCACHE)/tiny.example", "m@v1.0.0"},
	{"cd n && npm install --no-audit --no-fund --registry http://good.example/npm/ tiny && npm ls", "tiny@1.0.0"},
	{"cd n && npm ci --no-audit --no-fund && npm ci --no-audit --no-fund && npm ls", "tiny@1.0.0"},
	{
		"cd p && /usr/bin/python3 -m venv .venv && .venv/bin/pip install --disable-pip-version-check -q" +
			" --index-url http://good.example/pip/ --trusted-host good.example tiny" +
			" && .venv/bin/python -c 'import tiny; print(tiny.name)'",
		"the wheel",
	},
	{"cd p && .venv/bin/pip cache dir", "/.cache/sandboxd/"},
	{
		"cd r && /usr/bin/cargo add tiny@1.0.0 && /usr/bin/cargo build -q && /usr/bin/cargo run -q",
		"the crate",
	},
	{"cd r && /usr/bin/cargo build --offline -q && /usr/bin/cargo tree", "tiny v1.0.0"},
	{"echo $MAVEN_OPTS", "-Dmaven.repo.local=/"},
}

// removeCaches removes the caches of projects whose name begins so. Go's are read-only, and a daemon may delete an
// emptied one meanwhile.
func (a *actor) removeCaches(name string) {
	a.sh("for d in ~/.cache/sandboxd/" + name + "-*; do " +
		"until chmod -R u+w $d 2>/dev/null; rm -rf $d 2>/dev/null; do sleep 0.1; done; done")
}

// cacheOf is the cache of a project's tools.
func (a *actor) cacheOf(project string) string {
	dirs, _ := filepath.Glob(filepath.Join(a.home, ".cache", "sandboxd", filepath.Base(project)+"-????????????"))
	if len(dirs) != 1 {
		a.t.Fatalf("caches of %s: %q", project, dirs)
	}
	return dirs[0]
}

// dependencyProject makes a project of four languages.
func (a *actor) dependencyProject() {
	a.sh(`mkdir -p g n p r/src r/.cargo; printf 'node_modules\n.venv\ntarget\n' > .gitignore
printf 'module example.org/g\n\ngo 1.21\n' > g/go.mod
printf 'package main\n\nimport (\n\t_ "lent.example/m"\n\t_ "tiny.example/m"\n)\n\nfunc main() {}\n' > g/main.go
printf '{"name":"n","version":"1.0.0"}' > n/package.json
printf '[package]\nname = "r"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\n' > r/Cargo.toml
printf '[source.crates-io]\nreplace-with = "local"\n[source.local]\nregistry = "%s"\n' \
	http://good.example/git/index.git > r/.cargo/config.toml
printf 'fn main() { println!("{}", tiny::name()) }\n' > r/src/main.rs
git init -q 2>/dev/null; git add -A; git -c user.name=T -c user.email=t@example.invalid commit -qm first`)
	spoil := `import glob, os
def spoil(what, f):
    try: f(); print(what + ": written")
    except OSError as e: print(what + ": refused", e)
for zip in glob.glob(os.environ["GOMODCACHE"] + "/cache/download/lent.example/m/@v/*.zip"):
    spoil("lent", lambda: open(zip, "r+b").write(b"x"))
    spoil("lent", lambda: open(os.path.realpath(zip), "r+b").write(b"x"))
    spoil("lent", lambda: os.remove(os.path.realpath(zip)))
for dir in open("of").read().split() if os.path.exists("of") else []:
    spoil("other", lambda: open(dir + "/planted", "w"))
    spoil("other", lambda: os.listdir(dir))
`
	if err := os.WriteFile(filepath.Join(a.project, "spoil.py"), []byte(spoil), 0o644); err != nil {
		a.t.Fatal(err)
	}
	a.chown(filepath.Join(a.project, "spoil.py"))
}

// personsCaches describes the parts of the person's caches for this test's dependencies: other tests of this user may
// run.
func (a *actor) personsCaches() string {
	return a.sh(`cd; find go/pkg/mod/cache/download/lent.example -type f -print0 | sort -z | xargs -0 sha256sum
ls -d go/pkg/mod/lent.example go/pkg/mod/tiny.example go/pkg/mod/cache/download/tiny.example 2>/dev/null || true
find .cargo .npm .cache/pip .m2 -name '*tiny*' 2>/dev/null || true`)
}

// lendModule puts a module into the person's cache that no proxy has.
func (a *actor) lendModule() {
	dir := a.sh(`mkdir -p /tmp/lent.$$/lent.example/m/@v && echo -n /tmp/lent.$$`)
	at := filepath.Join(dir, "lent.example/m/@v")
	const mod = "module lent.example/m\n\ngo 1.21\n"
	for name, text := range map[string]string{
		"list": "v1.0.0\n", "v1.0.0.info": `{"Version":"v1.0.0"}`, "v1.0.0.mod": mod,
		"v1.0.0.zip": zipped(a.t, map[string]string{
			"lent.example/m@v1.0.0/go.mod": mod, "lent.example/m@v1.0.0/m.go": "package m\n",
		}),
	} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o644); err != nil {
			a.t.Fatal(err)
		}
	}
	a.sh(`cd ` + dir + ` && printf 'module x\n\ngo 1.21\n' > go.mod
export GOMODCACHE=$HOME/go/pkg/mod GOPROXY=file://` + dir + ` GONOSUMDB='*' GOFLAGS=-modcacherw GOTOOLCHAIN=local
/usr/local/go/bin/go mod download lent.example/m@v1.0.0
cd; rm -rf go/pkg/mod/lent.example ` + dir)
	a.t.Cleanup(func() { a.sh("rm -rf ~/go/pkg/mod/cache/download/lent.example") })
}

func zipped(t *testing.T, files map[string]string) string {
	t.Helper()
	var pack bytes.Buffer
	z := zip.NewWriter(&pack)
	for name, text := range files {
		f, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, text)
	}
	z.Close()
	return pack.String()
}

// servePip is a package index with one wheel.
func (s *site) servePip() {
	wheel := zipped(s.t, map[string]string{
		"tiny/__init__.py":               "name = 'the wheel'\n",
		"tiny-1.0.0.dist-info/METADATA":  "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0.0\n",
		"tiny-1.0.0.dist-info/WHEEL":     "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"tiny-1.0.0.dist-info/RECORD":    "tiny/__init__.py,,\ntiny-1.0.0.dist-info/RECORD,,\n",
		"tiny-1.0.0.dist-info/INSTALLER": "test\n",
	})
	const file = "tiny-1.0.0-py3-none-any.whl"
	s.mux.HandleFunc("/pip/tiny/", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, `<!DOCTYPE html><html><body><a href="/pip/files/%s">%s</a></body></html>`, file, file)
	})
	s.mux.HandleFunc("/pip/files/"+file, func(rw http.ResponseWriter, r *http.Request) { io.WriteString(rw, wheel) })
}

// serveCrates is a registry of cargo with one crate, whose index is a git repository.
func (s *site) serveCrates() {
	dir := s.t.TempDir()
	script := `mkdir -p tiny-1.0.0/src && cd tiny-1.0.0
printf '[package]\nname = "tiny"\nversion = "1.0.0"\nedition = "2021"\n' > Cargo.toml
printf 'pub fn name() -> &%sstatic str { "the crate" }\n' "'" > src/lib.rs && cd .. && tar -czf tiny.crate tiny-1.0.0`
	run := func(script string, args ...string) {
		cmd := exec.Command("/bin/bash", append([]string{"-euc", script, "x"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			s.t.Fatalf("%v: %s", err, out)
		}
	}
	run(script)
	crate, err := os.ReadFile(filepath.Join(dir, "tiny.crate"))
	if err != nil {
		s.t.Fatal(err)
	}
	sum := sha256.Sum256(crate)
	entry := `{"name":"tiny","vers":"1.0.0","deps":[],"features":{},"yanked":false,"cksum":"` +
		hex.EncodeToString(sum[:]) + `"}`
	run(`mkdir -p index/ti/ny && cd index && printf '%s\n' "$1" > ti/ny/tiny
printf '{"dl":"http://good.example/crates"}' > config.json
git init -q -b main . && git add -A && git -c user.name=T -c user.email=t@example.invalid commit -qm first
cd .. && git clone -q --bare index index.git`, entry)
	s.serveGitBelow("/git/index.git/", dir)
	s.mux.HandleFunc("/crates/tiny/1.0.0/download", func(rw http.ResponseWriter, r *http.Request) { rw.Write(crate) })
}

// R-OS-10: a cache that is larger than sandbox.cache is emptied before a command, with a warning.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.configured(deny + "[presets]\nuse = [\"python\"]\n[sandbox]\ncache = \"1MiB\"\n")
		if r := a.sbx("trust", "--contained"); r.code != 0 {
			t.Fatal(r)
		}
		t.Cleanup(func() { a.removeCaches(filepath.Base(a.project)) })
		fill := "import os, pathlib\nkept = pathlib.Path(os.environ['PIP_CACHE_DIR'])\nkept.mkdir(parents=True)\n" +
			"(kept/'big').write_bytes(os.urandom(3000000))\n"
		if err := os.WriteFile(filepath.Join(a.project, "fill.py"), []byte(fill), 0o644); err != nil {
			t.Fatal(err)
		}
		if r := a.sbx("run", "--", "python3", "fill.py"); r.code != 0 {
			t.Fatal(r)
		}
		for range 100 {
			r := a.sbx("run", "--", "python3", "-c", "import os; os.stat(os.environ['PIP_CACHE_DIR'] + '/big')")
			if strings.Contains(r.err, "sandbox.cache") {
				if _, err := os.Lstat(filepath.Join(a.cacheOf(a.project), "pip/big")); err == nil || r.code == 0 {
					t.Errorf("the cache still has its file: %v", r)
				}
				return
			}
			time.Sleep(200 * time.Millisecond)
		}
		t.Error("the cache was never emptied")
	})
}
