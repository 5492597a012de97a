package shell_test

import (
	"context"
	"strings"
	"testing"

	"sandboxd/shell"
	"sandboxd/shell/facts"
)

// editsRun and editsAsk list lines that run unasked with the preset "edits", and lines that ask in spite of it.
const (
	editsRun = `
	cat > src/a.go <<'EOF'
	echo x >> notes.txt
	git diff > 'my patch.txt'
	ls -la &> out.log
	ls >| out.log 2>&1
	sed -i 's/a/b/' a.go
	sed -i '/foo/d' a.go
	sed -i -e '1d' -e '3a x' a.go b.go
	sort -o a.txt -u a.txt
	cp a.go a.go.bak
	cp -r src old
	cp src/a.go .
	mv a.txt docs/b.txt
	echo x | tee out.log
	split -l 10 data.csv part_`
	editsAsk = `
	echo x > CLAUDE.md
	echo x > .git/hooks/pre-commit
	echo x > sub/.git/config
	echo x > .git
	echo x > .github/workflows/ci.yml
	echo x > .vscode/settings.json
	echo x > .envrc
	echo x > .env
	echo x > Makefile
	echo x > package.json
	echo x > ../x
	echo x > /home/u/.bashrc
	echo x > ~/x
	echo x > /etc/x
	echo x > /tmp/x
	echo x > .
	echo x > $F
	echo x > "$(date)"
	echo x > *.txt
	echo x > {a,b}
	echo x <> a.txt
	echo x 3> a.txt
	cd $D && echo x > a.txt
	> a.txt
	exec > a.txt
	X=1 > a.txt
	curl example.org > a.txt
	python3 -c 'print(1)' > a.txt
	rm a.txt > b.txt
	sed -i 's/a/b/e' a.go
	sed -i 's/a/b/w /tmp/x' a.go
	sed -i '1e touch x' a.go
	sed -i 'w .git/hooks/pre-commit' a.go
	sed -i -f script a.go
	sed -i s/a/b/ CLAUDE.md
	sed -i s/a/b/ .git/config
	sed -i s/a/b/ ../x
	sed -i s/a/b/ *.go
	sed -i --follow-symlinks s/a/b/ a.go
	sed -i -i.bak s/a/b/ a.go
	sed -i -s s/a/b/ a.go
	sort -o .git/hooks/pre-commit a
	sort -o a --compress-program=./x a
	sort -o a -T .git a
	cp x .git/hooks/pre-commit
	cp CLAUDE.md sub
	cp pre-commit .git/hooks
	cp pre-commit .git/hooks/
	cp -r .vscode sub/
	cp sub/Makefile .
	cp -t .git/hooks pre-commit
	cp -rt .git/hooks pre-commit
	cp --target-dir=.git/hooks pre-commit
	cp ~/.ssh/id_rsa a
	cp .env a
	cp /etc/passwd a
	cp a ../b
	cp a *
	mv .git x
	mv x .git
	mv a ..
	mv a /tmp
	mv a ~
	mv *.go old
	mv CLAUDE.md x
	echo x | tee .git/hooks/pre-commit
	echo x | tee ../x
	echo x | tee -a /home/u/.bashrc
	split --filter='sh -c x' a
	split -l 1 a .git/hooks/x
	xargs cp a < list
	find . -exec cp {} b \;
	find . -name x -exec sed -i s/a/b/ {} +
	LD_PRELOAD=./x cp a b
	PATH=.:$PATH cp a b
	./cp a b
	cp a b &`
)

