package carried

import (
	"path"
	"slices"
	"strings"
)

// long are the options by which unknown programs are likely to take code, programs, and files to obey, and
// outputs those for files to write. They are meant in abbreviations of four letters or more, and with one dash.
var long = map[Kind][]string{
	Code: words(`eval evaluate expression exec execute ex exec-batch command cmd shell-command code on-load post-command
	pre-command`),
	Program: words(`
	shell script-shell exec-path program interpreter pager editor browser wrapper launcher rsh remote-command
	proxy-command to-command use-compress-program upload-pack receive-pack open-files-in-pager ext-diff textconv
	toolexec           runner test-runner linker node-options`),
	Module: words(`require import preload loader load load-module load-plugin load-plugins plugin plugins hook hooks
	init-hook`),
	File: words(`
	config config-file configfile conf rcfile rc-file init-file init-script settings settings-file file makefile
	build-file script plugin-dir rulesdir rules-dir chdir cwd directory rootdir root-dir project-dir working-dir
	manifest-path kubeconfig`),
	Output: words("output output-file outfile out-file out log-file logfile"),
	Host:   words("registry index-url extra-index-url proxy https-proxy http-proxy"),
}

func words(s string) []string { return strings.Fields(s) }

// formats are values of -o and --output that name a form and no file.
var formats = words(`
	json yaml yml table text wide name names csv tsv xml html short long plain full brief markdown md tree  jsonl
	ndjson none human pretty compact raw`)

var templates = words("jsonpath go-template custom-columns template")

// guess searches the words of an unknown program, from an index on.
func (s *scan) guess(from int) {
	if s.kinds&Guess == 0 {
		return
	}
	for at := from; at < len(s.argv); at++ {
		if w := s.argv[at]; len(w) < 2 || w[0] != '-' || w == "--" {
			continue
		}
		if kind := s.guessLong(at); kind != 0 {
			s.add(kind, at)
		} else {
			s.guessShort(at)
		}
	}
}

func (s *scan) guessLong(at int) Kind {
	name, value, joined := strings.Cut(strings.ToLower(s.argv[at]), "=")
	dashes := len(name) - len(strings.TrimLeft(name, "-"))
	name = strings.ReplaceAll(name[dashes:], "_", "-")
	if !joined && at+1 < len(s.argv) {
		value = s.argv[at+1]
	}
	for _, kind := range []Kind{Code, Program, Module, File, Output, Host} {
		least := 4 // letters of an abbreviation
		if kind == Code {
			least = 3
		}
		for _, option := range long[kind] {
			abbreviated := dashes == 2 && len(name) >= least && strings.HasPrefix(option, name)
			if !abbreviated && (name != option || dashes == 1 && len(name) < 4) {
				continue
			}
			if kind != Output || !format(value) {
				return kind
			}
		}
	}
	return 0
}

// letters are the short options that take code, a file to obey, or one to write, for most programs that have them.
var letters = map[byte]Kind{'c': Code, 'e': Code, 'f': File, 'o': Output}

// guessShort reads a word with one dash as a letter with a value joined to it or behind it, or as a few letters, the
// last one with a value.
func (s *scan) guessShort(at int) {
	w := s.argv[at]
	if w[1] == '-' {
		return
	}
	letter, value := w[1], strings.TrimPrefix(w[2:], "=")
	if letters[letter] == 0 || !strings.ContainsAny(w[2:], "./~=\\ ;|&$()'\"`:") {
		if len(w) > 4 || at+1 >= len(s.argv) || strings.HasPrefix(s.argv[at+1], "-") && s.argv[at+1] != "-" {
			return
		}
		letter, value = w[len(w)-1], s.argv[at+1]
	}
	kind := letters[letter]
	switch {
	case kind == 0 || letter != 'f' && format(value), letter == 'f' && slices.Contains(formats, value):
	case letter == 'e' && plainWord(value),
		letter == 'f' && value != "-" && !strings.HasPrefix(value, "/dev/") && !strings.HasPrefix(value, "/proc/"):
		s.addFile(File, at, value)
	default:
		s.add(kind, at)
	}
}

// plainWord says that a value is a name, such as that of an environment.
func plainWord(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	})
}

// format says that the value of an option for output names no file: a form, the terminal, or nothing.
func format(value string) bool {
	form, _, _ := strings.Cut(value, "=")
	return slices.Contains([]string{"-", "/dev/null", "/dev/stdout", "/dev/stderr"}, value) ||
		slices.Contains(formats, value) || slices.Contains(templates, form)
}

// Listed reports whether a command is in tools.txt; Plain, whether no option of it brings code along.
func Listed(name string) bool { return tools()[Base(name)] != nil }

// Plain reports whether a command only works on the files that its words name.
func Plain(name string) bool { return plain[Base(name)] }

// placeless are commands, besides the plain ones, that read no code or settings in the directory where they run.
var placeless = set(`
	curl wget ssh scp sftp slogin rsync tar bsdtar gtar find sort awk gawk mawk nawk sed xargs kubectl man  less
	more split jq perf strace openssl pgrep`)

// Placeless reports whether a command's code does not depend on the directory where it runs, as far as is known: its
// program is named by a name alone or absolutely, and reads no code or settings there.
func Placeless(argv []string) bool {
	name := argv[0]
	if strings.Contains(name, "/") && !strings.HasPrefix(name, "/") {
		return false
	}
	name = path.Base(name)
	return plain[name] || placeless[name]
}
