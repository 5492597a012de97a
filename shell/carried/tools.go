package carried

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// tool holds the options of one command.
type tool struct {
	lists []list
	// values are the letters of short options behind which the rest of a word is a value: -DNAME=x.
	values string
	// fine are long options that are no abbreviation of one in the lists.
	fine map[string]bool
	// stops reports that the first operand is a script, and the rest its words.
	stops bool
	// underscores reports that long options accept _ for -.
	underscores bool
	// harmless reports that an option with this value brings nothing along; nil: none does.
	harmless func(option, value string) bool
	// more searches from an index on where a list of options does not suffice; nil: nothing more.
	more func(s *scan, from int)
}

type list struct {
	kind    Kind
	options []string
}

//go:embed tools.txt
var toolsText string

// tools returns the known commands, by name.
var tools = sync.OnceValue(func() map[string]*tool {
	out := map[string]*tool{"git": {}, "java": {}, "pipenv": {}, "hatch": {}, "pdm": {}, "bundle": {}, "poetry": {}}
	text := strings.ReplaceAll(toolsText, "\n\t", " ")
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		name, rest, _ := strings.Cut(line, ":")
		out[name] = parseTool(rest)
	}
	for _, t := range out {
		if t.harmless != nil { // of JavaScript
			t.lists = append(t.lists, out["javascript"].lists...)
			t.fine = out["javascript"].fine
		}
	}
	for name, f := range further {
		out[name].more = f
	}
	for name, f := range exceptions {
		out[name].harmless = f
	}
	return out
})

// parseTool reads a line of tools.txt; the tests find a mistake in it.
func parseTool(text string) *tool {
	t := &tool{}
	kinds := map[string]Kind{"code": Code, "program": Program, "module": Module, "file": File, "output": Output,
		"host": Host}
	for part := range strings.SplitSeq(text, "|") {
		f := strings.Fields(part)
		if len(f) == 0 {
			continue
		}
		switch kind, ok := kinds[f[0]]; {
		case ok:
			t.lists = append(t.lists, list{kind, f[1:]})
		case f[0] == "values":
			t.values = strings.Join(f[1:], "")
		case f[0] == "fine":
			t.fine = set(strings.Join(f[1:], " "))
		case f[0] == "stops":
			t.stops = true
		case f[0] == "underscores":
			t.underscores = true
		case f[0] == "javascript":
			t.harmless, t.more = builtin, data
		default:
			panic(fmt.Sprintf("carried: tools.txt: unknown word %q", f[0]))
		}
	}
	return t
}

// further has the searches that lists of options do not suffice for; set by init, as some of them use the lists.
var further map[string]func(s *scan, from int)

func init() {
	further = map[string]func(s *scan, from int){
		"go":    func(s *scan, from int) { s.holds(from, Program, "-extld") }, // the linker's own linker
		"java":  func(s *scan, from int) { s.holds(from, Program, "-javaagent", "-agent", "-XX:On", "-Xbootclasspath") },
		"cmake": cmake, "meson": defined, "cargo": cargo, "gradle": gradle, "mvn": mvn, "ninja": goals,
		"bun": bun, "npm": npm, "npx": npx, "python": python, "coverage": pythonModules, "sh": shell,
		"pip": pip, "ssh": ssh, "curl": curl,
		"git": git, "awk": awk, "tar": tar, "sqlite3": dotted, "docker": docker, "kubectl": kubectl,
	}
	for names, f := range map[string]func(s *scan, from int){
		"make just task rake":                 makeWords,
		"node deno ruby perl php lua rscript": script,
		"less vim emacs":                      plus,
		"uv poetry pipenv hatch pdm bundle":   sub,
	} {
		for _, name := range words(names) {
			further[name] = f
		}
	}
}

// exceptions has the options that bring nothing along with some values.
var exceptions = map[string]func(option, value string) bool{
	"pytest": func(option, value string) bool { return option == "-p" && strings.HasPrefix(value, "no:") },
	"ssh":    sshOption,
	"rspec":  builtin,
	"go":     profiled,
	"curl":   func(option, value string) bool { return option != "-K" && option != "--config" && format(value) },
}

func set(names string) map[string]bool {
	out := map[string]bool{}
	for _, n := range strings.Fields(names) {
		out[n] = true
	}
	return out
}

// alike maps a command to the one in tools.txt that reads its words in the same way.
var alike = func() map[string]string {
	out := map[string]string{}
	for name, others := range map[string]string{
		"make": "gmake configure", "gcc": "g++ cc c++ clang clang++", "npm": "pnpm yarn", "mvn": "mvnw", "gradle": "gradlew",
		"python": "pypy", "pytest": "py.test", "npx": "bunx pnpx", "prettier": "tsc", "vitest": "vite", "jest": "playwright",
		"node": "tsx ts-node", "awk": "gawk mawk nawk", "sh": "bash dash zsh ksh", "ssh": "sftp scp slogin",
		"tar":    "bsdtar gtar",
		"docker": "docker-compose podman podman-compose nerdctl", "terraform": "tofu", "rscript": "Rscript",
		"vim": "vi nvim ex view gvim", "less": "more", "pdflatex": "xelatex lualatex latex tex",
	} {
		for _, other := range strings.Fields(others) {
			out[other] = name
		}
	}
	return out
}()

// plain are commands without an option that brings code along: their words are the files they read and write.
var plain = set(`
	cp mv rm rmdir mkdir touch ln chmod chown chgrp mktemp truncate kill pkill killall sleep true false echo
	printf test cd pwd ls cat head tail wc cut tr nl tac rev paste comm join fold expand stat file du df basename
	dirname   realpath readlink date id whoami uname hostname ps free uptime sha256sum sha1sum md5sum cksum gzip
	gunzip bzip2 xz zstd         unzip grep egrep fgrep which type seq diff cmp patch tee systemctl journalctl gh
	glab shellcheck ping dig host nslookup`)

// builtin reports that the value of an option of JavaScript's tools names a part of their own, and no file.
func builtin(option, value string) bool {
	return builtins[option] && !strings.ContainsAny(value, "./\\:")
}

var builtins = set(`
	--parser --runner --test-runner --testRunner --environment --env --preset --reporter --reporters --format
	-f -R -u --ui`)

// publishing are goals of builds by which something leaves the project.
var publishing = words("install uninstall publish deploy release upload uploadArchives push dist-upload")

// goals finds further goals that publish, behind a goal that the permitting words spell.
func goals(s *scan, from int) {
	named := false
	for at := from; at < len(s.argv); at++ {
		w := s.argv[at]
		switch {
		case w == "" || w[0] == '-' || strings.Contains(w, "="):
		case s.spelled(at):
			named = true
		case named && slices.Contains(publishing, w):
			s.add(Goal, at)
		}
	}
}
