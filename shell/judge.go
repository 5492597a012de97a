package shell

import (
	"strings"

	"sandboxd/shell/analysis"
	"sandboxd/shell/carried"
	"sandboxd/shell/safelist"
)

// finding is the judgement of one piece of a line.
type finding struct {
	decision Decision
	by       Source
	why      string
	rule     string
	risk     Risk
	text     string
	offset   int
	end      int
	doubt    bool
}

// judging is the state of one judgement.
type judging struct {
	tool  *Tool
	cmd   *Command
	facts *Facts

	script       *analysis.Script
	findings     []finding
	calls        map[*analysis.Call]*callState
	verdict      Verdict
	needs        map[FactQuery]bool
	seen         map[string]place        // every path that the line names
	presetCovers map[*analysis.Call]bool // the calls that a preset permits as part of another
	tooMany      bool                    // the line has too many commands to judge each
	networks     []string
	blocking     blocking // the reason for BlockedPath
	beyond       bool     // a danger or a path is not confined to the project
	apart        bool     // the line has commands besides readers, so that each reader has its env by itself
	guarded      bool     // a glob runs with a prefix, so that no match of it is an option
	credential   []string // the files of credentials that it reads
	landed       bool     // a danger is the loss of files of the project, which a landing counts
}

// blocking orders the reasons why a path makes a command ask.
type blocking uint8

const (
	blockNone blocking = iota
	blockWritten
	blockBuilt // a protected build file
	blockOutside
	blockProtected
	blockCredential
	blockGuarded // hidden
)

// guard returns the reason of a protected path.
func guard(held bool) blocking {
	if held {
		return blockProtected
	}
	return blockBuilt
}

// noteBlockedPath records abs as the path that made the command ask, unless an earlier path has
// the same or a stronger reason.
func (j *judging) noteBlockedPath(why blocking, abs string) {
	if why > j.blocking {
		j.blocking, j.verdict.BlockedPath = why, abs
	}
}

// callState is the judgement of one call.
type callState struct {
	decision     Decision
	use          *safelist.Use
	transparent  bool // does nothing but run another call
	builtin      bool // bash itself runs it
	preset       bool
	reads        bool // the safe list permits its words
	reader       bool // it runs as an entry of the safe list, with env
	env          readerEnv
	paths        []place
	named        bool   // its words name credentials, and the safe list does not say that they are read
	uncoveredWhy string // why a matching prefix does not cover its further words
	sends        bool   // it may start a command that sends or publishes
	guessedPaths int    // the number of paths found by commandPaths
	description  string
}

// Judge decides whether the command runs, asks, or never runs. It is pure.
func (t *Tool) Judge(c Command, facts Facts) Verdict {
	j := &judging{tool: t, cmd: &c, facts: &facts, needs: map[FactQuery]bool{}}
	j.verdict.Network = t.config.Network
	where := analysis.Place{Cwd: c.Cwd, Home: c.Home}
	if c.Line != "" || len(c.Argv) == 0 {
		j.script = analysis.Line(c.Line, where)
	} else {
		j.script = analysis.Command(c.Argv, where)
	}
	j.calls = make(map[*analysis.Call]*callState, len(j.script.Calls))
	j.doubts()
	j.environment()
	j.tooMany = len(j.script.Calls) > maxCalls || len(j.script.Redirs) > maxCalls
	for _, call := range j.script.Calls {
		if j.tooMany {
			j.judgeBriefly(call)
			continue
		}
		j.call(call)
	}
	for _, r := range j.script.Redirs {
		if !j.tooMany {
			j.redirection(r)
		}
	}
	j.wholeLine()
	j.decide()
	return j.verdict
}

// maxCalls is the maximum number of commands, and of redirections, of a line that are judged
// one by one. maxPaths is the maximum number of paths of one command. A line with more asks.
const (
	maxCalls = 200
	maxPaths = 200
)

func (j *judging) add(f finding) { j.findings = append(j.findings, f) }

// source returns a piece of the line as written.
func (j *judging) source(offset, end int) string {
	text := j.script.Text
	if offset < 0 || end > len(text) || offset >= end {
		return ""
	}
	return strings.TrimSpace(text[offset:end])
}

func (j *judging) doubts() {
	for _, d := range j.script.Doubts {
		f := finding{
			decision: Ask,
			why:      d.Why,
			rule:     "not understood",
			text:     j.source(d.Offset, d.End),
			offset:   d.Offset,
			end:      d.End,
			doubt:    true,
		}
		if d.Deceptive {
			f.risk, f.rule = RiskHigh, "deceptive text"
		}
		j.add(f)
	}
}

// environment judges the variables of the request.
func (j *judging) environment() {
	for _, name := range sortedKeys(j.cmd.Env) {
		if envHarmless(name, j.cmd.Env[name]) {
			continue
		}
		why, risk := envWhy(name)
		set := name + "=" + j.cmd.Env[name]
		j.add(finding{
			decision: Ask,
			why:      "the request sets " + oneLine(set) + ": " + why,
			rule:     "environment",
			risk:     risk,
			text:     set,
		})
	}
}

