package main

import (
	"fmt"
	"strings"
)

// growth is a case beside the empty one.
type growth struct {
	name     string
	config   string
	sessions int // that are open besides
	files    int // in the project
}

var growths = []growth{
	{name: "nothing"},
	{name: "1,000 sessions", sessions: 1000},
	{name: "1,000 rules", config: manyRules(1000)},
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

// grown is what a case costs.
type grown struct {
	name    string
	launch  timing
	kib     int // the daemon's memory, resident
	perKiB  float64
	waiting int
}

// grow measures each case by itself, with a daemon of its own, in turns.
func grow(bin string, runs int) ([]grown, error) {
	var ways []way
	var out []grown
	for _, g := range growths {
		d, err := startDaemon(bin, "[daemon]\nsessions = 2000\n"+g.config)
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
		ways = append(ways, way{name: g.name, run: c.launch, before: settle})
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
