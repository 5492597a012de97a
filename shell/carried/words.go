package carried

import (
	"path"
	"slices"
	"strings"
)

// programs are the variables that name the programs that make runs, or a further input of make besides its Makefile
// (GNU make, "Implicit Variables" and "Special Variables").
var programs = words(`
	SHELL .SHELLFLAGS MAKE MAKEFLAGS GNUMAKEFLAGS MAKEFILES CONFIG_SHELL    AR AS CC CXX CPP FC LD M2C PC CO GET
	LEX YACC LINT MAKEINFO RM`)

// makeWords reads the assignments and goals of make, or of a configure script. Any variable may stand in a recipe, so
// that its value must be one plain word, or options where it is one of flags.
func makeWords(s *scan, from int) {
	for at := from; at < len(s.argv); at++ {
		name, value, ok := strings.Cut(s.argv[at], "=")
		if !ok || name == "" || name[0] == '-' {
			continue
		}
		run := strings.HasSuffix(name, "!")
		name = strings.TrimRight(name, "!:+? \t")
		switch {
		case run || slices.Contains(programs, name) || Loads(name) && name != "ENV",
			!plainValue(value, strings.Contains(name, "FLAGS")):
			s.add(Program, at)
		case value != "" && !workedOn(name):
			s.addFile(File, at, value)
		}
	}
	goals(s, from)
}

// workedOn reports that a variable is, by its name, about the files that a recipe works on, which are no other program.
func workedOn(name string) bool {
	name = strings.TrimSuffix(strings.ToUpper(name), "S")
	return workedOnNames[name]
}

var workedOnNames = set("T F TEST FILE TEST_FILE TESTFILE SRC SOURCE PKG PACKAGE INPUT IN OUT OUTPUT DIR TARGET")

// plus finds the commands that editors and pagers take as operands with a plus.
func plus(s *scan, from int) {
	for at := from; at < len(s.argv); at++ {
		if w := s.argv[at]; strings.HasPrefix(w, "+") && strings.Trim(w, "+0123456789") != "" {
			s.add(Code, at)
		}
	}
}

// dotted finds the commands of sqlite3 that are no SQL.
func dotted(s *scan, from int) {
	for at := from; at < len(s.argv); at++ {
		if strings.HasPrefix(strings.TrimSpace(s.argv[at]), ".") && !strings.Contains(s.argv[at], "/") {
			s.add(Code, at)
		}
	}
}

// defined reads -DNAME=VALUE, as cmake and meson take it.
func defined(s *scan, from int) {
	for at := from; at < len(s.argv); at++ {
		name, value, ok := strings.Cut(s.argv[at], "=")
		name, _, _ = strings.Cut(name, ":")
		switch {
		case !ok:
		case !plainValue(value, strings.Contains(name, "FLAGS") || strings.HasSuffix(name, "_args")):
			s.add(Program, at)
		case value != "":
			s.addFile(File, at, value)
		}
	}
}

