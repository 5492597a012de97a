package ipc

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth bounds the nesting of a body.
const maxDepth = 64

// scanObject accepts bytes with one meaning only, for us and for any other reader: one JSON object,
// valid UTF-8 (RFC 8259 §8.1), without a key twice (§4) and without half a surrogate pair (§8.2), all of
// which jsontext refuses, and without a key that is a field's name in other letters ("Command"), which
// encoding/json accepts. t is the type of the decoded object, nil for anything. It returns the members
// of the outermost object.
func scanObject(body []byte, t reflect.Type) ([]member, error) {
	if !utf8.Valid(body) {
		return nil, errors.New("the body is not UTF-8")
	}
	d := jsontext.NewDecoder(bytes.NewReader(body))
	if k := d.PeekKind(); k != '{' && k != 0 {
		return nil, errors.New("the body is not a JSON object")
	}
	members, err := scanValue(d, t)
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return nil, errors.New("something follows the JSON object")
	}
	return members, nil
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

// scanValue reads one value, and returns the members of an object.
func scanValue(d *jsontext.Decoder, of reflect.Type) (members []member, err error) {
	first, err := d.ReadToken()
	if err != nil {
		return nil, scanError(err)
	}
	end := jsontext.Kind('}')
	switch first.Kind() {
	case '"':
		if of == reflect.TypeFor[[]byte]() {
			if _, err := base64.StdEncoding.DecodeString(first.String()); err != nil {
				return nil, fmt.Errorf("field %q: want base64", d.StackPointer().LastToken())
			}
		}
		return nil, nil
	case '[':
		end = ']'
	case '{':
	default:
		return nil, nil
	}
	if d.StackDepth() > maxDepth {
		return nil, fmt.Errorf("the body is nested deeper than %d", maxDepth)
	}
	if end == ']' && of != nil && of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	fields := fieldTypes(of)
	for d.PeekKind() != end {
		inner := of
		if end == '}' {
			name, err := d.ReadToken()
			if err != nil {
				return nil, scanError(err)
			}
			key := name.String()
			if inner, err = fieldType(fields, key); err != nil {
				return nil, err
			}
			members = append(members, member{key, d.PeekKind() == 'n'})
		}
		if _, err := scanValue(d, inner); err != nil {
			return nil, err
		}
	}
	_, err = d.ReadToken()
	return members, scanError(err)
}

// fieldType returns the type of the field that key names, nil if there is none.
func fieldType(fields map[string]reflect.Type, key string) (reflect.Type, error) {
	of, known := fields[key]
	for name := range fields {
		if !known && strings.EqualFold(name, key) {
			return nil, fmt.Errorf("the key %q is spelled %q", key, name)
		}
	}
	return of, nil
}

func scanError(err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		return fmt.Errorf("the key %q is there twice", syntax.JSONPointer.LastToken())
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	return errors.New("the body is not JSON: " + strings.TrimPrefix(err.Error(), "jsontext: "))
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
