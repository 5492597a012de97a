package document

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"sandboxd/internal/spelling"
)

// Error is something in a document that keeps it from being used.
type Error struct {
	File string
	Line int // from 1; 0: the document as a whole
	Col  int // from 1, in bytes
	Err  error
}

func (e *Error) Error() string {
	at := e.File
	if e.Line > 0 {
		at = fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Col)
	}
	return fmt.Sprintf("profile document %s: %v", at, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Parse reads a document. The name of its file is for messages. A key that no
// document has, a value of the wrong type, an unknown word: an *[Error] with
// line and column.
func Parse(file string, text []byte) (*Document, error) {
	d := &Document{file: file, text: string(text)}
	md, err := toml.Decode(d.text, d)
	d.places = locate(d.text)
	if err != nil {
		return nil, d.syntax(err)
	}
	for _, key := range md.Keys() {
		if err := known(reflect.TypeFor[Document](), key); err != nil {
			return nil, d.fail(key.String(), "", err)
		}
	}
	// Errors that do not depend on the variables' values are found at once.
	if _, err := d.spec(Variables{Project: "/project", Home: "/home", Tmp: "/tmp"}); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *Document) syntax(err error) error {
	var p toml.ParseError
	if errors.As(err, &p) {
		return &Error{d.file, p.Position.Line, max(p.Position.Col, 1), errors.New(p.Message)}
	}
	// A value of the wrong type: the library has the line, and the key in the text.
	msg := strings.TrimPrefix(err.Error(), "toml: ")
	e := &Error{d.file, 0, 1, errors.New(msg)}
	if _, scanErr := fmt.Sscanf(msg, "line %d", &e.Line); scanErr == nil {
		if _, rest, ok := strings.Cut(msg, "): "); ok {
			e.Err = errors.New(rest)
		}
		if _, rest, ok := strings.Cut(msg, `last key "`); ok {
			key, _, _ := strings.Cut(rest, `"`)
			e.Err = fmt.Errorf("%s: %w", key, e.Err)
			if at := d.place(key); at.line > 0 {
				e.Line, e.Col = at.line, at.col
			}
		}
	}
	return e
}

// fail is err at the place of a key, or of an element of its list.
func (d *Document) fail(key, element string, err error) error {
	at := d.place(key)
	if element != "" {
		at = at.element(d.text, element)
	}
	return &Error{d.file, at.line, at.col, err}
}

// place returns the position of a key, or of the nearest table around it.
func (d *Document) place(key string) place {
	for key != "" {
		if at, ok := d.places[key]; ok {
			return at
		}
		i := max(strings.LastIndexByte(key, '.'), 0)
		key = key[:i]
	}
	return place{}
}

// origin returns the origin of a rule for an element of a list.
func (d *Document) origin(key, element string) string {
	if d.file == "" {
		return ""
	}
	if at := d.place(key).element(d.text, element); at.line > 0 {
		return fmt.Sprintf("%s:%d", d.file, at.line)
	}
	return d.file
}

// known checks a key against the fields of a struct.
func known(t reflect.Type, key toml.Key) error {
	for i, part := range key {
		if t.Kind() != reflect.Struct {
			return nil
		}
		names, types := fields(t)
		at := slices.Index(names, part)
		if at < 0 {
			return unknown(key[:i+1], names)
		}
		t = types[at]
	}
	return nil
}

func fields(t reflect.Type) (names []string, types []reflect.Type) {
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("toml"), ","); name != "" {
			names, types = append(names, name), append(types, t.Field(i).Type)
		}
	}
	return names, types
}

func unknown(key toml.Key, names []string) error {
	last := key[len(key)-1]
	if best := spelling.Nearest(last, names); best != "" {
		return fmt.Errorf("unknown key %q: did you mean %q?", key, append(slices.Clone(key[:len(key)-1]), best))
	}
	tables, types := fields(reflect.TypeFor[Document]())
	for i, table := range tables {
		if types[i].Kind() != reflect.Struct {
			continue
		}
		inner, _ := fields(types[i])
		if slices.Contains(inner, last) {
			return fmt.Errorf("unknown key %q: did you mean %q?", key, table+"."+last)
		}
	}
	return fmt.Errorf("unknown key %q: there are %q", key, names)
}
