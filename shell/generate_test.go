package shell_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator makes command lines out of harmless, instrumented commands.
type generator struct {
	r     *rand.Rand
	depth int
	wild  bool // also what is known to ask
}

func (g *generator) pick(list ...string) string { return list[g.r.IntN(len(list))] }

func (g *generator) chance(percent int) bool { return g.r.IntN(100) < percent }

// line makes one line. Two in five keep to what may be auto.
func (g *generator) line() string {
	g.wild, g.depth = g.chance(60), 0
	n := 1 + g.r.IntN(3)
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(g.pick("; ", "\n", " && ", " || ", ";", "&&", "||"))
			if g.wild && g.chance(5) {
				b.WriteString("# a comment\n")
			}
		}
		b.WriteString(g.statement())
	}
	if g.wild && g.chance(5) {
		b.WriteString(g.pick(" # the end", " &", ";", "\n\n", " # it's \"over\""))
	}
	return b.String()
}

func (g *generator) statement() string {
	if g.depth > 3 {
		return g.simple()
	}
	g.depth++
	defer func() { g.depth-- }()
	p := g.r.IntN(100)
	switch {
	case p < 45:
		return g.simple()
	case p < 65:
		return g.pipe()
	case p < 72:
		return "(" + g.pick("", " ") + g.statement() + g.pick("", "; "+g.simple()) + ")" + g.tail()
	case p < 78:
		return "{ " + g.statement() + "; }" + g.tail()
	case p < 83:
		return "if " + g.simple() + "; then " + g.statement() +
			g.pick("", "; else "+g.simple(), "; elif "+g.simple()+"; then "+g.simple()) + "; fi"
	case p < 86:
		return "! " + g.simple()
	case p < 88:
		return "cd " + g.pick("sub", "./sub", "sub/deep", "..", "nosuch", "'sub'") + g.pick(" && ", "; ", " || ") + g.simple()
	case !g.wild:
		return g.simple()
	}
	return g.compound()
}

// compound makes what always asks.
func (g *generator) compound() string {
	s := g.simple()
	return g.pick(
		"for f in a b; do "+s+"; done", "for f in a b; do cat $f; done", "for f in 'a b' sub/c .txt; do "+s+"; done",
		"for g in b c; do for f in a $g; do "+s+"; done; done", "set -e; "+s, s+" || exit 1; ls", s+"; echo \"r: $?\"",
		"while false; do "+s+"; done", "until true; do "+s+"; done", "while ls; do "+s+"; break; done", "case x in x) "+s+
			";; y) ls;; esac", "f() { "+s+"; }; f", "function f { "+s+"; }; f a", "eval '"+strings.ReplaceAll(s, "'", `'\''`)+
			"'", "x=ls; $x -a", "echo $("+s+")", "echo `ls -a`", "cat <(ls)", "[[ -f a ]] && "+s, "[[ a == b ]] || "+s,
		"(( 1 + 1 )) && "+s, "trap '"+"ls"+"' EXIT; "+s, s+" &", "coproc ls; "+s, "time "+s, "export X=1; "+s, "X=1; "+s,
		"{ls,-a}", "cat {a,b}", "set -- a b; cat \"$@\"", "cat <<E\n$(ls)\nE", "cat <<'E'\n$(ls)\nE", "cat <<E\nplain\nE",
		"echo ${x:-$(ls)}", "echo \"$(ls)\" '$(cat)'", "ls \\\n  -a", "unset x; "+s, "command ls; builtin echo a",
		"shopt -s nullglob; "+s,
	)
}

func (g *generator) pipe() string {
	n := 2 + g.r.IntN(2)
	parts := make([]string, n)
	for i := range parts {
		parts[i] = g.simple()
		if g.chance(6) {
			parts[i] = "(" + g.simple() + ")"
		}
	}
	return strings.Join(parts, g.pick(" | ", "|", " | ", " |& "))
}

// tail is an occasional redirection.
func (g *generator) tail() string {
	switch p := g.r.IntN(100); {
	case p < 82:
		return ""
	case p < 92 || !g.wild:
		return g.pick(" 2>/dev/null", " >/dev/null", " 2>&1", " &>/dev/null", " </dev/null", " < a.txt", " <<< 'text'",
			" >&2", " >/dev/null 2>&1")
	}
	return g.pick(" > /run/out", " >> /run/out", " 2> /run/err", " &> /run/both", " > $x", " >| /run/out", " <> /run/out")
}

func (g *generator) simple() string {
	p := g.r.IntN(100)
	if g.wild && p < 10 {
		return g.wrapped() + g.tail()
	}
	if g.wild && p < 14 {
		return g.pick("X=1 ", "LC_ALL=C ", "A=$(ls) ", "PATH=/nosuch ") + g.command() + g.tail()
	}
	if p < 17 {
		return g.pick("LC_ALL=C ", "NO_COLOR=1 ", "") + g.command() + g.tail()
	}
	return g.command() + g.tail()
}

