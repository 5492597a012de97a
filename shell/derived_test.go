package shell_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"sandboxd/shell"
	"sandboxd/shell/facts"
)

// R-SH-02, R-UX-08: what loops, substitutions, find and xargs give to commands that only read runs unasked, as our own
// writing, and gives no other command anything.
func TestDerived(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".env", "a.go", "b.go", "README.md", "list"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tool := newTool(t, shell.Config{})
	for want, lines := range map[shell.Decision][]string{
		shell.Auto: {
			`for f in *.go; do echo "== $f"; head -3 "$f"; done`, `for f in $(git ls-files); do wc -l $f; done`,
			`wc -l $(git ls-files | grep go)`,
			`find . -name '*.go' -exec grep -l TODO {} +`, `find . -type f -exec ls -la {} \; -exec wc -l {} +`,
			`find . -type f -print0 | xargs -0 grep -l TODO | head`,
			`find . -name '*.go' | xargs -n 1 -P 4 -I{} head -1 {}`, `ls | while read -r f; do wc -l "$f"; done`,
			`while IFS= read -r l; do echo "$l"; done < README.md`,
			`find . -name '*.go' | while read f; do echo "$f: $(wc -l < "$f")"; done`,
			`n=$(ls | wc -l); echo "n=$n"`, `FILE=a.go; grep -n x $FILE`,
			`diff <(ls) <(git ls-files)`, `cat {a,b}.go`, `for i in {1..3}; do echo $((1+2)); done`,
			`[[ -f a.go && ! -d x ]] && echo yes`, `x=1; [[ $x == 1 ]] || echo no`,
			`x=1; if [ "$x" = 1 ]; then echo y; fi`, `grep -rn X --include=*.go .`,
			`bash -c 'for f in *.go; do wc -l "$f"; done'`, `cat /tmp/server.log`, `printf '%s\n' "$(ls)"`,
		},
		shell.Ask: {
			// what is read must be found in a place that is judged
			`cat $(echo .env)`, `echo /etc/shadow | xargs cat`, `find . -name '.env*' | xargs cat`,
			`find . -name .env -exec cat {} \;`, `find . -printf '/etc/passwd\n' | xargs cat`,
			`find ~ -name id_rsa -exec cat {} +`, `cat list | while read f; do cat "$f"; done`,
			`for f in $(cat list); do cat "$f"; done`, `ls -l | xargs cat`, `xargs -a list cat`,
			`for f in /etc/*; do cat "$f"; done`, `for f in .e*; do cat "$f"; done`, `f=.env; cat $f`,
			`a=.e; b=nv; cat $a$b`, `d=..; cat $d/x`, `x="a /etc/passwd"; cat $x`,
			`x='*'; cat $x`, `cat .e$(ls nv)`, `ls | xargs -I{} cat {}/../../etc/passwd`, `cat {.en,b}v`,
			`cat /tmp/ssh-x/agent.1`, `cat /tmp/../etc/passwd`, `diff <(id) a.go`,
			// what runs must only read, whatever the words are
			`find . -exec rm {} \;`, `find . -exec sed -i s/a/b/ {} +`, `find . -exec sh -c 'ls' \;`,
			`ls | xargs rm`, `ls | xargs -I{} sh -c 'cat {}'`, `ls | while read f; do rm "$f"; done`,
			`for f in *.go; do sed -n 1p $f; done`, `for f in *; do sort $f; done`, `find . | xargs rg x`,
			`for c in rm; do $c -rf x; done`, `c=rm; $c a`, `git $(echo push)`, `python3 $(ls)`,
			`[ $(ls) = x ]`, `[ -f $(ls) ]`, `printf "$(cat a.go)"`, `f=-e; echo $f '\033]52;c;x'`,
			`echo -e "$(cat a.go)" '\033]52;c;x'`, `echo "$((x))"`, `[[ $(ls) -eq 1 ]]`,
			// what is the environment's is not the line's
			`echo $TOKEN`, `PATH=.; ls`, `PROMPT_COMMAND='touch x'`, `LESSOPEN='|x'; echo $LESSOPEN`,
			`GIT_DIR=x; git status`, `x=1 ls $x`, `export x=1; ls $x`, `x+=1; ls $x`,
			`for PATH in .; do ls; done`, `read x; cat $x`, `x=$(rm a.go); echo $x`, `diff <(rm a.go) b.go`,
			`for f in *; do cd $f; done`, `for f in a; do ls; done; cat $f`,
		},
	} {
		for _, line := range lines {
			v, _ := facts.Judge(
				context.Background(),
				tool,
				shell.Command{Line: line, Cwd: dir, Project: dir, Home: "/home/eve"},
				facts.Options{},
			)
			if v.Decision != want {
				t.Errorf("%s: %v, want %v: %s: %s", line, v.Decision, want, v.Why, v.Run.Script)
			}
		}
	}
}
