package shell_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sandboxd/approval"
	"sandboxd/shell"
)

// R-AP-05: a session's yes is bound to the files that a command is known to obey. A change of one of them asks again,
// and so does a new one; a change of another file does not.
func TestGrantsAreBoundToSettings(t *testing.T) {
	dir := ground(t)
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("Makefile", "-include $(CURDIR)/a.mk *.inc # c.mk\n"+
		"include \\\n deep/b.mk $(X).mk\nall:\n\t$(MAKE) -s -C lib all\n")
	write("a.mk", "include nested.mk\n")
	for _, name := range []string{"nested.mk", "x.inc", "deep/b.mk", "lib/Makefile", "c.mk"} {
		write(name, "# 1\n")
	}
	git(t, dir, "config", "core.hooksPath", "hooked/_")
	tool := newTool(t, shell.Config{})
	for _, c := range []struct{ line, cwd, binds, ignores string }{
		{"make", "", "Makefile a.mk nested.mk x.inc y.inc deep/b.mk lib/Makefile GNUmakefile", "c.mk a.txt"},
		{"make -C sub", "", "sub/Makefile", "a.txt"},
		{"npm run build", "", "package.json .npmrc .yarnrc.yml", "a.txt"},
		{"npm run build", "src", "package.json .npmrc src/.npmrc src/package.json", "src/main.go"},
		{"pnpm run build", "", ".npmrc .pnpmfile.cjs", ""},
		{"git commit -m x", "",
			".git/hooks/pre-commit .git/hooks/commit-msg .git/config hooked/_/pre-commit hooked/pre-commit",
			"a.txt .git/hooks/pre-commit.sample"},
		{"git commit -m y", "", ".gitattributes .git/info/attributes .pre-commit-config.yaml", ".git/description"},
		{"git commit -m x", "src", ".git/hooks/post-commit .gitattributes", ""},
		{"pytest -q", "src", "conftest.py src/conftest.py pytest.ini pyproject.toml", ""},
		{"python3 -m pytest", "", "conftest.py setup.cfg", ""},
		{"cargo test", "", "build.rs .cargo/config.toml Cargo.toml", "src/main.rs"},
		{"go generate ./...", "", "go.mod go.work", "src/main.go"},
		{"npx eslint src", "", "eslint.config.js .npmrc .eslintrc.js", ""},
		{"./gradlew test", "", "gradlew build.gradle gradle.properties", ""},
		{"mvn test", "", "pom.xml .mvn/maven.config", ""},
		{"docker compose up", "", "docker-compose.yml .env", ""},
	} {
		cwd := filepath.Join(dir, c.cwd)
		v := judgeIn(tool, cwd, dir, c.line)
		exact, err := approval.ExactPattern("bash", v.Payload)
		if err != nil || v.Decision != shell.Ask || v.Unseen {
			t.Fatalf("%q: %s, unseen %t: %v", c.line, v.Decision, v.Unseen, err)
		}
		grants := []approval.Pattern{exact}
		for _, s := range v.Suggestions {
			grants = append(grants, s.Pattern)
		}
		binds := strings.Fields(c.binds)
		for i, name := range slices.Concat(binds, strings.Fields(c.ignores)) {
			before, missing := os.ReadFile(filepath.Join(dir, name))
			write(name, string(before)+"# changed\n")
			now := judgeIn(tool, cwd, dir, c.line)
			for _, g := range grants {
				if got, want := g.Matches("bash", now.Payload), i >= len(binds); got != want {
					t.Errorf("%q in %q: with %s changed, the grant %s covers it: %t", c.line, c.cwd, name, g, got)
				}
			}
			if missing != nil {
				os.Remove(filepath.Join(dir, name))
			} else {
				write(name, string(before))
			}
		}
		if again := judgeIn(tool, cwd, dir, c.line); !exact.Matches("bash", again.Payload) {
			t.Errorf("%q: the grant does not cover the same again", c.line)
		}
	}
}
