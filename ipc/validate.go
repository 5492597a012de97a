package ipc

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// The checks here need no knowledge beyond the wire's own: contradictions, and values that could
// not reach a process unaltered.

func (r SessionRequest) validate() *Error {
	switch r.Kind {
	case "", KindCLI, KindAPI, KindHook:
	default:
		return badRequest(fmt.Sprintf("kind %q: want %q, %q or %q", r.Kind, KindCLI, KindAPI, KindHook))
	}
	switch hook := r.Kind == KindHook; {
	case r.Land != "" && (r.Land != LandHold || hook || r.Kind == KindCLI):
		return badRequest("land: want \"hold\", of a session of the kind \"api\"; for others: [sandbox] land")
	case hook && (r.Conversation == "" || r.Agent == ""):
		return badRequest("kind \"hook\": agent and conversation are missing")
	case !hook && (r.Conversation != "" || r.Prompt != ""):
		return badRequest("conversation and prompt are for sessions of the kind \"hook\"")
	case len(r.Conversation) > maxIDBytes || len(r.Prompt) > maxIDBytes:
		return badRequest(fmt.Sprintf("conversation and prompt: at most %d bytes each", maxIDBytes))
	}
	return noNUL("root", r.Root, "cwd", r.Cwd)
}

// maxIDBytes bounds an agent's own ids.
const maxIDBytes = 256

func (r AfterCallRequest) validate() *Error {
	if r.Session == "" || r.CallID == "" {
		return badRequest("session and call_id are missing")
	}
	return noNUL("command", r.Command, "cwd", r.Cwd)
}

func (r CheckRequest) validate() *Error {
	given := 0
	for _, set := range []bool{r.Command != "", len(r.Argv) > 0, len(r.Args) > 0} {
		if set {
			given++
		}
	}
	if given > 1 {
		return badRequest("only one of command, argv and args can be judged")
	}
	if len(r.Argv) > 0 && r.Argv[0] == "" {
		return badRequest("argv: the command's name is empty")
	}
	if len(r.Args) > 0 && r.Args[0] != '{' {
		return badRequest("args: want a JSON object")
	}
	if r.Session == "" && !r.DryRun {
		return &Error{Code: CodeBadRequest, Message: "session is missing",
			Hint: "open one with POST /v1/sessions, or ask with dry_run"}
	}
	if r.TicketMS < 0 || r.TicketMS > 0 && (r.Session == "" || r.Command == "" && len(r.Argv) == 0) {
		return badRequest("ticket_ms: a ticket is for a command in a session, and has a lifetime")
	}
	if r.CwdUnknown && (r.Cwd != "" || r.TicketMS > 0 || r.Command == "" && len(r.Argv) == 0) {
		return badRequest("cwd_unknown: it is for a command without cwd, which the caller itself runs")
	}
	return r.Batch.validate()
}

func (r ExecRequest) validate() *Error {
	switch {
	case r.Session == "" && r.Ticket == "" && r.Open == nil:
		return &Error{Code: CodeBadRequest, Message: "session is missing", Hint: "open one with POST /v1/sessions"}
	case r.Ticket != "" && (r.Session != "" || r.Open != nil):
		return badRequest("a ticket brings its own session")
	case r.Session != "" && r.Open != nil:
		return badRequest("give either session or open")
	case r.Open != nil && r.Open.Kind != KindCLI:
		return &Error{Code: CodeBadRequest, Message: "open: only a terminal's session, of the kind \"cli\", is opened with " +
			"a command", Hint: "open a program's with POST /v1/sessions"}
	case r.Ticket != "" && (r.Agent || r.Client):
		return badRequest("a ticket is for the command as it was judged: leave agent and client away")
	}
	if (r.Command == "") == (len(r.Argv) == 0) {
		return badRequest("give either command or argv")
	}
	if r.Command == "" && r.Argv[0] == "" {
		return badRequest("argv: the command's name is empty")
	}
	switch r.Stdin {
	case "", StdinNone, StdinStream:
		if len(r.StdinData) > 0 {
			return badRequest("stdin_data is there, but stdin is not \"inline\"")
		}
	case StdinInline:
	default:
		return badRequest(fmt.Sprintf("stdin %q: want %q, %q or %q", r.Stdin, StdinNone, StdinStream, StdinInline))
	}
	if r.TimeoutMS < 0 {
		return badRequest("timeout_ms is negative")
	}
	if len(r.Stdio) > 0 && r.TTY {
		return badRequest("stdio and tty exclude each other: a terminal of its own is all three")
	}
	for i, last := 0, -1; i < len(r.Stdio); i++ {
		at := slices.Index(stdios, r.Stdio[i])
		if at <= last {
			return badRequest("stdio: want each of " + strings.Join(stdios, ", ") + " once at most, in this order")
		}
		last = at
	}
	if r.Open != nil {
		if err := r.Open.validate(); err != nil {
			return err
		}
	}
	if err := noNUL("command", r.Command, "cwd", r.Cwd); err != nil {
		return err
	}
	for _, a := range r.Argv {
		if err := noNUL("argv", a); err != nil {
			return err
		}
	}
	for k, v := range r.Env {
		if k == "" || strings.Contains(k, "=") {
			return badRequest(fmt.Sprintf("env: %q is not a variable's name", k))
		}
		if err := noNUL("env", k+v); err != nil {
			return err
		}
	}
	return r.Batch.validate()
}

