package ask

import (
	"fmt"
	"regexp"
	"strings"

	"sandboxd/ipc"
)

// result is the decision in force, by the daemon's word, not by the keys
// typed: "▶ bash: ls -la [Approved] ✓".
func (d *dialog) result(answer ipc.Answer, got ipc.Decided) (Outcome, []string) {
	return resultOf(d.look, d.a, answer, got)
}

func resultOf(look look, a ipc.Approval, answer ipc.Answer, d ipc.Decided) (Outcome, []string) {
	what, mark, out := "[Approved]", look.sign(" ✓", ""), Approved
	switch {
	case answer.Presets:
		what, mark, out = "[Added "+look.line(strings.Join(presetNames(a), ", "))+"]", ", judged again", JudgedAgain
	case !d.Allowed:
		what, mark, out = "[Denied]", look.sign(" ✗", ""), Denied
	case d.Scope != "" && d.Scope != "once":
		what = "[Approved for " + look.line(d.Scope) + "]"
	}
	if d.Note != "" {
		mark += " " + look.line(d.Note)
	}
	subject := look.clip(look.line(subjectOf(a)), max(20, look.Width-len(what)-len(a.Tool)-24))
	lines := []string{fmt.Sprintf("%s %s: %s %s%s", look.sign("▶", ">"), look.line(a.Tool), subject, what, mark)}
	if answer.Scope != "batch" || a.Batch == nil {
		return out, lines
	}
	if d.Allowed {
		return out, append(lines, approvedAll(look, a)...)
	}
	return Quit, append(lines, quitBatch(a, d)...)
}

// approvedAll is the summary of "approve all".
func approvedAll(look look, a ipc.Approval) []string {
	n, operations := covered(*a.Batch), "operations"
	if n == 1 {
		operations = "operation"
	}
	lines := []string{fmt.Sprintf("%s %d remaining %s", look.sign("✓ Approved", "Approved"), n, operations),
		"Executing: " + look.clip(look.line(a.Tool+": "+subjectOf(a)), max(look.Width-12, 20))}
	for _, c := range a.Batch.Remaining {
		lines = append(lines, "Next: "+look.clip(look.line(nextCall(c)), max(look.Width-7, 20)))
	}
	if n <= len(a.Batch.Remaining) {
		lines = append(lines, "What deletes, is dangerous or protected still asks.")
	}
	return lines
}

var completed = regexp.MustCompile(`completed (\d+) of (\d+) operations, cancelled (\d+)`)

// quitBatch is the summary of "quit".
func quitBatch(a ipc.Approval, d ipc.Decided) []string {
	lines := []string{"User requested to stop execution"}
	m := completed.FindStringSubmatch(d.Why)
	if m == nil {
		return append(lines, fmt.Sprintf("Cancelled %d remaining operations", a.Batch.Total-a.Batch.Index))
	}
	return append(lines, fmt.Sprintf("Cancelled %s remaining operations", m[3]),
		fmt.Sprintf("Completed: %s/%s operations", m[1], m[2]))
}