// R-UX-08, R-SH-04, R-FS-03: the preset "edits" lets commands write ordinary files of the project. What is protected,
// secret, outside, or not known before it runs asks, and so does every way to have these commands do more.
func TestEdits(t *testing.T) {
	tool := newTool(t, shell.Config{Presets: []string{"edits"}})
	without := newTool(t, shell.Config{Presets: []string{"files", "git", "scripts"}})
	for want, lines := range map[shell.Decision]string{shell.Auto: editsRun, shell.Ask: editsAsk} {
		for _, line := range strings.Split(strings.TrimSpace(lines), "\n") {
			line = strings.ReplaceAll(strings.TrimSpace(line), "'EOF'", "'EOF'\ntext $(x)\nEOF")
			cmd := shell.Command{Line: line, Cwd: "/home/u/p", Project: "/home/u/p", Home: "/home/u"}
			v, _ := facts.Judge(context.Background(), tool, cmd, facts.Options{})
			if v.Decision != want {
				t.Errorf("%q: %v, want %v: %s", line, v.Decision, want, v.Why)
			}
			if v.Decision == shell.Auto && !v.Sandboxed {
				t.Errorf("%q runs outside the sandbox too", line)
			}
			v, _ = facts.Judge(context.Background(), without, cmd, facts.Options{})
			if v.Decision != shell.Ask {
				t.Errorf("%q without the preset: %v", line, v.Decision)
			}
			cmd.CallerRuns = true
			v, _ = facts.Judge(context.Background(), tool, cmd, facts.Options{})
			if v.Decision != shell.Ask {
				t.Errorf("%q, which the caller runs: %v", line, v.Decision)
			}
		}
	}
}

// R-LY-07: build files are ordinary work where a run can be undone; what acts by itself is not.
func TestContainedBuildFiles(t *testing.T) {
	tool := newTool(t, shell.Config{})
	configured := newTool(t, shell.Config{Protected: []string{"package.json"}})
	for line, want := range map[string]bool{
		"echo x > package.json":            true,
		"sed -i s/a/b/ Makefile":           true,
		"sed -i '/foo/d' a.go":             true,
		"rm conftest.py":                   true,
		"echo x > CLAUDE.md":               false,
		"sed -i s/a/b/ CLAUDE.md":          false,
		"sed -i s/a/b/ .gitattributes":     false,
		"echo x > .git/hooks/pre-commit":   false,
		"mv a .git":                        false,
		"echo x > Makefile; echo > .env":   false,
		"echo x > Makefile; echo > .npmrc": false,
		"sed -i s/a/b/ ../Makefile":        false,
		"sed -i 's/a/b/w ../x' a.go":       true, // which the sandbox does not keep, and names
	} {
		cmd := shell.Command{Line: line, Cwd: "/home/u/p", Project: "/home/u/p", Home: "/home/u"}
		v, _ := facts.Judge(context.Background(), tool, cmd, facts.Options{})
		if v.Contained != want || v.Decision != shell.Ask {
			t.Errorf("%q: %v, contained %v, want %v: %s", line, v.Decision, v.Contained, want, v.Why)
		}
		v, _ = facts.Judge(context.Background(), configured, cmd, facts.Options{})
		if strings.Contains(line, "package") && v.Contained {
			t.Errorf("%q is contained though the configuration protects the file", line)
		}
	}
}

// What a caller runs as it is written asks where a glob could yield an option: only a run of ours has words before it.
func TestCallerRunsGlobs(t *testing.T) {
	tool := newTool(t, shell.Config{})
	for line, want := range map[string]shell.Decision{
		"sed -n 1p *": shell.Ask, "git diff *": shell.Ask, "git log -p *": shell.Ask, "grep -n foo *.go": shell.Ask,
		"wc -l [a-z]*": shell.Ask, "file ?": shell.Ask,
		"ls | grep x; wc -l *": shell.Ask, "(cd src; wc -l *)": shell.Ask,
		`for f in *; do wc -l "$f"; done`: shell.Ask, "find . -name x -exec wc -l {} *": shell.Ask,
		"wc -l ./*": shell.Auto, "wc -l -- *": shell.Auto, "git diff -- *": shell.Auto, "wc -l src/*.go": shell.Auto,
		"sed -n 1p a.go": shell.Auto,
	} {
		cmd := shell.Command{Line: line, Cwd: "/home/u/p", Project: "/home/u/p", Home: "/home/u"}
		v, _ := facts.Judge(context.Background(), tool, cmd, facts.Options{})
		if v.Decision != shell.Auto && want == shell.Auto {
			t.Errorf("%q: %v: %s", line, v.Decision, v.Why)
		}
		cmd.CallerRuns = true
		if v, _ = facts.Judge(context.Background(), tool, cmd, facts.Options{}); v.Decision != want {
			t.Errorf("%q, which the caller runs: %v, want %v: %s", line, v.Decision, want, v.Why)
		}
	}
}
