package ipc

import (
	"encoding/json"
	"slices"
	"sync/atomic"
)

// said is an enforcement and its JSON. On a host one and the same is said twice of
// nearly every command, and is most of its events.
type said struct {
	enforcement Enforcement
	text        string
}

var lastSaid atomic.Pointer[said]

// bareEnforcement is Enforcement without methods.
type bareEnforcement Enforcement

// MarshalJSON implements json.Marshaler.
func (e Enforcement) MarshalJSON() ([]byte, error) {
	if last := lastSaid.Load(); last != nil && last.enforcement.equal(e) {
		return []byte(last.text), nil
	}
	b := encode(bareEnforcement(e))
	e.keep(b[:len(b)-1]) // without the line's end
	return b, nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *Enforcement) UnmarshalJSON(b []byte) error {
	if last := lastSaid.Load(); last != nil && last.text == string(b) {
		*e = last.enforcement.clone()
		return nil
	}
	if err := json.Unmarshal(b, (*bareEnforcement)(e)); err != nil {
		return err
	}
	e.keep(b)
	return nil
}

func (e Enforcement) equal(o Enforcement) bool {
	return e.Level == o.Level && slices.Equal(e.Layers, o.Layers) && slices.Equal(e.Protections, o.Protections) &&
		(e.Protections == nil) == (o.Protections == nil)
}

// clone shares nothing with e that its owner may change.
func (e Enforcement) clone() Enforcement {
	e.Layers, e.Protections = slices.Clone(e.Layers), slices.Clone(e.Protections)
	return e
}

func (e Enforcement) keep(text []byte) { lastSaid.Store(&said{e.clone(), string(text)}) }
