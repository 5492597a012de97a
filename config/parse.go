package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"time"

	"github.com/BurntSushi/toml"

	"sandboxd/internal/spelling"
)

// setting is one key of one file, with its value as decoded from TOML.
type setting struct {
	path   []string
	name   string // join of path
	key    key
	value  any
	origin Origin
	items  []Origin // origins of a list's elements
}

// parsed is one file.
type parsed struct {
	settings []setting // in the order of the file
	unknown  []problem // unknown keys
	invalid  []problem // invalid values
	denied   []problem // attempts to disable approvals
}

type problem struct {
	origin Origin
	path   []string
	err    error
}

func (p problem) error() error     { return &Error{Origin: p.origin, Err: p.err} }
func (p problem) warning() Warning { return Warning{Origin: p.origin, Text: p.err.Error()} }

// parse parses the text of a file. It returns an error if the text is not TOML. All other
// problems are in the result.
func parse(file, text string) (*parsed, error) {
	places, deep := locate(text)
	if deep != nil {
		return nil, &Error{
			Origin: Origin{File: file, Line: deep.line, Column: deep.column},
			Err:    fmt.Errorf("nested more than %d levels deep", maxDepth),
		}
	}
	tree := map[string]any{}
	if _, err := toml.Decode(text, &tree); err != nil {
		return nil, syntaxError(file, err)
	}
	p := parser{file: file, places: places, doc: &parsed{}}
	p.table(shape, tree, nil, "")
	sort.SliceStable(p.doc.settings, func(i, j int) bool {
		a, b := p.doc.settings[i].origin, p.doc.settings[j].origin
		return a.Line < b.Line || a.Line == b.Line && a.Column < b.Column
	})
	return p.doc, nil
}

func syntaxError(file string, err error) error {
	var pe toml.ParseError
	if !errors.As(err, &pe) {
		return &Error{Origin: Origin{File: file}, Err: err}
	}
	return &Error{
		Origin: Origin{File: file, Line: pe.Position.Line, Column: max(pe.Position.Col, 1)},
		Err:    fmt.Errorf("not TOML: %s", pe.Message),
	}
}

type parser struct {
	file   string
	places map[string]place
	doc    *parsed
}

func (p *parser) origin(name string) Origin {
	at := p.places[name]
	return Origin{File: p.file, Line: at.line, Column: at.column}
}

func (p *parser) table(n *node, table map[string]any, path []string, prefix string) {
	for _, name := range sortedKeys(table) {
		value := table[name]
		childPath := append(path[:len(path):len(path)], name)
		full := join(prefix, name)
		child, ok := n.child(name)
		switch {
		case switchesOff(childPath, value):
			p.doc.denied = append(p.doc.denied, problem{p.origin(full), childPath, errApproveAll})
		case !ok:
			p.doc.unknown = append(p.doc.unknown, problem{p.origin(full), childPath, unknownKey(n, childPath, value)})
		case child.leaf:
			p.setting(child, value, childPath, full)
		default:
			sub, ok := value.(map[string]any)
			if !ok {
				p.invalid(full, childPath, fmt.Errorf("%s is a table, got %s", full, typeName(value)))
				continue
			}
			p.table(child, sub, childPath, full)
		}
	}
}

func (p *parser) invalid(name string, path []string, err error) {
	p.doc.invalid = append(p.doc.invalid, problem{p.origin(name), path, err})
}

// setting adds one leaf. It checks the type against the struct's, and the value with the
// section's own Validate.
func (p *parser) setting(n *node, value any, path []string, name string) {
	k, ok := keyByName(path)
	if !ok {
		panic("config: " + name + " is in the structs and not in keys")
	}
	s := setting{path: path, name: name, key: k, value: value, origin: p.origin(name)}
	items := asList(value)
	for i := range items {
		s.items = append(s.items, p.origin(element(name, i)))
	}
	before := len(p.doc.unknown) + len(p.doc.invalid) + len(p.doc.denied)
	if n.list != nil {
		for i, item := range items {
			if sub, ok := item.(map[string]any); ok {
				p.known(n.list, sub, path, element(name, i))
			}
		}
	}
	if len(p.doc.unknown)+len(p.doc.invalid)+len(p.doc.denied) > before {
		return
	}
	if err := checkLeaf(n, k, path, value); err != nil {
		at := name
		for i, item := range items { // find the element with the error
			if e := checkLeaf(n, k, path, []any{item}); e != nil {
				at, err = element(name, i), e
				break
			}
		}
		p.invalid(at, path, fmt.Errorf("%s: %w", at, err))
		return
	}
	p.doc.settings = append(p.doc.settings, s)
}

