package main

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"

	"sandboxd/cmd/sbx/internal/usual"
)

// verdict is the consequence of the part of an answer that has arrived.
type verdict int

const (
	unended verdict = iota // more has to come
	ended                  // the command has, and there is nothing to tell
	rich                   // there is something for sbx-verbs
)

// maxAnswer is how long the answer of a plain run is at most, in bytes.
const maxAnswer = 64 << 10

// answer is the answer to POST /v1/exec/events, as far as it has come.
type answer struct {
	raw  []byte
	at   int    // up to where raw is understood; 0: its head is not yet
	text []byte // of chunks, behind the last whole line
	run  run
}

// look reads on where it has read before. The status is the command's.
func (a *answer) look() (status int, v verdict) {
	if len(a.raw) > maxAnswer {
		return 0, rich
	}
	if a.at == 0 {
		head, _, ok := bytes.Cut(a.raw, []byte("\r\n\r\n"))
		if !ok {
			return 0, unended
		}
		if !bytes.HasPrefix(head, []byte("HTTP/1.1 200 ")) ||
			!bytes.Contains(head, []byte("\r\nTransfer-Encoding: chunked")) {
			return 0, rich
		}
		a.at = len(head) + 4
	}
	whole, ok := a.chunks()
	if !ok {
		return 0, rich
	}
	for {
		line, more, ok := bytes.Cut(a.text, []byte("\n"))
		if !ok && whole {
			return 0, rich // no more will come, and the command's end did not
		}
		if !ok {
			return 0, unended
		}
		if status, v = a.run.event(line); v != unended {
			return status, v
		}
		a.text = more
	}
}

// chunks takes the chunks that are there (RFC 9112, 7.1); whole says that no
// more will come.
func (a *answer) chunks() (whole, ok bool) {
	for {
		size, rest, ok := bytes.Cut(a.raw[a.at:], []byte("\r\n"))
		if !ok {
			return false, true
		}
		n, err := strconv.ParseUint(string(size), 16, 32)
		switch {
		case err != nil:
			return false, false
		case n == 0:
			return true, true
		case uint64(len(rest)) < n+2:
			return false, true
		case string(rest[n:n+2]) != "\r\n":
			return false, false
		}
		a.text = append(a.text, rest[:n]...)
		a.at += len(size) + 2 + int(n) + 2
	}
}

// run is the known state of a command.
type run struct {
	warned bool // there are warnings to print if the command fails
	// write writes output to our own standard output (1) or error (2); nil: there is none to write.
	write   func(fd int, data []byte) error
	written uint64 // the number of the last event whose output was written
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
	case `"stdout"`:
		return 0, r.output(1, part)
	case `"stderr"`:
		return 0, r.output(2, part)
	case `"exit"`:
		return r.exit(part["exit"])
	}
	return 0, rich
}

// output writes the command's output. sbx-verbs writes, and reports, the part that can't be written.
func (r *run) output(fd int, part map[string][]byte) verdict {
	seq, err := strconv.ParseUint(string(part["seq"]), 10, 64)
	data := part["data"]
	if r.write == nil || err != nil || len(data) < 2 || data[0] != '"' {
		return rich
	}
	text, err := base64.StdEncoding.AppendDecode(nil, data[1:len(data)-1])
	if err != nil || r.write(fd, text) != nil {
		return rich
	}
	r.written = seq
	return unended
}

// warns reports whether the session of a queued command has warnings.
func warns(queued []byte) bool {
	found := false
	ok := members(queued, func(name string, value []byte) {
		if name == "session" {
			ok := members(value, func(name string, value []byte) {
				found = found || name == "warnings" && worthReporting(value)
			})
			found = found || !ok
		}
	})
	return found || !ok
}

// worthReporting reports whether a failed command prints one of these warnings.
func worthReporting(warnings []byte) bool {
	if string(warnings) == "null" {
		return false
	}
	found := false
	ok := elements(warnings, func(one []byte) {
		var where, text string
		ok := members(one, func(name string, value []byte) {
			switch name {
			case "where":
				where = strings.Trim(string(value), `"`)
			case "message":
				text = strings.TrimPrefix(string(value), `"`)
			}
		})
		found = found || !ok || !usual.Warning(where) && !usual.Repeats(text)
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
		case "duration_ms", "uncapped", "changes":
		case "enforcement":
			if !holds(value) {
				v = rich
			}
		case "warnings":
			r.warned = r.warned || worthReporting(value)
			if usual.Project(string(value)) {
				v = rich
			}
		default: // a signal, a denial, a refusal, a quarantine, …
			v = rich
		}
	})
	if !ok || status < 0 || status != 0 && r.warned {
		return 0, rich
	}
	return status, v
}

// holds reports whether each protection is enforced, or partial in a way that needs no report (usual.Partial).
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
	return ok && (level == `"enforced"` || level == `"partial"` && usual.Partial(strings.Trim(called, `"`)))
}
