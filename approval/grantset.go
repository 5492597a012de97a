package approval

import (
	"encoding/hex"
	"slices"
	"time"
)

// grantKey finds exact grants without looking at any other.
type grantKey struct {
	tool  string
	print Print
}

// bucket finds the patterns that want a list at key to begin with a word without looking at
// those that want another; key "" has the patterns that want no such thing.
type bucket struct{ tool, key, word string }

// bucket is where a pattern belongs: by its first prefix, which must hold like all others.
func (p Pattern) bucket() bucket {
	for _, c := range p.Where {
		if c.Op == OpPrefix && len(c.Words) > 0 {
			return bucket{p.Tool, c.Key, c.Words[0]}
		}
	}
	return bucket{tool: p.Tool}
}

// firstWord is the word with which a list, or the first of several lists, begins; it
// is that of every prefix that v has.
func firstWord(v any) (string, bool) {
	switch v := v.(type) {
	case []string:
		if len(v) > 0 {
			return v[0], true
		}
	case [][]string:
		if len(v) > 0 {
			return firstWord(v[0])
		}
	case []any:
		if len(v) > 0 {
			if s, ok := v[0].(string); ok {
				return s, true
			}
			return firstWord(v[0])
		}
	}
	return "", false
}

// grantSet holds the grants of one session, or the persistent ones of one
// principal. The controller's lock guards it.
type grantSet struct {
	exact    map[grantKey][]*Grant
	patterns map[bucket][]*Grant
	keys     map[string][]string // of the buckets of a tool
}

func (p Pattern) print() (fp Print, ok bool) {
	n, err := hex.Decode(fp[:], []byte(p.Exact))
	return fp, err == nil && n == len(fp)
}

// add keeps g in the place of a grant of the same scope, effect and pattern.
func (s *grantSet) add(g *Grant) {
	same := func(o *Grant) bool {
		return o.Scope == g.Scope && o.Effect == g.Effect && o.Agent == g.Agent && o.Project == g.Project &&
			o.Turn == g.Turn && o.Match.equal(g.Match)
	}
	put := func(list []*Grant) []*Grant {
		if i := slices.IndexFunc(list, same); i >= 0 {
			list[i] = g
			return list
		}
		return append(list, g)
	}
	if fp, ok := g.Match.print(); ok {
		if s.exact == nil {
			s.exact = map[grantKey][]*Grant{}
		}
		k := grantKey{g.Match.Tool, fp}
		s.exact[k] = put(s.exact[k])
		return
	}
	if s.patterns == nil {
		s.patterns, s.keys = map[bucket][]*Grant{}, map[string][]string{}
	}
	b := g.Match.bucket()
	if keys := s.keys[b.tool]; b.key != "" && !slices.Contains(keys, b.key) {
		s.keys[b.tool] = append(keys, b.key)
	}
	s.patterns[b] = put(s.patterns[b])
}

// drop forgets every grant that gone holds for, and returns them.
func (s *grantSet) drop(match func(*Grant) bool) (dropped []*Grant) {
	cut := func(list []*Grant) []*Grant {
		return slices.DeleteFunc(list, func(g *Grant) bool {
			if match(g) {
				dropped = append(dropped, g)
				return true
			}
			return false
		})
	}
	for k, list := range s.exact {
		if list = cut(list); len(list) == 0 {
			delete(s.exact, k)
		} else {
			s.exact[k] = list
		}
	}
	for k, list := range s.patterns {
		if list = cut(list); len(list) == 0 {
			delete(s.patterns, k)
		} else {
			s.patterns[k] = list
		}
	}
	return dropped
}

// all lists the grants in no particular order.
func (s *grantSet) all() (out []*Grant) {
	for _, list := range s.exact {
		out = append(out, list...)
	}
	for _, list := range s.patterns {
		out = append(out, list...)
	}
	return out
}

// lookup is one search for the grant that decides a call.
type lookup struct {
	call  *Call
	print Print
	known bool // print is valid
	turn  int
	now   time.Time
	best  *Grant
}

// in goes through one set. The narrowest scope wins, and within it a deny.
func (l *lookup) in(s *grantSet) {
	if l.known && s.exact != nil {
		for _, g := range s.exact[grantKey{l.call.Tool, l.print}] {
			l.weigh(g)
		}
	}
	payload := l.call.payload()
	for _, key := range s.keys[l.call.Tool] {
		if word, ok := firstWord(payload[key]); ok {
			l.among(s.patterns[bucket{l.call.Tool, key, word}], payload)
		}
	}
	l.among(s.patterns[bucket{tool: l.call.Tool}], payload)
}

// among goes through patterns.
func (l *lookup) among(list []*Grant, payload map[string]any) {
	for _, g := range list {
		if l.better(g) && g.Match.Matches(l.call.Tool, payload) {
			l.weigh(g)
		}
	}
}

func (l *lookup) weigh(g *Grant) {
	if l.better(g) && g.covers(l.call, l.turn, l.now) {
		l.best = g
	}
}

func (l *lookup) better(g *Grant) bool {
	if l.best == nil {
		return true
	}
	if r, b := g.Scope.rank(), l.best.Scope.rank(); r != b {
		return r < b
	}
	return g.Effect == Deny && l.best.Effect != Deny
}
