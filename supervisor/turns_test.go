package supervisor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sandboxd/shell/analysis"
)

// Rule 16: a run in a project waits for another one until ten seconds after that began, and as long as it may where one
// of them locks its files.
func TestTurns(t *testing.T) {
	for _, c := range []struct {
		first, second bool
		after         time.Duration // the second begins
		ends          time.Duration // of the first run
		want          time.Duration
	}{
		{false, false, 0, time.Minute, turnWait},
		{false, false, 4 * time.Second, time.Minute, turnWait - 4*time.Second},
		{false, false, 30 * time.Second, time.Minute, 0},
		{false, false, 0, time.Second, time.Second},
		{true, false, 0, time.Minute, time.Minute},
		{true, false, 30 * time.Second, time.Minute, 30 * time.Second},
		{false, true, 0, time.Minute, time.Minute},
		{true, true, 0, 9 * time.Minute, 5 * time.Minute}, // the context's
	} {
		synctest.Test(t, func(t *testing.T) {
			var turns projects
			release, _ := turns.take(t.Context(), "/p", c.first)
			time.AfterFunc(c.ends, release)
			time.Sleep(c.after)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			release, waited := turns.take(ctx, "/p", c.second)
			release()
			if waited != c.want {
				t.Errorf("%+v: waited %v", c, waited)
			}
			time.Sleep(10 * time.Minute)
		})
	}
}

// What changes what is installed locks its files, what runs a program of the project does not.
func TestLocks(t *testing.T) {
	for line, want := range map[string]bool{
		"git commit -qm x":            true,
		"echo a > f && git add f":     true,
		"npm ci":                      true,
		"npm --prefix web install":    true,
		"npm $what":                   true,
		"yarn":                        true,
		"go get example.com/m":        true,
		"cargo build":                 true,
		"npm run dev":                 false,
		"npm start":                   false,
		"npx vite --port 3000":        false,
		"yarn dev":                    false,
		"cargo run":                   false,
		"go test ./...":               false,
		"poetry run flask run":        false,
		"python3 -m http.server 8000": false,
		"bundle exec rails server":    false,
	} {
		if got := locks(analysis.Line(line, analysis.Place{Cwd: "/p"})); got != want {
			t.Errorf("%s: got %t, want %t", line, got, want)
		}
	}
}

// The words show a server that does not end by itself, which sees other commands' changes.
func TestServes(t *testing.T) {
	for line, want := range map[string]bool{
		"npm start":                       true,
		"npm run dev -- --port 3000":      true,
		"PORT=1 node src/server.js":       true,
		"cd web && npx vite preview":      true,
		"python3 -m http.server 8000":     true,
		"python manage.py runserver":      true,
		"uvicorn app:app --reload":        true,
		"npx tsc --watch":                 true,
		"php -S localhost:8000":           true,
		"find . -name '*.go' | entr make": true,
		"npm test":                        false,
		"npm run build":                   false,
		"touch src/server.js":             false,
		"sed -i s/a/b/ dev.yaml":          false,
		"git commit -m 'start server'":    false,
		"python3 -m pytest":               false,
		"node":                            false,
	} {
		if got := serves(analysis.Line(line, analysis.Place{Cwd: "/p"})); got != want {
			t.Errorf("%s: got %t, want %t", line, got, want)
		}
	}
}

// What renames directories, or clones by hard links, needs the project itself.
func TestGitNeedsTheProject(t *testing.T) {
	for line, want := range map[string]bool{
		"git mv a b":                         true,
		"git -C sub mv a b":                  true,
		"git worktree move a b":              true,
		"git clone . copy":                   true,
		"git -c a.b=c submodule update":      true,
		"git submodule add ../x x":           true,
		"git submodule add https://h.test/x": false,
		"git commit -m 'mv clone submodule'": false,
		"git commit -qm submodule":           false,
		"git worktree add wt":                false,
		"git":                                false,
		"git -C":                             false,
	} {
		if got := gitNeedsTheProject(analysis.Line(line, analysis.Place{Cwd: "/p"})) != ""; got != want {
			t.Errorf("%s: got %t, want %t", line, got, want)
		}
	}
}
