package shell_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sandboxd/shell"
	"sandboxd/shell/analysis"
)

// oracleLines is how many lines bash is asked about: $ORACLE_LINES, or 1500.
func oracleLines(t *testing.T) int {
	text := cmp.Or(os.Getenv("ORACLE_LINES"), "1500")
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("ORACLE_LINES=%q is no number above 0", text)
	}
	return n
}

// recorder is the script that bash runs: every command that is not a builtin is
// recorded with its directory and words instead of being run. Commands are not
// found, so bash calls command_not_found_handle; wrappers are run for real, with
// a PATH of shims that record in the same way.
const recorder = `
export REC="$PWD/rec" SHIMS="$PWD/shims" BASH_ENV="$PWD/shims/bashenv"
cd work || exit 9
enable -n echo printf test [ pwd true false kill type
command_not_found_handle() {
	enable printf
	# The line's own descriptors must not matter. A line's end would make bash
	# write a record in two parts, between which another may come.
	local end=$'\n' mark=$'\002'
	printf '%s\0' "$NR" "$PWD" "$#" "${@//"$end"/"$mark"}" >>"$REC"
	case $1 in
	env|timeout|nice|nohup|xargs|find|bash) export PATH=$SHIMS; exec "$SHIMS/real/$1" "${@:2}" ;;
	sh) export PATH=$SHIMS; exec "$SHIMS/real/bash" "${@:2}" ;;
	esac
	case $1 in
	false|grep|test|frob) return 1 ;;
	esac
	return 0
}
unset PATH; PATH=/nosuch/bin
NR=0
while IFS= read -r -d '' line; do
	NR=$((NR+1)); export NR
	( eval "$line" ) </dev/null >/dev/null 2>&1
done 3<&0
wait
`

// shim is what a wrapper finds for a command: it records and ends.
const shim = `#!/bin/sh
printf '%s\0' "$NR" "$PWD" "$(($#+1))" "${0##*/}" "$@" >>"$REC"
case ${0##*/} in
env|timeout|nice|nohup|xargs|find|bash) PATH=$SHIMS; export PATH; exec "$SHIMS/real/${0##*/}" "$@" ;;
sh) PATH=$SHIMS; export PATH; exec "$SHIMS/real/bash" "$@" ;;
false|grep|test|frob) exit 1 ;;
esac
exit 0
`

// ran is one command that bash really ran.
type ran struct {
	dir  string
	argv []string
}

// needBwrap finds bwrap and bash; without them the test cannot be.
func needBwrap(t *testing.T) {
	t.Helper()
	for _, name := range []string{"bwrap", "bash"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatalf("%s is needed: %v", name, err)
		}
	}
}

