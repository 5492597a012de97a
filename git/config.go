package git

import (
	"errors"
	"fmt"
	"strings"
)

// Setting is one key of a git configuration file: section and name in lower case, the subsection as written.
type Setting struct {
	Section, Sub, Name string
	HasSub             bool // there is a subsection, "" perhaps
	Value              string
	// Bare keys stand alone, without "=", which git takes for true.
	Bare bool
	// File is where the setting was read, "" for a parsed text.
	File string
	// Local settings are from the repository, or from a file that it includes.
	Local bool
}

// Key returns for example "remote.origin.url".
func (s Setting) Key() string {
	if s.Sub == "" {
		return s.Section + "." + s.Name
	}
	return s.Section + "." + s.Sub + "." + s.Name
}

// ParseKey splits a key as git config(1) takes it; ok is false for one without a section.
func ParseKey(key string) (s Setting, ok bool) {
	first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	if first < 0 {
		return Setting{}, false
	}
	s = Setting{Section: strings.ToLower(key[:first]), Name: strings.ToLower(key[last+1:])}
	if last > first {
		s.Sub, s.HasSub = key[first+1:last], true
	}
	return s, true
}

var errOdd = errors.New("the git configuration has a form that is not understood")

// FormatConfig writes settings as the text of a configuration file.
func FormatConfig(list []Setting) []byte {
	var b strings.Builder
	header := ""
	for _, s := range list {
		h := "[" + s.Section + "]\n"
		if s.Sub != "" {
			h = fmt.Sprintf("[%s \"%s\"]\n", s.Section, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s.Sub))
		}
		if h != header {
			header = h
			b.WriteString(h)
		}
		if s.Bare {
			b.WriteString("\t" + s.Name + "\n")
		} else {
			b.WriteString("\t" + s.Name + ` = "` + quoteValue.Replace(s.Value) + "\"\n")
		}
	}
	return []byte(b.String())
}

var quoteValue = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`)

// ParseConfig reads the text of a configuration file (git-config(1), SYNTAX), without its includes. It fails for a
// text that git refuses, and for one of a form too odd to be sure of.
func ParseConfig(text []byte) ([]Setting, error) {
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
	out          []Setting
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
	s := Setting{Section: p.section, Sub: p.sub, HasSub: p.hasSub, Name: strings.ToLower(p.s[start:p.at]), Bare: true}
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
	s.Value, s.Bare = value, false
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
