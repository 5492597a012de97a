package config

import (
	"encoding"
	"reflect"
	"sort"
	"strings"

	"github.com/BurntSushi/toml"
)

// merge is the rule for combining a key of a lower layer with the layers above.
type merge uint8

const (
	replace  merge = iota // the lower layer's value applies
	narrow                // the same, but not wider than the operator's
	grant                 // a list or table that permits: not more than the operator's
	restrict              // a list that forbids: the entries of all layers
	rules                 // an ordered list: operator's, user's, built-in ones
)

var mergeNames = [...]string{"replace", "narrow", "grant", "restrict", "rules"}

func (m merge) String() string { return mergeNames[m] }

// key is one setting of the configuration.
type key struct {
	name  string // "files.paths.*.root"; "*" is a name that the file chooses
	merge merge
	// within reports whether a value is not wider than a bound, both as decoded from TOML. For a
	// narrow key it compares the values; for a grant key one entry and the bound's list.
	within func(value, bound any) bool
	// words are the permitted values of a text, from the widest to the narrowest. They replace
	// within.
	words []string
	// project is true if a project's file may have the key, with a narrower value.
	project bool
	// restart is true if a running daemon keeps the value that it started with.
	restart bool
	doc     string
}

// node is a table of the configuration's shape, or a leaf.
type node struct {
	leaf     bool
	typ      reflect.Type
	children map[string]*node // by name; "*" for a table with free names
	list     *node            // shape of one element of a list of tables
}

var (
	tomlUnmarshaler = reflect.TypeFor[toml.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// shape is the structure of the configuration, derived from the tags of the structs.
var shape = shapeOf(reflect.TypeFor[Config]())

func shapeOf(t reflect.Type) *node {
	if p := reflect.PointerTo(t); p.Implements(tomlUnmarshaler) || p.Implements(textUnmarshaler) {
		return &node{leaf: true, typ: t}
	}
	switch t.Kind() {
	case reflect.Struct:
		n := &node{typ: t, children: map[string]*node{}}
		n.addFields(t)
		return n
	case reflect.Map:
		if e := shapeOf(t.Elem()); !e.leaf {
			return &node{typ: t, children: map[string]*node{"*": e}}
		}
	case reflect.Slice:
		if e := shapeOf(t.Elem()); !e.leaf {
			return &node{leaf: true, typ: t, list: e}
		}
	case reflect.Pointer:
		return shapeOf(t.Elem())
	}
	return &node{leaf: true, typ: t}
}

func (n *node) addFields(t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		switch {
		case tag == "-" || !f.IsExported() || neverKeys[tag]:
		case f.Anonymous && tag == "":
			n.addFields(f.Type)
		case tag == "":
			n.children[f.Name] = shapeOf(f.Type)
		default:
			n.children[tag] = shapeOf(f.Type)
		}
	}
}

// child returns the shape below n for a name in a file. It compares exactly; the decoder would
// ignore case.
func (n *node) child(name string) (*node, bool) {
	if c, ok := n.children[name]; ok && name != "*" {
		return c, true
	}
	c, ok := n.children["*"]
	return c, ok
}

// names returns the keys of n, sorted.
func (n *node) names() []string {
	var out []string
	for name := range n.children {
		if name != "*" {
			out = append(out, name)
		}
	}
	sort.Strings(out)
	return out
}

// keyByName finds a key by its path in a file. In a table with free names, the last part but
// one is any name.
func keyByName(path []string) (key, bool) {
	k, ok := keyIndex[pattern(path)]
	return k, ok
}

// pattern returns the path with free names replaced by "*".
func pattern(path []string) string {
	n := shape
	parts := make([]string, len(path))
	for i, p := range path {
		parts[i] = p
		if n == nil {
			continue
		}
		if _, exact := n.children[p]; !exact || p == "*" {
			if _, free := n.children["*"]; free {
				parts[i] = "*"
			}
		}
		n, _ = n.child(p)
	}
	return strings.Join(parts, ".")
}

var keyIndex = func() map[string]key {
	m := make(map[string]key, len(keys))
	for _, k := range keys {
		m[k.name] = k
	}
	return m
}()