// call judges one simple command.
func (j *judging) call(c *analysis.Call) {
	state := &callState{}
	j.calls[c] = state
	f := finding{offset: c.Offset, end: c.End, text: j.source(c.Offset, c.End)}
	if f.text == "" {
		f.text = callText(c)
	}
	if c.Binds {
		f.decision, f.why, f.rule = Auto, "it assigns to a variable of the line", "safe list: assignment"
		f.by = BySafeList
		state.builtin = true
		for _, a := range c.Assigns {
			if carried.Loads(a.Name) {
				f.ask(RiskHigh, "programs take code or settings from the variable "+a.Name)
			}
		}
	} else if len(c.Args) > 0 {
		j.judgeCall(c, state, &f)
		j.credentials(c, state, &f)
		j.dangers(c, &f)
		j.candidates(c, state, &f)
	} else {
		f.decision, f.why, f.rule = Ask, "it changes the shell's state", "not a command"
		if len(c.Redirs) > 0 {
			f.why = "a redirection without a command"
		}
		j.credentials(c, state, &f)
	}
	state.decision = f.decision
	j.assignments(c, state)
	j.add(f)
}

func callText(c *analysis.Call) string {
	var words []string
	for _, a := range c.Args {
		words = append(words, a.Source)
	}
	return strings.Join(words, " ")
}

// assignments judges the NAME=value words in front of a command.
func (j *judging) assignments(c *analysis.Call, state *callState) {
	if len(c.Args) == 0 {
		return
	}
	for _, a := range c.Assigns {
		f := finding{decision: Ask, rule: "environment", offset: c.Offset, end: c.End, text: a.Name + "=" + a.Value.Source}
		switch {
		case a.Odd || a.Value.Kind != analysis.Literal:
			f.why = "the variable " + a.Name + " gets a value that is not known before"
			if carried.Loads(a.Name) {
				f.risk = RiskHigh
			}
		case envHarmless(a.Name, a.Value.Text):
			continue
		case state.preset && carried.Named(buildEnv, a.Name) &&
			!(a.Name == "MAKEFLAGS" && strings.Trim(a.Value.Text, "-jklswBin. 0123456789") != ""):
			continue
		default:
			f.why, f.risk = envWhy(a.Name)
		}
		j.add(f)
	}
}

// judgeCall applies the rules, the safe list and the default to a call.
func (j *judging) judgeCall(c *analysis.Call, state *callState, f *finding) {
	t := j.tool
	use, refusal := safelist.Match(c.Args)
	j.commandPaths(c, state, use != nil)
	state.guessedPaths = len(state.paths)
	if j.forbidden(c, f) {
		j.alsoReads(c, state, use, f)
		return
	}
	if state.transparent = c.Transparent && c.Literal() || c.Script != nil; state.transparent {
		j.wrapper(c, state, f)
		return
	}
	if j.presetCovers[c] {
		f.decision, f.why, f.rule = Auto, "the preset that allows what runs it knows of it", "preset"
		f.by = ByPreset
		state.preset = true
		return
	}
	if use != nil {
		state.use, state.reads, state.builtin = use, true, use.Entry.Builtin && j.inBash(c)
	}
	decided := j.firstRule(c, f)
	if decided && f.decision != Auto {
		j.alsoReads(c, state, use, f)
		return
	}
	if decided {
		if j.permitted(c, state, f); f.decision == Auto {
			return
		}
	}
	asks := *f
	if use != nil && t.autoSafe {
		if j.judgeSafe(c, state, use, f); f.decision == Auto {
			return
		}
		asks = *f
	}
	switch {
	case !decided && j.xargs(c, state, f):
	case j.permittedByList(c, state, refusal, f):
	case decided || use != nil && t.autoSafe:
		*f = asks
	default:
		j.unlisted(c, state, refusal, f)
		j.alsoReads(c, state, use, f)
	}
}

// alsoReads judges the files of a call on the safe list that asks for another reason. They can
// add warnings and raise the risk.
func (j *judging) alsoReads(c *analysis.Call, state *callState, use *safelist.Use, f *finding) {
	if use == nil || f.decision != Ask {
		return
	}
	looked := *f
	j.judgeSafe(c, state, use, &looked)
	if f.risk = max(f.risk, looked.risk); looked.decision == Ask && f.rule == "default" {
		f.why = looked.why
	}
}

// wrapper judges a command that only runs another.
func (j *judging) wrapper(c *analysis.Call, state *callState, f *finding) {
	f.decision, f.by, f.why, f.rule = Auto, ByDefault, "it only runs the command behind it", "wrapper"
	state.builtin = c.Args[0].Text == "command" && j.inBash(c)
	if strings.Contains(c.Args[0].Text, "/") {
		f.decision, f.why = Ask, "a wrapper named by a path"
		return
	}
	if c.Script == nil && !state.builtin {
		j.binary(c.Args[0].Text, f)
	}
}

// inBash reports whether bash itself runs a call's builtin, as opposed to a wrapper that starts
// a program of that name.
func (j *judging) inBash(c *analysis.Call) bool {
	via := c.Via
	for len(via) > 0 && (via[len(via)-1] == "command" || via[len(via)-1] == "builtin") {
		via = via[:len(via)-1]
	}
	if len(via) == 0 {
		return j.cmd.Line != ""
	}
	switch via[len(via)-1] {
	case "bash", "sh", "eval":
		return true
	}
	return false
}
