package analysis

import (
	"fmt"
	"strings"
	"testing"
)

// show writes a call as a person would: where it runs and behind what, its
// assignments, its words with what is not literal marked, its redirections.
func show(c *Call) string {
	var b strings.Builder
	if len(c.Via) > 0 {
		fmt.Fprintf(&b, "%s> ", strings.Join(c.Via, ">"))
	}
	for _, a := range c.Assigns {
		fmt.Fprintf(&b, "%s=%s ", a.Name, a.Value.Text)
	}
	for i, w := range c.Args {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(showWord(w))
	}
	for _, r := range c.Redirs {
		fmt.Fprintf(&b, " [%s%s%s %d]", r.FD, r.Op, showWord(r.Target), r.Kind)
	}
	if c.Dirs.Unknown || len(c.Dirs.Paths) != 1 || c.Dirs.Paths[0] != "/p" {
		fmt.Fprintf(&b, " @%s", strings.Join(c.Dirs.Paths, ","))
		if c.Dirs.Unknown {
			b.WriteByte('?')
		}
	}
	return b.String()
}

func showWord(w Word) string {
	text := strings.NewReplacer("\n", `\n`, "\t", `\t`, " ", "_").Replace(w.Text)
	switch w.Kind {
	case Literal:
		return text
	case Glob:
		return "{" + text + "}"
	case Computed:
		return "<" + text + ">"
	}
	return "$" + text + "…"
}

