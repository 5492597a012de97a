package approval

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"
)

// Print is the fingerprint of a payload: two payloads are deeply equal if and
// only if their prints are (R-AP-05).
type Print [sha256.Size]byte

// String is the print in hexadecimal.
func (p Print) String() string { return hex.EncodeToString(p[:]) }

// maxDepth bounds nesting, so that a hostile payload costs no stack.
const maxDepth = 64

// Fingerprint digests a payload. Values are nil, booleans, strings, Go
// numbers, json.Number, maps with string keys, and slices and arrays of
// these. The order of keys does not matter, nor do Go types of equal numbers
// (1, 1.0 and json.Number("1e0") are one number); strings are compared byte
// for byte, so Unicode normal forms stay distinct; a nil map or slice equals
// an empty one. Anything else (a struct, a function, NaN) is an error: such a
// payload can be asked about but never remembered.
func Fingerprint(payload map[string]any) (Print, error) {
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	e.buf = e.buf[:0]
	if err := e.object(payload, 0); err != nil {
		return Print{}, fmt.Errorf("fingerprint payload: %w", err)
	}
	return sha256.Sum256(e.buf), nil
}

// EqualPayload reports whether two payloads are deeply equal in the sense of
// Fingerprint. A payload that has no fingerprint equals nothing.
func EqualPayload(a, b map[string]any) bool {
	pa, errA := Fingerprint(a)
	pb, errB := Fingerprint(b)
	return errA == nil && errB == nil && pa == pb
}

// equalValue is EqualPayload for single values.
func equalValue(a, b any) bool {
	return EqualPayload(map[string]any{"": a}, map[string]any{"": b})
}

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// encoder writes an injective encoding: every value starts with a tag, and
// everything of variable length with its length.
type encoder struct {
	buf  []byte
	keys []string // a stack of sorted key lists, one per open object
}

func (e *encoder) text(tag byte, s string) {
	e.buf = append(e.buf, tag)
	e.buf = binary.AppendUvarint(e.buf, uint64(len(s)))
	e.buf = append(e.buf, s...)
}

func (e *encoder) open(tag byte, n, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	e.buf = append(e.buf, tag)
	e.buf = binary.AppendUvarint(e.buf, uint64(n))
	return nil
}

func (e *encoder) object(m map[string]any, depth int) error {
	if err := e.open('m', len(m), depth); err != nil {
		return err
	}
	base := len(e.keys)
	for k := range m {
		e.keys = append(e.keys, k)
	}
	end := len(e.keys)
	slices.Sort(e.keys[base:end])
	defer func() { clear(e.keys[base:]); e.keys = e.keys[:base] }()
	for i := base; i < end; i++ {
		k := e.keys[i]
		e.text('k', k)
		if err := e.value(m[k], depth+1); err != nil {
			return fmt.Errorf("key %q: %w", k, err)
		}
	}
	return nil
}

func (e *encoder) value(v any, depth int) error {
	switch v := v.(type) {
	case nil:
		e.buf = append(e.buf, 'z')
		return nil
	case bool:
		if v {
			e.buf = append(e.buf, 't')
		} else {
			e.buf = append(e.buf, 'f')
		}
		return nil
	case string:
		e.text('s', v)
		return nil
	case json.Number:
		return e.number(string(v))
	case map[string]any:
		return e.object(v, depth)
	case []any:
		if err := e.open('l', len(v), depth); err != nil {
			return err
		}
		for _, x := range v {
			if err := e.value(x, depth+1); err != nil {
				return err
			}
		}
		return nil
	case []string:
		if err := e.open('l', len(v), depth); err != nil {
			return err
		}
		for _, x := range v {
			e.text('s', x)
		}
		return nil
	}
	return e.reflected(reflect.ValueOf(v), depth)
}

// reflected handles named types, typed maps and slices, and Go's numbers.
func (e *encoder) reflected(v reflect.Value, depth int) error {
	switch v.Kind() {
	case reflect.Bool:
		return e.value(v.Bool(), depth)
	case reflect.String:
		e.text('s', v.String())
		return nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return e.integer(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return e.unsigned(v.Uint())
	case reflect.Float32:
		return e.float(v.Float(), 32)
	case reflect.Float64:
		return e.float(v.Float(), 64)
	case reflect.Slice, reflect.Array:
		if err := e.open('l', v.Len(), depth); err != nil {
			return err
		}
		for i := range v.Len() {
			if err := e.value(v.Index(i).Interface(), depth+1); err != nil {
				return err
			}
		}
		return nil
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String {
			break
		}
		m := make(map[string]any, v.Len())
		for it := v.MapRange(); it.Next(); {
			m[it.Key().String()] = it.Value().Interface()
		}
		return e.object(m, depth)
	}
	return fmt.Errorf("a %s cannot be compared", v.Type())
}
