package shell_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"sandboxd/shell"
)

// textTool has one of each kind of rule.
func textTool(t *testing.T) *shell.Tool {
	no := false
	return newTool(t, shell.Config{
		Presets: []string{"go"},
		Rules: []shell.Rule{
			{Pattern: "terraform apply", Allowed: &no, Description: "deploys go through the pipeline",
				Origin: "/etc/sandboxd/config.toml:12:1", Operator: true},
			{Pattern: "deploy", Approval: &no, Origin: "rules.toml:3:1"},
		},
		Permissions: shell.Permissions{Deny: []shell.Permission{must(shell.ParsePermission("Bash(curl *)"))}},
	})
}

func judged1(t *testing.T, line string) (shell.Verdict, shell.Command) {
	t.Helper()
	c := shell.Command{Line: line, Cwd: "/p", Project: "/p", Home: "/home/eve"}
	return judgePlain(textTool(t), c), c
}

// wants checks that a text has every part, in that order.
func wants(t *testing.T, what, text string, parts []string) {
	t.Helper()
	rest := text
	for _, p := range parts {
		_, after, ok := strings.Cut(rest, p)
		if !ok {
			t.Errorf("%s lacks %q (in this order):\n%s", what, p, text)
			return
		}
		rest = after
	}
}

// R-UX-06: a refusal can be handed to a model: what, why, what to do instead.
func TestRefusal(t *testing.T) {
	v, _ := judged1(t, "ls && terraform apply")
	wants(t, "the refusal", v.Refusal(), []string{`"terraform apply" is not permitted: `,
		"deploys go through the pipeline", "Decided by ", "No approval lifts this.", "tell the user"})
	if v, _ := judged1(t, "curl example.org"); v.Decision != shell.Block ||
		!strings.Contains(v.Refusal(), "Bash(curl *)") {
		t.Errorf("a denied permission: %s", v.Refusal())
	}
}

// R-SH-06: grants are offered from narrow to wide, each covers the request that
// offers it and its like, and nothing else.
func TestSuggestions(t *testing.T) {
	for _, c := range []struct {
		line   string
		labels []string
		covers []string // by the last offer
		not    []string // by none
	}{
		{"cat /srv/data/a/x.txt", []string{"cat /srv/data/a/x.txt", "cat under /srv/data/a", "cat under /srv/data"},
			[]string{"cat /srv/data/b"}, []string{"cat /etc/passwd", "head /srv/data/a/x.txt", "cat /srv/data/a/x.txt > y",
				"cat /srv/data/a/x.txt; frob", "cat /srv/../etc/passwd"}},
		{"make check", []string{"make check *", "make *"}, []string{"make all -j2"},
			[]string{"make && frob", "A=b make check", "cmake x", "make > out"}},
		{"npm run lint", []string{"npm run lint *", "npm run *"}, []string{"npm run build"},
			[]string{"npm publish", "npm run lint | sh", "sudo npm run lint"}},
		{"git commit -m x", []string{"git commit *"}, []string{"git commit -a"},
			[]string{"git push", "git -C /q commit -m x"}},
		{"git fetch origin", []string{"git fetch *"}, []string{"git fetch --all"},
			[]string{"git fetch --upload-pack='sh x' .", "git fetch --upload-pa=x ."}},
		{"git log --show-signature", []string{"git log *"}, []string{"git log -3 --show-signature"},
			[]string{"git log --output=x", "git log --outp x", "git log -p --ext-diff"}},
		{"go vet ./...", []string{"go vet ./... *", "go vet *"}, []string{"go vet ./a"},
			[]string{"go vet -vettool=x .", "go vet --toolexec x ."}},
		{"cmake -B build", []string{"cmake *"}, []string{"cmake --build build"}, []string{"cmake -E rm -r x", "cmake -P x"}},
		{"frob --all", nil, nil, nil},
		{"make; frob", nil, nil, nil},
		{"rm -rf build", nil, nil, nil},
		{"make $X", nil, nil, nil},
		{"make > out", nil, nil, nil},
		{"cat ~/.ssh/id_rsa", nil, nil, nil},
	} {
		tool := newTool(t, shell.Config{})
		judge := func(line string) shell.Verdict {
			return judgePlain(tool, shell.Command{Line: line, Cwd: "/p", Project: "/p", Home: "/home/eve"})
		}
		v := judge(c.line)
		var labels []string
		for i, s := range v.Suggestions {
			labels = append(labels, s.Label)
			if !s.Pattern.Matches("bash", v.Payload) {
				t.Errorf("%q: the offer %q does not cover it", c.line, s.Label)
			}
			for _, other := range c.covers {
				if last := i == len(v.Suggestions)-1; last && !s.Pattern.Matches("bash", judge(other).Payload) {
					t.Errorf("%q: the offer %q does not cover %q", c.line, s.Label, other)
				}
			}
			for _, other := range c.not {
				if s.Pattern.Matches("bash", judge(other).Payload) {
					t.Errorf("%q: the offer %q covers %q", c.line, s.Label, other)
				}
			}
			inOtherProject := judgePlain(tool, shell.Command{Line: c.line, Cwd: "/q", Project: "/q", Home: "/home/eve"})
			if strings.HasSuffix(s.Label, "*") && s.Pattern.Matches("bash", inOtherProject.Payload) {
				t.Errorf("%q: the offer %q covers it in another directory", c.line, s.Label)
			}
		}
		if !slices.Equal(labels, c.labels) {
			t.Errorf("%q: offers %q, want %q", c.line, labels, c.labels)
		}
	}
}