// plainValue reports that a value is one word without a meaning of its own to shells and to make. With flags it may be
// several words, the first of them an option.
func plainValue(value string, flags bool) bool {
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

func cmake(s *scan, from int) {
	defined(s, from)
	for at := from; at < len(s.argv); at++ {
		switch s.argv[at] {
		case "install":
			s.add(Program, at)
		case "--": // the rest is for make or ninja
			s.options(tools()["cmake --"], at+1)
			makeWords(s, at+1)
			return
		}
	}
}

// rustFlags are the commands of cargo that hand the words behind -- to a compiler.
var rustFlags = set("clippy rustc rustdoc")

func cargo(s *scan, from int) {
	for at := from; at < len(s.argv); at++ {
		switch w := s.argv[at]; {
		case strings.HasSuffix(w, ".json") && (strings.HasPrefix(w, "--target=") || s.argv[at-1] == "--target"):
			s.add(Program, at) // a target names its linker
		case w == "--":
			if slices.ContainsFunc(s.argv[from:at], func(w string) bool { return rustFlags[w] }) {
				s.options(tools()["rustc"], at+1)
			}
			return
		}
	}
}

// script guesses at the words of a script.
func script(s *scan, from int) {
	s.holds(from, Code, "data:")
	if at := s.operand(from); at < len(s.argv) {
		s.guess(at + 1)
	}
}

func data(s *scan, from int) { s.holds(from, Code, "data:") }

func bun(s *scan, from int) {
	at := s.operand(from)
	if at < len(s.argv) && slices.Contains([]string{"run", "test", "x"}, s.argv[at]) {
		if slices.Contains(s.argv[at+1:min(at+2, len(s.argv))], "-") {
			s.add(Code, at+1)
		}
		s.options(tools()["bun"], at+1)
		from = at + 1
	}
	script(s, from)
}

// npm guesses at the words that yarn and pnpm hand to the script, and npm behind a --.
func npm(s *scan, from int) {
	for at := from; at < len(s.argv); at++ {
		switch w := s.argv[at]; {
		case strings.HasPrefix(w, "--config."): // pnpm's way of any setting
			s.add(Program, at)
		case strings.HasPrefix(w, "--@"), strings.Contains(w, "://"): // the registry of a scope
			s.add(Host, at)
		}
	}
	if at := slices.Index(s.argv[from:], "--"); at >= 0 {
		s.guess(from + at + 1)
	} else if path.Base(s.argv[from-1]) != "npm" {
		s.guess(from)
	}
}

func npx(s *scan, from int) {
	if at := s.operand(from); at < len(s.argv) {
		s.command(at)
	}
	s.holds(from, Code, "data:")
}

// sub reads the command that uv run and its like start.
func sub(s *scan, from int) {
	at := s.operand(from)
	if at+1 >= len(s.argv) || s.argv[at] != "run" && s.argv[at] != "exec" {
		return
	}
	s.options(tools()[Base(s.argv[from-1])], at+1)
	if at = s.operand(at + 1); at < len(s.argv) {
		s.command(at)
	}
}

// modules of Python take code, or packages to install, or files to serve, as words.
var modules = []string{"timeit", "pdb", "code", "pip", "venv", "ensurepip", "zipapp", "http.server", "webbrowser"}

func pythonModules(s *scan, from int) {
	for at := from; at < len(s.argv); at++ {
		if slices.Contains(modules, s.argv[at]) {
			s.add(Code, at)
		}
	}
}

func python(s *scan, from int) {
	for at := from; at < len(s.argv); at++ {
		w := s.argv[at]
		if len(w) < 2 || w[0] != '-' {
			s.guess(at + 1)
			return
		}
		i := strings.IndexByte(w, 'm')
		if w[1] == '-' || i < 0 || strings.ContainsAny(w[:i], "cWX") {
			if (w == "-W" || w == "-X") && at+1 < len(s.argv) {
				at++
			}
			continue
		}
		module := at
		name := w[i+1:]
		if name == "" {
			if module++; module >= len(s.argv) {
				return
			}
			name = s.argv[module]
		}
		if slices.Contains(modules, name) {
			s.add(Code, module)
			return
		}
		if t, ok := tools()[Base(name)]; ok {
			s.options(t, module+1)
			if t.more != nil {
				t.more(s, module+1)
			}
			return
		}
		s.guess(module + 1)
		return
	}
}

// shell guesses at the words of a script. The text behind -c is judged by itself.
func shell(s *scan, from int) {
	for at := from; at < len(s.argv); at++ {
		w := s.argv[at]
		if len(w) < 2 || w[0] != '-' && w[0] != '+' {
			s.guess(at + 1)
			return
		}
		if w[1] != '-' && strings.Contains(w, "c") {
			return
		}
	}
}

// awkCode are the parts of a program in awk that start others, or write files.
var awkCode = []string{"system", "|", ">", "@load", "@include", "getline"}

func awk(s *scan, from int) {
	for at := from; at < len(s.argv); at++ {
		switch w := s.argv[at]; {
		case w == "-F" || w == "-v":
			at++
		case len(w) > 1 && w[0] == '-':
		default:
			if slices.ContainsFunc(awkCode, func(p string) bool { return strings.Contains(w, p) }) {
				s.add(Code, at)
			}
			return
		}
	}
}

// tar reads the first word, which may be options without a dash.
func tar(s *scan, from int) {
	if from < len(s.argv) && s.argv[from] != "" && s.argv[from][0] != '-' && strings.ContainsAny(s.argv[from], "IF") {
		s.add(Program, from)
	}
}

// sshNames are parts of the settings of ssh that name programs, libraries or files.
var sshNames = words("command include provider askpass xauth match subsystem")

// sshOption reports that a setting of ssh names no program and no file.
func sshOption(option, value string) bool {
	name := strings.ToLower(value)
	return option == "-o" && !slices.ContainsFunc(sshNames, func(p string) bool { return strings.Contains(name, p) })
}

// docker reads -f where it names a file: of build, and of compose before its own verb.
func docker(s *scan, from int) {
	verb := s.operand(from)
	switch {
	case strings.HasSuffix(s.argv[from-1], "-compose"):
		s.options(tools()["docker compose"], from)
	case verb >= len(s.argv):
	case s.argv[verb] == "compose":
		s.options(tools()["docker compose"], verb+1)
	case s.argv[verb] == "build" || s.argv[verb] == "buildx":
		s.options(tools()["docker build"], verb+1)
		s.holds(verb+1, Host, "://", "git@", "github.com/")
	}
}

// kubectl reads -f where it names a file, and does not follow a log.
func kubectl(s *scan, from int) {
	verb := s.operand(from)
	if verb < len(s.argv) && s.argv[verb] != "logs" {
		s.options(tools()["kubectl *"], verb+1)
	}
}

// mavenGoals are parts of words with which Maven runs programs that its words name.
var mavenGoals = words("exec: exec-maven-plugin -Dexec. antrun -Djvm= argLine javaagent maven.ext.class.path")

func gradle(s *scan, from int) {
	s.holds(from, Program, "jvmargs", "javaagent", "init.script", "java.home")
	goals(s, from)
}

func mvn(s *scan, from int) {
	s.holds(from, Program, mavenGoals...)
	goals(s, from)
}
