package ipc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds the nesting of a body.
const maxDepth = 64

// scanObject accepts bytes with one meaning only, for us and for any other reader: one JSON object,
// valid UTF-8 (RFC 8259 §8.1), without a key twice (§4) and without half a surrogate pair (§8.2),
// both of which encoding/json accepts silently, as it does a key that is a field's name in other
// letters ("Command"). t is the type of the decoded object, nil for anything. It returns the
// members of the outermost object.
func scanObject(body []byte, t reflect.Type) ([]member, error) {
	if !utf8.Valid(body) {
		return nil, errors.New("the body is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	first, err := d.Token()
	if err != nil {
		return nil, fmt.Errorf("the body is not JSON: %w", orUnexpected(err))
	}
	if first != json.Delim('{') {
		return nil, errors.New("the body is not a JSON object")
	}
	members, err := scanMembers(d, 1, t)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the JSON object")
	}
	return members, checkSurrogates(body)
}

// OneMeaning returns why a body is not one JSON object that everybody reads alike, as every request
// is on the sockets; v is the decoded value.
func OneMeaning(body []byte, v any) error {
	_, err := scanObject(body, reflect.TypeOf(v))
	return err
}

// member is a key of an object, and whether its value is null.
type member struct {
	key  string
	null bool
}

// scanMembers reads an object's members up to and including its "}".
func scanMembers(d *json.Decoder, depth int, t reflect.Type) ([]member, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the body is nested deeper than %d", maxDepth)
	}
	var members []member
	fields := fieldTypes(t)
	seen := map[string]bool{}
	for {
		t, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("the body is not JSON: %w", orUnexpected(err))
		}
		if t == json.Delim('}') {
			return members, nil
		}
		key := t.(string) // the decoder has checked that
		if seen[key] {
			return nil, fmt.Errorf("the key %q is there twice", key)
		}
		seen[key] = true
		of, known := fields[key]
		for name := range fields {
			if !known && strings.EqualFold(name, key) {
				return nil, fmt.Errorf("the key %q is spelled %q", key, name)
			}
		}
		null, err := scanValue(d, depth, of)
		if err != nil {
			return nil, err
		}
		members = append(members, member{key, null})
	}
}

// scanValue reads one value and reports whether it is null.
func scanValue(d *json.Decoder, depth int, of reflect.Type) (null bool, err error) {
	t, err := d.Token()
	if err != nil {
		return false, fmt.Errorf("the body is not JSON: %w", orUnexpected(err))
	}
	switch t {
	case nil:
		return true, nil
	case json.Delim('{'):
		_, err := scanMembers(d, depth+1, of)
		return false, err
	case json.Delim('['):
		if depth >= maxDepth {
			return false, fmt.Errorf("the body is nested deeper than %d", maxDepth)
		}
		if of != nil && of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		for d.More() {
			if _, err := scanValue(d, depth+1, of); err != nil {
				return false, err
			}
		}
		if _, err := d.Token(); err != nil {
			return false, fmt.Errorf("the body is not JSON: %w", orUnexpected(err))
		}
	}
	return false, nil
}

var fieldCache sync.Map // reflect.Type → map[string]reflect.Type

// fieldTypes maps the JSON names of a struct's fields to their types; nil for other types.
func fieldTypes(t reflect.Type) map[string]reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	if known, ok := fieldCache.Load(t); ok {
		return known.(map[string]reflect.Type)
	}
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" && name != "" {
			fields[name] = f.Type
		}
	}
	fieldCache.Store(t, fields)
	return fields
}

func orUnexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// checkSurrogates finds a \uD800–\uDFFF escape without its other half. The body is valid JSON, so a
// backslash can only occur inside a string.
func checkSurrogates(body []byte) error {
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		i++
		if body[i] != 'u' {
			continue
		}
		r := hex4(body[i+1:])
		i += 4
		if !utf16.IsSurrogate(r) {
			continue
		}
		if i+6 < len(body) && body[i+1] == '\\' && body[i+2] == 'u' &&
			utf16.DecodeRune(r, hex4(body[i+3:])) != utf8.RuneError {
			i += 6
			continue
		}
		return fmt.Errorf("\\u%04x is half a character", r)
	}
	return nil
}

// hex4 reads four hexadecimal digits, which the JSON decoder has checked.
func hex4(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		switch {
		case c <= '9':
			c -= '0'
		default:
			c = c&^0x20 - 'A' + 10
		}
		r = r<<4 | rune(c)
	}
	return r
}