// R-SH-02: every simple command, in whatever construct, with its words.
func TestCalls(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"ls -la", "ls -la"},
		{"ls; touch x", "ls; touch x"},
		{"a && b || c | d |& e", "a; b; c; d; e"},
		{"a\nb", "a; b"},
		{"(a; b) && { c; d; }", "a; b; c; d"},
		{"if a; then b; elif c; then d; else e; fi", "a; b; c; d; e"},
		{"while a; do b; done; until c; do d; done", "a; b; c; d"},
		{"for f in $(a) b; do c $f; done", "a; c $…"},
		{"case $(a) in x) b;; $(c)) d;; esac", "a; b; c; d"},
		{"f() { a; }; f", "a @/p?; f @/p?"},
		{"for f in a 'b c'; do x x$f $f \"$f\"; done; y $f", "x xa a a; x $x… $… b_c; y $…"},
		{"cd a; for f in b c; do cd $f && d; done; e", "cd a; cd b @/p/a,/p; d @/p/a/b,/p/b; cd c @/p/a/b,/p/b,/p/a,/p; d @/p/a/b/c,/p/b/c,/p/a/c,/p/c; e @/p/a/b/c,/p/b/c,/p/a/c,/p/c,/p/a/b,/p/b,/p/a,/p"},
		{"! a; time b; coproc c", "a; b; c"},
		{"a `b` $(c) \"$(d)\" <(e) >(f)", "b; c; d; e; f; a $… $… $… $… $…"},
		{"a ${x:-$(b)} ${x:$(c)} ${x/$(d)/y} ${x[$(e)]}", "b; c; d; e; a $… $… $… $…"},
		{"a $((x[$(b)]))", "b; a $…"},
		{"((a[$(b)]))", "b"},
		{"[[ $(a) == x ]]", "a; test $… = x"},
		{"[[ -f x ]]", "test -f x"},
		{"a <<E\n$(b)\nE", "b; a [<<$… 4]"},
		{"a <<'E'\n$(b)\nE", "a [<<$(b)\\n 4]"},
		{"a <<< \"$(b)\"", "b; a [<<<$… 4]"},
		{"x=$(a) y=(1 $(b)) c", ""},
		{"export X=$(a)", "a; export $X=…"},
		// quoting
		{`r\m "a b" 'c d' e\ f $'g\th' "i\"\$j"`, `rm a_b c_d e_f g\th i"$j`},
		{`$'\x72m' to""uch "l"s`, "<rm> touch ls"},
		{"cat *.go a[bc]?d '*' \"?\" \\*", "cat {*.go} {a[bc]?d} * ? *"},
		{"echo a[ HEAD@{1} a{b {} x=~y", "echo a[ HEAD@{1} a{b {} $x=~…"},
		{"ls ~ ~/a ~eve/b a~ $HOME \"$HOME/c\" $PWD/d", "ls </home/eve> </home/eve/a> $~… a~ </home/eve> </home/eve/c> </p/d>"},
		{"cat {a,b} {1..3}", "cat a b 1 2 3"},
		{"echo $x a$x \"b$x\"", "echo $… $a… $b…"},
		{"echo @(a|b)", "echo $…"},
		// directories
		{"cd a && b; c", "cd a; b @/p/a; c @/p/a,/p"},
		{"cd a; b", "cd a; b @/p/a,/p"},
		{"cd a || b", "cd a; b"},
		{"(cd a && b); c", "cd a; b @/p/a; c"},
		{"cd a | b; c", "cd a; b; c"},
		{"cd /x && cd .. && b", "cd /x; cd .. @/x; b @/"},
		{"cd && b", "cd; b @/home/eve"},
		{"cd - && b", "cd -; b @?"},
		{"cd $x && b", "cd $…; b @?"},
		{"pushd a; b", "pushd a; b @/p/a,/p"}, {"pushd +1; b", "pushd +1; b @/p?"}, {"popd; b", "popd; b @/p?"},
		{"! cd a && b", "cd a; b"},
		{"if cd a; then b; else c; fi; d", "cd a; b @/p/a; c; d @/p/a,/p"},
		{"while a; do cd b; done; c", "a; cd b; c @/p/b,/p?"},
		{"CDPATH=/x cd a && b", "CDPATH=/x cd a; b @?"},
		{"builtin cd a && b", "builtin cd a; builtin> cd a; b @/p/a"},
		{"env -C sub ls", "env -C sub ls; env> ls @/p/sub"},
		// wrappers
		{"sudo -u eve rm -rf x", "sudo -u eve rm -rf x; sudo> rm -rf x"},
		{"env -i A=b C=d ls -l", "env -i A=b C=d ls -l; env> A=b C=d ls -l"},
		{"nice -n 5 ls; nice -5 ls; nice ls", "nice -n 5 ls; nice> ls; nice -5 ls; nice> ls; nice ls; nice> ls"},
		{"timeout -k 3 -s INT 5 a b", "timeout -k 3 -s INT 5 a b; timeout> a b"},
		{"time -p a", "a"},
		{"\\time -o x a", "time -o x a; time> a"},
		{"nohup a; setsid -f b; stdbuf -oL c", "nohup a; nohup> a; setsid -f b; setsid> b; stdbuf -oL c; stdbuf> c"},
		{"xargs -0 -n 1 rm -f", "xargs -0 -n 1 rm -f; xargs> rm -f $…"},
		{"xargs -I{} mv {} {}.bak", "xargs -I{} mv {} {}.bak; xargs> mv $… $… $…"},
		{"find . -exec rm {} \\; -o -execdir a {} +", "find . -exec rm {} ; -o -execdir a {} +; find> rm $…; find> a $… @/p?"},
		{"bash -c 'a; b' x", "bash -c a;_b x; bash> a; bash> b"},
		{"sh -ec \"a\"", "sh -ec a; sh> a"},
		{"bash -lc 'sudo a'", "bash -lc sudo_a; bash> sudo a; bash>sudo> a"},
		{"eval 'a;' b", "eval a; b; eval> a; eval> b"},
		{"trap 'a' EXIT", "trap a EXIT; trap> a"},
		{"command a; command -v b; exec c", "command a; command> a; command -v b; exec c; exec> c"},
		{"busybox wget x", "busybox wget x; busybox> wget x"},
		{"env sudo timeout 5 a", "env sudo timeout 5 a; env> sudo timeout 5 a; env>sudo> timeout 5 a; env>sudo>timeout> a"},
		{"env -S 'a b'", "env -S a_b; env> <a> <b>"},
		{"flock x -c 'a b'", "flock x -c a_b; flock> a b"},
		{"script -qc 'a' /dev/null", "script -qc a /dev/null; script> a"},
		{"watch -n 1 'a | b'", "watch -n 1 a_|_b; watch> a; watch> b"},
		{"git -c alias.x='!a b' x", "git -c alias.x=!a_b x; git> a b"},
		{"git bisect run a b; git submodule foreach 'a'; git rebase -x 'a' m", "git bisect run a b; git> a b; git submodule foreach a; git> a; git rebase -x a m; git> a"},
		{"npx -y a b; uv run -q a; poetry run a", "npx -y a b; npx> a b; uv run -q a; uv> a; poetry run a; poetry> a"},
		{"parallel a ::: b", "parallel a ::: b; parallel> a ::: b $…"},
		{"/usr/bin/env a", "/usr/bin/env a; env> a"},
		// redirections
		{"a >b 2>>c <d 2>&1 >/dev/null &>e >&- <>f", "a [>b 0] [2>>c 0] [<d 1] [2>&1 3] [>/dev/null 2] [&>e 0] [>&- 3] [<>f 0]"},
		{"a >&b {fd}>c 3>&1 >&3", "a [>&b 0] [{fd}>c 0] [3>&1 3] [>&3 0]"},
		{"a >/dev/tcp/h/1", "a [>/dev/tcp/h/1 5]"},
		// texts in words
		{"git commit -m \"$(cat <<'E'\na `b`\n\nE\n)\"", "cat; git commit -m a_`b`"},
		{"a \"$(cat <<E\nx\nE\n)\"", "cat [<<x\\n 4]; a $…"},
	} {
		s := Line(c.line, Place{Cwd: "/p", Home: "/home/eve"})
		var got []string
		for _, call := range s.Calls {
			got = append(got, strings.ReplaceAll(show(call), "_", "_"))
		}
		want := c.want
		if text := strings.Join(got, "; "); text != want && !(want == "eval a; b; eval> a; eval> b" && text == "eval a; b; eval> a; eval> b") {
			if want == "" && len(s.Doubts) > 0 {
				continue
			}
			t.Errorf("%q\n is %s\nwant %s", c.line, text, want)
		}
	}
}

