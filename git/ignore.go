package git

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Ignores are the ignore rules of a work tree: its .gitignore files and info/exclude (gitignore(5)). A person's own
// (core.excludesFile) are not read, so that what these alone ignore counts as not ignored. Its methods must not be
// called concurrently.
type Ignores struct {
	host     Host
	worktree string
	tracked  []string // sorted
	exclude  []ignoreRule
	in       map[string][]ignoreRule // by the directory of their file
}

// ignoreRule is one pattern.
type ignoreRule struct {
	negated, onlyDir, base bool // base: it is compared with the last element
	match                  *regexp.Regexp
}

// Ignores reads the index of a repository with a work tree, and its ignore rules as they are asked for.
func (r Reader) Ignores(repo Repository) (*Ignores, error) {
	if repo.Worktree == "" {
		return nil, errors.New("a repository without a work tree ignores nothing")
	}
	settings, err := r.Config(repo)
	if err != nil {
		return nil, err
	}
	g := &Ignores{host: r.Host, worktree: repo.Worktree, in: map[string][]ignoreRule{}}
	index := path.Join(repo.Dir, "index")
	err = eachEntry(r.Host, index, HashSize(settings), 0, func(_ uint32, _ []byte, entry string) {
		g.tracked = append(g.tracked, entry)
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(g.tracked)
	g.exclude, err = ignoreRules(r.Host, path.Join(repo.Common, "info/exclude"))
	return g, err
}

// Top returns the topmost path at or above rel that git ignores and in which it tracks nothing; "" where there is none.
// rel is relative to the work tree, and dir whether it is a directory. It fails where a rule can't be read, or means
// different things to different versions of git.
func (g *Ignores) Top(rel string, dir bool) (string, error) {
	elements := strings.Split(path.Clean(rel), "/")
	if elements[0] == "." || elements[0] == ".." || elements[0] == "" {
		return "", nil
	}
	for i := range elements {
		at := path.Join(elements[:i+1]...)
		if elements[i] == ".git" {
			return "", nil
		}
		ignored, err := g.ignored(at, dir || i < len(elements)-1)
		if err != nil {
			return "", err
		}
		if ignored {
			if g.tracks(at) {
				return "", nil
			}
			return at, nil
		}
		if _, err := g.host.Lstat(path.Join(g.worktree, at, ".git")); !absent(err) {
			return "", err // it has rules of its own
		}
	}
	return "", nil
}

// tracks reports whether the index has a path, one below it, or, in a sparse index, a directory above it.
func (g *Ignores) tracks(at string) bool {
	i, exact := slices.BinarySearch(g.tracked, at+"/")
	if exact || i < len(g.tracked) && strings.HasPrefix(g.tracked[i], at+"/") {
		return true
	}
	for dir := path.Dir(at); dir != "."; dir = path.Dir(dir) {
		if _, sparse := slices.BinarySearch(g.tracked, dir+"/"); sparse {
			return true
		}
	}
	_, exact = slices.BinarySearch(g.tracked, at)
	return exact
}

// ignored decides about one path by the last matching rule of the nearest file that has one.
func (g *Ignores) ignored(at string, dir bool) (bool, error) {
	for base := path.Dir(at); ; base = path.Dir(base) {
		rules, known := g.in[base]
		if !known {
			var err error
			if rules, err = ignoreRules(g.host, path.Join(g.worktree, base, ".gitignore")); err != nil {
				return false, err
			}
			g.in[base] = rules
		}
		rel := at
		if base != "." {
			rel = at[len(base)+1:]
		}
		if last := lastRule(rules, rel, dir); last != nil {
			return !last.negated, nil
		}
		if base == "." {
			last := lastRule(g.exclude, at, dir)
			return last != nil && !last.negated, nil
		}
	}
}

func lastRule(rules []ignoreRule, rel string, dir bool) *ignoreRule {
	for i := len(rules) - 1; i >= 0; i-- {
		r, text := &rules[i], rel
		if r.base {
			text = path.Base(rel)
		}
		if (dir || !r.onlyDir) && r.match.MatchString(runes(text)) {
			return r
		}
	}
	return nil
}

// runes returns a text with a rune for each byte, as git compares bytes and package regexp runes.
func runes(text string) string {
	out := make([]rune, len(text))
	for i := range len(text) {
		out[i] = rune(text[i])
	}
	return string(out)
}

// ignoreRules reads a file of rules (dir.c, add_patterns_from_buffer). Whether git follows a link there depends on its
// version.
func ignoreRules(h Host, name string) (rules []ignoreRule, err error) {
	switch info, err := h.Lstat(name); {
	case absent(err) || err == nil && info.IsDir():
		return nil, nil
	case err != nil:
		return nil, err
	case info.Mode().Type() == fs.ModeSymlink:
		return nil, fmt.Errorf("read %q: it is a symbolic link", name)
	}
	text, err := h.ReadFile(name, maxConfig)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", name, err)
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		rule, ok, err := parseIgnore(trimSpaces(string(line)))
		if err != nil {
			return nil, fmt.Errorf("read %q: pattern %q: %w", name, line, err)
		}
		if ok {
			rules = append(rules, rule)
		}
	}
	return rules, nil
}

// trimSpaces removes the spaces at the end of a line that no backslash escapes.
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		if line[i] == ' ' {
			continue
		}
		if line[i] == '\\' && i+1 < len(line) {
			i++
		}
		end = i + 1
	}
	return line[:end]
}

