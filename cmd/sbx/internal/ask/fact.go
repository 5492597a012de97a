package ask

import (
	"fmt"
	"slices"
	"strings"

	"sandboxd/display"
	"sandboxd/ipc"
)

// fact is one named value of a question, neutralised.
type fact struct {
	name  string
	rows  []row
	most  int  // cells on a card without room; the card says how many more lines there are. 0: all
	clip  bool // one row on a card, shortened
	spare bool // an approval does not depend on it
}

// commandCells is how much of a command a card without room shows: three rows at 80 columns.
const commandCells = 180

// mostRows returns the rows of a card that a fact has, where they are width cells wide.
func (f fact) mostRows(width int) int { return max(f.most/max(width, 1), min(f.most, 3)) }

// cardFacts are those that a person decides by (R-UX-10): the effect, the command, the
// reason that decides, and the side effects of an approval. [allFacts] has the others.
func cardFacts(a ipc.Approval, l look) []fact {
	var out []fact
	line := func(name, value string) { out = appendLine(out, l, name, value) }
	if !named(a) || a.Count > 1 {
		line("Tool", tool(a))
	}
	if noCommand(a) || a.Tool == hostTool || !strings.HasPrefix(a.Description, "Run: ") {
		line("What", inWords(a))
	}
	complete := a.Presentation != nil && strings.TrimSpace(a.Presentation.Content) == a.Description // of What
	for _, f := range contentFacts(a, l) {
		if f.name == "Command" {
			f.most = commandCells
		}
		if !complete || f.name != "Input" && f.name != "Details" {
			out = append(out, f)
		}
	}
	line("In", a.Cwd)
	if noCommand(a) && !strings.Contains(a.Description, a.BlockedPath) {
		line("Path", a.BlockedPath)
	}
	line("Agent", agentInBrief(a))
	why, effects := deciding(a)
	file, writes := strings.CutPrefix(why, "it writes to ")
	if !writes || !strings.Contains(inWords(a)+" ·", "Write "+file+" ·") { // What says it
		line("Why", why)
	}
	for _, e := range effects {
		if strings.HasPrefix(e, trustReason) {
			line("Trust", trustOf(a))
			continue
		}
		line("Also", e)
	}
	if a.Claim != "" {
		claim := strings.TrimSpace(strings.Join(l.block(a.Claim), " "))
		out = append(out, fact{name: "It says", rows: []row{plainRow(claim)}, clip: true, spare: true})
	}
	if b := a.Batch; b != nil && b.Total > 1 {
		text := fmt.Sprintf("%d of %d", b.Index+1, b.Total)
		for i, c := range b.Remaining {
			text += []string{", then ", "; "}[min(i, 1)] + l.line(nextCall(c))
		}
		out = append(out, fact{name: "Batch", rows: []row{plainRow(text)}, clip: true, spare: true})
	}
	line("Sandbox", unusual(a))
	for i := range out {
		name := out[i].name
		out[i].spare = out[i].spare || name == "Why" || name == "Agent" || name == "What" && !noCommand(a)
	}
	return append(out, warningFacts(a, l)...)
}

// named reports whether the tool is that of commands or of a file operation, which the box's heading has room for.
func named(a ipc.Approval) bool {
	file, is := strings.CutPrefix(a.Tool, "file_")
	return a.Tool == shellTool || is && len(file) < 20 && strings.Trim(file, "abcdefghijklmnopqrstuvwxyz_") == ""
}

// inWords is the description without the command that follows it there: the card has that beside it.
func inWords(a ipc.Approval) string {
	start, _, _ := strings.Cut(strings.TrimSpace(a.Command), "\n")
	if start = start[:min(len(start), 40)]; start == "" {
		return nearby(a.Description, a.Cwd)
	}
	words, _, _ := strings.Cut(a.Description, ": "+start)
	return words
}

// nearby writes paths of a file operation's description that are below dir as relative to it.
func nearby(words, dir string) string {
	if strings.Contains(dir, " ") || !strings.HasPrefix(dir, "/") || len(dir) == 1 {
		return words
	}
	return strings.NewReplacer(": "+dir+"/", ": ", " to "+dir+"/", " to ").Replace(words)
}

