package facts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// setting is one key of a git configuration file: section and name in lower
// case, the subsection as written.
type setting struct {
	section, sub, name string
	hasSub             bool // there is a subsection, "" perhaps
	value              string
	set                bool // the key has a value ("key" alone is true)
	file               string
	local              bool // from the repository, or from what it includes
}

func (s setting) key() string {
	if s.sub == "" {
		return s.section + "." + s.name
	}
	return s.section + "." + s.sub + "." + s.name
}

const (
	maxConfig   = 1 << 20
	maxIncludes = 20
)

var errOdd = errors.New("the git configuration has a form that is not understood")

// readConfig reads a configuration file and what it includes. Conditions of
// includes are taken for true. A file that does not exist is empty.
func (g *gatherer) readConfig(name string, local bool, depth int, into *[]setting) error {
	if depth > maxIncludes {
		return fmt.Errorf("read %q: too many includes", name)
	}
	if g.over() {
		return fmt.Errorf("read %q: there was no time to", name)
	}
	text, err := readSmall(name, maxConfig)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %q: %w", name, err)
	}
	settings, err := parseConfig(text)
	if err != nil {
		return fmt.Errorf("read %q: %w", name, err)
	}
	for _, s := range settings {
		s.file, s.local = name, local
		*into = append(*into, s)
		if (s.section == "include" || s.section == "includeif") && s.name == "path" && s.value != "" {
			to, err := includePath(s.value, name, g.o.Home)
			if err != nil {
				return err
			}
			if err := g.readConfig(to, local, depth+1, into); err != nil {
				return err
			}
			if len(*into) > 20000 {
				return fmt.Errorf("read %q: too many settings", name)
			}
		}
	}
	return nil
}

func includePath(value, from, home string) (string, error) {
	switch {
	case strings.HasPrefix(value, "~/"):
		if home == "" {
			return "", fmt.Errorf("include %q: the home directory is not known", value)
		}
		return path.Join(home, value[2:]), nil
	case strings.HasPrefix(value, "~"), strings.HasPrefix(value, "%("):
		return "", fmt.Errorf("include %q: where it leads is not known", value)
	case strings.HasPrefix(value, "/"):
		return value, nil
	}
	return path.Join(path.Dir(from), value), nil
}

// readSmall reads a regular file of bounded size, without waiting on pipes.
func readSmall(name string, most int64) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fs.ErrNotExist
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	}
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = errors.New("too large")
	}
	return b, err
}

// parseConfig reads the text of a configuration file (git-config(1), SYNTAX).
// What git itself would refuse, and what is too odd to be sure of, is an error.
func parseConfig(text []byte) ([]setting, error) {
	p := configParser{s: strings.TrimPrefix(string(text), "\xef\xbb\xbf")}
	p.s = strings.ReplaceAll(p.s, "\r\n", "\n")
	if strings.ContainsRune(p.s, 0) {
		return nil, errOdd
	}
	for {
		p.blanks()
		if p.at >= len(p.s) {
			return p.out, nil
		}
		var err error
		switch c := p.s[p.at]; {
		case c == '#' || c == ';':
			p.comment()
		case c == '[':
			err = p.header()
		case letter(c):
			err = p.pair()
		default:
			err = errOdd
		}
		if err != nil {
			return nil, err
		}
	}
}

type configParser struct {
	s            string
	at           int
	section, sub string
	hasSub       bool
	started      bool
	out          []setting
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

func (p *configParser) blanks() {
	for p.at < len(p.s) && strings.IndexByte(" \t\n\r", p.s[p.at]) >= 0 {
		p.at++
	}
}

func (p *configParser) comment() {
	for p.at < len(p.s) && p.s[p.at] != '\n' {
		p.at++
	}
}

// header reads [section], [section "subsection"] or [section.subsection].
func (p *configParser) header() error {
	p.at++
	start := p.at
	for p.at < len(p.s) && (letter(p.s[p.at]) || digit(p.s[p.at]) || p.s[p.at] == '-' || p.s[p.at] == '.') {
		p.at++
	}
	name := p.s[start:p.at]
	p.sub, p.hasSub, p.started = "", false, true
	if p.at >= len(p.s) {
		return errOdd
	}
	if old, sub, ok := strings.Cut(name, "."); ok {
		// The old form: git lowers the whole.
		p.section, p.sub, p.hasSub = strings.ToLower(old), strings.ToLower(sub), true
	} else {
		p.section = strings.ToLower(name)
	}
	if p.section == "" {
		return errOdd
	}
	if p.s[p.at] == ']' {
		p.at++
		return nil
	}
	for p.at < len(p.s) && (p.s[p.at] == ' ' || p.s[p.at] == '\t') {
		p.at++
	}
	if p.at >= len(p.s) || p.s[p.at] != '"' {
		return errOdd
	}
	p.at++
	var b strings.Builder
	if p.hasSub {
		b.WriteString(p.sub + ".")
	}
	p.hasSub = true
	for {
		if p.at >= len(p.s) || p.s[p.at] == '\n' {
			return errOdd
		}
		c := p.s[p.at]
		p.at++
		if c == '"' {
			break
		}
		if c == '\\' {
			if p.at >= len(p.s) || p.s[p.at] == '\n' {
				return errOdd
			}
			c = p.s[p.at]
			p.at++
		}
		b.WriteByte(c)
	}
	p.sub = b.String()
	if p.at >= len(p.s) || p.s[p.at] != ']' {
		return errOdd
	}
	p.at++
	return nil
}

// pair reads name = value.
func (p *configParser) pair() error {
	start := p.at
	for p.at < len(p.s) && (letter(p.s[p.at]) || digit(p.s[p.at]) || p.s[p.at] == '-') {
		p.at++
	}
	s := setting{section: p.section, sub: p.sub, hasSub: p.hasSub, name: strings.ToLower(p.s[start:p.at])}
	if !p.started {
		return errOdd
	}
	for p.at < len(p.s) && (p.s[p.at] == ' ' || p.s[p.at] == '\t') {
		p.at++
	}
	switch {
	case p.at >= len(p.s) || p.s[p.at] == '\n':
		p.out = append(p.out, s)
		return nil
	case p.s[p.at] != '=':
		return errOdd
	}
	p.at++
	value, err := p.value()
	s.value, s.set = value, true
	p.out = append(p.out, s)
	return err
}

// value reads to the end of the line: quotes, escapes, comments, continuations.
func (p *configParser) value() (string, error) {
	var b strings.Builder
	quoted, spaces := false, 0
	for {
		if p.at >= len(p.s) {
			if quoted {
				return "", errOdd
			}
			return b.String(), nil
		}
		c := p.s[p.at]
		p.at++
		switch {
		case c == '\n':
			if quoted {
				return "", errOdd
			}
			return b.String(), nil
		case !quoted && (c == '#' || c == ';'):
			p.comment()
			continue
		case !quoted && strings.IndexByte(" \t\r", c) >= 0:
			if b.Len() > 0 {
				spaces++
			}
			continue
		}
		for ; spaces > 0; spaces-- {
			b.WriteByte(' ')
		}
		switch c {
		case '"':
			quoted = !quoted
		case '\\':
			if p.at >= len(p.s) {
				return "", errOdd
			}
			e := p.s[p.at]
			p.at++
			switch e {
			case '\n':
			case 't':
				b.WriteByte('\t')
			case 'n':
				b.WriteByte('\n')
			case 'b':
				b.WriteByte('\b')
			case '\\', '"':
				b.WriteByte(e)
			default:
				return "", errOdd
			}
		default:
			b.WriteByte(c)
		}
	}
}
