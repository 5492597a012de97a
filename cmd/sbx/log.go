package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sandboxd/audit"
	"sandboxd/ipc"
)

type logOptions struct {
	filter       ipc.AuditRequest
	since        string
	follow, json bool
}

func logVerb(a *app) *cobra.Command {
	var o logOptions
	c := &cobra.Command{
		Use:   "log",
		Short: "Show what was decided and what ran",
		Long:  "Show the records of what was decided, by whom, and what ran. sbx log verify checks that none was changed.",
		Example: "  sbx log\n  sbx log --follow\n  sbx log --since 2h --decision denied\n  sbx log --agent claude --grep " +
			"'git push'\n" +
			"  sbx log --json | jq -r 'select(.category == \"execution\") | .subject'",
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownVerb(c, args[0])
			}
			var err error
			if o.filter.Since, err = moment(o.since, time.Now()); err != nil {
				return usage(c, "--since: %v", err)
			}
			if err := checkFilter(c, o.filter); err != nil {
				return err
			}
			if o.filter.Limit < 1 {
				return usage(c, "-n %d: want a number of records above 0", o.filter.Limit)
			}
			return a.log(c.Context(), o)
		},
	}
	f := c.Flags()
	f.BoolVarP(&o.follow, "follow", "f", false, "follow new events")
	addJSON(c, &o.json, "print the records as they stand in the log, one a line")
	f.IntVarP(&o.filter.Limit, "lines", "n", 50, "how many of the newest records")
	f.StringVar(&o.since, "since", "", "only what is not older: 2h, 2025-12-31, 2025-12-31T23:59:00Z")
	f.StringVar(&o.filter.Session, "session", "", "only this session")
	f.StringVar(&o.filter.Agent, "agent", "", "only this agent")
	f.StringVar(&o.filter.Tool, "tool", "", "only this tool")
	f.StringVar(&o.filter.Category, "category", "", "only "+categories)
	f.StringVar(&o.filter.Decision, "decision", "", "only approved, denied, …")
	f.StringVar(&o.filter.ExecID, "exec", "", "only this execution")
	f.StringVar(&o.filter.Grep, "grep", "", "only what matches this regular expression: command, directory, reason, "+
		"note, error")
	c.RegisterFlagCompletionFunc("session", a.completing(sessionIDs))
	c.RegisterFlagCompletionFunc("category", cobra.FixedCompletions(audit.Categories, cobra.ShellCompDirectiveNoFileComp))
	c.AddCommand(logVerify(a), logAnchor(a), logExport(a))
	return c
}

// categories are those of records, for people.
var categories = strings.Join(audit.Categories, ", ")

// checkFilter refuses a filter that can't match any record.
func checkFilter(c *cobra.Command, f ipc.AuditRequest) error {
	if _, err := grepOf(f.Grep); err != nil {
		return usage(c, "--grep: %v", err)
	}
	if f.Category != "" && !slices.Contains(audit.Categories, f.Category) {
		return usage(c, "--category %q: want %s", f.Category, categories)
	}
	return nil
}

// moment reads a date, a time, or how long ago.
func moment(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04", time.DateOnly,
		"15:04"} {
		t, err := time.ParseInLocation(layout, text, now.Location())
		if err != nil {
			continue
		}
		if layout == "15:04" {
			t = time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, now.Location())
			if t.After(now) { // the last time that it was so late
				t = t.AddDate(0, 0, -1)
			}
		}
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is neither a time nor how long ago (2h, 2025-12-31)", text)
}

// grepOf is nil for an empty pattern.
func grepOf(pattern string) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, nil
	}
	if _, err := regexp.Compile(pattern); err != nil {
		return nil, err // the error quotes the pattern as it was given
	}
	return regexp.Compile("(?m)" + pattern)
}

// source reads records from the daemon, or from its files where none runs.
type source func(ipc.AuditRequest) ([]json.RawMessage, bool, error)

