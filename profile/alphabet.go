package profile

import (
	"encoding/binary"
	"maps"
	"slices"
	"unicode/utf8"

	"sandboxd/pattern"
)

// newAlphabet returns path elements such that every element that is no child of the present node
// behaves in both trees like one of them: every element that a name spells out, and one for each
// possible combination of matching patterns.
//
// The combinations are found by running all patterns side by side over runes, of which again only
// those count that some pattern distinguishes.
func newAlphabet(trees ...*tree) []string {
	spelled := map[string]bool{} // by names
	literals := map[string]bool{}
	globs := map[string]pattern.Machine{}
	for _, t := range trees {
		t.root.literals(literals)
		for _, n := range t.names {
			for _, p := range n.patterns {
				if literal, ok := p.Literal(); ok {
					spelled[literal], literals[literal] = true, true
				} else {
					globs[p.String()] = p.Machine()
				}
			}
		}
	}
	var machines []pattern.Machine
	for _, text := range slices.Sorted(maps.Keys(globs)) {
		machines = append(machines, globs[text])
	}
	found := others(literals, machines)
	// Some combinations only literals have; then all of those count.
	for text := range literals {
		if _, ok := found[combination(machines, text)]; !ok {
			spelled[text] = true
		}
	}
	return sortedSet(slices.AppendSeq(slices.Collect(maps.Keys(spelled)), maps.Values(found)))
}

// combination returns for each glob whether it matches text, one byte each.
func combination(globs []pattern.Machine, text string) string {
	out := make([]byte, len(globs))
	for i, g := range globs {
		at := g.Start()
		for _, r := range text {
			at = g.Step(at, r)
		}
		out[i] = byte(bit(g.Accepts(at)))
	}
	return string(out)
}

func (n *node) literals(into map[string]bool) {
	for element, child := range n.children {
		into[element] = true
		child.literals(into)
	}
}

// others returns, for each combination of globs that some element has which is
// no literal, one such element.
func others(literals map[string]bool, globs []pattern.Machine) map[string]string {
	found, only := explore(literals, nil, globs, distinctRunes(nil, globs))
	if !only {
		return found
	}
	// Some combination was met as a literal only: search again, with the matched length of each
	// literal as part of the state.
	found, _ = explore(literals, prefixesOf(literals), globs, distinctRunes(literals, globs))
	return found
}

// progress is how far each glob has come on a text.
type progress struct {
	text string
	at   []uint64 // positions reached in each glob, one bit each
}

// explore runs the globs side by side over every text, keeping one text for
// each set of positions; texts that are prefixes count as different.
func explore(literals, prefixes map[string]bool, globs []pattern.Machine, runes []rune) (found map[string]string,
	onlyLiteral bool) {
	key := func(p progress) string {
		k := make([]byte, 0, 8*len(p.at)+1+len(p.text))
		for _, bits := range p.at {
			k = binary.LittleEndian.AppendUint64(k, bits)
		}
		if prefixes[p.text] {
			k = append(append(k, 1), p.text...)
		}
		return string(k)
	}
	start := progress{at: make([]uint64, len(globs))}
	for i, g := range globs {
		start.at[i] = g.Start()
	}
	found = map[string]string{}
	taken := map[string]bool{} // combinations of texts that do not count
	// The start has a key of its own: to come back to it is to have a text.
	seen := map[string]bool{}
	for queue := []progress{start}; len(queue) > 0; queue = queue[1:] {
		p := queue[0]
		if p.text != "" {
			matches := make([]byte, len(globs))
			for i, g := range globs {
				matches[i] = byte(bit(g.Accepts(p.at[i])))
			}
			if p.text == "." || p.text == ".." || literals[p.text] {
				taken[string(matches)] = true
			} else if _, ok := found[string(matches)]; !ok {
				found[string(matches)] = p.text
			}
		}
		for _, r := range runes {
			next := progress{text: p.text + string(r), at: make([]uint64, len(globs))}
			for i, g := range globs {
				next.at[i] = g.Step(p.at[i], r)
			}
			if k := key(next); !seen[k] {
				seen[k] = true
				queue = append(queue, next)
			}
		}
	}
	for combination := range taken {
		_, ok := found[combination]
		onlyLiteral = onlyLiteral || !ok
	}
	return found, onlyLiteral
}

func prefixesOf(literals map[string]bool) map[string]bool {
	// "." and ".." count, so that a name that merely begins like them is not lost.
	out := map[string]bool{".": true, "..": true}
	for text := range literals {
		for i := 1; i <= len(text); i++ {
			out[text[:i]] = true
		}
	}
	return out
}

// distinctRunes returns one rune of each class that globs and literals cannot distinguish.
func distinctRunes(literals map[string]bool, globs []pattern.Machine) []rune {
	edges := map[rune]bool{1: true, '/': true, '/' + 1: true, 0xd800: true, 0xe000: true}
	edge := func(lo, hi rune) {
		edges[lo] = true
		edges[hi+1] = true
	}
	for text := range literals {
		for _, r := range text {
			edge(r, r)
		}
	}
	for _, g := range globs {
		for _, tok := range g {
			for _, rg := range tok.Ranges {
				edge(rg.Lo, rg.Hi)
			}
		}
	}
	var out []rune
	for _, r := range slices.Sorted(maps.Keys(edges)) {
		if r > 0 && r != '/' && utf8.ValidRune(r) {
			out = append(out, r)
		}
	}
	return out
}
