package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// addJSON adds --json to a verb that reads. The text what describes the output.
func addJSON(c *cobra.Command, on *bool, what string) { c.Flags().BoolVar(on, "json", false, what) }

// printJSON writes v as one line of JSON in plain ASCII: a terminal that it
// reaches by accident shows its text and does nothing else.
func (a *app) printJSON(v any) error {
	line, err := asciiJSON(v)
	if err != nil {
		return err
	}
	_, err = a.out.Write(append(line, '\n'))
	return err
}

// asciiJSON is v as JSON with every character outside printable ASCII escaped.
func asciiJSON(v any) ([]byte, error) {
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for text := bytes.TrimSuffix(raw.Bytes(), []byte("\n")); len(text) > 0; {
		r, n := utf8.DecodeRune(text)
		text = text[n:]
		switch {
		case r >= 0x20 && r < 0x7f:
			out.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, hi, lo)
		}
	}
	return out.Bytes(), nil
}

// span writes a duration for a person: 3 s, 12 min, 5 h, 2 days.
func span(d time.Duration) string {
	switch d = d.Abs(); {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0f h", d.Hours())
	}
	return fmt.Sprintf("%.0f days", d.Hours()/24)
}

// ago writes a moment of the past for a person; "" for none.
func ago(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return span(time.Since(*t)) + " ago"
}

// until writes a moment to come for a person; "" for none.
func until(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	if left := time.Until(*t); left > 0 {
		return "in " + span(left)
	}
	return "now"
}

// plural is "1 thing" or "n things".
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
