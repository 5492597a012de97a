package approvaltest

import (
	"slices"
	"time"

	"sandboxd/approval"
)

// Scenarios are the walks through all five source specifications.
func Scenarios() []Scenario {
	return slices.Concat(ThreeLayers(), PermissionManager(), ChatProxy(), WebApproval(), TerminalDialog())
}

// The helpers below keep the walks readable.

type args = map[string]any

var once = approval.ScopeOnce

// made is a step that makes a call.
func made(say string, c Call, w ...Want) Step { return Step{Say: say, Call: &c, Want: w} }

// said is a step in which somebody answers.
func said(say string, a Answer, w ...Want) Step { return Step{Say: say, Answer: &a, Want: w} }

func asks(call string) Want { return Want{Call: call, State: Open} }

func runs(call string, how approval.How, r approval.Reason) Want {
	return Want{Call: call, State: Approved, How: how, Reason: r}
}

func refused(call string, r approval.Reason, text string) Want {
	return Want{Call: call, State: Denied, Reason: r, Text: text}
}

func yes(call string, scope approval.Scope) Answer {
	return Answer{To: call, Verb: approval.VerbAllow, Scope: scope}
}

func no(call, note string, mode approval.RejectMode) Answer {
	return Answer{To: call, Verb: approval.VerbDeny, Note: note, Mode: mode}
}

// twice is the first and the second yes to something that wants both.
func twice(say, call string, verb approval.Verb, after ...Want) []Step {
	return []Step{
		said(say+": a first yes is not enough", Answer{To: call, Verb: verb, WantConfirm: true}, asks(call)),
		said(say+": the second yes is a separate act", Answer{To: call, Verb: verb}, after...),
	}
}

func steps(parts ...any) []Step {
	var out []Step
	for _, p := range parts {
		switch p := p.(type) {
		case Step:
			out = append(out, p)
		case []Step:
			out = append(out, p...)
		}
	}
	return out
}

func pointer(n int) *int { return &n }

// bash is a shell command that the shell tool asks about.
func bash(name, command string) Call {
	return Call{Name: name, Tool: "bash", Args: args{"command": command}, Word: Word{Description: "Execute: " + command}}
}

// safe is a command on the safe list.
func safe(name, command string) Call {
	c := bash(name, command)
	c.Word.Class.Safe = true
	return c
}

// dangerous is a command that matches a dangerous pattern.
func dangerous(name, command string) Call {
	c := bash(name, command)
	c.Word.Class.Dangerous = true
	return c
}

// file is a file operation; its payload is the path, not the content.
func file(name, op, path string, class approval.Class) Call {
	return Call{Name: name, Tool: op, Args: args{"file": path}, Word: Word{
		Payload: args{"path": path}, Class: class, Description: op + " " + path}}
}

// at gives a call its place in a batch.
func at(c Call, batch string, index, total int, later ...Call) Call {
	c.Batch, c.Index, c.Total = batch, index, total
	for _, l := range later {
		c.Later = append(c.Later, Later{Tool: l.Tool, Args: l.Args, Delete: l.Word.Class.Delete})
	}
	return c
}

func in(session string, c Call) Call { c.Session = session; return c }

func by(agent string, c Call) Call { c.Agent = agent; return c }

func named(name string, c Call) Call { c.Name = name; return c }

// SpecifiedTime is the specifications' time for an answer.
const SpecifiedTime = "[approval]\ntimeout = \"30s\"\n"

const (
	halfMinute = 30 * time.Second
	hard       = approval.RejectHard
	soft       = approval.RejectSoft
	auto       = approval.HowAuto
	person     = approval.HowPerson
)
