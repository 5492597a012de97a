package main

import (
	"sandboxd/approval"
	"sandboxd/audit"
	"sandboxd/ipc"
)

// pastCalls is how many of the newest decisions in the log are looked at.
const pastCalls = 2000

// addPast reports for the exact request, and for each suggestion, which calls of
// the log it would have covered: past calls show a person the width of a grant.
func (b *backend) addPast(p approval.Pending, a *ipc.Approval) {
	page, err := b.audit.Query(audit.Filter{Category: audit.Decision, Tool: p.Tool, Limit: pastCalls, Last: true})
	if err != nil {
		return // the question matters more; the log's own state is reported elsewhere
	}
	exact, err := approval.ExactPattern(p.Tool, p.Input)
	if err != nil {
		return
	}
	patterns := []approval.Pattern{exact}
	for _, s := range p.Suggestions {
		patterns = append(patterns, s.Pattern)
	}
	past := make([]ipc.Past, len(patterns))
	seen := make([]map[string]bool, len(patterns))
	for i := len(page.Entries) - 1; i >= 0; i-- {
		e := page.Entries[i]
		payload, err := decodeArgs(e.Input)
		if err != nil || len(e.Input) == 0 || e.Peer != nil && e.Peer.UID != servedUser() {
			continue
		}
		for i, pattern := range patterns {
			past[i].Of++
			if !pattern.Matches(e.Tool, payload) {
				continue
			}
			past[i].Matched++
			if e.How == string(approval.HowPerson) {
				past[i].Asked++
			}
			if seen[i] == nil {
				seen[i] = map[string]bool{}
			}
			if !seen[i][e.Subject] && len(past[i].Examples) < 5 {
				seen[i][e.Subject] = true
				past[i].Examples = append(past[i].Examples, e.Subject)
			}
		}
	}
	a.Past = &past[0]
	for i := range a.Suggestions {
		a.Suggestions[i].Past = &past[i+1]
	}
}
