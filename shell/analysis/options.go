package analysis

import "strings"

// options parses the options before a wrapper's command, like getopt_long with "+": the first
// operand ends them.
type options struct {
	known   string // see wrapper.options
	args    []Word
	at      int // the index of the first operand
	unknown string
	special func(word string) bool

	seen   []string
	values map[string]Word
}

// run parses the options. At the first unknown option it stops and returns false.
func (o *options) run() bool {
	for o.at < len(o.args) {
		w := o.args[o.at]
		if !w.Known() {
			o.unknown = w.Source // it may be an option
			return false
		}
		t := w.Text
		if len(t) < 2 || t[0] != '-' {
			return true
		}
		if t == "--" {
			o.at++
			return true
		}
		if o.special != nil && o.special(t) {
			o.at++
			continue
		}
		ok := false
		if strings.HasPrefix(t, "--") {
			ok = o.long(t)
		} else {
			ok = o.cluster(t)
		}
		if !ok {
			return false
		}
		o.at++
	}
	return true
}

// kind returns the type of an option: ' ' without a value, '=' with a value, '?' with an
// attached value, 0 if the option is unknown.
func (o *options) kind(name string) byte {
	for field := range strings.FieldsSeq(o.known) {
		switch {
		case field == name:
			return ' '
		case len(field) == len(name)+1 && strings.HasPrefix(field, name) &&
			(field[len(name)] == '=' || field[len(name)] == '?'):
			return field[len(name)]
		}
	}
	return 0
}

func (o *options) note(name string, value Word) {
	o.seen = append(o.seen, name)
	if o.values == nil {
		o.values = map[string]Word{}
	}
	o.values[name] = value
}

func (o *options) long(t string) bool {
	name, value, attached := strings.Cut(t, "=")
	w := o.args[o.at]
	w.Text = value
	switch o.kind(name) {
	case ' ':
		if attached {
			break
		}
		o.note(name, Word{Kind: Literal})
		return true
	case '?':
		o.note(name, w)
		return true
	case '=':
		if attached {
			o.note(name, w)
			return true
		}
		if o.at+1 < len(o.args) {
			o.at++
			o.note(name, o.args[o.at])
			return true
		}
	}
	o.unknown = t
	return false
}

func (o *options) cluster(t string) bool {
	for i := 1; i < len(t); i++ {
		name := "-" + t[i:i+1]
		w := o.args[o.at]
		w.Text = t[i+1:]
		switch o.kind(name) {
		case ' ':
			o.note(name, Word{Kind: Literal})
			continue
		case '?':
			o.note(name, w)
			return true
		case '=':
			if w.Text != "" {
				o.note(name, w)
				return true
			}
			if o.at+1 < len(o.args) {
				o.at++
				o.note(name, o.args[o.at])
				return true
			}
		}
		o.unknown = t
		if i > 1 {
			o.unknown = name
		}
		return false
	}
	return true
}

func (o *options) has(name string) bool {
	for _, s := range o.seen {
		if s == name {
			return true
		}
	}
	return false
}

func (o *options) value(names ...string) (Word, bool) {
	for _, n := range names {
		if w, ok := o.values[n]; ok {
			return w, true
		}
	}
	return Word{}, false
}
