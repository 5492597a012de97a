package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"sandboxd/audit"
	"sandboxd/ipc"
)

// statsRecords is how many of the newest decisions in the log are looked at.
const statsRecords = 10_000

// habits is what the log tells of how people answer.
type habits struct {
	Decisions int `json:"decisions"` // that were looked at, of all tools
	Asked     int `json:"asked"`     // of those, how often a person was asked
	// AsksPer100 commands.
	AsksPer100 float64 `json:"asks_per_100"`
	// Of the answers of people whose time is on record:
	Timed       int   `json:"timed"`
	MedianMS    int64 `json:"median_ms"`
	SlowestMS   int64 `json:"slowest_ms"`
	UnderSecond int   `json:"under_one_second"` // approved in less than a second: was it read?
	// Unused are grants that never answered for anybody.
	Unused []unused `json:"grants_never_used"`
	// Rule is the one that would have saved the most questions; nil: none would.
	Rule *savingRule `json:"rule,omitempty"`
}

type unused struct {
	ID    string `json:"id"`
	What  string `json:"what"`
	Scope string `json:"scope"`
}

// savingRule is a permission that would have answered for people.
type savingRule struct {
	Permission string `json:"permission"` // as it stands in the configuration
	Saved      int    `json:"saved"`
	Of         int    `json:"of"` // questions that were answered with yes
}

// readHabits reads the log, and the grants.
func readHabits(ctx context.Context, client *ipc.Client) (habits, error) {
	var h habits
	page, err := client.Audit(ctx, ipc.AuditRequest{Category: audit.Decision, Limit: statsRecords, Last: true})
	if err != nil {
		return h, err
	}
	var list []audit.Record
	for _, raw := range page.Records {
		var r audit.Record
		if json.Unmarshal(raw, &r) == nil {
			list = append(list, r)
		}
	}
	h.count(list)
	h.Rule = bestRule(list)
	grants, err := client.Grants(ctx)
	if err != nil {
		return h, err
	}
	h.Unused = []unused{}
	for _, g := range grants.Grants {
		if g.Uses == 0 {
			h.Unused = append(h.Unused, unused{g.ID, g.What, g.Scope})
		}
	}
	return h, nil
}

// asked reports whether a person was asked, with or without an answer.
func asked(r audit.Record) bool {
	return r.How == "person" || r.Reason == "timeout" || r.Reason == "no_approver"
}

func (h *habits) count(list []audit.Record) {
	h.Decisions = len(list)
	var took []int64
	for _, r := range list {
		if asked(r) {
			h.Asked++
		}
		if r.How != "person" || r.DurationMS <= 0 {
			continue
		}
		took = append(took, r.DurationMS)
		if r.Decision == "approved" && r.DurationMS < 1000 {
			h.UnderSecond++
		}
	}
	if h.Decisions > 0 {
		h.AsksPer100 = float64((h.Asked*2000+h.Decisions)/(2*h.Decisions)) / 10
	}
	if h.Timed = len(took); h.Timed > 0 {
		slices.Sort(took)
		h.MedianMS, h.SlowestMS = took[len(took)/2], took[len(took)-1]
	}
}

// never are programs for which a prefix would allow anything at all, or what
// cannot be taken back.
var never = strings.Fields("sh bash dash zsh fish env sudo su doas xargs find eval exec nohup timeout time nice python python3 node perl ruby php " +
	"lua awk sed ssh scp rsync curl wget rm mv dd chmod chown ln kill docker podman kubectl systemctl tee")

// bestRule finds the permission by prefix that would have answered most of the
// questions to which people said yes, and none to which they said no.
func bestRule(list []audit.Record) *savingRule {
	yes, no, of := map[string]int{}, map[string]bool{}, 0
	for _, r := range list {
		if r.How != "person" || r.Tool != "bash" {
			continue
		}
		prefixes := prefixesOf(r)
		if r.Decision != "approved" {
			for _, p := range prefixes {
				no[p] = true
			}
			continue
		}
		of++
		for _, p := range prefixes {
			yes[p]++
		}
	}
	best := ""
	for p, n := range yes {
		if no[p] || n < 2 {
			continue
		}
		if n > yes[best] || n == yes[best] && (len(p) > len(best) || len(p) == len(best) && p < best) {
			best = p
		}
	}
	if best == "" {
		return nil
	}
	return &savingRule{Permission: "Bash(" + best + " *)", Saved: yes[best], Of: of}
}

// prefixesOf are the beginnings of the one command that a record is about, of
// up to three words; none where a prefix would be unwise.
func prefixesOf(r audit.Record) []string {
	var payload struct {
		Asks  [][]string `json:"asks"`
		Plain bool       `json:"plain"`
	}
	if json.Unmarshal(r.Input, &payload) != nil || !payload.Plain || len(payload.Asks) != 1 || r.Risk == "high" {
		return nil
	}
	words := payload.Asks[0]
	if len(words) == 0 || slices.Contains(never, words[0]) {
		return nil
	}
	var out []string
	for n := 1; n <= min(3, len(words)); n++ {
		if strings.ContainsAny(words[n-1], " \t\n*?[]()'\"\\$`") {
			break
		}
		out = append(out, strings.Join(words[:n], " "))
	}
	return out
}

func (a *app) printHabits(h habits) {
	if h.Decisions == 0 {
		return
	}
	a.printf("\n")
	a.printf("of the last %d decisions in the log:\n", h.Decisions)
	a.printf("asked %.1f times in 100 decisions\n", h.AsksPer100)
	if h.Timed > 0 {
		a.printf("median answer %s, slowest %s\n", took(h.MedianMS), took(h.SlowestMS))
	}
	if h.UnderSecond > 0 {
		a.printf("%s in under a second: was that read?\n", plural(h.UnderSecond, "approval"))
	}
	if r := h.Rule; r != nil {
		a.printf("the rule that would have saved the most questions, %d of %d that were allowed:\n", r.Saved, r.Of)
		a.printf("  [permissions]\n  allow = [%q]\n", r.Permission)
	} else if h.Asked > 0 {
		a.printf("no single rule would have saved more than one question\n")
	}
	if len(h.Unused) > 0 {
		a.printf("%s never used (sbx grants rm ID withdraws one):\n", plural(len(h.Unused), "grant"))
		var rows [][]string
		for _, g := range h.Unused {
			rows = append(rows, []string{"  " + g.ID, g.Scope, short(g.What, 120)})
		}
		table(a.out, rows)
	}
}

func took(ms int64) string {
	return (time.Duration(ms) * time.Millisecond).Round(100 * time.Millisecond).String()
}
