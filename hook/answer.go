package hook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"sandboxd/ipc"
)

// Modes.
const (
	Wrap   = "wrap"
	Decide = "decide"
)

// Daemon is the part of *ipc.Client that a hook calls.
type Daemon interface {
	OpenSession(context.Context, ipc.SessionRequest) (ipc.Session, error)
	CloseSession(context.Context, ipc.CloseRequest) (ipc.Closed, error)
	Check(context.Context, ipc.CheckRequest) (ipc.Verdict, error)
	AfterCall(context.Context, ipc.AfterCallRequest) (ipc.AfterCall, error)
}

// Hook answers one call.
type Hook struct {
	Vendor  *Vendor // nil: detected from the input
	Mode    string  // Wrap or Decide; "": Wrap
	Version string  // of the agent, as it was found at installation; "": unknown
	// Program is the absolute path of sbx, and Locate returns the arguments that
	// it needs to find the same daemon again; nil: it needs none.
	Program string
	Locate  func(context.Context) []string
	// Connect finds the daemon, or starts one.
	Connect func(context.Context) (Daemon, error)
	// Project is the directory in which the agent was started: its commands may write there.
	Project string
	// Patience is how long a person may take; it must be less than the agent's
	// own time for hooks. 0: defaultPatience.
	Patience time.Duration
}

// defaultPatience fits into the time that Install writes into the settings.
const defaultPatience = installedTimeout - 15*time.Second

// ticketLife is how long an agent may take from the verdict to the command.
const ticketLife = 2 * time.Minute

// maxInput bounds a call.
const maxInput = 16 << 20

// shells are the tools whose input is {"command": a line of shell}, by the names that agents give them.
var shells = map[string]bool{
	"Bash":                 true,
	"bash":                 true,
	"Shell":                true,
	"shell":                true,
	"run_shell_command":    true,
	"shell_command":        true,
	"exec_command":         true,
	"execute_command":      true,
	"run_terminal_cmd":     true,
	"run_terminal_command": true,
	"run_in_terminal":      true,
	"run_commands":         true,
}

// Reply is the output of a hook, and how it ends.
type Reply struct {
	// Out is for standard output: an answer in the vendor's form, or nothing, which lets the call run.
	Out []byte
	// Refusal is for standard error, with [RefusalStatus]: the input is not an event in the vendor's form.
	Refusal string
}

// RefusalStatus is the exit status of a refusal with its reason on standard error; every vendor reads that.
const RefusalStatus = 2

// Answer reads an event and returns the reply. It has no error: any failure, also one after the time of Patience, is a
// refusal.
func (h Hook) Answer(ctx context.Context, stdin io.Reader) Reply {
	if h.Patience == 0 && h.Vendor != nil {
		h.Patience = h.Vendor.patience
	}
	h.Patience = cmp.Or(h.Patience, defaultPatience)
	ctx, cancel := context.WithTimeout(ctx, h.Patience)
	defer cancel()
	answer := make(chan Reply, 1)
	v := make(chan Vendor, 1) // which one asks, as soon as that is known
	go func() {
		input, err := io.ReadAll(io.LimitReader(stdin, maxInput+1))
		var call call
		who := Claude
		if h.Vendor != nil {
			who = *h.Vendor
		}
		switch {
		case err != nil:
			err = fmt.Errorf("standard input: %w", err)
		case len(input) > maxInput:
			err = fmt.Errorf("the call has more than %d bytes", maxInput)
		default:
			who, call, err = h.read(input)
		}
		if err == nil && !who.serves(call.Event) {
			err = fmt.Errorf("the event is %q, which is not one of %s's", call.Event, who.Title)
			if call.Event == "" {
				err = fmt.Errorf("the call names no event of %s", who.Title)
			}
		}
		if err != nil {
			answer <- Reply{Refusal: refusal(ctx, err)}
			return
		}
		v <- who
		out, err := h.event(ctx, who, call)
		if err != nil {
			out = who.deny(refusal(ctx, err))
		}
		answer <- Reply{Out: out}
	}()
	select {
	case r := <-answer:
		return r
	case <-ctx.Done():
	}
	// A daemon that ignores deadlines must not delay it.
	late := refusal(ctx, ctx.Err())
	select {
	case r := <-answer:
		return r
	case who := <-v:
		return Reply{Out: who.deny(late)}
	default:
		return Reply{Refusal: late}
	}
}