// ask runs lines in an instrumented bash within a sandbox of its own and
// returns what ran, by the line's number from 1.
func ask(t *testing.T, lines []string) map[int][]ran {
	t.Helper()
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	for name, text := range map[string]string{"a.txt": "a\n", "b.txt": "b\n", "b c": "c\n", "sub/c.txt": "c\n",
		"sub/deep/d.txt": "d\n", "ls": "#!/bin/sh\n"} {
		file := filepath.Join(work, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	makeShims(t, filepath.Join(dir, "shims"))
	script := filepath.Join(dir, "recorder.sh")
	if err := os.WriteFile(script, []byte(recorder), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev",
		"--proc", "/proc", "--tmpfs", "/run", "--bind", dir, dir, "--chdir", dir,
		"--clearenv", "--setenv", "HOME", "/nosuch", "--", "bash", "--noprofile", "--norc", script)
	var in bytes.Buffer
	for _, l := range lines {
		in.WriteString(l)
		in.WriteByte(0)
	}
	cmd.Stdin = &in
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("instrumented bash: %v\n%s", err, out)
	}
	rec, err := os.ReadFile(filepath.Join(dir, "rec"))
	if err != nil {
		t.Fatal(err)
	}
	return parseRecord(t, rec, work)
}

func makeShims(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "shim"), []byte(shim), 0o755); err != nil {
		t.Fatal(err)
	}
	// What a bash within a line starts with: its builtins too are recorded.
	if err := os.WriteFile(filepath.Join(dir, "bashenv"),
		[]byte("enable -n echo printf test [ pwd true false kill type\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	names := strings.Fields("ls cat echo grep head wc sort find test [ printf true false pwd date whoami uname sed cut " +
		"git tr touch tee frob rm npm make env timeout nice nohup xargs bash sh")
	for _, name := range names {
		if err := os.Symlink("shim", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"env", "timeout", "nice", "nohup", "xargs", "find", "bash"} {
		real, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(real, filepath.Join(dir, "real", name)); err != nil {
			t.Fatal(err)
		}
	}
}

func parseRecord(t *testing.T, rec []byte, work string) map[int][]ran {
	t.Helper()
	out := map[int][]ran{}
	fields := strings.Split(strings.ReplaceAll(string(rec), "\x02", "\n"), "\x00")
	for i := 0; i+2 < len(fields); {
		nr, err := strconv.Atoi(fields[i])
		n, err2 := strconv.Atoi(fields[i+2])
		if err != nil || err2 != nil || i+3+n > len(fields) {
			t.Fatalf("the record is broken at field %d: %q", i, fields[max(i-12, 0):min(i+12, len(fields))])
		}
		dir := "/p" + strings.TrimPrefix(fields[i+1], work)
		out[nr] = append(out[nr], ran{dir: dir, argv: slices.Clone(fields[i+3 : i+3+n])})
		i += 3 + n
	}
	return out
}

// explains says whether a call of the analysis is the command that ran.
func explains(c *analysis.Call, r ran) bool {
	if !c.Dirs.Unknown && !slices.Contains(c.Dirs.Paths, r.dir) {
		return false
	}
	i := 0
	for _, w := range c.Args {
		switch w.Kind {
		case analysis.Literal, analysis.Computed:
			if i >= len(r.argv) || r.argv[i] != w.Text {
				return false
			}
			i++
		default:
			return i > 0 // what follows is not known; a name that is not known explains nothing
		}
	}
	return i == len(r.argv)
}

// there are the few things that there are in the world of plainFacts.
var there = []string{"/p/tests", "/p/output/a.ini"}

// plainFacts answers every query as in a world without links, programs or repositories.
func plainFacts(queries []shell.FactQuery) shell.Facts {
	f := shell.Facts{Paths: map[string]shell.PathFact{}, Globs: map[string]shell.GlobFact{},
		Git: map[string]shell.GitFact{}, Binaries: map[string]shell.BinaryFact{}, Contents: map[string]shell.ContentFact{},
		Objects: map[string]shell.ObjectFact{}}
	for _, q := range queries {
		switch q.Kind {
		case shell.FactPath:
			f.Paths[q.Name] = shell.PathFact{Real: filepath.Clean(q.Name), Exists: slices.Contains(there, q.Name)}
		case shell.FactGlob:
			f.Globs[q.Name] = shell.GlobFact{}
		case shell.FactGit:
			f.Git[q.Name] = shell.GitFact{Repository: true}
		case shell.FactBinary:
			f.Binaries[q.Name] = shell.BinaryFact{}
		case shell.FactContent:
			f.Contents[q.Name] = shell.ContentFact{}
		case shell.FactObject:
			f.Objects[q.Name] = plainObject(q.Name)
		}
	}
	return f
}

// plainObject is the fact of an object there: what begins with a digit is a file's contents, the rest a commit.
func plainObject(name string) shell.ObjectFact {
	if _, rev, _ := strings.Cut(name, ":"); rev != "" && rev[0] >= '0' && rev[0] <= '9' {
		return shell.ObjectFact{Type: "blob"}
	}
	return shell.ObjectFact{Type: "commit"}
}

// judgePlain judges a line in such a world.
func judgePlain(tool *shell.Tool, c shell.Command) shell.Verdict {
	var asked []shell.FactQuery
	v := tool.Judge(c, shell.Facts{})
	for range 4 {
		if len(v.NeedsFacts) == 0 {
			break
		}
		asked = append(asked, v.NeedsFacts...)
		v = tool.Judge(c, plainFacts(asked))
	}
	return v
}

// R-SH-02, the oracle: every command that bash really ran was in the analysis,
// or the line asked; and what our own writing of a line runs is what the line runs.
func TestOracle(t *testing.T) {
	needBwrap(t)
	n := oracleLines(t)
	if testing.Short() {
		n = 500
	}
	tool := newTool(t, shell.Config{})
	all := lines(20261121, n)
	scripts := make([]string, n)
	verdicts := make([]shell.Verdict, n)
	auto := 0
	for i, line := range all {
		v := judgePlain(tool, shell.Command{Line: line, Cwd: "/p", Project: "/p"})
		verdicts[i] = v
		if v.Decision == shell.Auto {
			auto++
			scripts[i] = v.Run.Script
			if v.Run.Argv != nil {
				quoted := make([]string, len(v.Run.Argv))
				for k, a := range v.Run.Argv {
					quoted[k] = analysis.Quote(a)
				}
				scripts[i] = strings.Join(quoted, " ")
			}
		}
	}
	t.Logf("%d of %d lines are auto", auto, n)
	if auto*100 < 30*n {
		t.Errorf("only %d of %d lines are auto, fewer than 30 %%", auto, n)
	}
	original := ask(t, all)
	ours := ask(t, scripts)
	commands, unexplained := 0, 0
	for i, line := range all {
		s := analysis.Line(line, analysis.Place{Cwd: "/p"})
		for _, r := range original[i+1] {
			commands++
			known := slices.ContainsFunc(s.Calls, func(c *analysis.Call) bool { return explains(c, r) })
			if !known && verdicts[i].Decision == shell.Auto {
				t.Errorf("line %d is auto, but %q ran in %s and is not in the analysis:\n%s", i+1, r.argv, r.dir, line)
			}
			if !known {
				unexplained++
			}
		}
		if verdicts[i].Decision == shell.Auto {
			if a, b := summary(original[i+1]), summary(ours[i+1]); a != b {
				t.Errorf("line %d does not run what our writing of it runs:\n%s\n  ran %s\n%s\n  ran %s", i+1, line, a, scripts[i],
					b)
			}
		}
		if t.Failed() && i > 0 && unexplained > 50 {
			break
		}
	}
	last := 0
	for nr := range original {
		last = max(last, nr)
	}
	t.Logf("the last line that ran anything is %d", last)
	t.Logf("%d commands ran; %d of them, all in lines that ask, could not be known before", commands, unexplained)
	if commands < n {
		t.Errorf("only %d commands ran for %d lines", commands, n)
	}
}

// summary writes what ran regardless of order, which pipes do not keep, and of
// what our writing changes: precautions, and bash -c.
func summary(list []ran) string {
	var out []string
	for _, r := range list {
		var words []string
		if r.argv[0] == "bash" || r.argv[0] == "sh" || r.argv[0] == "test" {
			continue // a script becomes a subshell, and [[ -f x ]] becomes a test
		}
		for _, w := range r.argv {
			if w == "--" || w == "--no-ext-diff" || w == "--no-textconv" {
				continue
			}
			words = append(words, strings.TrimPrefix(w, "./"))
		}
		out = append(out, fmt.Sprintf("%s:%q", r.dir, words))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}