func (b *BatchPlace) validate() *Error {
	if b != nil && (b.Index < 0 || b.Total < 0 || b.Index >= b.Total) {
		return badRequest(fmt.Sprintf("batch: place %d of %d", b.Index, b.Total))
	}
	return nil
}

func (r FileRequest) validate() *Error {
	switch r.Encoding {
	case "", "utf-8", "base64":
		return noNUL("path", r.Path, "to", r.To)
	}
	return badRequest(fmt.Sprintf("encoding %q: want \"utf-8\" or \"base64\"", r.Encoding))
}

func (r BatchRequest) validate() *Error {
	if r.Session == "" {
		return badRequest("session is missing")
	}
	if len(r.Calls) == 0 {
		return badRequest("calls: there are none")
	}
	if len(r.Calls) > MaxBatch {
		return badRequest(fmt.Sprintf("calls: there are %d, %d is the most", len(r.Calls), MaxBatch))
	}
	for i, c := range r.Calls {
		if err := c.validate(r.Session); err != nil {
			err.Message = fmt.Sprintf("calls[%d]: %s", i, err.Message)
			return err
		}
	}
	return nil
}

// validate fills no session in: it checks the call as if it named the batch's.
func (c BatchCall) validate(session string) *Error {
	own, key, set := "", "", 0
	if c.Exec != nil {
		own, key, set = c.Exec.Session, c.Exec.IdempotencyKey, set+1
	}
	if c.File != nil {
		own, key, set = c.File.Session, c.File.IdempotencyKey, set+1
	}
	if c.Check != nil {
		own, set = c.Check.Session, set+1
	}
	switch {
	case set != 1:
		return badRequest("give one of exec, file and check")
	case own != "" && own != session:
		return badRequest("session is another one than the batch's")
	case key != "":
		return badRequest("idempotency_key is not for a batch's calls")
	case c.Exec != nil && c.Exec.Open != nil:
		return badRequest("open is not for a batch's calls: they are in the batch's session")
	case c.Exec != nil && len(c.Exec.Stdio) > 0:
		return badRequest("stdio is not for a batch's calls: their output is in the answer")
	case c.Exec != nil && c.Exec.Stdin == StdinStream:
		return badRequest("stdin can't be streamed to a batch's command; give it inline")
	case c.Exec != nil:
		e := *c.Exec
		e.Session = session
		return e.validate()
	case c.File != nil && !slices.Contains(fileOps, c.File.Op):
		return badRequest(fmt.Sprintf("op %q is not known", c.File.Op))
	case c.File != nil:
		return c.File.FileRequest.validate()
	}
	k := *c.Check
	k.Session = session
	return k.validate()
}

func (r SignalRequest) validate() *Error {
	if r.Signal == "" {
		return badRequest("signal is missing")
	}
	return nil
}

func (r ResizeRequest) validate() *Error {
	if r.Cols == 0 || r.Rows == 0 {
		return badRequest("cols and rows must be above 0")
	}
	return nil
}

func (r TrustRequest) validate() *Error {
	if r.Dir == "" {
		return badRequest("dir is missing")
	}
	return noNUL("dir", r.Dir)
}

func (a Answer) required() []string { return []string{"rev", "hash", "allow"} }

func (a Answer) validate() *Error {
	scopes := []string{"", "once", "turn", "session", "project", "agent", "global", "batch", "group"}
	if !slices.Contains(scopes, a.Scope) {
		return badRequest(fmt.Sprintf("scope %q is not known; nothing was decided", a.Scope))
	}
	if !slices.Contains([]string{"", "hard", "soft"}, a.Mode) {
		return badRequest(fmt.Sprintf("mode %q is not known; nothing was decided", a.Mode))
	}
	if a.ForMS < 0 {
		return badRequest("for_ms is negative; nothing was decided")
	}
	if a.ForMS > int64(math.MaxInt64/time.Millisecond) {
		return badRequest("for_ms is more than 292 years; nothing was decided")
	}
	if a.Allow && a.Mode != "" {
		return badRequest("mode belongs to a no; nothing was decided")
	}
	return nil
}

func (m Mode) validate() *Error {
	switch m.Mode {
	case "interactive", "strict", "approve_all":
		if m.ForMS < 0 {
			return badRequest("for_ms is negative")
		}
		return nil
	}
	return badRequest(fmt.Sprintf("mode %q: want interactive, strict or approve_all", m.Mode))
}

func (r ShutdownRequest) validate() *Error {
	if r.DrainMS < 0 {
		return badRequest("drain_ms is negative")
	}
	return nil
}

// noNUL refuses a value that would be cut short on its way to a process. It
// takes pairs of name and value.
func noNUL(pairs ...string) *Error {
	for i := 0; i+1 < len(pairs); i += 2 {
		if strings.Contains(pairs[i+1], "\x00") {
			return badRequest(pairs[i] + " holds a NUL character")
		}
	}
	return nil
}
