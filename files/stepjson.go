package files

import (
	"encoding/json"
	"unicode/utf8"
)

// A step's names are bytes, and JSON holds characters. Names that are not UTF-8 stand beside the rest
// in base64, so that a step comes back as it was.

// plainStep is a step without methods; the raw names are nil where the names are UTF-8.
type plainStep struct {
	RawPath []byte `json:"raw_path,omitempty"`
	RawTo   []byte `json:"raw_to,omitempty"`
	*stepFields
}

type stepFields Step

func rawName(s string) []byte {
	if utf8.ValidString(s) {
		return nil
	}
	return []byte(s)
}

// MarshalJSON implements json.Marshaler.
func (s Step) MarshalJSON() ([]byte, error) {
	f := stepFields(s)
	return json.Marshal(plainStep{stepFields: &f, RawPath: rawName(s.Path), RawTo: rawName(s.To)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Step) UnmarshalJSON(b []byte) error {
	p := plainStep{stepFields: (*stepFields)(s)}
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	if p.RawPath != nil {
		s.Path = string(p.RawPath)
	}
	if p.RawTo != nil {
		s.To = string(p.RawTo)
	}
	return nil
}

// stateFields is a state without methods, with a target that is not UTF-8.
type stateFields State

type plainState struct {
	RawTarget []byte `json:"raw_target,omitempty"`
	*stateFields
}

// MarshalJSON implements json.Marshaler.
func (s State) MarshalJSON() ([]byte, error) {
	return json.Marshal(plainState{rawName(s.Target), (*stateFields)(&s)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *State) UnmarshalJSON(b []byte) error {
	p := plainState{stateFields: (*stateFields)(s)}
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	if p.RawTarget != nil {
		s.Target = string(p.RawTarget)
	}
	return nil
}