// allFacts returns all facts that the daemon reports about a question.
func allFacts(a ipc.Approval, l look) []fact {
	var out []fact
	line := func(name, value string) { out = appendLine(out, l, name, value) }
	line("Tool", tool(a))
	line("What", a.Description)
	out = append(out, contentFacts(a, l)...)
	line("In", a.Cwd)
	line("Path", a.BlockedPath)
	for _, n := range a.Notes {
		line("Note", n)
	}
	for _, r := range reasons(a) {
		line("Why", r)
	}
	line("Rule", a.Rule)
	line("Agent", agent(a))
	if strings.TrimSpace(a.Claim) != "" {
		out = append(out, fact{name: "It says", rows: rowsOf(l.block(a.Claim))})
	}
	if b := a.Batch; b != nil {
		line("Batch", fmt.Sprintf("%d of %d", b.Index+1, b.Total))
		for _, c := range b.Remaining {
			line("Then", nextCall(c))
		}
	}
	for _, s := range a.Sandbox {
		line("Sandbox", s)
	}
	line("Held by", enforcement(a.Enforcement))
	for _, w := range a.Widenings {
		line("Offers", first(w.Label, w.Access+" "+w.Object))
	}
	return append(out, warningFacts(a, l)...)
}

func appendLine(out []fact, l look, name, value string) []fact {
	if strings.TrimSpace(value) == "" {
		return out
	}
	return append(out, fact{name: name, rows: []row{plainRow(l.line(value))}})
}

// contentFacts are the command with its variables, or the input and the change of another call.
func contentFacts(a ipc.Approval, l look) []fact {
	var out []fact
	p := a.Presentation
	if subject := commandOf(a); subject != "" {
		marks := ""
		if p != nil && a.Command != "" {
			marks = p.Metadata["marks"]
		}
		out = append(out, fact{name: "Command", rows: highlight(subject, marks, l)})
		if set := Variables(a); set != "" {
			out = append(out, fact{name: "With", rows: rowsOf(l.block(set))})
		}
	} else if len(a.Input) > 0 && !special(a) {
		out = append(out, fact{name: "Input", rows: rowsOf(l.block(input(a.Input)))})
	}
	if p == nil || p.Content == "" || p.Content == a.Command || p.Content == commandOf(a) {
		return out
	}
	if kind, binary := display.Binary([]byte(p.Content)); binary {
		return appendLine(out, l, title(p.Kind), kind)
	}
	return append(out, fact{name: title(p.Kind), rows: content(p, l)})
}

func warningFacts(a ipc.Approval, l look) []fact {
	var out []fact
	for _, w := range a.Warnings {
		shown := func(s string) bool { return strings.Contains(s, w.Message) && w.Hint == "" }
		if !slices.ContainsFunc(alarmsOf(a), shown) {
			out = appendLine(out, l, "Warning", strings.TrimSpace(w.Message+" "+w.Hint))
		}
	}
	if found := inspect(a); found != 0 {
		out = append(out, fact{name: "Careful", rows: []row{{{red, "the text holds " + found.String()}}}})
	}
	return out
}

// trustReason begins the reason of a question whose approval also trusts the project.
const trustReason = "allowing this also lets later approved commands write in "

// trustOf says in brief that an approval can trust the project, or does.
func trustOf(a ipc.Approval) string {
	dir := "this project"
	if a.Root != a.Cwd {
		dir = a.Root
	}
	if slices.Contains(a.Trusts, trustOnce) {
		return dir + " is not trusted yet (undo: sbx trust --remove)"
	}
	return "allowing trusts " + dir + " (undo: sbx trust --remove)"
}

// explanations are in reasons of the shell's classification that name a word of the command.
var explanations = []string{
	"is not on the safe list", "is not on its list", "the invisible character ", "the control character ",
	"changing files asks",
}

func explains(reason string) bool {
	if strings.HasPrefix(reason, "it ") || strings.HasPrefix(reason, "rule: ") {
		return !strings.HasPrefix(reason, "it may ask sandboxd ")
	}
	return slices.ContainsFunc(explanations, func(s string) bool { return strings.Contains(reason, s) })
}

// deciding separates the reason that decides from the effects of an approval besides the command.
// Explanations, which begin with "it", name a rule or a word of the command, follow in the order of their weight, and
// only the first is on a card.
func deciding(a ipc.Approval) (why string, effects []string) {
	trusts := false
	for _, r := range reasons(a) {
		switch {
		case strings.HasPrefix(r, trustReason):
			trusts = true
			effects = append(effects, r)
		case !explains(r) && why != "":
			effects = append(effects, r)
		case why == "":
			why = r
		}
	}
	if trusts && a.Risk != "high" { // that the project is not trusted is the reason
		why = ""
	}
	return why, effects
}

// unusual is the part of the sandbox's access that is not as for every command: writes in the
// project alone, and no network but a loopback of its own.
func unusual(a ipc.Approval) string {
	var out []string
	for _, s := range a.Sandbox {
		name, value, _ := strings.Cut(s, ": ")
		switch {
		case name == "write" && value != a.Root && value != "nothing that stays",
			name == "network" && value != "none" && value != "loopback": // a loopback is the sandbox's own
			out = append(out, s)
		}
	}
	if e := a.Enforcement; e != nil && e.Level == ipc.Absent {
		out = append(out, enforcement(e))
	}
	return strings.Join(out, "; ")
}
