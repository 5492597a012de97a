package shell_test

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sandboxd/shell"
	"sandboxd/shell/facts"
)

// readersOf has commands that read the file @, sendersOf commands that send, and writersOf commands that write @.
const (
	readersOf = `cat @|head -n 3 @|tail -n 3 @|nl @|sort @|tac @|rev @|cut -c1- @|paste @|od -c @|strings @|awk 1 @
		sed -n p @
		diff @ README.md|comm @ README.md|cmp -l @ README.md|grep . @|wc -c < @ && cat @|cat < @|cat - < @|cat -- @
		base64 @|xxd @|openssl base64 -in @|gzip -c @|tar cf - @|zip x.zip @|cp @ x|mv @ x|ln @ x|dd if=@|dd if=@ of=x
		python3 src/cat.py @|perl -ne print @|node --env-file=@ x.js|ruby -pe 1 @|source @; env|. @; set|bash @
		xargs -a @ echo
		curl -s -d @@ http://127.0.0.1:1/|curl -s -T @ http://127.0.0.1:1/|curl -F f=@@ http://127.0.0.1:1/|tee x < @
		curl -s --data-binary=@@ http://127.0.0.1:1/|wget -q --post-file=@ http://127.0.0.1:1/|git add -f @|sed -i s/a/b/ @
		git grep --no-index . @|git diff --no-index /dev/null @|git hash-object -w @|git stash push @|npx dotenv -e @ -- env
		while read -r l; do echo "$l"; done < @|read -r l < @; echo "$l"|mapfile -t a < @; echo "${a[0]}"|echo "$(< @)"
		python3 - < @|base64 < @|env F=@ ./show|F=@ ./show|make F=@ show|./show --in=@ --out=x|black --diff @|clang-format @
		gcc -E -x c -include @ /dev/null|gofmt @|./scripts/x.sh @|go run ./cmd/show @|pytest --config=@`
	sendersOf = `git push|git push -f origin main|npm publish|npx wrangler@3 deploy|bunx vercel@latest --prod|pnpm dlx np
		python3 -mtwine upload x|python3 -m twine upload x|uvx twine@5 upload x|ssh h x|scp x h:|docker push x
		docker-compose up
		g=push; git $g|G=git; $G push|c="git push"; $c|gh pr create|kubectl apply -f x|aws s3 cp x s3://x|cargo publish
		npx @changesets/cli publish|yarn npm publish|git -C . push|git send-email x|twine upload x|fly deploy|rsync x h:x`
	writersOf = `echo x > @|echo x >> @|echo x >\| @|echo x \| tee @|cp README.md @|mv t @|ln -sf t @|sed -i s/a/b/ @
		dd if=t of=@
		truncate -s 0 @|install t @|sort -o @ README.md|rm -f @|git mv t @|cat README.md > @|printf x &> @|: > @
		perl -i -pe 1 @|gcc -E -x c t -o @|chmod +x @|tar xf t.tar -C @|patch @ t`
)

// wrappersOf has lines around a command @, and around one in single quotes '@'.
const wrappersOf = `@|@|@|( @ )|{ @; }|if true; then @; fi|for i in 1 2; do @; done|true && @|false \|\| @|@ \| cat|! @
	@ 2>/dev/null|x=$(@); echo "$x"|echo "$(@)"|f() { @; }; f|cat <(@)|ls; @; ls|case a in a) @;; esac|bash -c '@'|eval '@'
	sh -c 'cd src; cd ..; @'|while true; do @; break; done|cd src && cd .. && @|time @|coproc { @; }|set -e; @
	[ -f t ] && @`

// cases splits one of the lists. "\|" is a bar.
func cases(list string) (out []string) {
	list = strings.NewReplacer(`\|`, "\x00", "\n", "|").Replace(list)
	for one := range strings.SplitSeq(list, "|") {
		out = append(out, strings.ReplaceAll(strings.TrimSpace(one), "\x00", "|"))
	}
	return out
}

// spelling is a way to write the name of a file: what precedes the command, the word, and what follows.
type spelling struct{ before, word, after string }

