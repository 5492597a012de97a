package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"sandboxd/cmd/sbx/internal/usual"
	"sandboxd/display"
	"sandboxd/ipc"
)

// report collects the facts about a run that `sbx run --json` prints.
type report struct {
	ID       string
	Session  string
	Started  *ipc.Started
	Answer   *ipc.Decided // of a person
	out, err bytes.Buffer

	violations []ipc.Violation
	lost       int64 // bytes of output
}

// result is the JSON object of `sbx run --json`. Its fields are stable.
type result struct {
	ID      string `json:"id,omitempty"`
	Session string `json:"session,omitempty"`
	// Status is sbx's exit status. Ran says whose it is: true, the command's own, or 126 where changes.landed is false
	// though its change set was to land.
	Status  int    `json:"status"`
	Ran     bool   `json:"ran"`
	Outcome string `json:"outcome"` // exited, signalled, timed_out, cancelled, denied, not_found, failed

	ExitCode *int   `json:"exit_code,omitempty"` // of a command that exited
	Signal   string `json:"signal,omitempty"`

	Decision string       `json:"decision,omitempty"` // auto, ask
	Why      string       `json:"why,omitempty"`
	Rule     string       `json:"rule,omitempty"`
	Answer   *ipc.Decided `json:"answer,omitempty"` // of the person, where one was asked
	Denied   *ipc.Denial  `json:"denied,omitempty"`
	Error    *ipc.Error   `json:"error,omitempty"`

	Stdout       string `json:"stdout"`
	StdoutBase64 []byte `json:"stdout_base64,omitempty"` // in place of stdout where that is not text
	Stderr       string `json:"stderr"`
	StderrBase64 []byte `json:"stderr_base64,omitempty"`
	CutBytes     int64  `json:"cut_bytes,omitempty"`

	LimitsHit   []string          `json:"limits_hit,omitempty"`
	DurationMS  int64             `json:"duration_ms,omitempty"`
	Warm        bool              `json:"warm,omitempty"` // its sandbox was built before the request
	Violations  []ipc.Violation   `json:"violations,omitempty"`
	Quarantined []ipc.Quarantined `json:"quarantined,omitempty"`
	Changes     *ipc.RunChanges   `json:"changes,omitempty"`
	Job         string            `json:"job,omitempty"`
	JobRefused  string            `json:"job_refused,omitempty"`
	Enforcement *ipc.Enforcement  `json:"enforcement,omitempty"`
	Warnings    []ipc.Warning     `json:"warnings,omitempty"`
}

// statusOf is sbx's exit status for a command's end, and the outcome in a word.
func statusOf(end *ipc.Exit, cancelledBy int) (status int, outcome string) {
	switch {
	case end.Denied != nil:
		return exitDenied, "denied"
	case end.Error != nil && cancelledBy != 0:
		return 128 + cancelledBy, "cancelled"
	case end.Error != nil && end.Error.Code == ipc.CodeNotFound:
		return exitNotFound, "not_found"
	case end.Error != nil && end.Error.Code == ipc.CodeForbidden:
		return exitDenied, "denied"
	case end.Error != nil:
		return exitOwn, "failed"
	case end.TimedOut:
		return exitTimeout, "timed_out"
	case end.Cancelled && cancelledBy != 0:
		return 128 + cancelledBy, "cancelled"
	case end.SignalNum != 0:
		return 128 + end.SignalNum, "signalled"
	case end.Cancelled:
		return exitOwn, "cancelled"
	case end.Code < 0:
		return exitOwn, "failed"
	}
	return end.Code, "exited"
}

// finish reports the end of the command and returns its exit status.
func (r *runner) finish(end *ipc.Exit) (int, error) {
	by := 0
	if r.last != nil {
		by = number(r.last)
	}
	status, outcome := statusOf(end, by)
	if r.options.json {
		return status, r.printJSON(r.result(end, status, outcome))
	}
	switch {
	case end.Denied != nil:
		r.explainDenial(end.Denied)
	case end.Error != nil && outcome != "cancelled":
		r.complain(end.Error)
		if argv := r.options.argv; outcome == "not_found" && len(argv) == 1 && strings.ContainsAny(argv[0], " \t") {
			r.note("did you mean: sbx run -c %s", display.Argv(argv))
		}
	case end.TimedOut && len(end.Warnings) == 0:
		r.note("it was ended because it took too long")
	}
	if n := max(end.CutBytes, r.report.lost); n > 0 {
		r.note("%s of output were left out, at the limit", display.Size(n))
	}
	r.explainEnd(end, status)
	return status, nil
}