// read decodes a call, and detects the vendor where none is given.
func (h Hook) read(input []byte) (Vendor, call, error) {
	if h.Vendor != nil {
		v := *h.Vendor
		c, err := v.call(input)
		if c.Tool == "" && v.sibling != nil {
			if theirs, no := v.sibling.call(input); no != nil || theirs.Event != "" {
				return *v.sibling, theirs, no
			}
		}
		return v, c, err
	}
	c, err := Claude.call(input)
	return detect(c), c, err
}

// event answers one of the vendor's events.
func (h Hook) event(ctx context.Context, v Vendor, call call) ([]byte, error) {
	switch call.Event {
	case eventKey:
		return h.judge(ctx, v, call)
	case "SessionEnd":
		h.end(ctx, v, call)
		return nil, nil
	}
	return h.after(ctx, v, call), nil
}

// refusal is an error in words that a model, or its user, can act on.
func refusal(ctx context.Context, err error) string {
	text := "Not run: sandboxd could not judge this call: " + err.Error() + "."
	var e *ipc.Error
	switch {
	case ctx.Err() != nil:
		return "Not run: nobody answered in time. Tell the user that the call waits for them (sbx approve), and try again " +
			"when they say so."
	case errors.Is(err, ipc.ErrNoDaemon):
		return "Not run: sandboxd is not running, so nothing can be judged. Ask the user to start it (sbx status), then " +
			"try again."
	case errors.As(err, &e) && e.Hint != "":
		text = "Not run: " + e.Message + ". To fix it: " + e.Hint + "."
	}
	return text
}

// connect finds the daemon, and the session of the conversation.
func (h Hook) connect(ctx context.Context, v Vendor, call call) (Daemon, ipc.Session, error) {
	d, err := h.Connect(ctx)
	if err != nil {
		return nil, ipc.Session{}, err
	}
	r := ipc.SessionRequest{Kind: ipc.KindCLI, Agent: v.Title, Cwd: h.Project}
	if call.Conversation != "" {
		r.Kind, r.Conversation, r.Prompt = ipc.KindHook, call.Conversation, call.Prompt+call.Turn
	}
	s, err := d.OpenSession(ctx, r)
	return d, s, err
}

func (h Hook) judge(ctx context.Context, v Vendor, call call) ([]byte, error) {
	if err := call.check(); err != nil {
		return nil, err
	}
	d, s, err := h.connect(ctx, v, call)
	if err != nil {
		return nil, err
	}
	q := ipc.CheckRequest{Session: s.ID, CallID: call.ID, Cwd: call.Cwd}
	if !shells[call.Tool] {
		q.Tool, q.Args = call.Tool, call.Input
		return h.decide(ctx, v, d, q)
	}
	if q.Command, q.Description, err = shellOf(call.Input); err != nil {
		if call.Tool != "run_commands" {
			return nil, err
		}
		q.Tool, q.Args = call.Tool, call.Input // Cline's, not as lines: a person reads it whole
		return h.decide(ctx, v, d, q)
	}
	if q.Cwd, err = directoryOf(call); err != nil {
		return nil, err
	}
	if call.Subagent != "" {
		q.Description = strings.TrimSuffix("Subagent "+call.Subagent+": "+q.Description, ": ")
	}
	if h.Mode == Decide || v.Rewrites == "" {
		return h.decide(ctx, v, d, q)
	}
	return h.wrap(ctx, v, d, q, call)
}

// after stops the turn where the command of a call did not run in its sandbox: as where another hook's rewrite replaced
// ours.
func (h Hook) after(ctx context.Context, v Vendor, call call) []byte {
	if !shells[call.Tool] || h.Mode == Decide || !v.honours(h.Version) || call.Interrupted {
		return nil
	}
	d, s, err := h.connect(ctx, v, call)
	if err != nil {
		return v.stop("sandboxd can't say whether the last command ran in its sandbox: " + err.Error())
	}
	q := ipc.AfterCallRequest{Session: s.ID, CallID: call.ID, Cwd: call.Cwd}
	q.Command, _, _ = shellOf(call.Input)
	a, err := d.AfterCall(ctx, q)
	switch {
	case err != nil:
		return v.stop("sandboxd can't say whether the last command ran in its sandbox: " + err.Error())
	case a.Ran == ipc.RanInside:
		return nil
	}
	return v.stop(
		"The last command did not run in its sandbox: another hook replaced what sandboxd had written. " +
			"It is on record (sbx log). Take the other hook out of the settings (sbx doctor lists them), " +
			"or run " + v.Title + " by `sbx run --agent`.",
	)
}