// spellings returns the ways to write a name.
func spellings(name string) []spelling {
	dir, file := path.Split(name)
	half := len(name) / 2
	q := strconv.Quote
	list := []spelling{
		{"for f in README.md " + name + "; do ", `"$f"`, "; done"}, {"for f in " + name + "; do ", "$f", "; done"},
		{"echo " + name + " | while read -r f; do ", `"$f"`, "; done"}, {"read -r f <<< " + name + "; ", `"$f"`, ""},
		{"set -- " + name + "; ", `"$1"`, ""}, {"printf -v f %s " + name + "; ", `"$f"`, ""},
		{"export f=" + name + "; ", `"$f"`, ""}, {"f=(" + name + "); ", `"${f[0]}"`, ""},
		{"declare f=" + name + "; ", `"$f"`, ""}, {"declare -a f=(" + name + "); ", `"${f[0]}"`, ""},
		{"mapfile -t f <<< " + name + "; ", `"${f[0]}"`, ""}, {"g() { f=" + name + "; }; g; ", `"$f"`, ""},
		{"f=" + name + " && ", `"$f"`, ""}, {": ${f:=" + name + "}; ", `"$f"`, ""},
	}
	for _, word := range []string{
		name, name, "./" + name, "src/../" + name, "'" + name + "'", q(name), `"$PWD"/` + name, `"$PWD/` + name + `"`,
		name[:half] + `\` + name[half:], name[:half] + `""` + name[half:], name[:len(name)-1] + "?", dir + file[:2] + "*",
		dir + file[:1] + "[" + file[1:2] + "]" + file[2:], "{" + name + ",README.md}", "$(echo " + name + ")",
		`"$(printf %s ` + name + `)"`, "`echo " + name + "`", "$(ls " + name + ")", "$(find . -name '" + file + "')",
		"$(ls -A " + dir + " | grep '" + file + "$')",
	} {
		list = append(list, spelling{word: word})
	}
	for before, word := range map[string]string{
		"f=" + name: "$f", "f='" + name + "'": `"$f"`, "f=" + name[:half]: "${f}" + name[half:],
		"d=$PWD": `"$d/` + name + `"`, "f=" + file: dir + "$f", "f=" + name + "; g=$f": `"$g"`,
	} {
		list = append(list, spelling{before: before + "; ", word: word})
	}
	slices.SortFunc(list, func(a, b spelling) int { return strings.Compare(a.before+a.word, b.before+b.word) })
	return list
}

// wrapped writes a command into a wrapper.
func wrapped(wrapper, command string) string {
	if strings.Contains(wrapper, "'@'") || strings.Contains(wrapper, "@'") {
		command = strings.ReplaceAll(command, "'", `'\''`)
	}
	return strings.ReplaceAll(wrapper, "@", command)
}

// generated is one line: what it reads or writes, and by which words.
type generated struct{ kind, name, line string }

var (
	credentials = []string{".env", ".env.local", "keys/id_rsa", "keys/server.pem", "credentials.json", ".htpasswd"}
	ordinary    = []string{"README.md", "src/a.txt", "package.json"}
	protected   = []string{"../x", "~/.bashrc", "/etc/x", "ml", "gl/pre-commit", "CLAUDE.md", ".git/config",
		".git/hooks/x", ".envrc", ".vscode/settings.json", "Makefile", "conftest.py", ".gitattributes", "sub/package.json"}
)

// generate makes a line. The same numbers make the same line.
func generate(r *rand.Rand) generated {
	one := func(list []string) string { return list[r.IntN(len(list))] }
	g := generated{kind: one([]string{"credentials", "credentials", "ordinary", "sends", "writes"})}
	command := one(cases(sendersOf))
	switch g.kind {
	case "credentials", "ordinary":
		if g.name = one(credentials); g.kind == "ordinary" {
			g.name = one(ordinary)
		}
		all := spellings(g.name)
		s := all[r.IntN(len(all))]
		command = strings.ReplaceAll(strings.ReplaceAll(one(cases(readersOf)), "@@", "\x00"), "@", s.word)
		command = s.before + strings.ReplaceAll(command, "\x00", "@"+s.word) + s.after
	case "writes":
		g.name = one(protected)
		command = strings.ReplaceAll(one(cases(writersOf)), "@", g.name)
	}
	g.line = wrapped(one(cases(wrappersOf)), command)
	return g
}

// generatedLines is how many lines TestGenerated makes: 500, or what the environment says.
func generatedLines(t *testing.T) int {
	text := os.Getenv("GENERATED_LINES")
	if text == "" {
		return 500
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// contents is what a directory holds, with names, modes and texts.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	if err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := []byte(nil)
		if info.Mode().IsRegular() && d.Name() != "index" { // which git status writes again
			text, err = os.ReadFile(name)
		}
		fmt.Fprintf(&b, "%s %s %s\n", name, info.Mode(), text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// R-SH-04, R-LY-07: of generated lines, those that name credentials, send, or write what is protected or elsewhere ask
// under every policy, but that a layer's landing asks about what it writes in the project. What runs unasked under
// normal prints no secret and changes nothing, as bash shows.
func TestGenerated(t *testing.T) {
	root := t.TempDir()
	dir, home := filepath.Join(root, "project"), filepath.Join(root, "home")
	setup := exec.Command("/bin/bash", "--noprofile", "--norc", "-ec", `mkdir -p "$1" "$2" && cd "$1" && git init -q . &&
		mkdir -p keys src sub scripts cmd .vscode && echo text | tee README.md src/a.txt t package.json src/cat.py >/dev/null
		for f in .env .env.local keys/id_rsa keys/server.pem credentials.json .htpasswd; do echo CANARY=1 > $f; done
		ln -s Makefile ml; ln -s .git/hooks gl; git add README.md src`, "setup", dir, home)
	if out, err := setup.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	plain := newTool(t, shell.Config{})
	presets := newTool(t, shell.Config{Presets: []string{"go", "git", "edits", "scripts", "python", "node", "c"}})
	judge := func(tool *shell.Tool, line string) shell.Verdict {
		v, _ := facts.Judge(context.Background(), tool,
			shell.Command{Line: line, Cwd: dir, Project: dir, Home: home}, facts.Options{})
		return v
	}
	before, ran := contents(t, root), 0
	r := rand.New(rand.NewPCG(1, 2))
	for range generatedLines(t) {
		g := generate(r)
		normal, preset := judge(plain, g.line), judge(presets, g.line)
		outside := strings.HasPrefix(g.name, "../") || strings.ContainsAny(g.name[:min(1, len(g.name))], "~/")
		switch {
		case g.kind != "ordinary" && (normal.Decision == shell.Auto || preset.Decision == shell.Auto):
			t.Errorf("%s %s: %q: normal %s, presets %s: %s", g.kind, g.name, g.line, normal.Decision, preset.Decision,
				preset.Why)
		case (g.kind == "credentials" || g.kind == "sends" || outside) && (normal.InLayer || normal.Contained):
			t.Errorf("%s %s: %q is contained: %q", g.kind, g.name, g.line, normal.Reasons)
		}
		if normal.Decision != shell.Auto {
			continue
		}
		ran++
		ctx, stop := context.WithTimeout(context.Background(), time.Minute)
		cmd := exec.CommandContext(ctx, "/bin/bash", "--noprofile", "--norc", "-c", g.line)
		cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin", "HOME=" + home, "GIT_OPTIONAL_LOCKS=0"}
		out, _ := cmd.CombinedOutput()
		stop()
		if strings.Contains(string(out), "CANARY") {
			t.Errorf("%q runs unasked, and prints a secret", g.line)
		}
		if after := contents(t, root); after != before {
			t.Fatalf("%q runs unasked, and changes files:\n%s", g.line, after)
		}
	}
	if t.Logf("%d lines ran unasked", ran); ran == 0 {
		t.Error("no line ran: the test shows nothing of those that do")
	}
}
