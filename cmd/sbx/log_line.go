package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sandboxd/audit"
	"sandboxd/display"
)

// record is a line of the log.
type record struct {
	Seq uint64 `json:"seq"`
	audit.Record
}

// line is the record for people: its time, number, verb, object, and reason.
func (r record) line(now time.Time) string {
	t := r.Time.In(now.Location())
	at := t.Format(time.TimeOnly)
	if t.YearDay() != now.YearDay() || t.Year() != now.Year() {
		at = t.Format(time.DateTime)
	}
	s := fmt.Sprintf("%s  %5s  %-13s  %s", at, "#"+strconv.FormatUint(r.Seq, 10), display.Line(r.verb()),
		display.Line(r.about()))
	if details := r.details(); len(details) > 0 {
		s += "  (" + display.Prose(strings.Join(details, "; ")) + ")"
	}
	return strings.TrimRight(s, " ")
}

// detailsColumn is where the record's subject begins in its line, after the time of a day, number and verb.
const detailsColumn = 32

// colored returns the record's line for a terminal; a colour marks refusals and failures.
func (r record) colored(line string) string {
	color := ""
	switch verb := r.verb(); {
	case verb == "outside" || verb == "denied" || verb == "blocked" || verb == "timed out" || verb == "killed" ||
		strings.HasPrefix(verb, "exit ") && verb != "exit 0":
		color = "\x1b[91m"
	case verb == "approved" && r.How == "person":
		color = "\x1b[32m"
	case r.Category == audit.Grant || r.Category == audit.Mode:
		color = "\x1b[33m"
	}
	if color == "" {
		return line
	}
	verb := display.Line(r.verb())
	return strings.Replace(line, verb, color+verb+"\x1b[0m", 1)
}

// verb is the event, in a word.
func (r record) verb() string {
	switch {
	case r.Category == audit.Decision && r.Decision != "":
		return r.Decision
	case r.Category == audit.Execution && r.Operation == "start":
		return "started"
	case r.Category == audit.Execution && r.Operation == "end" && r.TimedOut:
		return "timed out"
	case r.Category == audit.Execution && r.Operation == "end" && r.Signal != "":
		return "killed"
	case r.Category == audit.Execution && r.Operation == "end" && r.Exit != nil:
		return "exit " + strconv.Itoa(*r.Exit)
	case r.Category == audit.Execution && (r.Operation == "outside" || r.Operation == "unused"):
		return r.Operation
	case r.Operation != "":
		return r.Category + " " + r.Operation
	}
	return r.Category
}

// about is the object of the record.
func (r record) about() string {
	what := r.Subject
	if what == "" && len(r.Argv) > 0 {
		what = display.Argv(r.Argv)
	}
	if r.Tool != "" && r.Tool != "bash" {
		what = strings.TrimSpace(r.Tool + ": " + what)
	}
	return first(what, r.Session)
}

// details name the actor, the reason and the manner.
func (r record) details() []string {
	var out []string
	add := func(name, value string) {
		if value != "" {
			out = append(out, strings.TrimSpace(name+" "+value))
		}
	}
	if r.Category == audit.Decision {
		add("", r.Reason)
		if r.How == "person" {
			add("by", r.By)
			add("key", r.Key)
		}
		if r.Scope != "once" {
			add("scope", r.Scope)
		}
		add("rule", r.Rule)
		add("grant", r.Grant)
		add("note:", r.Note)
	} else {
		add("by", r.By)
		add("grant", r.Grant)
		add("mode", r.Mode)
		if r.Category == audit.Execution && r.Exit == nil {
			add("", r.Reason)
		}
	}
	add("signal", r.Signal)
	add("limits:", strings.Join(r.Limits, ", "))
	add("refused:", strings.Join(r.Violations, ", "))
	add("undo", r.Undo)
	add("error:", r.Error)
	if r.Enforcement != "" && r.Enforcement != "enforced" && r.Operation == "start" {
		add("sandbox", r.Enforcement)
	}
	if r.DurationMS > 0 {
		add("", time.Duration(r.DurationMS*int64(time.Millisecond)).Round(time.Millisecond).String())
	}
	return out
}
