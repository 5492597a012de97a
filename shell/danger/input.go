package danger

import (
	"path"
	"slices"
	"strings"

	"sandboxd/shell/analysis"
)

// codeOptions maps an interpreter to the letters of the options that carry its code, or the
// module with it.
var codeOptions = map[string]string{
	"python": "cm", "pypy": "cm", "perl": "eE", "ruby": "e", "node": "ep", "php": "rf", "lua": "e", "osascript": "e",
	"rscript": "e", "deno": "", "bun": "ep", "pwsh": "cfCF",
}

// codeWords lists long options that carry code, or that make the interpreter run nothing.
var codeWords = []string{"--eval", "--print", "--version", "--help", "--test", "--run", "-V", "-v", "-h", "-version"}

// valueOptions lists options whose value is the next word; that word is not a script.
var valueOptions = []string{
	"-W", "-X", "-r", "--require", "--import", "--loader", "--experimental-loader", "-I", "-C", "-o", "+o", "-O",
	"+O", "--rcfile", "--init-file",
}

// CodeFromInput reports whether a call executes its input: an interpreter without a script, or
// with its input as the script.
func CodeFromInput(c *analysis.Call) bool {
	n := name(c)
	if n == "source" || n == "." {
		return len(c.Args) > 1 && input(c.Args[1].Text)
	}
	if n == "parallel" {
		return len(c.Wrapped) == 0
	}
	if !interpreter(n) {
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
			return false // an unknown script
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

// Scripts returns the files that an interpreter or source executes. known is false if a file or
// the code is unknown. Other commands have no scripts.
func Scripts(c *analysis.Call) (files []string, known bool) {
	n := name(c)
	if n == "eval" {
		return nil, allKnown(c.Args[1:])
	}
	if n == "source" || n == "." {
		if len(c.Args) < 2 || !literal(c.Args[1]) {
			return nil, len(c.Args) < 2
		}
		return []string{c.Args[1].Text}, true
	}
	if !interpreter(n) {
		return nil, true
	}
	n = strings.TrimRight(n, "0123456789.")
	letters, listed := codeOptions[n]
	if !listed {
		letters = "c" // shells
	}
	for i := 1; i < len(c.Args); i++ {
		a := c.Args[i]
		if !literal(a) {
			return files, false
		}
		t, value, joined := strings.Cut(a.Text, "=")
		option := len(t) > 1 && (t[0] == '-' || t[0] == '+')
		takes := func(t string) bool {
			return slices.Contains(valueOptions, t) && !(letters != "" && strings.Contains(letters, t[1:]))
		}
		switch {
		case !option && (n == "deno" || n == "bun") && (a.Text == "run" || a.Text == "test"):
		case !option:
			return append(files, scriptNames(n, a.Text)...), true
		case t == "--eval" || t == "--print" || t == "-s" && letters == "c":
			return files, joined || t == "-s" || allKnown(c.Args[i+1:])
		case joined:
			files = append(files, value)
		case takes(t):
			if i++; i < len(c.Args) {
				if !literal(c.Args[i]) {
					return files, false
				}
				files = append(files, scriptNames(n, c.Args[i].Text)...)
			}
		case len(t) > 2 && takes(t[:2]):
			files = append(files, t[2:])
		case t[0] == '-' && t[1] != '-' && strings.ContainsAny(t[1:], letters):
			return append(files, codeFiles(n, c.Args[i:])...), allKnown(c.Args[i:])
		}
	}
	return files, true
}

func literal(w analysis.Word) bool { return w.Known() && w.Kind == analysis.Literal }

func allKnown(words []analysis.Word) bool {
	return !slices.ContainsFunc(words, func(w analysis.Word) bool { return !literal(w) })
}

// scriptNames returns the files that an interpreter may load for an operand: the operand
// itself, and the main file in it if it is a directory or lacks its extension.
func scriptNames(interpreter, operand string) []string {
	switch interpreter {
	case "python", "pypy":
		return []string{operand, operand + "/__main__.py"}
	case "node", "bun":
		return []string{operand, operand + ".js", operand + "/package.json", operand + "/index.js"}
	}
	return []string{operand}
}

// codeFiles returns the files of "-m module", and of "-f file" in PHP.
func codeFiles(interpreter string, words []analysis.Word) []string {
	_, joined, found := strings.Cut(words[0].Text, "m")
	if interpreter == "php" {
		_, joined, found = strings.Cut(words[0].Text, "f")
	} else if interpreter != "python" && interpreter != "pypy" {
		return nil
	}
	if found && joined == "" && len(words) > 1 {
		joined = words[1].Text
	}
	switch {
	case !found || joined == "":
		return nil
	case interpreter == "php":
		return []string{joined}
	}
	module := strings.ReplaceAll(joined, ".", "/")
	files := []string{module + ".py", module + "/__main__.py"}
	for dir := module; dir != "."; dir = path.Dir(dir) {
		files = append(files, dir+"/__init__.py")
	}
	return files
}

func input(file string) bool {
	file = path.Clean(file)
	return file == "/dev/stdin" || strings.HasPrefix(file, "/dev/fd/") || strings.HasPrefix(file, "/proc/self/fd/")
}
