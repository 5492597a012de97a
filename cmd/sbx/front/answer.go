package main

import (
	"bytes"
	"strconv"
)

// verdict is what follows from an answer, as far as it has come.
type verdict int

const (
	unended verdict = iota // more has to come
	ended                  // the command has, and there is nothing to tell
	rich                   // there is something for sbx-verbs
)

// maxAnswer is how long the answer of a plain run is at most, in bytes.
const maxAnswer = 64 << 10

// look reads an answer to POST /v1/exec/events from its first byte on. The status is
// the command's.
func look(answer []byte) (status int, v verdict) {
	if len(answer) > maxAnswer {
		return 0, rich
	}
	head, body, ok := bytes.Cut(answer, []byte("\r\n\r\n"))
	if !ok {
		return 0, unended
	}
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 200 ")) || !bytes.Contains(head, []byte("\r\nTransfer-Encoding: chunked")) {
		return 0, rich
	}
	lines, whole, ok := chunks(body)
	if !ok {
		return 0, rich
	}
	r := run{}
	for {
		line, more, ok := bytes.Cut(lines, []byte("\n"))
		if !ok && whole {
			return 0, rich // no more will come, and the command's end did not
		}
		if !ok {
			return 0, unended
		}
		if status, v = r.event(line); v != unended {
			return status, v
		}
		lines = more
	}
}

// chunks puts the chunks of a body together that are there (RFC 9112, 7.1); whole
// says that no more will come.
func chunks(body []byte) (text []byte, whole, ok bool) {
	for {
		size, rest, ok := bytes.Cut(body, []byte("\r\n"))
		if !ok {
			return text, false, true
		}
		n, err := strconv.ParseUint(string(size), 16, 32)
		switch {
		case err != nil:
			return nil, false, false
		case n == 0:
			return text, true, true
		case uint64(len(rest)) < n+2:
			return text, false, true
		case string(rest[n:n+2]) != "\r\n":
			return nil, false, false
		}
		text, body = append(text, rest[:n]...), rest[n+2:]
	}
}

// run is what was seen of a command.
type run struct {
	warned bool // a command that fails has warnings told
}

// event takes one event.
func (r *run) event(line []byte) (status int, v verdict) {
	part := map[string][]byte{}
	if !members(line, func(name string, value []byte) { part[name] = value }) {
		return 0, rich
	}
	switch string(part["type"]) {
	case `"queued"`:
		r.warned = warns(part["queued"])
		return 0, unended
	case `"approval"`: // Decided without a question, or answered elsewhere: nothing to tell.
		if part["approval"] == nil && part["decision"] != nil {
			return 0, unended
		}
	case `"started"`:
		return 0, unended
	case `"exit"`:
		return r.exit(part["exit"])
	}
	return 0, rich
}

// warns reports whether the session of a queued command has warnings.
func warns(queued []byte) bool {
	found := false
	ok := members(queued, func(name string, value []byte) {
		if name == "session" {
			ok := members(value, func(name string, value []byte) {
				found = found || name == "warnings" && told(value)
			})
			found = found || !ok
		}
	})
	return found || !ok
}

// told reports whether a person is told of one of these warnings after a command
// that fails: not of what the host lacks for every command (as in sbx-verbs).
func told(warnings []byte) bool {
	if string(warnings) == "null" {
		return false
	}
	found := false
	ok := elements(warnings, func(one []byte) {
		where := ""
		ok := members(one, func(name string, value []byte) {
			if name == "where" {
				where = string(value)
			}
		})
		found = found || !ok || where != `"this host"` && where != `"journal"`
	})
	return found || !ok
}

// exit takes the command's end.
func (r *run) exit(end []byte) (status int, v verdict) {
	status, v = -1, ended
	ok := members(end, func(name string, value []byte) {
		switch name {
		case "code":
			if n, err := strconv.Atoi(string(value)); err == nil {
				status = n
			}
		case "duration_ms", "uncapped":
		case "enforcement":
			if !holds(value) {
				v = rich
			}
		case "warnings":
			r.warned = r.warned || told(value)
		default: // a signal, a denial, a refusal, what was taken out, …
			v = rich
		}
	})
	if !ok || status < 0 || status != 0 && r.warned {
		return 0, rich
	}
	return status, v
}

// holds reports an enforcement of which a person need not be told.
func holds(enforcement []byte) bool {
	all := true
	ok := members(enforcement, func(name string, value []byte) {
		if name == "protections" {
			ok := elements(value, func(one []byte) { all = all && holdsOne(one) })
			all = all && ok
		}
	})
	return ok && all
}

func holdsOne(protection []byte) bool {
	var called, level string
	ok := members(protection, func(name string, value []byte) {
		switch name {
		case "name":
			called = string(value)
		case "level":
			level = string(value)
		}
	})
	mayBePartial := called == `"protected"` || called == `"limits"` // as in sbx-verbs
	return ok && (level == `"enforced"` || level == `"partial"` && mayBePartial)
}