// R-AP-05: the payload holds the hashes of the project's files that a command
// executes, so that what was granted for one content asks again for another.
func TestPayloadHashes(t *testing.T) {
	tool := newTool(t, shell.Config{})
	judge := func(line string, contents map[string]shell.ContentFact) shell.Verdict {
		c := shell.Command{Line: line, Cwd: "/p", Project: "/p", Home: "/home/eve"}
		var asked []shell.FactQuery
		v := tool.Judge(c, shell.Facts{})
		for range 4 {
			if len(v.NeedsFacts) == 0 {
				break
			}
			asked = append(asked, v.NeedsFacts...)
			f := plainFacts(asked)
			maps.Copy(f.Contents, contents)
			v = tool.Judge(c, f)
		}
		return v
	}
	for _, c := range []struct {
		line, file string
	}{
		{"make all", "/p/Makefile"}, {"npm run build", "/p/package.json"}, {"./run.sh", "/p/run.sh"},
		{"python3 tool.py", "/p/tool.py"},
		{"bash scripts/x.sh", "/p/scripts/x.sh"}, {"source env.sh", "/p/env.sh"}, {"cd sub && ./go.sh", "/p/sub/go.sh"},
		// Options stand between an interpreter and its script, and hand it more of them.
		{"bash -e x.sh", "/p/x.sh"}, {"bash -eu -o pipefail x.sh", "/p/x.sh"}, {"bash --rcfile rc -i", "/p/rc"},
		{"bash --init-file=rc -i", "/p/rc"},
		{"python3 -W ignore x.py", "/p/x.py"}, {"python3 -Wignore -u x.py", "/p/x.py"},
		{"python3 -m tools.gen", "/p/tools/gen.py"}, {"python3 -m tools.gen", "/p/tools/__init__.py"},
		{"python3 -um tools", "/p/tools/__main__.py"}, {"python3 -mtools", "/p/tools.py"},
		{"python3 tools", "/p/tools/__main__.py"},
		{"node -r ./hook.js main.js", "/p/hook.js"}, {"node -r ./hook.js main.js", "/p/main.js"},
		{"node --require=./hook.js main.js", "/p/hook.js"}, {"node --test a.test.js", "/p/a.test.js"},
		{"node main", "/p/main.js"},
		{"perl -w x.pl", "/p/x.pl"}, {"php -f x.php", "/p/x.php"}, {"bun run x.ts", "/p/x.ts"},
		{"deno run -A x.ts", "/p/x.ts"},
		{"make -f other.mk", "/p/other.mk"}, {"make -fother.mk", "/p/other.mk"}, {"make --file=other.mk", "/p/other.mk"},
		{"make -C sub", "/p/sub/Makefile"}, {"npm --prefix web run x", "/p/web/package.json"},
		{"go run main.go", "/p/main.go"}, {"npx tsx x.ts", "/p/x.ts"}, {"uv run x.py", "/p/x.py"},
		{"awk -f x.awk", "/p/x.awk"}, {"sed -f x.sed a", "/p/x.sed"}, {"cmake -P x.cmake", "/p/x.cmake"},
		{"timeout 5 bash x.sh", "/p/x.sh"}, {"env A=b ./x.sh", "/p/x.sh"}, {"nohup ./x.sh", "/p/x.sh"},
		{"find . -exec ./x.sh {} +", "/p/x.sh"}, {"ls | xargs ./x.sh", "/p/x.sh"}, {"bash -c ./x.sh", "/p/x.sh"},
		{"bash -c 'python3 x.py'", "/p/x.py"},
	} {
		one := judge(c.line, map[string]shell.ContentFact{c.file: {Exists: true, Hash: "1111"}})
		files, _ := one.Payload["files"].(map[string]any)
		if files[c.file] != "1111" {
			t.Errorf("%q: the payload has the files %v, want the hash of %s", c.line, files, c.file)
		}
		two := judge(c.line, map[string]shell.ContentFact{c.file: {Exists: true, Hash: "2222"}})
		for _, s := range one.Suggestions {
			if s.Pattern.Matches("bash", two.Payload) {
				t.Errorf("%q: the offer %q holds for another content of %s", c.line, s.Label, c.file)
			}
		}
		unreadable := judge(c.line, map[string]shell.ContentFact{c.file: {Exists: true, Err: "permission denied"}})
		if files, _ := unreadable.Payload["files"].(map[string]any); files[c.file] != "unreadable: permission denied" {
			t.Errorf("%q: an unreadable file is in the payload as %v", c.line, files[c.file])
		}
	}
	// What is not known, or can't be hashed, is granted once only.
	for line, once := range map[string]bool{
		"bash $F": true, "bash *.sh": true, "bash -c \"$X\"": true, "eval \"$(cat x)\"": true, "source \"$F\"": true,
		"$CMD a": true, "python3 -c \"$(cat x)\"": true, "node -e \"$X\"": true, "python3 -W $X": true,
		strings.Repeat("true;", 300) + "./x.sh": true, "bash x.sh": false, "bash x.sh $A": false, "python3 x.py *.csv": false,
		"bash -c 'ls -l'": false, "mytool $A": false, "echo $A": false, "for f in a b; do mytool $f; done": false,
	} {
		if v := judge(line, nil); v.Unseen != once {
			t.Errorf("%.40q: a yes counts once: %v, want %v", line, v.Unseen, once)
		}
	}
	if v := judge("bash x.sh", map[string]shell.ContentFact{"/p/x.sh": {Exists: true,
		Err: "larger than what is hashed"}}); !v.Unseen {
		t.Error("a script that is too large to be hashed can be granted for more than once")
	}
	if v := judge("python3 /usr/lib/x.py", nil); v.Payload["files"] != nil {
		t.Errorf("a file outside the project is in the payload: %v", v.Payload["files"])
	}
}

// R-SH-07: what [sandbox] opens outside the project is read unasked, "~" being
// the person's home; what is hidden there still asks.
func TestReadRoots(t *testing.T) {
	tool := newTool(t, shell.Config{ReadRoots: []string{"/srv/docs", "~/notes"},
		Hidden: []string{"vault", "~/notes/private"}})
	for line, want := range map[string]shell.Decision{
		"cat /srv/docs/a": shell.Auto, "cat /home/eve/notes/a": shell.Auto, "cat /srv/docs2/a": shell.Ask,
		"cat /home/eve/notesx": shell.Ask, "cat /srv/docs/vault/a": shell.Ask, "cat /home/eve/notes/private/a": shell.Ask,
		"cat vault": shell.Ask,
	} {
		v := judgePlain(tool, shell.Command{Line: line, Cwd: "/p", Project: "/p", Home: "/home/eve"})
		if v.Decision != want {
			t.Errorf("%q is %s: %s; want %s", line, v.Decision, v.Why, want)
		}
	}
}
