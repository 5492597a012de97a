package main

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"sandboxd/cmd/sbx/internal/ask"
	"sandboxd/display"
	"sandboxd/ipc"
)

func pendingVerb(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:               "pending [ID]",
		Short:             "List the requests that wait for an answer, or show one whole",
		Example:           "  sbx pending\n  sbx pending 01K9X5\n  sbx pending --json | jq -r '.approvals[].id'",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completing(requestIDs),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := a.approver(c.Context())
			if err != nil {
				return err
			}
			if len(args) == 1 {
				q, err := client.Approval(c.Context(), ipc.ApprovalRequest{ID: args[0]})
				switch {
				case err != nil:
					return err
				case asJSON:
					return a.printJSON(q)
				}
				a.paged()
				a.printApproval(q)
				return nil
			}
			list, err := client.Approvals(c.Context())
			switch {
			case err != nil:
				return err
			case asJSON:
				return a.printJSON(list)
			case len(list.Approvals) == 0:
				a.note("nothing waits")
				return nil
			}
			rows := [][]string{{"ID", "WAITS", "LEFT", "RISK", "TOOL", "WHAT"}}
			for _, q := range list.Approvals {
				left := ""
				if q.Deadline != nil {
					left = strings.TrimPrefix(until(q.Deadline), "in ")
				}
				rows = append(rows, []string{q.ID, age(q), left, risk(q), q.Tool, short(subject(q), 200)})
			}
			table(a.out, rows)
			return nil
		},
	}
	addJSON(c, &asJSON, "print JSON")
	return c
}

// printApproval shows one request whole.
func (a *app) printApproval(q ipc.Approval) {
	pairs := []string{"id", q.ID, "hash", q.Hash, "tool", q.Tool, "what", q.Description, "directory", q.Cwd, "risk",
		risk(q)}
	for _, r := range q.Reasons {
		pairs = append(pairs, "why", r)
	}
	pairs = append(pairs, "agent", q.Agent, "session", strings.TrimSpace(q.Session+" "+q.Label), "path", q.BlockedPath,
		"waits for", age(q), "answer", until(q.Deadline), "scopes", strings.Join(q.Scopes, ", "))
	for _, s := range q.Suggestions {
		pairs = append(pairs, "suggestion "+s.ID, s.Label)
	}
	for _, p := range q.Presets {
		pairs = append(pairs, "preset", strings.TrimSuffix(p.Name+": "+p.Why, ": "))
	}
	if len(q.Trusts) > 0 {
		pairs = append(pairs, "trust", strings.Join(q.Trusts, ", "))
	}
	for _, w := range q.Widenings {
		pairs = append(pairs, "widening "+w.ID, cmp.Or(w.Label, strings.TrimSpace(w.Access+" "+w.Object)))
	}
	for _, p := range q.Paths {
		pairs = append(pairs, "lands", p)
	}
	if q.Confirm {
		pairs = append(pairs, "second yes", "needed (--confirm)")
	}
	fields(a.out, pairs...)
	a.block("command", subject(q))
	a.block("with", ask.Variables(q))
	a.block("the agent says", q.Claim)
	if q.Command == "" && len(q.Input) > 0 {
		if text, err := json.MarshalIndent(q.Input, "", "  "); err == nil {
			a.block("input", string(text))
		}
	}
	if p := q.Presentation; p != nil && p.Content != q.Command {
		text := p.Content
		if kind, binary := display.Binary([]byte(text)); binary {
			text = kind
		}
		a.block(p.Kind, text)
	}
}

// block prints a stranger's text behind a margin.
func (a *app) block(name, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	a.printf("%s:\n", display.Line(name))
	for _, line := range display.Block(text) {
		a.printf("  | %s\n", line)
	}
}

// risk is the risk with its reasons.
func risk(q ipc.Approval) string {
	s := q.Risk
	for _, f := range []struct {
		on   bool
		name string
	}{{q.Dangerous, "dangerous"}, {q.Outside, "outside project"}, {q.Protected, "protected"}, {q.Delete, "deletes"}} {
		if f.on {
			s += ", " + f.name
		}
	}
	return s
}

// subject is the subject of a request.
func subject(q ipc.Approval) string {
	switch {
	case q.Command != "":
		return q.Command
	case len(q.Argv) > 0:
		return display.Argv(q.Argv)
	}
	return q.Description
}

// short cuts a text for a list, and says so.
func short(s string, n int) string {
	s = display.Line(s)
	if pieces := display.Wrap(s, n); len(pieces) > 1 {
		return strings.TrimRight(pieces[0], " ") + "…"
	}
	return s
}
