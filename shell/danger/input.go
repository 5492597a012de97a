package danger

import (
	"path"
	"slices"
	"strings"

	"sandboxd/shell/analysis"
)

// codeOptions are the letters of the options that give an interpreter its code, or the module that has it.
var codeOptions = map[string]string{
	"python": "cm", "pypy": "cm", "perl": "eE", "ruby": "e", "node": "ep", "php": "rf", "lua": "e", "osascript": "e", "Rscript": "e", "deno": "", "bun": "ep", "pwsh": "cfCF",
}

// codeWords are long options that do the same, or make it run nothing.
var codeWords = []string{"--eval", "--print", "--version", "--help", "--test", "--run", "-V", "-v", "-h", "-version"}

// valueOptions take the next word, which is no script.
var valueOptions = []string{"-W", "-X", "-r", "--require", "--import", "--loader", "--experimental-loader", "-I", "-C", "-o", "+o", "-O", "+O", "--rcfile", "--init-file"}

// CodeFromInput says whether a call runs what comes on its input: an interpreter
// that is given no script, or its input as one.
func CodeFromInput(c *analysis.Call) bool {
	n := name(c)
	if n == "source" || n == "." {
		return len(c.Args) > 1 && input(c.Args[1].Text)
	}
	if n == "parallel" {
		return len(c.Wrapped) == 0
	}
	if !Interpreter(n) {
		return false
	}
	letters, known := codeOptions[strings.TrimRight(n, "0123456789.")]
	if !known {
		letters = "c" // shells
	}
	for i := 1; i < len(c.Args); i++ {
		a := c.Args[i]
		t, _, _ := strings.Cut(a.Text, "=")
		switch {
		case !a.Known():
			return false // a script, though not known which
		case a.Text == "-" || input(a.Text):
			return true
		case slices.Contains(codeWords, t), letters == "c" && t == "-s":
			return t == "-s"
		case slices.Contains(valueOptions, a.Text) && !(len(letters) > 0 && strings.Contains(letters, a.Text[1:])):
			i++
		case len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.ContainsAny(t[1:], letters):
			return false
		case len(t) > 1 && (t[0] == '-' || t[0] == '+'):
		default:
			return false
		}
	}
	return true
}

func input(file string) bool {
	file = path.Clean(file)
	return file == "/dev/stdin" || strings.HasPrefix(file, "/dev/fd/") || strings.HasPrefix(file, "/proc/self/fd/")
}
