package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sandboxd/ipc"
)

type approveOptions struct {
	allow, deny, stop, confirm, once, plain, json bool
	scope, note, hash                             string
	suggestion, widening, trust                   string
	lifetime                                      seconds
	only                                          []string
}

func approveVerb(a *app) *cobra.Command {
	var o approveOptions
	c := &cobra.Command{
		Use:   "approve [flags]  |  approve ID --allow|--deny [flags]",
		Short: "Answer what programs ask to do",
		Long: "Without an ID: wait for requests and ask for each, on the full screen, until Ctrl-Q, or\n" +
			"Ctrl-C when nothing waits. A letter (y n a s q v p) by itself, or an arrow, and Enter give\n" +
			"an answer; any other text is a no with that text as the reason. Nothing but an\n" +
			"explicit yes approves. Ctrl-Z takes the last answer back, as far as that goes.\n\n" +
			"With an ID: answer that one. Look first: sbx pending ID. Pass --hash so that your answer\n" +
			"counts only for what you saw. Deletions, protected paths and dangerous commands need --confirm.",
		Example: "  sbx approve\n" +
			"  sbx approve 01K9X5 --allow --scope session --for 30m\n" +
			"  sbx approve 01K9X5 --deny --note 'use pnpm'",
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.completing(requestIDs),
		RunE: func(c *cobra.Command, args []string) error {
			if err := notDumpable(); err != nil {
				return err
			}
			if len(args) == 0 {
				for _, name := range []string{"allow", "deny", "scope", "for", "note", "stop", "confirm", "hash", "suggestion",
					"widening", "trust", "only", "json"} {
					if c.Flags().Changed(name) {
						return usage(c, "--%s answers one request: name its ID (sbx pending lists them)", name)
					}
				}
				return a.approveAll(c.Context(), o.once, o.plain)
			}
			if o.allow == o.deny {
				return usage(c, "give either --allow or --deny")
			}
			return a.approveOne(c, args[0], o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.allow, "allow", false, "allow it")
	f.BoolVar(&o.deny, "deny", false, "deny it")
	f.StringVar(&o.scope, "scope", "", "how far it reaches: once, turn, session, project, agent, global; batch and "+
		"group answer all that was listed")
	f.Var(&o.lifetime, "for", "how long a wider answer holds: 30m, 8h")
	f.StringVar(&o.note, "note", "", "the reason for the asking program")
	f.BoolVar(&o.stop, "stop", false, "with --deny: stop the whole session until the user speaks again")
	f.BoolVar(&o.confirm, "confirm", false, "with --allow: also give the second yes where one is needed")
	f.StringVar(&o.hash, "hash", "", "answer only if the request still has this hash (its beginning is enough)")
	f.StringVar(&o.suggestion, "suggestion", "", "number of the wider rule on offer that is granted with it")
	f.StringVar(&o.widening, "widening", "", "number of the path or host on offer that is opened with it")
	f.StringVar(&o.trust, "trust", "", "of a project's first question: contained, each (unless --scope is once), or "+
		"once, which does not trust it")
	f.StringArrayVar(&o.only, "only", nil, "with --allow: only this file or directory of the request lands, as sbx "+
		"pending ID lists them; more of them: --only again")
	f.BoolVar(&o.once, "once", false, "without an ID: leave when no request is left")
	f.BoolVar(&o.plain, "plain", false, "without an ID: ask line by line, for screen readers and terminals that can do "+
		"no more")
	addJSON(c, &o.json, "print what counts now as JSON")
	scopes := []string{"once", "turn", "session", "project", "agent", "global", "batch", "group"}
	c.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions(scopes, cobra.ShellCompDirectiveNoFileComp))
	c.RegisterFlagCompletionFunc("trust",
		cobra.FixedCompletions([]string{"contained", "each", "once"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// approveOne answers one request by its id.
func (a *app) approveOne(c *cobra.Command, id string, o approveOptions) error {
	ctx := c.Context()
	client, err := a.approver(ctx)
	if err != nil {
		return err
	}
	q, err := client.Approval(ctx, ipc.ApprovalRequest{ID: id})
	if err != nil {
		return err
	}
	if !strings.HasPrefix(q.Hash, o.hash) {
		return fmt.Errorf("the request has changed: its hash is %s; look at it again with sbx pending %s", q.Hash, id)
	}
	answer := ipc.Answer{ID: id, Rev: q.Rev, Hash: q.Hash, Allow: o.allow, Scope: o.scope, ForMS: o.lifetime.ms(),
		Note: o.note, Key: "--allow", Suggestion: o.suggestion, Widening: o.widening, Trust: o.trust, Paths: o.only}
	if o.scope == "once" && answer.Trust == "" && slices.Contains(q.Trusts, "once") {
		answer.Trust = "once" // nothing but this call
	}
	trusts := o.allow && (answer.Trust == "contained" || slices.Contains(q.Trusts, "each") && answer.Trust != "once")
	if o.deny {
		answer.Mode, answer.Key = "soft", "--deny"
		if o.stop {
			answer.Mode, answer.Key = "hard", "--deny --stop"
		}
	}
	d, err := client.Decide(ctx, answer)
	if err != nil {
		return err
	}
	if d.ConfirmAgain {
		if !o.confirm {
			return &exit{exitDenied, fmt.Errorf("not approved: this needs a second yes, because it deletes, is dangerous or " +
				"reaches something protected; add --confirm")}
		}
		if answer.Confirm = true; d.Rev != 0 {
			answer.Rev = d.Rev
		}
		if d, err = client.Decide(ctx, answer); err != nil {
			return err
		}
	}
	if o.json {
		return a.printJSON(d)
	}
	what := "denied"
	if d.Allowed {
		what = "allowed"
	}
	trusted := ""
	if trusts && d.Allowed {
		trusted = "this project (undo: sbx trust --remove)"
	}
	fields(a.out, what, id, "scope", d.Scope, "grant", d.Grant, "trusted", trusted, "note", d.Note, "by", d.By)
	return nil
}

// age is how long a request has been waiting.
func age(q ipc.Approval) string { return span(time.Since(q.Created)) }
