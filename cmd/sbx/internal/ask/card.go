package ask

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"sandboxd/display"
	"sandboxd/ipc"
)

// look is how a terminal shows things.
type look struct {
	Width int  // cells
	Color bool // SGR sequences may be written
	UTF8  bool
	Cells bool // a renderer draws it, cell by cell
	Whole bool // leave nothing out, however long
	Here  bool // the terminal is that of the program that asks: some answers hold there alone
}

// maxLines is how many lines of one field a card shows.
const maxLines = display.MaxLines

// card is a question as it is shown.
type card struct {
	text    string // ends with a line end
	prompt  string
	help    string
	options []option // all but those that take a screen
	whole   bool     // nothing was left out
}

// newCard returns the card of a question.
func newCard(a ipc.Approval, look look, onlyNo bool) card {
	screen := func(o option) bool { return o.verb == verbAlways || o.verb == verbSome }
	c := card{whole: true, options: slices.DeleteFunc(optionsOf(a, onlyNo, look), screen)}
	c.prompt, c.help = promptText(c.options, onlyNo), helpText(c.options, onlyNo)
	if !look.Whole && short(a, look) {
		c.text = look.paint(cyan, "sandboxd asks: ") + look.line(tool(a)) + ": " + look.line(subjectOf(a)) + why(a, look) +
			"\n"
		return c
	}
	w := writer{look: look, whole: true}
	w.title(a)
	list := cardFacts(a, look)
	if look.Whole {
		list = allFacts(a, look)
	}
	for _, f := range list {
		w.fact(f)
	}
	if !look.Whole {
		w.help(c.help)
	}
	c.text, c.whole = w.out.String(), w.whole
	return c
}

