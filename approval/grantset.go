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

// grantSet holds the grants of one session, or the persistent ones of one
// principal. The controller's lock guards it.
type grantSet struct {
	exact    map[grantKey][]*Grant
	patterns map[string][]*Grant // by tool
}

func (p Pattern) print() (fp Print, ok bool) {
	n, err := hex.Decode(fp[:], []byte(p.Exact))
	return fp, err == nil && n == len(fp)
}

// add keeps g. A grant of the same scope, effect and pattern is renewed, not
// doubled; the one it replaces is returned.
func (s *grantSet) add(g *Grant) (replaced *Grant) {
	same := func(o *Grant) bool {
		return o.Scope == g.Scope && o.Effect == g.Effect && o.Agent == g.Agent &&
			o.Turn == g.Turn && o.Match.equal(g.Match)
	}
	put := func(list []*Grant) []*Grant {
		if i := slices.IndexFunc(list, same); i >= 0 {
			replaced, list[i] = list[i], g
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
		return replaced
	}
	if s.patterns == nil {
		s.patterns = map[string][]*Grant{}
	}
	s.patterns[g.Match.Tool] = put(s.patterns[g.Match.Tool])
	return replaced
}

// drop forgets every grant that gone holds for, and returns them.
func (s *grantSet) drop(gone func(*Grant) bool) (dropped []*Grant) {
	cut := func(list []*Grant) []*Grant {
		return slices.DeleteFunc(list, func(g *Grant) bool {
			if gone(g) {
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
	for _, g := range s.patterns[l.call.Tool] {
		if l.better(g) && g.Match.Matches(l.call.Tool, l.call.payload()) {
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
