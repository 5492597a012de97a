package ipc

import (
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"
)

// params reads a query; the first thing wrong with it is kept in bad.
type params struct {
	r    *http.Request
	bad  **Error
	seen *[]parameter // where the documents need the parameters; else nil
}

// parameter is one that an operation reads.
type parameter struct {
	name, kind string // kind in the words of JSON Schema
	required   bool
}

// readQuery reads a request from the path and the query.
func readQuery[Req any](x *exchange, read func(params) Req) (Req, *Error) {
	var bad *Error
	req := read(params{r: x.r, bad: &bad})
	return req, bad
}

func (q params) note(name, kind string) {
	if q.seen != nil {
		*q.seen = append(*q.seen, parameter{name: name, kind: kind})
	}
}

func (q params) fail(message string) {
	if *q.bad == nil {
		*q.bad = badRequest(message)
	}
}

func (q params) id() string { return q.whole("id", q.r.PathValue("id")) }

// whole returns a value, of which an answer in JSON would show another where it is not UTF-8.
func (q params) whole(name, value string) string {
	if !utf8.ValidString(value) {
		q.fail(name + altered)
	}
	return value
}

// text is the parameter's value, "" where it is absent.
func (q params) text(name string) string {
	q.note(name, "string")
	return q.value(name)
}

func (q params) value(name string) string {
	values := q.r.URL.Query()[name]
	if len(values) > 1 {
		q.fail(name + " is there twice")
	}
	if len(values) == 0 {
		return ""
	}
	return q.whole(name, values[0])
}

func (q params) must(name string) string {
	v := q.value(name)
	if q.seen != nil {
		*q.seen = append(*q.seen, parameter{name: name, kind: "string", required: true})
	} else if v == "" {
		q.fail(name + " is missing")
	}
	return v
}

func (q params) flag(name string) bool {
	q.note(name, "boolean")
	v := q.value(name)
	if v == "" {
		return false
	}
	b, err := strconv.ParseBool(v)
	if err != nil {
		q.fail(name + ": want 1 or 0")
	}
	return b
}

func (q params) number(name string) uint64 {
	q.note(name, "integer")
	v := q.value(name)
	if v == "" {
		return 0
	}
	n, err := strconv.ParseUint(v, 10, 63)
	if err != nil {
		q.fail(name + ": want a number")
	}
	return n
}

func (q params) time(name string) time.Time {
	q.note(name, "date-time")
	v := q.value(name)
	if v == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, v)
	if err != nil {
		q.fail(name + ": want a time like 2026-01-02T15:04:05Z")
	}
	return t
}
