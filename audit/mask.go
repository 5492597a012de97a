package audit

import (
	"bytes"
	"encoding/json"

	"sandboxd/secret"
)

// masked returns the record with likely secrets masked (R-AU-04), except Input, which encodeRecord
// masks.
func (l *Log) masked(r Record) Record {
	for _, text := range []*string{&r.Subject, &r.Operation, &r.Reason, &r.Rule, &r.Note, &r.Key, &r.Error} {
		*text = secret.Mask(*text)
	}
	r.Argv = secret.Words(r.Argv)
	r.Reasons, r.Violations = texts(r.Reasons), texts(r.Violations)
	if len(r.Detail) > 0 {
		detail := make(map[string]string, len(r.Detail))
		for name, text := range r.Detail {
			detail[name] = secret.Mask(text)
		}
		r.Detail = detail
	}
	if len(r.Input) > 0 {
		if args, err := decodeInput(r.Input); err == nil {
			if input, err := json.Marshal(l.secrets.Recorded(args)); err == nil {
				r.Input = input
			}
		} // else encodeRecord refuses it
	}
	return r
}

func texts(list []string) []string {
	var out []string
	for _, text := range list {
		out = append(out, secret.Mask(text))
	}
	return out
}

// Leaks reports whether the line of a record, such as one of an earlier release, contains a likely
// secret.
func Leaks(raw []byte) bool {
	var line map[string]any
	if json.Unmarshal(raw, &line) != nil {
		return false
	}
	shown, err := json.Marshal(secret.Shown(line))
	before, _ := json.Marshal(line)
	return err == nil && !bytes.Equal(shown, before)
}
