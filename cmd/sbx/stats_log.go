package main

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"sandboxd/audit"
	"sandboxd/ipc"
)

// statsRecords is how many of the newest decisions in the log are looked at.
const statsRecords = 10_000

// habits summarises the log's records of how people answer.
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
}

type unused struct {
	ID    string `json:"id"`
	What  string `json:"what"`
	Scope string `json:"scope"`
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
	if h.Asked > 0 {
		a.printf("sbx advise says what would have saved questions\n")
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