// end closes the conversation's session; where it can't, the daemon does so after a while.
func (h Hook) end(ctx context.Context, v Vendor, call call) {
	if d, s, err := h.connect(ctx, v, call); err == nil && call.Conversation != "" {
		d.CloseSession(ctx, ipc.CloseRequest{Session: s.ID})
	}
}

// decide has the daemon decide, and a person where its rules ask.
func (h Hook) decide(ctx context.Context, v Vendor, d Daemon, q ipc.CheckRequest) ([]byte, error) {
	verdict, err := d.Check(ctx, q)
	switch {
	case err != nil:
		return nil, err
	case verdict.Allowed:
		return v.allow("sandboxd: " + verdict.Why), nil
	}
	return v.deny(reasonOf(verdict)), nil
}

// wrap lets the command run inside the sandbox, after the question was answered: another hook's rewrite in place of
// ours costs the sandbox and not the question.
func (h Hook) wrap(ctx context.Context, v Vendor, d Daemon, q ipc.CheckRequest, call call) ([]byte, error) {
	q.DryRun = !v.honours(h.Version)
	q.TicketMS = ticketLife.Milliseconds()
	verdict, err := d.Check(ctx, q)
	if err != nil {
		return nil, err
	}
	if verdict.Decision == ipc.DecisionDeny || !verdict.Allowed && !q.DryRun {
		return v.deny(reasonOf(verdict)), nil
	}
	if q.DryRun {
		found := "its version is not known"
		if h.Version != "" {
			found = "it is " + h.Version
		}
		return v.ask(
			fmt.Sprintf(
				"Without the sandbox: only %s %s or newer is known to run what a hook rewrote, and %s. Have the user run `sbx "+
					"hook install %s` again. (%s)",
				v.Title,
				v.Rewrites,
				found,
				v.Name,
				verdict.Why,
			),
		), nil
	}
	input, err := withCommand(call.Input, h.line(ctx, string(verdict.Ticket), q.Command))
	if err != nil {
		return nil, err
	}
	return v.rewrite("sandboxd: runs in its sandbox", input), nil
}

// line is the command as the agent's shell is to run it.
func (h Hook) line(ctx context.Context, ticket, command string) string {
	words := []string{h.Program}
	if h.Locate != nil {
		words = append(words, h.Locate(ctx)...)
	}
	words = append(words, "run", "--ticket", ticket, "-c", command)
	for i, w := range words {
		words[i] = Quote(w)
	}
	return strings.Join(words, " ")
}

// Quote makes one word of a POSIX shell of any text (XCU 2.2.2).
func Quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// shellOf reads a shell tool's input. Names are taken as they are written: to the
// agent "Command" is another field than "command".
func shellOf(input json.RawMessage) (command, description string, err error) {
	var fields map[string]json.RawMessage
	if err := unmarshal(input, &fields); err != nil {
		return "", "", err
	}
	var lines []string
	if raw, ok := fields["commands"]; ok && fields["command"] == nil && json.Unmarshal(raw, &lines) == nil {
		command = strings.Join(lines, "\n") // Cline's: one after the other
	} else if ok || json.Unmarshal(fields["command"], &command) != nil {
		command = ""
	}
	if command == "" {
		return "", "", errors.New("tool_input has no command")
	}
	if d, ok := fields["description"]; ok && json.Unmarshal(d, &description) != nil {
		description = "" // it is only shown
	}
	return command, description, nil
}

// directoryOf returns the directory of a shell tool's command: agents have it under several names, or not at all.
func directoryOf(c call) (string, error) {
	var fields map[string]json.RawMessage
	if err := unmarshal(c.Input, &fields); err != nil {
		return "", err
	}
	dir := c.Cwd
	for _, name := range []string{"workdir", "dir_path", "directory", "cwd", "working_directory"} {
		var given string
		if raw, ok := fields[name]; !ok || string(raw) == "null" || string(raw) == `""` {
			continue
		} else if err := unmarshal(raw, &given); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		if dir = given; !filepath.IsAbs(dir) {
			dir = filepath.Join(c.Cwd, dir)
		}
	}
	return dir, nil
}

// withCommand changes the command and leaves the rest as it came.
func withCommand(input json.RawMessage, command string) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := unmarshal(input, &fields); err != nil {
		return nil, err
	}
	b, err := json.Marshal(command)
	if err != nil {
		return nil, err
	}
	fields["command"] = b
	return json.Marshal(fields)
}

// reasonOf is why a verdict is no, for a model.
func reasonOf(v ipc.Verdict) string {
	if v.Denied != nil {
		return v.Denied.Message
	}
	return "Denied by sandboxd: " + v.Why + ". Do something else, or ask the user."
}
