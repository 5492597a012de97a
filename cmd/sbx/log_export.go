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
	)
	c := &cobra.Command{
		Use:   "export FILE",
		Short: "Write every record that matches into a file, one JSON object a line",
		Long: "Write the records as they stand in the log, oldest first and without a limit, into FILE,\n" +
			"which must not be there yet; - is standard output. An export of everything, named\n" +
			"00000001.jsonl in a directory of its own, is a log that sbx log verify --dir checks.",
		Example: "  sbx log export --since 2026-01-01 january.jsonl\n  sbx log export - | jq -r .subject",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			now := time.Now()
			var err error
			if filter.Since, err = moment(since, now); err != nil {
				return usage(c, "--since: %v", err)
			}
			if filter.Until, err = moment(until, now); err != nil {
				return usage(c, "--until: %v", err)
			}
			if _, err := grepOf(filter.Grep); err != nil {
				return usage(c, "--grep: %v", err)
			}
			defer a.slowly("reading the log")()
			from, err := a.source(c.Context())
			if err != nil {
				return err
			}
			return a.export(from, filter, args[0])
		},
	}
	f := c.Flags()
	f.StringVar(&since, "since", "", "only what is not older: 2h, 2025-12-31, 2025-12-31T23:59:00Z")
	f.StringVar(&until, "until", "", "only what is older")
	f.StringVar(&filter.Session, "session", "", "only this session")
	f.StringVar(&filter.Agent, "agent", "", "only this agent")
	f.StringVar(&filter.Category, "category", "", "only this category")
	f.StringVar(&filter.Decision, "decision", "", "only approved, denied, …")
	f.StringVar(&filter.ExecID, "exec", "", "only this execution")
	f.StringVar(&filter.Grep, "grep", "", "only what matches this regular expression")
	return c
}

// export reads page after page.
func (a *app) export(from source, q ipc.AuditRequest, file string) (err error) {
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
			out.Write(raw)
			if err := out.WriteByte('\n'); err != nil {
				return fmt.Errorf("export: %w", err)
			}
		}
		n += len(records)
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
	if file != "-" {
		a.note("%s written to %s", plural(n, "record"), file)
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
