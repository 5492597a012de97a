package danger

import (
	"path"
	"slices"
	"strings"

	"sandboxd/shell/analysis"
	"sandboxd/shell/safelist"
)

// Finding is one danger of a command.
type Finding struct {
	// Name is short and stable: "recursive delete".
	Name string
	// Why is a sentence for the prompt.
	Why string
}

// Line returns the dangers of a script as a whole: pipes into shells, fork bombs, and
// redirections to devices.
func Line(s *analysis.Script) []Finding {
	var out []Finding
	for range s.Bombs {
		out = append(out, Finding{"fork bomb", "a function starts itself over and over"})
		break
	}
	for _, r := range s.Redirs {
		if r.Kind == analysis.RedirWrite && Device(r.Target.Text) {
			out = append(out, Finding{"write to a device", "it overwrites the device " + r.Target.Text})
		}
	}
	if download(s) {
		out = append(out, Finding{"code from the network", "it runs what it downloads"})
	}
	return out
}

// download reports whether a pipe or substitution passes a download to an interpreter.
func download(s *analysis.Script) bool {
	fetches := false
	for _, c := range s.Calls {
		switch name(c) {
		case "curl", "wget", "fetch", "aria2c", "http", "https", "nc", "ncat", "netcat", "socat":
			fetches = true
		}
	}
	if !fetches {
		return false
	}
	for _, c := range s.Calls {
		shows := len(c.Args) > 2 && c.Args[1].Text == "-m" && c.Args[2].Text == "json.tool"
		if c.Piped && interpreter(name(c)) && !shows && (len(c.Args) < 4 || CodeFromInput(c)) {
			return true
		}
		if n := name(c); (interpreter(n) || n == "eval" || n == "source" || n == ".") &&
			slices.ContainsFunc(c.Args, func(w analysis.Word) bool {
				return w.Kind <= analysis.Derived && (strings.ContainsAny(w.Source, "$`<(") || slices.Contains(c.Via, "xargs"))
			}) {
			return true
		}
	}
	return false
}

// interpreter reports whether the command of that name runs text as code.
func interpreter(name string) bool {
	name = strings.TrimRight(name, "0123456789.")
	switch name {
	case "bash",
		"sh", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "python", "pypy", "perl", "ruby", "node",
		"deno", "bun", "php", "lua", "pwsh", "osascript", "tclsh", "rscript":
		return true
	}
	return false
}

// Device reports whether a path is a block device or memory.
func Device(p string) bool {
	if !strings.HasPrefix(p, "/dev/") {
		return false
	}
	base := strings.TrimPrefix(path.Clean(p), "/dev/")
	for _, prefix := range []string{"sd", "hd", "vd", "xvd", "nvme", "mmcblk", "loop", "md", "dm-", "mapper/", "disk",
		"rdisk", "block/", "sr", "nbd", "zram", "mem", "kmem", "port"} {
		if strings.HasPrefix(base, prefix) && base != "sdt" {
			return true
		}
	}
	return false
}

func name(c *analysis.Call) string {
	if n := c.Name(); n != "" {
		return strings.ToLower(path.Base(n)) // on file systems without case, RM is rm
	}
	return ""
}

// options holds the possible options of a command: the letters of its short clusters, its long
// options and its operands. unknown is true if a word may be an unknown option.
type options struct {
	letters  string
	long     []string
	operands []analysis.Word
	unknown  bool
}

func read(args []analysis.Word) (o options) {
	o.operands = make([]analysis.Word, 0, min(len(args), 16))
	var letters strings.Builder
	defer func() { o.letters = letters.String() }()
	ended := false
	for _, a := range args {
		switch {
		case !a.Known() && a.Kind != analysis.Glob:
			if a.Text == "" || strings.HasPrefix(a.Text, "-") {
				o.unknown = true
			}
			o.operands = append(o.operands, a)
		case ended || len(a.Text) < 2 || a.Text[0] != '-':
			o.operands = append(o.operands, a)
		case a.Text == "--":
			ended = true
		case strings.HasPrefix(a.Text, "--"):
			o.long = append(o.long, a.Text)
		default:
			letters.WriteString(a.Text[1:])
		}
	}
	return o
}

// has reports whether one of the letters, or one of the long options or an abbreviation of it,
// was given.
func (o options) has(letters string, long ...string) bool {
	if strings.ContainsAny(o.letters, letters) {
		return true
	}
	for _, given := range o.long {
		given, _, _ = strings.Cut(given, "=")
		for _, l := range long {
			if given == l || len(given) > 2 && strings.HasPrefix(l, given) {
				return true
			}
		}
	}
	return false
}

func (o options) operand(test func(string) bool) bool {
	return slices.ContainsFunc(o.operands, func(w analysis.Word) bool { return test(w.Text) })
}

// Call returns the dangers of one simple command.
func Call(c *analysis.Call) []Finding {
	n := name(c)
	if n == "" {
		return unknownName(c)
	}
	if args, ok := safelist.Undashed(c.Args); ok {
		return git(&analysis.Call{Args: args}, options{})
	}
	if f, ok := checks[n]; ok {
		return f(c, read(c.Args[1:]))
	}
	switch {
	case strings.HasPrefix(n, "mkfs"), n == "mke2fs", n == "mkswap", n == "newfs":
		return one("format", n+" erases the file system it is given")
	case n == "format" || n == "format.com":
		return one("format", "format erases a drive")
	}
	return nil
}

func one(name, why string) []Finding { return []Finding{{name, why}} }

// unknownName returns the dangers of a command whose name is known only when it runs. Its words
// may still be those of a recursive delete.
func unknownName(c *analysis.Call) []Finding {
	if len(c.Args) < 2 || c.Args[0].Kind > analysis.Derived && c.Args[0].Kind != analysis.Glob {
		return nil
	}
	if o := read(c.Args[1:]); strings.Contains(o.letters, "r") && strings.Contains(o.letters, "f") && len(o.letters) <= 4 {
		return one("recursive delete", "a command that is not known, with the options of a recursive delete")
	}
	return nil
}

// Deletes reports whether a command removes files.
func Deletes(c *analysis.Call) bool {
	switch name(c) {
	case "rm", "rmdir", "unlink", "shred", "srm", "trash", "wipe":
		return true
	case "find", "fd", "fdfind":
		return slices.ContainsFunc(
			c.Args,
			func(w analysis.Word) bool { return w.Kind == analysis.Literal && w.Text == "-delete" },
		)
	case "git":
		sub, args := gitSub(c)
		return sub == "rm" || sub == "clean" && !read(args).has("n", "--dry-run")
	}
	return false
}
