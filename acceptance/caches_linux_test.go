package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// R-OS-07: what a project's tests leave behind is executed by nothing outside, and by no other project. A preset
// lets them run unasked; the caches of a person's tools, from which those execute code (build results, hooks, start
// files, packages), are not theirs to write. What their own tools keep is there at the next run.
func TestPresetCaches(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		executed := []string{".cache/go-build/00", ".cache/pre-commit/repo", ".cache/uv/archive-v0", ".cache/pip",
			".cache/ccache", ".cache/bazelisk", ".cache/node/corepack",
			".cache/golangci-lint", ".cache/zig", ".cache/deno", ".npm/_npx", ".npm/_cacache", ".bun/install/cache",
			".local/share/pnpm/store", ".conda/pkgs", ".ipython/profile_default/startup", ".cargo/registry/src", ".cargo/git",
			".cargo/bin", ".ccache", "go/bin", "go/pkg/mod", ".cache/sandboxd/other-000000000000"}
		// What is missing of it in the home directory is made, and taken away again where it is empty.
		var made []string
		for _, dir := range executed {
			full := filepath.Join(a.home, dir)
			for at := full; at != a.home; at = filepath.Dir(at) {
				if _, err := os.Lstat(at); err == nil {
					break
				}
				made = append(made, at)
			}
			a.sh("mkdir -p '" + full + "'")
		}
		t.Cleanup(func() {
			for _, dir := range made {
				os.Remove(dir)
			}
		})
		a.configured(`
[presets]
use = ["go", "node", "python", "rust", "c"]
`)
		if r := a.sbx("trust", "."); r.code != 0 {
			t.Fatal(r)
		}
		plant := "import os, pathlib\n" +
			"for d in '" + strings.Join(executed, " ") + "'.split():\n" +
			"  try: (pathlib.Path(os.environ['HOME'])/d/'sbx-planted').write_text('x')\n" +
			"  except OSError: pass\n" +
			"kept = pathlib.Path(os.environ['PIP_CACHE_DIR'])/'kept'\n" +
			"print('kept' if kept.exists() else 'new')\n" +
			"kept.parent.mkdir(parents=True, exist_ok=True); kept.write_text('x')\n"
		if err := os.WriteFile(filepath.Join(a.project, "plant.py"), []byte(plant), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			for _, project := range []string{a.project, a.project + "-second"} {
				dirs, _ := filepath.Glob(filepath.Join(a.home, ".cache", "sandboxd", filepath.Base(project)+"-????????????"))
				for _, dir := range dirs {
					os.RemoveAll(dir)
				}
			}
		})
		for i, want := range []string{"new\n", "kept\n"} {
			if r := a.sbx("run", "--", "python3", "plant.py"); r.code != 0 || r.out != want {
				t.Fatalf("run %d, unasked: want %q: %v", i+1, want, r)
			}
		}
		for _, dir := range executed {
			if _, err := os.Lstat(filepath.Join(a.home, dir, "sbx-planted")); err == nil {
				t.Errorf("a command wrote where programs outside execute: ~/%s", dir)
				os.Remove(filepath.Join(a.home, dir, "sbx-planted"))
			}
		}
		// Another project has another cache.
		first := a.project
		a.sh("cp -r " + first + " " + first + "-second")
		a.project = first + "-second"
		defer func() { os.RemoveAll(a.project); a.project = first }()
		if r := a.sbx("trust", "."); r.code != 0 {
			t.Fatal(r)
		}
		if r := a.sbx("run", "--", "python3", "plant.py"); r.code != 0 || r.out != "new\n" {
			t.Errorf("the other project: %v", r)
		}
	})
}

// R-OS-07: a trusted project's toolchains keep their caches between commands with no preset; an untrusted one has none,
// and nothing else of a preset comes with them. `sbx trust` says which.
func TestCachesWithoutPreset(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.start()
		a.sh("echo module m > go.mod")
		const keep = `echo "${npm_config_cache-unset}"; mkdir -p "$GOCACHE" && echo kept >> "$GOCACHE/mark" &&
cat "$GOCACHE/mark"`
		if r := a.sbx("profile", "show"); r.code != 0 || strings.Contains(r.out, "GOCACHE") {
			t.Errorf("untrusted: %v", r)
		}
		a.start("--mode", "approve-all")
		if r := a.sbx("trust", "."); r.code != 0 || !strings.Contains(r.err, "of its own, not yours: go\n") {
			t.Errorf("trust: %v", r)
		}
		for i, want := range []string{"unset\nkept\n", "unset\nkept\nkept\n"} {
			if r := a.sbx("run", "-c", keep); r.code != 0 || r.out != want {
				t.Errorf("command %d: got %v, want %q", i+1, r, want)
			}
		}
		a.sbx("trust", "--remove", ".")
		a.sbx("trust", ".")
		if r := a.sbx("run", "-c", keep); r.out != "unset\nkept\n" {
			t.Errorf("after sbx trust --remove: %v", r)
		}
	})
}
