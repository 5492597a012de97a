package facts

import (
	"context"
	"math/rand"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"sandboxd/shell"
)

// R-SH-03 R-SH-07: lines that read by paths of links, .., globs, quotes and cd are judged with the existing files, and
// run by bash as they were judged: none that runs unasked may print a file outside the project. $LINKS is how many.
func TestLinksDifferential(t *testing.T) {
	tool, err := shell.New(shell.Config{})
	must(t, err)
	top := temp(t)
	dir := top + "/p"
	for _, name := range []string{"/p/x", "/p/ax", "/p/sub/x", "/p/sub/deep/x", "/p/[x]", "/p/a b/x"} {
		write(t, top+name, "inside\n")
	}
	for _, name := range []string{"/out/x", "/out/sub/x", "/out/ax", "/x", "/ax"} {
		write(t, top+name, "OUTSIDE\n")
	}
	for name, to := range map[string]string{"l": "../out/sub", "abs": top + "/out", "into": "sub/deep", "sub/up": "../..",
		"sub/deep/f": "../../../out/x", "zx": top + "/out/x", "a b/l": "../../out"} {
		must(t, os.Symlink(to, dir+"/"+name))
	}
	most := 250
	if n, err := strconv.Atoi(os.Getenv("LINKS")); err == nil {
		most = n
	}
	r := rand.New(rand.NewSource(7))
	any := func(list ...string) string { return list[r.Intn(len(list))] }
	path := func() string {
		parts := []string{any("", "", "", "./", "../", "~/", "/", "$PWD/", "\"$PWD\"/", "$HOME/")}
		for range 1 + r.Intn(4) {
			parts = append(parts, any("l", "abs", "into", "sub", "sub/up", "..", ".", "..", "a\\ b", "'a b'", "p", "out", "*",
				"?", "[!q]*", "[^q]*", "[a-m]*", "s*", "*b*", "l*", "{l,sub}", "i?to", ".*", "[l]", "'*'", "[\\!l]*")+
				any("/", "/", "/", "//"))
		}
		return strings.Join(parts, "") + any("x", "x", "f", "zx", "*", "?x", "[!q]x", "*x", "l/x", "[z]x", "..", "[[]x[]]")
	}
	line := func() string {
		read := any("cat", "head -n 3", "grep -h .", "tail -1", "sed -n p", "sort", "grep -rh .", "awk '{print}'",
			"rg -N --no-filename .", "diff -N "+path(), "nl")
		cd := any("cd ", "cd -P ", "cd -L ") + strings.TrimSuffix(path(), "x")
		switch r.Intn(7) {
		case 0:
			return cd + " && " + read + " " + path()
		case 1:
			return read + " < " + path()
		case 2:
			return "for f in " + path() + " " + path() + "; do " + read + " $f; done"
		case 3:
			return "(" + cd + "; " + read + " " + path() + "); " + read + " " + path()
		case 4:
			return cd + " && " + strings.ReplaceAll(cd, "-P ", "") + " && " + read + " " + path()
		}
		return read + " " + path()
	}
	passed := 0
	for range most * 20 {
		if passed == most {
			break
		}
		text := line()
		v, _ := Judge(context.Background(), tool, shell.Command{Line: text, Cwd: dir, Project: dir, Home: top},
			Options{Home: top})
		if v.Decision != shell.Auto || v.Sandboxed {
			continue
		}
		passed++
		cmd := exec.Command("bash", "--noprofile", "--norc", "-c", v.Run.Script)
		if v.Run.Argv != nil {
			cmd = exec.Command(v.Run.Argv[0], v.Run.Argv[1:]...)
		}
		cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin", "HOME=" + top, "LANG=C.UTF-8"}
		if out, _ := cmd.CombinedOutput(); strings.Contains(string(out), "OUTSIDE") {
			t.Errorf("%s\nruns unasked as %v %s\nand prints %s", text, v.Run.Argv, v.Run.Script, out)
		}
	}
	if passed < most/2 {
		t.Errorf("only %d lines ran", passed)
	}
}
