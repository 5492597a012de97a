package presets

import (
	"path"
	"slices"
	"strings"
)

// carriers are the options with which a command runs what its own words hold, or another program than they seem to
// say: neither is the project's code. No preset covers them, and no yes to "make *".
var carriers = map[string]Rule{
	"git":   {Never: []string{"--output", "--ext-diff", "--textconv", "--upload-pack"}},
	"go":    {Never: []string{"-exec", "-toolexec", "-vettool"}},
	"make":  {Never: []string{"--eval", "-E"}, Values: "CIoWf"},
	"cmake": {Never: []string{"-E", "-P", "--install"}, Values: "DSBGCUWjAT"},
	"ctest": {Never: []string{"-S", "--script", "--script-new-process", "--build-and-test", "--test-command"}, Values: "CRELIjOA"},
	"meson": {Never: []string{"--wrapper", "--wrap", "--gdb", "--gdb-path", "--ninja-args", "--vs-args", "--xcode-args"}},
	"gcc":   {Never: []string{"-wrapper", "-specs", "-fplugin"}},
	"cargo": {Never: []string{"--config"}},
	// node and bun: as far as their own options go, see Carries.
	"node":    {Never: []string{"-e", "--eval", "-p", "--print", "-i", "--interactive"}, Values: "rC"},
	"bun":     {Never: []string{"-e", "--eval", "-p", "--print"}, Values: "r"},
	"npm":     {Never: []string{"--script-shell", "--node-options"}},
	"pylint":  {Never: []string{"--init-hook"}},
	"kubectl": {Never: []string{"--kubeconfig"}},
	// Modules of Python that take code, or what to install or to serve, as words.
	"coverage": {Never: []string{"timeit", "pdb", "code", "pip", "venv", "ensurepip", "zipapp", "http.server", "webbrowser"}},
}

// alike are the commands that read their words as another one does.
var alike = map[string]string{
	"gmake": "make", "configure": "make", "g++": "gcc", "cc": "gcc", "c++": "gcc", "clang": "gcc", "clang++": "gcc",
	"pnpm": "npm", "yarn": "npm", "mvnw": "mvn", "mocha": "npx", "jest": "npx", "vitest": "npx", "eslint": "npx", "prettier": "npx",
}

// programs are the variables that name what make runs, or what it reads and is told besides its Makefile (GNU make,
// "Implicit Variables" and "Special Variables").
var programs = []string{"SHELL", ".SHELLFLAGS", "MAKE", "MAKEFLAGS", "GNUMAKEFLAGS", "MAKEFILES", "CONFIG_SHELL",
	"AR", "AS", "CC", "CXX", "CPP", "FC", "LD", "M2C", "PC", "CO", "GET", "LEX", "YACC", "LINT", "MAKEINFO", "RM"}

// goals are parts of words with which Maven runs programs that the words name.
var goals = []string{"exec:", "exec-maven-plugin", "-Dexec.", "antrun"}

// Carries says whether the words of a command hold code that it would run, or name another program for it to run.
func Carries(argv []string) bool {
	if len(argv) < 2 {
		return false
	}
	name, words := path.Base(argv[0]), argv[1:]
	if to, ok := alike[name]; ok {
		name = to
	}
	found := false
	switch name {
	case "make":
		found = slices.ContainsFunc(words, assigns)
	case "cmake":
		if at := slices.Index(words, "--"); at >= 0 { // what follows is for make or ninja
			native := Rule{Never: []string{"-f", "--file", "--makefile"}, Values: "CIoW"}
			found = native.Refuses(words[at+1:]) || Carries(append([]string{"make"}, words[at+1:]...))
		}
		found = found || slices.ContainsFunc(words, defines) || slices.Contains(words, "install")
	case "meson":
		found = slices.ContainsFunc(words, defines)
	case "go":
		found = holds(words, "-extld") // the linker's own linker, with its options
	case "npx":
		found = holds(words, "data:") // a module that is its own address
	case "mvn":
		found = holds(words, goals...)
	case "bun":
		words = words[1:]
		fallthrough
	case "node":
		if len(words) == 0 || words[0] == "" || words[0][0] != '-' {
			return false // the rest is the program's
		}
		words = dashed(words)
		found = holds(words, "data:") || slices.Contains(words, "-")
	}
	return found || carriers[name].Refuses(words)
}

// holds says whether one of the words has one of the parts in it.
func holds(words []string, parts ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(w, p) })
	})
}

// assigns says whether a word of make, or of a configure script, is an assignment whose value make or a shell may run.
// Any variable may stand in a recipe, so that its value must be one plain word, or options where it is one of flags.
func assigns(word string) bool {
	name, value, ok := strings.Cut(word, "=")
	if !ok || name == "" || name[0] == '-' {
		return false
	}
	if strings.HasSuffix(name, "!") {
		return true
	}
	name = strings.TrimRight(name, ":+? \t")
	return slices.Contains(programs, name) || !plain(value, strings.Contains(name, "FLAGS"))
}

// defines says the same of -DNAME=VALUE, as cmake and meson take it.
func defines(word string) bool {
	name, value, ok := strings.Cut(word, "=")
	name, _, _ = strings.Cut(name, ":")
	return ok && !plain(value, strings.Contains(name, "FLAGS") || strings.HasSuffix(name, "_args"))
}

// plain says that a value is one word without a meaning of its own to shells and to make; flags says that it may be
// several, the first of them an option.
func plain(value string, flags bool) bool {
	for i := range len(value) {
		switch c := value[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("_.,:+/@%=-", c) >= 0:
		case c == ' ' && flags && strings.HasPrefix(value, "-"):
		default:
			return false
		}
	}
	return !flags || !strings.Contains(value, "-wrapper")
}

// dashed writes long options as node's own parser takes them, with _ for - at will.
func dashed(words []string) []string {
	out := slices.Clone(words)
	for i, w := range out {
		if name, value, ok := strings.Cut(w, "="); strings.HasPrefix(w, "--") {
			out[i] = strings.ReplaceAll(name, "_", "-")
			if ok {
				out[i] += "=" + value
			}
		}
	}
	return out
}