// explainDenial prints why nothing ran: for a person at a terminal in a line, else the text that is made for a model,
// as it is (R-UX-12).
func (r *runner) explainDenial(d *ipc.Denial) {
	lines := display.Block(d.Message)
	if isTerminal(r.stderr) {
		lines = forPerson(d, lines)
	}
	for _, line := range lines {
		fmt.Fprintln(r.stderr, line)
	}
}

// forPerson is a denial without the advice to a model, which is its last line.
func forPerson(d *ipc.Denial, lines []string) []string {
	switch {
	case d.Code == ipc.CodeStopped:
		return []string{"sbx: this session is stopped; to resume it: sbx session resume"}
	case d.Code == ipc.CodeTimeout:
		return []string{"sbx: timed out: nobody answered, and nothing ran"}
	case strings.HasPrefix(lines[0], "User denied "):
		if d.Mode == "hard" {
			return []string{"Denied, and this session is stopped. To resume it: sbx session resume"}
		}
		if d.Note != "" {
			return []string{"Denied: " + display.Line(d.Note)}
		}
		return []string{"Denied."}
	}
	return lines[:max(len(lines)-1, 1)]
}

// explainEnd reports the sandbox's refusals, the entries that it removed, and the protections
// that this host lacks. Advice comes only where something went wrong.
func (r *runner) explainEnd(end *ipc.Exit, status int) {
	r.explainRefusals(slices.Concat(r.report.violations, end.Violations), status)
	for _, q := range end.Quarantined {
		switch {
		case q.Kept:
			r.note("look at %s: %s", q.Path, q.Why)
		case q.Undo != "":
			r.note("moved to the trash: %s (%s); sbx undo %s brings it back", q.Path, q.Why, q.Undo)
		default:
			r.note("moved to the trash: %s (%s)", q.Path, q.Why)
		}
	}
	switch {
	case end.Job != "":
		r.note("left running: job %s; sbx jobs log %s, sbx jobs stop %s", end.Job, end.Job, end.Job)
	case end.JobRefused != "":
		r.note("what the command left running was ended: %s", end.JobRefused)
	}
	if weak := gaps(end.Enforcement); len(weak) > 0 && end.Denied == nil {
		r.note("the sandbox does not hold everything on this host: %s; sbx doctor says more", strings.Join(weak, "; "))
	}
	held := end.Changes != nil && end.Changes.HeldID != ""
	if end.Denied != nil || end.Error != nil || status == 0 && !held {
		end.Warnings = slices.DeleteFunc(end.Warnings, func(w ipc.Warning) bool { return !usual.Project(w.Message) })
		r.notes = nil
	}
	reported := map[string]bool{}
	for _, w := range slices.Concat(end.Warnings, r.notes) {
		text := w.Message + hint(w.Hint)
		if !reported[text] && !repeatsEnforcement(w, end.Enforcement) {
			r.note("%s", text)
		}
		reported[text] = true
	}
}

// maxShown is the maximum number of refusals that are printed after one command.
const maxShown = 5

// explainRefusals reports the sandbox's refusals. Programs that end well have
// often only probed the kernel's features: their system calls are left to
// --json.
func (r *runner) explainRefusals(list []ipc.Violation, status int) {
	list = slices.DeleteFunc(list, func(v ipc.Violation) bool { return v.Minor })
	if status == 0 {
		list = slices.DeleteFunc(list, func(v ipc.Violation) bool { return v.Kind == "syscall" })
	}
	for i, v := range list {
		if i == maxShown {
			r.note("the sandbox refused %d more; --json lists them", len(list)-i)
			break
		}
		switch v.Kind {
		case "unkept":
			r.note("not kept: %s, created in a place that ends with the sandbox or its session; %s",
				v.Object, v.Hint)
		case "not_landed", "altered", "no_undo":
			r.note("%s: %s; %s", v.Object, v.Rule, v.Hint)
		default:
			r.note("the sandbox refused %s", describeViolation(v))
		}
	}
}

