package safelist

import "strings"

// checkSed judges sed's commands. It permits only those that print, delete, insert and substitute. It
// refuses e, w, W, r, R and the flags e and w of s, which run, read or write files, and every
// other command.
func checkSed(u *Use) string {
	scripts := 0
	for _, o := range u.Options {
		if o.Name == "-e" || o.Name == "--expression" {
			scripts++
			if why := sedScript(o.Value); why != "" {
				return why
			}
		}
	}
	if scripts > 0 || u.Has("--help", "--version") {
		return ""
	}
	if len(u.Operands) == 0 {
		return "it needs a script"
	}
	return sedScript(u.Operands[0].Text)
}

// SedPrints reports whether a script of sed only prints, deletes, inserts and substitutes: it runs nothing, and reads
// and writes no further file.
func SedPrints(script string) bool { return sedScript(script) == "" }

const sedRefusal = "its script holds a command that is not one of those that only print"

func sedScript(s string) string {
	// A trailing backslash joins with the next -e.
	if strings.HasSuffix(s, `\`) {
		return sedRefusal
	}
	p := sedParser{s: s}
	if !p.commands() {
		return sedRefusal
	}
	return ""
}

type sedParser struct {
	s     string
	at    int
	depth int
}

func (p *sedParser) peek() byte {
	if p.at < len(p.s) {
		return p.s[p.at]
	}
	return 0
}

func (p *sedParser) skip(set string) {
	for p.at < len(p.s) && strings.IndexByte(set, p.s[p.at]) >= 0 {
		p.at++
	}
}

func (p *sedParser) commands() bool {
	for {
		p.skip(" \t\n;")
		if p.at >= len(p.s) {
			return p.depth == 0
		}
		if !p.command() {
			return false
		}
	}
}

func (p *sedParser) command() bool {
	if !p.addresses() {
		return false
	}
	p.skip(" \t")
	for p.peek() == '!' {
		p.at++
		p.skip(" \t!")
	}
	c := p.peek()
	p.at++
	switch c {
	case '{':
		p.depth++
		return p.depth < 20
	case '}':
		p.depth--
		return p.depth >= 0 && p.end()
	case 'p', 'P', 'd', 'D', 'h', 'H', 'g', 'G', 'x', 'n', 'N', '=', 'z', 'F':
		return p.end()
	case 'q', 'Q', 'l':
		p.skip(" \t")
		p.skip("0123456789")
		return p.end()
	case 'a', 'i', 'c': // the rest of the script is their text, as long as it is one line
		p.skip(" \t")
		rest := p.s[min(p.at, len(p.s)):]
		p.at = len(p.s)
		return rest != "" && p.depth == 0 && !strings.Contains(rest, "\n")
	case 's':
		return p.substitute()
	case 'y':
		sep := p.peek()
		p.at++
		from, to := p.part(sep, false), p.part(sep, false)
		return from && to && p.end()
	}
	return false
}

// end reports whether the command ends here.
func (p *sedParser) end() bool {
	p.skip(" \t")
	switch p.peek() {
	case 0, ';', '\n':
		return p.at <= len(p.s)
	case '}':
		return true
	}
	return false
}

func (p *sedParser) addresses() bool {
	for n := 0; n < 2; n++ {
		found, ok := p.address(n)
		if !ok {
			return false
		}
		if !found {
			return n == 0
		}
		p.skip(" \t")
		if p.peek() != ',' {
			return true
		}
		if n == 1 {
			return false
		}
		p.at++
		p.skip(" \t")
	}
	return true
}

func (p *sedParser) address(n int) (found, ok bool) {
	c := p.peek()
	switch {
	case c >= '0' && c <= '9':
		p.skip("0123456789")
		if p.peek() == '~' {
			p.at++
			p.skip("0123456789")
		}
		return true, true
	case n == 1 && (c == '+' || c == '~'):
		p.at++
		start := p.at
		p.skip("0123456789")
		return true, p.at > start
	case c == '$':
		p.at++
		return true, true
	case c == '/':
		p.at++
		if !p.part('/', true) {
			return false, false
		}
		p.skip("IM")
		return true, true
	case c == '\\':
		p.at++
		sep := p.peek()
		p.at++
		if sep == 0 || sep == '\n' || sep == '\\' || !p.part(sep, true) {
			return false, false
		}
		p.skip("IM")
		return true, true
	}
	return false, true
}

// part reads up to the next separator that is not escaped. Implementations of sed differ in the
// end of a bracket expression, and in whether a separator within it ends the part. part refuses
// text on which they differ.
func (p *sedParser) part(sep byte, regex bool) bool {
	if sep == 0 || sep == '\n' || sep == '\\' {
		return false
	}
	bracket := false
	for p.at < len(p.s) {
		c := p.s[p.at]
		switch {
		case c == '\\':
			if p.at+1 >= len(p.s) {
				return false
			}
			if next := p.s[p.at+1]; bracket && (next == sep || next == '[' || next == ']') {
				return false
			}
			p.at++
		case c == '\n' && regex:
			return false
		case c == sep:
			if bracket {
				// GNU sed 4.9 takes it as part of the bracket expression only in some places; the following
				// text must be unambiguous.
				return p.harmlessRest(sep)
			}
			p.at++
			return true
		case regex && c == '[' && !bracket:
			bracket = true
			if p.at+1 < len(p.s) && p.s[p.at+1] == '^' {
				p.at++
			}
			if p.at+1 < len(p.s) && p.s[p.at+1] == ']' {
				p.at++
			}
		case bracket && c == '[' && p.at+1 < len(p.s) && strings.IndexByte(":.=", p.s[p.at+1]) >= 0:
			// A class such as [:alpha:], whose ] does not end the expression.
			class, _, found := strings.Cut(p.s[p.at+2:], p.s[p.at+1:p.at+2]+"]")
			if !found || strings.IndexByte(class, sep) >= 0 || strings.Trim(class, "abcdefghijklmnopqrstuvwxyz-_.") != "" {
				return false
			}
			p.at += 3 + len(class)
		case regex && c == ']' && bracket:
			bracket = false
		}
		p.at++
	}
	return false
}

// harmlessRest judges a separator within brackets. It accepts only the usual [/] in a script
// that has the same, harmless end in both readings.
func (p *sedParser) harmlessRest(sep byte) bool {
	rest := p.s[p.at+1:]
	if !strings.HasPrefix(rest, "]") || strings.ContainsAny(rest, "wWrReE\n;{}\\") {
		return false
	}
	p.at += 2
	return p.part(sep, true)
}

func (p *sedParser) substitute() bool {
	sep := p.peek()
	p.at++
	if !p.part(sep, true) || !p.part(sep, false) {
		return false
	}
	for p.at < len(p.s) {
		switch c := p.s[p.at]; {
		case c == 'g', c == 'p', c == 'i', c == 'I', c == 'm', c == 'M', c >= '0' && c <= '9':
			p.at++
		default:
			return p.end()
		}
	}
	return true
}