func (g *generator) wrapped() string {
	c := g.command()
	q := "'" + strings.ReplaceAll(c, "'", `'\''`) + "'"
	return g.pick("env ", "env A=b ", "timeout 5 ", "nice ", "nice -n 3 ", "command ", "exec ", "nohup ",
		"env -i PATH=\"$PATH\" REC=\"$REC\" NR=\"$NR\" ") + c + g.pick("", "", "") +
		g.pick("", "", "; bash -c "+q, "; sh -c "+q, " | xargs cat", " | xargs -n 1 ls -a", "; find a.txt -exec cat {} \\;",
			"; find . -maxdepth 1 -name a.txt -exec wc -l {} +", "; bash -c 'ls; "+strings.ReplaceAll(c, "'", `'\''`)+"'")
}

// command makes one simple command of the safe list, or of the wild ones.
func (g *generator) command() string {
	if g.wild && g.chance(12) {
		return g.pick("touch", "tee", "frob", "git push", "rm", "npm test", "make", "l\\s", "'l's", "\"ls\"", "l''s", "$'ls'",
			"./ls", "${x:-ls}") + " " + g.word()
	}
	switch g.r.IntN(16) {
	case 0:
		return "ls" + g.pick("", " -la", " -a", " sub", " -l sub a.txt", " *.txt", " sub/*")
	case 1:
		return "cat " + g.path() + g.pick("", " "+g.path())
	case 2:
		return "echo " + g.word() + g.pick("", " "+g.word())
	case 3:
		return "grep " + g.pick("-n ", "-rn ", "-i ", "") + g.quoted() + " " + g.path()
	case 4:
		return "head " + g.pick("-n 3 ", "-5 ", "") + g.path()
	case 5:
		return "wc " + g.pick("-l ", "-lw ", "") + g.pick(g.path(), "*.txt")
	case 6:
		return "sort " + g.pick("-u ", "-rn ", "-k2 ", "") + g.path()
	case 7:
		return "find " + g.pick(". ", "sub ", "") +
			g.pick("-name '*.txt'", "-type f", "-maxdepth 1 -print", "\\( -name a -o -name b \\)")
	case 8:
		return "test " + g.pick("-f ", "-d ", "-e ", "! -f ") + g.path()
	case 9:
		return "[ " + g.pick("-f a.txt", "-d sub", "a = b", "-n x") + " ]"
	case 10:
		return "printf " + g.pick("'%s\\n' ", "'a\\tb' ", "\"%s\" ") + g.word()
	case 11:
		return g.pick("true", "false", "pwd", "pwd", "date", "whoami", "uname -a")
	case 12:
		return "sed " + g.pick("-n 2p ", "'s/a/b/' ", "-e 's/x/y/g' ") + g.path()
	case 13:
		return "cut -d: -f1 " + g.path()
	case 14:
		return "git " + g.pick("status", "log --oneline", "diff", "diff -- a.txt", "branch -a", "show HEAD")
	}
	return "tr " + g.pick("a-z A-Z", "-d x", "-s ' '")
}

func (g *generator) path() string {
	if g.wild && g.chance(10) {
		return g.pick("$x", "$f", "\"sub/$f.txt\"", "~/a", "/etc/passwd", "../../a", "$HOME/a", "\"$x\"")
	}
	return g.pick("a.txt", "b.txt", "sub/c.txt", "'a.txt'", "\"sub/c.txt\"", "a\\.txt", "./a.txt", "nosuch",
		"sub/../a.txt", "'b c'", "b\\ c", "sub/deep/d.txt")
}

func (g *generator) quoted() string {
	return g.pick("foo", "'a b'", "\"x;y\"", "'a|b && c'", "\"a'b\"", "a\\;b", "'$(ls)'", "'`ls`'", "'#x'", "\"#\"", "x#y",
		"'a\nb'", "'\"'", "\"it's\"", "'-x'", "\\-x")
}

func (g *generator) word() string {
	if g.wild && g.chance(15) {
		return g.pick("$x", "\"$x\"", "$?", "\"r=$?\"", "$f", "\"a $f\"", "\"$HOME\"", "$(ls)", "`cat a.txt`", "$((1+1))",
			"${x:-y}", "*", "~", "\"$(cat a.txt)\"", "{a,b}", "a{1..3}", "$'a\\tb'", "\"a\\$b\"", "$$", "\"${x}\"")
	}
	return g.quoted()
}

// lines makes n lines, the same for the same seed.
func lines(seed uint64, n int) []string {
	g := &generator{r: rand.New(rand.NewPCG(seed, 1))}
	out := make([]string, n)
	for i := range out {
		out[i] = g.line()
		if strings.Contains(out[i], "\x00") {
			panic(fmt.Sprintf("line %d holds a NUL", i))
		}
	}
	return out
}