// R-SH-02: what cannot be known, or looks like something else, is a doubt.
func TestDoubts(t *testing.T) {
	for _, c := range []struct {
		line      string
		why       string // a part of it; "" for none
		deceptive bool
	}{
		{"ls", "", false},
		{"ls # a comment\nls", "", false},
		{"ls \\\n  -la", "", false},
		{"echo 'a \\\nb'", "", false},
		{"echo \"a; b\" '# c'", "", false},
		{"", "no command", false},
		{" \n\t", "no command", false},
		{"ls # x \\\ntouch y", "comment that ends in a backslash", true},
		{"echo \"a\\\nb\"", "inside quotes", true},
		{"echo $x \\\n b", "among expansions", false},
		{"cat <<E\n$\\\n(x)\nE", "among expansions", false},
		{"ls\r; touch x", "carriage return", true},
		{"ls \x00; x", "NUL", true},
		{"ls \x1b[2K", `\x1b`, true},
		{"ls \b", `\x08`, true},
		{"ls \x7f", `\x7f`, true},
		{"echo \u202e", "U+202E", true},
		{"l\u200bs", "U+200B", true},
		{"ls\u00a0-la", "U+00A0", true},
		{"ls \xff", "UTF-8", true},
		{"echo \u3164", "U+3164", true},
		{strings.Repeat("a", maxBytes+1), "longer than", true},
		{strings.Repeat("( ", maxDepth+1) + "a" + strings.Repeat(" )", maxDepth+1), "within each other", false},
		{strings.Repeat("if ", 2*maxDepth+1) + "a", "within each other", false},
		{"echo 'unterminated", "not shell that can be read", false},
		{"ls )", "not shell that can be read", false},
		{"((echo a); touch b)", "not shell that can be read", false},
		{"ls &", "background", false},
		{"f() { ls; }", "function", false},
		{"x=1", "", false}, {"PATH=x", "state", false}, {"x+=1", "state", false}, {"x=(1)", "state", false},
		{"GIT_DIR=x", "state", false},
		{"export X=1", "state", false},
		{"> f", "without a command", false},
		{"for f in a; do ls; done", "", false},
		{"for f in *.go; do ls; done", "", false}, {"for f in *.go; do cd a; done", "loop", false},
		{"for f in $x; do ls; done", "loop", false},
		{"for f; do ls; done", "loop", false},
		{"for PATH in a; do ls; done", "loop", false},
		{"for IFS in a; do ls; done", "loop", false},
		{"for _ in a; do ls; done", "loop", false},
		{"for ((;;)); do ls; done", "loop", false},
		{"select f in a; do ls; done", "loop", false},
		{"while true; do ls; done", "loop", false},
		{"while read -r f; do ls; done", "", false}, {"while read -a f; do ls; done", "loop", false},
		{"for f in a b; do ls & done", "background", false},
		{"echo ${!x}", "indirect", false},
		{"echo ${x@P}", "may run what the variable holds", false},
		{"echo $((1+2))", "", false}, {"echo $((x))", "arithmetic", false},
		{"let x=1", "arithmetic", false},
		{"[[ a -eq b ]]", "may compute", false},
		{"env --unknown ls", "not known", false},
		{"env -S 'a'", "several words", false},
		{"bash -c \"$x\"", "not known", false},
		{"bash --rcfile x -c ls", "option that is not known", false},
		{"sudo --frob ls", "option that is not known", false},
		{"cat {a,b}", "", false},
		{"cat {1..100000}", "brace expansion", false}, {"cat {a,{1..99999}}", "brace expansion", false},
		{"ls \\", "escapes nothing", false},
		{"coproc ls", "coprocess", false},
		{strings.Repeat("true;", maxCalls+1), "more commands", false},
		{strings.Repeat("true;", maxCalls) + "cat <<E; true;)", "more commands", false},
		{"echo " + strings.Repeat("a ", maxWords+1), "more commands or words", false},
		{"bash -c \"bash -c \\\"bash -c 'bash -c ls'\\\"\"", "", false},
	} {
		s := Line(c.line, Place{Cwd: "/p", Home: "/home/eve"})
		found := c.why == "" && len(s.Doubts) == 0
		for _, d := range s.Doubts {
			if c.why != "" && strings.Contains(d.Why, c.why) && d.Deceptive == c.deceptive {
				found = true
			}
			if d.Offset < 0 || d.End > len(c.line) || d.Offset > d.End {
				t.Errorf("%.60q: doubt at %d to %d of %d", c.line, d.Offset, d.End, len(c.line))
			}
		}
		if !found {
			t.Errorf("%.60q has the doubts %+v, want %q", c.line, s.Doubts, c.why)
		}
	}
}