// known reports the unknown keys of one element of a list of tables.
func (p *parser) known(n *node, table map[string]any, path []string, prefix string) {
	for _, name := range sortedKeys(table) {
		child, ok := n.child(name)
		full := join(prefix, name)
		if !ok {
			at := append(path[:len(path):len(path)], name)
			p.doc.unknown = append(p.doc.unknown, problem{p.origin(full), path, unknownKey(n, at, table[name])})
			continue
		}
		if sub, isTable := table[name].(map[string]any); isTable && !child.leaf {
			p.known(child, sub, append(path[:len(path):len(path)], name), full)
		}
	}
}

// checkLeaf decodes one value, alone, into the built-in defaults and validates the result.
func checkLeaf(n *node, k key, path []string, value any) error {
	if err := checkKind(n.typ, value); err != nil {
		return err
	}
	if s, isText := value.(string); isText && len(k.words) > 0 && wordIndex(k.words, value) < 0 {
		if near := spelling.Nearest(s, k.words); near != "" {
			return fmt.Errorf("%q is none of %s; did you mean %q?", s, wordList(k.words), near)
		}
		return fmt.Errorf("%q is none of %s", s, wordList(k.words))
	}
	tree := nest(path, tables(value))
	if isSandbox(path) { // a sandbox needs a root
		tree = nest(path[:3], map[string]any{"root": ".", path[3]: value})
	}
	cfg := defaults()
	if err := decode(tree, &cfg); err != nil {
		return err
	}
	return cfg.validate()
}

func wordList(words []string) string {
	var b bytes.Buffer
	for i, w := range words {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", w)
	}
	return b.String()
}

func nest(path []string, value any) map[string]any {
	for i := len(path) - 1; i > 0; i-- {
		value = map[string]any{path[i]: value}
	}
	return map[string]any{path[0]: value}
}

var decodePrefix = regexp.MustCompile(`^toml: (line \d+ ?)?(\(last key "[^:]*"\))?:? ?`)

// decode fills cfg from a tree. It encodes the tree to text first, so that cfg gets the same
// values as from a file.
func decode(tree map[string]any, cfg *Config) error {
	var buf bytes.Buffer
	enc := toml.NewEncoder(&buf)
	if err := enc.Encode(tree); err != nil {
		return err
	}
	if _, err := toml.Decode(buf.String(), cfg); err != nil {
		var pe toml.ParseError
		if errors.As(err, &pe) {
			return errors.New(pe.Message)
		}
		return errors.New(decodePrefix.ReplaceAllString(err.Error(), ""))
	}
	return nil
}

// checkKind returns an error for a value of the wrong type, in words instead of Go types.
func checkKind(t reflect.Type, value any) error {
	if p := reflect.PointerTo(t); p.Implements(tomlUnmarshaler) || p.Implements(textUnmarshaler) {
		return nil // the type has its own error text
	}
	want, ok := "", false
	switch t.Kind() {
	case reflect.Pointer:
		return checkKind(t.Elem(), value)
	case reflect.Bool:
		_, ok = value.(bool)
		want = "true or false"
	case reflect.String:
		_, ok = value.(string)
		want = "a string in quotes"
	case reflect.Int, reflect.Int64, reflect.Uint16:
		_, ok = value.(int64)
		want = "a number"
		if _, isText := value.(string); isText && t == reflect.TypeFor[time.Duration]() {
			return nil
		}
	case reflect.Slice:
		return checkList(t, value)
	case reflect.Map:
		table, isTable := value.(map[string]any)
		for _, name := range sortedKeys(table) {
			if err := checkKind(t.Elem(), table[name]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		want, ok = "a table", isTable
	case reflect.Struct:
		_, ok = value.(map[string]any)
		want = "a table"
	}
	if !ok {
		return fmt.Errorf("want %s, got %s", want, typeName(value))
	}
	return nil
}

func checkList(t reflect.Type, value any) error {
	switch value.(type) {
	case []any, []map[string]any:
	default:
		return fmt.Errorf("want a list, got %s", typeName(value))
	}
	for _, item := range asList(value) {
		if err := checkKind(t.Elem(), item); err != nil {
			return err
		}
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