// gaps lists the protections that do not hold in full, as far as a person should know after
// every command.
func gaps(e ipc.Enforcement) []string {
	var out []string
	for _, p := range e.Protections {
		if p.Level == ipc.Enforced || p.Level == ipc.Partial && usual.Partial(p.Name) {
			continue
		}
		s := p.Name + " " + string(p.Level)
		if why := first(p.Missing, p.Why); why != "" {
			s += " (" + why + ")"
		}
		out = append(out, s)
	}
	return out
}

// repeatsEnforcement reports whether a warning only repeats the protections, or only says
// that the journal has no copy, which no command fails for.
func repeatsEnforcement(w ipc.Warning, e ipc.Enforcement) bool {
	return usual.Warning(w.Where) || tellsProtection(w, e)
}

// tellsProtection reports whether a warning only repeats e's words about a protection.
func tellsProtection(w ipc.Warning, e ipc.Enforcement) bool {
	return slices.ContainsFunc(e.Protections, func(p ipc.Protection) bool {
		return strings.HasPrefix(w.Message, p.Name+" "+string(p.Level))
	})
}

func describeViolation(v ipc.Violation) string {
	s := v.Kind + " " + v.Object
	if v.Access != "" {
		s = v.Access + " " + v.Object
	}
	if v.Count > 1 {
		s += fmt.Sprintf(" (%d times)", v.Count)
	}
	if v.Rule != "" {
		s += " [" + v.Rule + "]"
	}
	if v.Hint != "" {
		s += "; " + v.Hint
	}
	return s
}

func (r *runner) result(end *ipc.Exit, status int, outcome string) result {
	res := result{ID: r.report.ID, Session: r.report.Session, Status: status, Outcome: outcome,
		Ran:    outcome == "exited" || outcome == "signalled",
		Signal: end.Signal, Denied: end.Denied, Error: end.Error, CutBytes: end.CutBytes, LimitsHit: end.LimitsHit,
		DurationMS: end.DurationMS, Violations: slices.Concat(r.report.violations, end.Violations),
		Quarantined: end.Quarantined, Changes: end.Changes,
		Job: end.Job, JobRefused: end.JobRefused,
		Enforcement: &end.Enforcement, Warnings: slices.Concat(r.notes, end.Warnings), Answer: r.report.Answer}
	if outcome == "exited" {
		res.ExitCode = &end.Code
		if c := end.Changes; c != nil && c.Exit != nil {
			res.ExitCode = c.Exit
		}
	}
	if s := r.report.Started; s != nil {
		res.Decision, res.Why, res.Rule, res.Warm = s.Decision, s.Why, s.Rule, s.Warm
	}
	res.Stdout, res.StdoutBase64 = textOr64(r.report.out.Bytes())
	res.Stderr, res.StderrBase64 = textOr64(r.report.err.Bytes())
	return res
}

// textOr64 returns text as a string, and anything else as bytes for base64. JSON escapes a control character into
// six bytes, so output that contains other ones than tab, newline and carriage return is not text here.
func textOr64(b []byte) (string, []byte) {
	control := func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' }
	if !utf8.Valid(b) || bytes.ContainsFunc(b, control) {
		return "", b
	}
	return string(b), nil
}

// fail ends a run that never had an end: with --json the object still comes.
func (r *runner) fail(err error) (int, error) {
	if !r.options.json {
		return 0, err
	}
	status := statusOfError(err)
	e := &ipc.Error{Code: ipc.CodeOf(err), Message: err.Error()}
	if e.Code == "" {
		e.Code = "client"
	}
	res := result{ID: r.report.ID, Session: r.report.Session, Status: status, Outcome: "failed", Error: e}
	res.Stdout, res.StdoutBase64 = textOr64(r.report.out.Bytes())
	res.Stderr, res.StderrBase64 = textOr64(r.report.err.Bytes())
	return status, r.printJSON(res)
}