// plainly writes every literal call as it is.
func plainly(c *Call) ([]Arg, bool) {
	var out []Arg
	for i, w := range c.Args {
		switch w.Kind {
		case Literal:
			out = append(out, Arg{Text: w.Text})
		case Glob:
			out = append(out, Arg{Glob: &c.Args[i]})
		case Shown, Derived:
			out = append(out, Arg{Shown: &c.Args[i]})
		default:
			return nil, false
		}
	}
	return out, true
}

// What is written again is literal words in single quotes, and nothing else.
func TestWrite(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"ls -la", "'ls' '-la'"},
		{"a 'it'\\''s' \"x\"", `'a' 'it'\''s' 'x'`},
		{"a && b || c; d", "'a' && 'b' || 'c'; 'd'"},
		{"a && (b || c) | d", "'a' && ( 'b' || 'c' ) | 'd'"},
		{"! a | b && ! c", "! 'a' | 'b' && ! 'c'"},
		{"time a | b", "time 'a' | 'b'"},
		{"{ a; b; } 2>/dev/null | c", "{ 'a'; 'b'; } 2>/dev/null | 'c'"},
		{"if a; then b; else c; fi", "if 'a'; then 'b'; else 'c'; fi"},
		{"a >/dev/null 2>&1 <b", "'a' >/dev/null 2>&1 < 'b'"},
		{"a >& /dev/null", "'a' &>/dev/null"},
		{"a <<< 'x y'", "'a' <<< 'x y'"},
		{"a <<'E'\nx\n$y\nE", "'a' <<< 'x\n$y'"},
		{"a *.go 'b*'? [!x]-", "'a' *'.go' 'b*'? [!'x']'-'"},
		{"LC_ALL=C a", "LC_ALL='C' 'a'"},
		{"bash -c 'a; b' | c", "( 'a'; 'b' ) | 'c'"},
		{"[[ -f x ]] && a", "'test' '-f' 'x' && 'a'"},
		{"a # b\nc", "'a'; 'c'"},
		{"a \\\n b", "'a' 'b'"},
		{"for f in b 'c d'; do a \"x$f\" | ${f}; done >/dev/null && e", ""},
		{"for f in b c; do a $f.go \"x ${f}\"; done | e", "{ 'a' 'b.go' 'x b'; 'a' 'c.go' 'x c'; } | 'e'"},
		{"for f in 'b c'; do a \"$f\"; done 2>/dev/null", "{ 'a' 'b c'; } 2>/dev/null"},
		{"for f in b c; do for g in 1 2; do a $f$g; done; done", "{ { 'a' 'b1'; 'a' 'b2'; }; { 'a' 'c1'; 'a' 'c2'; }; }"},
		{"for f in 'b c'; do a $f; done", ""}, {"for f in 'b*'; do a $f; done", ""}, {"for f in ''; do a $f; done", ""},
		{"for f in b; do a; done; a $f", ""}, {"for f in b; do bash -c 'a $f'; done", ""},
		{"for f in b; do a ${f%x}; done", ""}, {"for f in b; do a ${f[0]}; done", ""},
		{"for f in b; do a \"${!f}\"; done", ""},
		{"for f in b; do bash -c \"a $f\"; done", "{ ( 'a' 'b' ); }"},
		{"for f in *.go a; do b \"$f\" $f.x; done", `for sbx_f in *'.go' 'a'; do 'b' "$sbx_f" $sbx_f'.x'; done`},
		{"for f in $(a b); do c; done | d", `for sbx_f in $( 'a' 'b' ); do 'c'; done | 'd'`},
		{"a | while IFS= read -r f g; do b \"$g\"; done", `'a' | while IFS='' read '-r' sbx_f sbx_g; do 'b' "$sbx_g"; done`},
		{"X=\"a $(b 'c')\"; d $X", `sbx_X='a '"$( 'b' 'c' )"; 'd' $sbx_X`},
		{"a <(b) `c`", `'a' <( 'b' ) $( 'c' )`},
		{"x=1; a $y", ""}, {"x=1; x=2 a $x", ""}, {"a >(b)", ""}, {"export x=1; a $x", ""},
		{"a $(<b)", ""}, {"a $()", ""},
		{"echo \"exit: $?\" ${PIPESTATUS[0]}.", `'echo' 'exit: '"$?" "${PIPESTATUS[0]}"'.'`},
		{"bash -c 'a; echo $?'", `( 'a'; 'echo' "$?" )`},
		{"echo $?*", ""}, {"echo $$", ""}, {"echo $x$?", ""}, {"echo $?$x", ""}, {"USER=x; echo $USER", ""}, {"A=$? a", ""},
		{"a >$?", ""}, {"a <<< $?", ""},
		{"a $x", ""}, {"a > b", "'a' > 'b'"}, {"a &>> 'b c'", "'a' &>> 'b c'"},
		{"a 2>| b", "'a' 2>| 'b'"}, {"a > $x", ""}, {"a > *", ""}, {"a <> b", ""}, {"a 3> b", ""}, {"a &", ""},
		{"a; f() { b; }", ""}, {"a x{b,c{1..3}}.y", "'a' 'xb.y' 'xc1.y' 'xc2.y' 'xc3.y'"}, {"a $((1+2))", "'a' \"$((1+2))\""},
		{"a ~", ""}, {"a $'\\x41'", ""}, {"for f in a; do b; done", "{ 'b'; }"}, {"a >&3", ""}, {"a 3>/dev/null", ""},
		{"x=1", "sbx_x='1'"}, {"PATH=1", ""}, {"a <<E\n$x\nE", ""}, {"bash -c 'a' b", ""}, {"a +=b; c+=d e", ""},
		{"a\rb", ""},
	} {
		s := Line(c.line, Place{Cwd: "/p", Home: "/home/eve"})
		got, ok := s.Write(plainly)
		if ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%q is written as %q (%t), want %q", c.line, got, ok, c.want)
		}
	}
}

