package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sandboxd/approval"
	"sandboxd/audit"
)

// growth is a case beside the empty one.
type growth struct {
	name     string
	config   string
	sessions int // that are open besides
	files    int // in the project
	// state fills the daemon's state directory before it starts; nil: it is empty.
	state func(dir string) error
}

var growths = []growth{
	{name: "nothing"},
	{name: "1,000 sessions", sessions: 1000},
	{name: "1,000 rules", config: manyRules(1000)},
	{name: "10,000 grants", state: manyGrants(10_000)},
	{name: "1 GB of log", state: longLog(1 << 30)},
	{name: "10,000 files", files: 10_000},
	{name: "100,000 files", files: 100_000},
}

func manyRules(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "[[shell.rules]]\npattern = \"command%d *\"\n", i)
	}
	return b.String()
}

// manyGrants are answers for good, each about another command.
func manyGrants(n int) func(string) error {
	return func(dir string) error {
		uid := os.Geteuid()
		me := approval.Principal{UID: uid}
		var list []approval.Grant
		for i := range n {
			list = append(list, approval.Grant{ID: "g-" + strconv.Itoa(i), Effect: approval.Allow, Scope: approval.ScopeGlobal,
				Principal: me, Created: time.Now(),
				By: approval.Identity{Principal: me, Name: "bench"}, Source: "person",
				Match: approval.Pattern{Tool: "bash", Where: []approval.Condition{approval.Prefix("argv", "command"+
					strconv.Itoa(i))}}})
		}
		return approval.NewFileStore(filepath.Join(dir, "grants.json")).Save(list)
	}
}

// longLog is a log of so many bytes, in records of an ordinary length.
func longLog(bytes int) func(string) error {
	return func(dir string) error {
		log, err := audit.Open(filepath.Join(dir, "audit"), audit.Options{})
		if err != nil {
			return err
		}
		record := audit.Record{Category: audit.Execution, Operation: "end", Session: "s-bench", Tool: "bash",
			Subject: strings.Repeat("word ", 200)}
		for written := 0; written < bytes; written += 1300 {
			if err := log.PutAfter(record); err != nil {
				return err
			}
		}
		return errors.Join(log.Append(record), log.Close())
	}
}

// grown is the cost of a case.
type grown struct {
	name   string
	launch timing
	kib    int // the daemon's memory, resident
	perKiB float64
}

// grow measures each case by itself, with a daemon of its own, in turns.
func grow(bin string, runs int) ([]grown, error) {
	var ways []way
	var out []grown
	for _, g := range growths {
		d, err := startDaemon(bin, "[daemon]\nsessions = 2000\n"+g.config, g.state)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.name, err)
		}
		defer d.stop()
		if g.files > 0 {
			if err := fill(d.project, g.files); err != nil {
				return nil, err
			}
		}
		c, err := d.client()
		if err != nil {
			return nil, err
		}
		before := d.resident()
		for range g.sessions {
			more, _, err := d.session()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", g.name, err)
			}
			more.Close()
		}
		r := grown{name: g.name, kib: d.resident()}
		if g.sessions > 0 {
			r.perKiB = float64(r.kib-before) / float64(g.sessions)
		}
		out = append(out, r)
		ways = append(ways, way{name: g.name, run: c.launch})
	}
	times, err := interleaved(runs, ways)
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].launch = times[i]
	}
	return out, nil
}
