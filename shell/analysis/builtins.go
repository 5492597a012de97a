package analysis

import (
	"slices"
	"strings"
)

// unwrapCarrier reads a builtin or program that runs a command among its words, and is no wrapper with a fixed place
// for it.
func (p *reader) unwrapCarrier(c *Call, name string) {
	words := c.Args[1:]
	switch name {
	case "mapfile", "readarray", "compgen", "complete":
		if script, ok := optionValue(words, 'C'); ok {
			p.scriptWord(c, script, name)
		}
	case "jobs":
		if words[0].is("-x") && len(words) > 1 {
			p.add(c, name, words[1:], nil, c.Dirs)
		}
	case "hash":
		if file, ok := optionValue(words, 'p'); ok { // the arguments are those of later commands
			p.add(c, name, []Word{file, {Kind: Unknown, Source: "…", Offset: c.End, End: c.End}}, nil, c.Dirs)
		}
	case "alias":
		for _, w := range words {
			if _, value, found := strings.Cut(w.Text, "="); found {
				w.Text = value
				p.scriptWord(c, w, name)
			}
		}
	case "tmux", "screen", "dtach", "abduco", "runcon", "capsh", "sg":
		for _, w := range words {
			if w.Known() && strings.ContainsAny(w.Text, " \t\n;&|") {
				p.scriptWord(c, w, name)
			}
		}
		p.candidates(c, name, 1)
	}
}

// optionValue finds the value of an option of one letter, which may be one of a cluster.
func optionValue(words []Word, letter byte) (Word, bool) {
	for i, w := range words {
		at := strings.IndexByte(w.Text, letter)
		switch {
		case at < 1 || w.Text[0] != '-' || w.Text[1] == '-':
		case at+1 < len(w.Text):
			w.Text = w.Text[at+1:]
			return w, true
		case i+1 < len(words):
			return words[i+1], true
		}
	}
	return Word{}, false
}

// unwrapParallel reads parallel's words where they are scripts: all after ":::", or the first one.
func (p *reader) unwrapParallel(c *Call, args []Word) bool {
	if args[0].is(":::") {
		for _, w := range args[1:] {
			p.scriptWord(c, w, "parallel")
		}
		return true
	}
	if !strings.Contains(args[0].Text, " ") {
		return false
	}
	if end := slices.IndexFunc(args, func(w Word) bool { return strings.HasPrefix(w.Text, ":::") }); end > 0 {
		args = args[:end]
	}
	p.scriptWord(c, joined(args), "parallel")
	return true
}
