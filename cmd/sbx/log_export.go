package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"sandboxd/ipc"
)

func logExport(a *app) *cobra.Command {
	var (
		filter       ipc.AuditRequest
		since, until string
		traces       bool
	)
	c := &cobra.Command{
		Use:   "export FILE",
		Short: "Write every record that matches into a file",
		Long: "Write the records as they stand in the log, oldest first and without a limit, into FILE,\n" +
			"which must not be there yet; - is standard output. An export of everything, named\n" +
			"00000001.jsonl in a directory of its own, is a log that sbx log verify --dir checks.\n" +
			"A line that is not as it was written is left out and named, and the exit status is 1.\n\n" +
			"With --traces what is written are traces of OpenTelemetry, a JSON object a line (OTLP), as\n" +
			"a collector's otlpjsonfile receiver reads them: a trace for each call, in it how it was\n" +
			"decided and what ran, with the time that each took.",
		Example: "  sbx log export --since 2026-01-01 january.jsonl\n  sbx log export - | jq -r .subject\n  sbx log export " +
			"--traces --since 24h traces.jsonl",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			now := time.Now()
			var err error
			if filter.Since, err = moment(since, now); err != nil {
				return usage(c, "--since: %v", err)
			}
			if filter.Until, err = moment(until, now); err != nil {
				return usage(c, "--until: %v", err)
			}
			if err := checkFilter(c, filter); err != nil {
				return err
			}
			defer a.slowly("reading the log")()
			from, passedOver, err := a.source(c.Context())
			if err != nil {
				return err
			}
			what, line := "record", func(raw json.RawMessage) ([]byte, error) { return raw, nil }
			if traces {
				what, line = "span", newTracer().line
			}
			return a.export(from, passedOver, filter, what, line, args[0])
		},
	}
	f := c.Flags()
	f.BoolVar(&traces, "traces", false, "write traces of OpenTelemetry (OTLP in JSON) instead of the records")
	f.StringVar(&since, "since", "", "only what is not older: 2h, 2025-12-31, 2025-12-31T23:59:00Z")
	f.StringVar(&until, "until", "", "only what is older")
	f.StringVar(&filter.Session, "session", "", "only this session")
	f.StringVar(&filter.Agent, "agent", "", "only this agent")
	f.StringVar(&filter.Category, "category", "", "only "+categories)
	f.StringVar(&filter.Decision, "decision", "", "only approved, denied, …")
	f.StringVar(&filter.ExecID, "exec", "", "only this execution")
	f.StringVar(&filter.Grep, "grep", "", "only what matches this regular expression")
	return c
}

// export reads page after page, and writes the line of each record, if
// it has one; the parameter what names the format for people. Where lines were passed over, the rest is
// exported, and the answer is no.
func (a *app) export(from source, passedOver func() int, q ipc.AuditRequest, what string,
	line func(json.RawMessage) ([]byte, error), file string) (err error) {
	to := a.out
	if file != "-" {
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		defer func() { err = errors.Join(err, f.Sync(), f.Close()) }()
		to = f
	}
	out := bufio.NewWriter(to)
	n := 0
	for q.Limit = 1000; ; {
		records, more, err := from(q)
		if err != nil {
			return err
		}
		for _, raw := range records {
			text, err := line(raw)
			if err != nil {
				return err
			}
			if text == nil {
				continue
			}
			out.Write(text)
			if err := out.WriteByte('\n'); err != nil {
				return fmt.Errorf("export: %w", err)
			}
			n++
		}
		if !more {
			break
		}
		if q.AfterSeq, err = seqOf(records[len(records)-1]); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	where := file
	if file == "-" {
		where = "standard output"
	}
	if bad := passedOver(); bad > 0 {
		return &exit{exitNo, fmt.Errorf("%s written to %s, which is not the whole log: %s skipped", plural(n, what), where,
			plural(bad, "damaged record"))}
	}
	if file != "-" {
		a.note("%s written to %s", plural(n, what), where)
	}
	return nil
}

func seqOf(raw json.RawMessage) (uint64, error) {
	var r struct {
		Seq uint64 `json:"seq"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return 0, fmt.Errorf("read a record: %w", err)
	}
	return r.Seq, nil
}
