package seatbelt

import (
	"fmt"
	"slices"
	"strings"

	"sandboxd/profile"
)

// writer collects the text and its parameters. Only it writes SBPL, and it writes no string that it did not get from
// this package's own constants: everything else becomes a parameter.
type writer struct {
	text   strings.Builder
	params []string
	keys   map[string]string // by value
	gaps   []profile.Gap
}

func (w *writer) raw(text string) { w.text.WriteString(text) }

func (w *writer) comment(text string) { w.raw("\n; " + text + "\n") }

// param gives the expression of a value, as a parameter.
func (w *writer) param(value string) string {
	key, ok := w.keys[value]
	if !ok {
		key = fmt.Sprintf("P%d", len(w.params))
		w.params = append(w.params, key+"="+value)
		if w.keys == nil {
			w.keys = map[string]string{}
		}
		w.keys[value] = key
	}
	return fmt.Sprintf("(param %q)", key)
}

// match is a filter of a path: literal, subpath or regex, and the path or expression.
type match struct{ form, value string }

func subpath(p string) match { return match{"subpath", p} }
func literal(p string) match { return match{"literal", p} }
func regex(r string) match   { return match{"regex", r} }

// rule writes one rule; without matches nothing, since such a rule would speak of everything.
func (w *writer) rule(action string, operations []string, matches []match) {
	if len(operations) == 0 || len(matches) == 0 {
		return
	}
	w.raw("(" + action + " " + strings.Join(operations, " "))
	for _, m := range compact(matches) {
		w.raw("\n  (" + m.form + " " + w.param(m.value) + ")")
	}
	w.raw(")\n")
}

// compact drops duplicates and preserves the order.
func compact(list []match) []match {
	var out []match
	for _, m := range list {
		if !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}

func (w *writer) gap(protection, object, why, remedy string) {
	w.gaps = append(w.gaps, profile.Gap{Mechanism: "seatbelt", Protection: protection, Object: object, Why: why,
		Remedy: remedy})
}