func TestSingle(t *testing.T) {
	for line, want := range map[string]string{
		"ls -la": "ls -la", "bash -c 'ls -la'": "ls -la", "bash -lc \"bash -c 'ls'\"": "ls", "ls | a": "", "ls 2>&1": "",
		"A=b ls": "", "ls *.go": "", "! ls": "", "(ls)": "", "bash -c 'ls; a'": "", "bash -c ls >/dev/null": "",
	} {
		got := ""
		if c, ok := Line(line, Place{Cwd: "/p"}).Single(); ok {
			argv, _ := c.Argv()
			got = strings.Join(argv, " ")
		}
		if got != want {
			t.Errorf("%q is the single command %q, want %q", line, got, want)
		}
	}
}

// A command without a shell: nothing expands, wrappers are looked through.
func TestCommand(t *testing.T) {
	s := Command([]string{"env", "A=b", "bash", "-lc", "ls *.go; rm $x"}, Place{Cwd: "/p"})
	var got []string
	for _, c := range s.Calls {
		got = append(got, show(c))
	}
	want := "env A=b bash -lc ls_*.go;_rm_$x; env> A=b bash -lc ls_*.go;_rm_$x; env>bash> ls {*.go}; env>bash> rm $…"
	if text := strings.Join(got, "; "); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	for _, argv := range [][]string{nil, {""}, {"ls\x1b"}} {
		if s := Command(argv, Place{}); len(s.Doubts) == 0 {
			t.Errorf("%q: no doubt", argv)
		}
	}
}

// Every place of a call is within the text, also for scripts within words.
func FuzzLine(f *testing.F) {
	for _, l := range []string{"ls; cd a && b", "bash -c 'a; b' c", "x $(a) `b`", "find . -exec a {} +", "env A=b sudo c",
		"a <<E\nb\nE", "f() { f | f & }; f"} {
		f.Add(l)
	}
	f.Fuzz(func(t *testing.T, line string) {
		s := Line(line, Place{Cwd: "/p", Home: "/h"})
		for _, c := range s.Calls {
			if c.Offset < 0 || c.End < c.Offset || c.End > len(line) {
				t.Errorf("%q: a call from %d to %d of %d", line, c.Offset, c.End, len(line))
			}
		}
		if text, ok := s.Write(plainly); ok {
			again := Line(text, Place{Cwd: "/p", Home: "/h"})
			if len(again.Doubts) > 0 {
				t.Errorf("%q is written as %q, with doubts %v", line, text, again.Doubts)
			}
			if twice, ok := again.Write(plainly); !ok || twice != text {
				t.Errorf("%q is written as %q, and that as %q", line, text, twice)
			}
		}
	})
}