// reasons are why it asks, each once.
func reasons(a ipc.Approval) []string {
	var out []string
	for _, r := range a.Reasons {
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// noCommand: it is about something else than a command, such as a file.
func noCommand(a ipc.Approval) bool { return a.Command == "" && len(a.Argv) == 0 }

// short reports whether one line shows the whole question: low risk, one reason and nothing unusual.
func short(a ipc.Approval, look look) bool {
	s := subjectOf(a)
	return a.Risk == "low" && Variables(a) == "" && !a.Dangerous && !a.Outside && !a.Protected && !a.Delete &&
		!a.Confirm &&
		len(reasons(a)) <= 1 && a.Claim == "" && a.Batch == nil && len(a.Widenings) == 0 && len(a.Trusts) == 0 &&
		len(a.Warnings) == 0 && inspect(a) == 0 &&
		!strings.Contains(s, "\n") && display.Width(look.line(s)) <= 2*look.Width
}

func why(a ipc.Approval, look look) string {
	if len(a.Reasons) == 0 {
		return ""
	}
	return look.paint(gray, " ("+look.line(a.Reasons[0])+")")
}

// inspect finds deceptive characters in all text that a stranger wrote.
func inspect(a ipc.Approval) display.Finding {
	var found display.Finding
	for _, s := range append([]string{a.Tool, a.Command, a.Cwd, a.Agent, a.Label, a.Claim, a.BlockedPath, a.Description,
		Variables(a)}, a.Argv...) {
		found |= display.Inspect(s)
	}
	return found
}

func tool(a ipc.Approval) string {
	if a.Count > 1 {
		s := fmt.Sprintf("%s (the same question %d times", a.Tool, a.Count)
		if same(a) {
			s += "; an answer is for all of them"
		}
		return s + ")"
	}
	return a.Tool
}

// same reports whether a question is answered together with those that are the
// same (R-AP-11). A second yes is for one alone, and a group has more in it than
// is shown here.
func same(a ipc.Approval) bool { return a.Count > 1 && !a.Confirm && a.GroupID == "" }

// together has an answer to one call answer the same calls too.
func together(a ipc.Approval, answer ipc.Answer) ipc.Answer {
	plain := answer.Scope == "once" || answer.Scope == "" && answer.Mode == "soft"
	if same(a) && plain && answer.Widening == "" && len(answer.Paths) == 0 {
		answer.Scope = "group"
	}
	return answer
}

// nextCall describes a call that follows the question's own. If the call will have a
// question of its own, the description includes the reason.
func nextCall(c ipc.NextCall) string {
	s := c.Tool + ": " + first(c.Command, display.Argv(c.Argv), string(c.Args))
	if c.Asks != "" {
		s += " (asks by itself: " + c.Asks + ")"
	}
	return s
}

func commandOf(a ipc.Approval) string {
	if a.Command != "" {
		return a.Command
	}
	return display.Argv(a.Argv)
}

// Variables are those that the request sets for its command, one a line; a line's end within a value is shown as \n.
func Variables(a ipc.Approval) string {
	var payload struct {
		Env map[string]string `json:"env"`
	}
	if noCommand(a) || json.Unmarshal(a.Input, &payload) != nil {
		return ""
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(payload.Env)) {
		lines = append(lines, strings.ReplaceAll(name+"="+payload.Env[name], "\n", `\n`))
	}
	return strings.Join(lines, "\n")
}

// agent describes the requester. A name that the requester gives itself is shown as
// a claim. An unnamed requester has no description if it is this process.
func agent(a ipc.Approval) string {
	var parts []string
	unknown := a.Agent == "" || a.Agent == "unknown agent"
	if unknown && a.Label == "" && a.PID == os.Getpid() {
		return ""
	}
	switch {
	case unknown:
	case a.Claimed && !strings.HasPrefix(a.Agent, "claims to be"):
		parts = append(parts, "claims to be "+strconv.Quote(a.Agent))
	default:
		parts = append(parts, program(a.Agent))
	}
	if a.Label != "" {
		parts = append(parts, "session "+strconv.Quote(a.Label))
	}
	if a.PID != 0 {
		process := fmt.Sprintf("process %d", a.PID)
		if !strings.HasPrefix(a.Agent, "exe:"+a.Exe+" ") {
			process += " " + a.Exe
		}
		parts = append(parts, strings.TrimSpace(process))
	}
	return strings.Join(parts, ", ")
}

// agentInBrief is agent for a card: of a program that the daemon has identified, its path.
func agentInBrief(a ipc.Approval) string {
	path, _, identified := strings.Cut(a.Agent, " sha256:")
	path, exe := strings.CutPrefix(path, "exe:")
	if !identified || !exe {
		return agent(a)
	}
	if a.Label != "" {
		path += ", session " + strconv.Quote(a.Label)
	}
	return path
}

// program is an agent that the daemon has looked at, "exe:PATH sha256:HEX", in
// words. The whole checksum is in sbx pending ID.
func program(id string) string {
	path, sum, ok := strings.Cut(id, " sha256:")
	path, exe := strings.CutPrefix(path, "exe:")
	if !ok || !exe || len(sum) < 12 {
		return id
	}
	return path + " (its sha256 begins " + sum[:12] + ")"
}

// enforcement describes the sandbox's enforcement in one line.
func enforcement(e *ipc.Enforcement) string {
	if e == nil {
		return ""
	}
	var layers, gaps []string
	for _, l := range e.Layers {
		if l.Active {
			layers = append(layers, l.Name)
		}
	}
	for _, p := range e.Protections {
		switch {
		case p.Level == ipc.Enforced:
		case p.Level == ipc.Partial && p.Name == "protected":
			gaps = append(gaps, "protected names that appear during the run are checked after it")
		default:
			gaps = append(gaps, p.Name+" "+string(p.Level)+": "+first(p.Missing, p.Why))
		}
	}
	s := string(e.Level)
	if len(layers) > 0 {
		s += " (" + strings.Join(layers, ", ") + ")"
	}
	if len(gaps) > 0 {
		s += "; " + strings.Join(gaps, "; ")
	}
	return s
}

// input shows a tool's arguments, one a line.
func input(raw json.RawMessage) string {
	var args map[string]any
	if len(raw) == 0 || json.Unmarshal(raw, &args) != nil {
		return string(raw)
	}
	text, err := json.MarshalIndent(args, "", "  ")
	if err != nil {
		return string(raw)
	}
	return string(text)
}

func first(list ...string) string {
	for _, s := range list {
		if strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}

// confirmText asks for the second yes.
func confirmText(a ipc.Approval, c code, look look) string {
	what := "It is dangerous."
	switch {
	case a.Delete:
		what = "It deletes something."
	case a.Protected:
		what = "It reaches something protected."
	}
	s := fmt.Sprintf("%s To really allow it, type these two words: %s\n", what, look.paint(bold, string(c)))
	return look.paint(red, look.sign("▲ ", "!! ")) + s
}