// source also returns how many damaged records were skipped by then.
func (a *app) source(ctx context.Context) (from source, passedOver func() int, err error) {
	client, err := a.running(ctx)
	if err != nil {
		return nil, nil, err
	}
	// On a server not everybody may answer, but everybody may read their own log.
	if client != nil && client.User == "" && errors.Is(client.Exists(ctx), fs.ErrPermission) {
		client = nil
	}
	reported := map[string]bool{}
	tell := func(bad string) {
		if !reported[bad] { // once, while following
			reported[bad] = true
			a.note("skipped a damaged record: %s; sbx log verify says more", bad)
		}
	}
	passedOver = func() int { return len(reported) }
	if client != nil {
		return func(q ipc.AuditRequest) ([]json.RawMessage, bool, error) {
			page, err := client.Audit(ctx, q)
			for _, bad := range page.Bad {
				tell(bad)
			}
			return page.Records, page.More, err
		}, passedOver, nil
	}
	state, err := a.place.StateDir()
	if err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(state, "audit")
	return func(q ipc.AuditRequest) ([]json.RawMessage, bool, error) {
		grep, err := grepOf(q.Grep)
		if err != nil {
			return nil, false, err
		}
		page, err := audit.Query(dir, audit.Filter{Session: q.Session, Agent: q.Agent, Tool: q.Tool, Category: q.Category,
			ExecID: q.ExecID, Grep: grep, Decision: q.Decision, Since: q.Since, Until: q.Until, AfterSeq: q.AfterSeq,
			Limit: q.Limit, Last: q.Last})
		if errors.Is(err, fs.ErrNotExist) {
			return nil, false, nil
		}
		var list []json.RawMessage
		for _, e := range page.Entries {
			list = append(list, e.Raw)
		}
		for _, bad := range page.Bad {
			tell(bad.Text())
		}
		return list, page.More, err
	}, passedOver, nil
}

// warnOfSecrets says that records hold secrets that are masked in new ones (R-AU-04).
func (a *app) warnOfSecrets(records []json.RawMessage) {
	count, first := 0, uint64(0)
	for _, raw := range records {
		if !audit.Leaks(raw) {
			continue
		}
		var at struct{ Seq uint64 }
		if count++; count == 1 && json.Unmarshal(raw, &at) == nil {
			first = at.Seq
		}
	}
	if count > 0 {
		a.note("records with what looks like a secret: %d, the first is %d; a record can't be changed: "+
			"make such a secret invalid where it was issued", count, first)
	}
}

// followEvery is how often `sbx log --follow` looks for more.
const followEvery = 300 * time.Millisecond

func (a *app) log(ctx context.Context, o logOptions) error {
	if !o.follow {
		a.paged()
	}
	from, _, err := a.source(ctx)
	if err != nil {
		return err
	}
	q := o.filter
	q.Last = true
	records, more, err := from(q)
	if err != nil {
		return err
	}
	if more && !o.json {
		a.note("there are older records; -n shows more")
	}
	if len(records) == 0 && !o.follow && !o.json {
		a.note("nothing is on record that matches")
	}
	last, err := a.printRecords(records, o.json)
	a.warnOfSecrets(records)
	if err != nil || !o.follow {
		return err
	}
	for q = o.filter; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(followEvery):
		}
		q.AfterSeq, q.Limit = last, 1000
		records, _, err := from(q)
		if errors.Is(err, ipc.ErrNoDaemon) {
			if from, _, err = a.source(ctx); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		seq, err := a.printRecords(records, o.json)
		if err != nil {
			return err
		}
		last = max(last, seq)
	}
}

// printRecords prints records and returns the number of the last.
func (a *app) printRecords(records []json.RawMessage, asJSON bool) (last uint64, err error) {
	for _, raw := range records {
		var r record
		if err := json.Unmarshal(raw, &r); err != nil {
			return last, fmt.Errorf("read a record: %w", err)
		}
		last = r.Seq
		if asJSON {
			err = a.printJSON(raw)
		} else {
			line := r.line(time.Now()) + "\n"
			if width := columns(a.out); width > 0 {
				line = hang(strings.TrimSuffix(line, "\n"), width, 0, min(detailsColumn, width/3))
			}
			if a.colors() {
				line = r.colored(line)
			}
			_, err = io.WriteString(a.out, line)
		}
		if err != nil {
			return last, err
		}
	}
	return last, nil
}
