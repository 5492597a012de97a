package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"sandboxd/display"
)

// addJSON adds --json to a verb that reads. What says what is printed then.
func addJSON(c *cobra.Command, on *bool, what string) { c.Flags().BoolVar(on, "json", false, what) }

// printJSON writes v as one line of JSON in plain ASCII: a terminal that it
// reaches by accident shows what it holds and does nothing else.
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

// table prints rows in columns. Every cell is neutralised; the last column is
// as long as it is.
func table(w io.Writer, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			row[i] = display.Line(cell)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], display.Width(row[i]))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-display.Width(cell)+2))
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

// fields prints names and values, one pair a line; empty values are left out.
func fields(w io.Writer, pairs ...string) {
	var rows [][]string
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			rows = append(rows, []string{pairs[i] + ":", pairs[i+1]})
		}
	}
	table(w, rows)
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