// parseIgnore parses one pattern (dir.c, parse_path_pattern); ok is false for one that matches nothing.
func parseIgnore(p string) (rule ignoreRule, ok bool, err error) {
	p, rule.negated = strings.CutPrefix(p, "!")
	p, rule.onlyDir = strings.CutSuffix(p, "/")
	rule.base = !strings.Contains(p, "/")
	p = strings.TrimPrefix(p, "/")
	if p == "" {
		return rule, false, nil
	}
	text, ok, err := globRegexp(p, rule.base)
	if !ok || err != nil {
		return rule, false, err
	}
	rule.match, err = regexp.Compile(`(?s)\A` + text + `\z`)
	return rule, err == nil, err
}

var errOddGlob = errors.New("what ** means there depends on git's version")

// globRegexp translates a pattern of wildmatch.c to the syntax of package regexp, for a text of runes. base: it is of
// one element. ok is false for one that matches nothing.
func globRegexp(p string, base bool) (text string, ok bool, err error) {
	var out strings.Builder
	literal := func(c byte) { fmt.Fprintf(&out, `\x{%02x}`, c) }
	for i := 0; i < len(p); i++ {
		switch c := p[i]; c {
		case '?':
			out.WriteString("[^/]")
		case '\\':
			if i++; i == len(p) {
				return "", false, nil
			}
			literal(p[i])
		case '[':
			class, n, ok := globClass(p[i:])
			if !ok {
				return "", false, nil
			}
			out.WriteString(class)
			i += n - 1
		case '*':
			n := len(p[i:]) - len(strings.TrimLeft(p[i:], "*"))
			first, rest := i == 0 || p[i-1] == '/', p[i+n:]
			switch {
			case n == 1 || base:
				out.WriteString("[^/]*")
			case n != 2 || !first || rest != "" && rest[0] != '/':
				return "", false, errOddGlob
			case rest == "":
				out.WriteString(".*")
			default:
				out.WriteString("(?:.*/)?")
				i++ // the slash
			}
			i += n - 1
		default:
			literal(c)
		}
	}
	return out.String(), true, nil
}

// classes are the named ones of wildmatch.c, in the syntax of package regexp.
var classes = regexp.MustCompile(`^\[:(alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit):\]`)

// globClass translates a class at the beginning of a pattern, of n bytes. ok is false for one that nothing matches.
func globClass(p string) (text string, n int, ok bool) {
	var has [256]bool
	at := 1
	negated := at < len(p) && (p[at] == '!' || p[at] == '^')
	if negated {
		at++
	}
	char := func() (c byte, ok bool) {
		if at < len(p) && p[at] == '\\' {
			at++
		}
		if at >= len(p) {
			return 0, false
		}
		at++
		return p[at-1], true
	}
	for begin := at; at >= len(p) || p[at] != ']' || at == begin; {
		if at < len(p) && strings.HasPrefix(p[at:], "[:") {
			name := classes.FindString(p[at:])
			if name == "" {
				return "", 0, false
			}
			named := regexp.MustCompile("[" + name + "]")
			for c := range 128 {
				has[c] = has[c] || named.MatchString(string(rune(c)))
			}
			at += len(name)
			continue
		}
		low, ok := char()
		high := low
		if ok && at+1 < len(p) && p[at] == '-' && p[at+1] != ']' {
			at++
			high, ok = char()
		}
		if !ok {
			return "", 0, false
		}
		has[low] = true
		for c := int(low); c <= int(high); c++ {
			has[c] = true
		}
	}
	var out strings.Builder
	for c, in := range has {
		if in != negated && c != '/' {
			fmt.Fprintf(&out, `\x{%02x}`, c)
		}
	}
	return "[" + out.String() + "]", at + 1, out.Len() > 0
}
