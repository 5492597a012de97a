package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() { os.Exit(run()) }

// options are the flags.
type options struct {
	bin, report, plot string
	runs              int
	lasting           time.Duration
	files             int
	only              string
	plain             string
}

// wants reports whether a table is to be made.
func (o options) wants(table string) bool {
	return o.only == "" || slices.Contains(strings.Split(o.only, ","), table)
}

func run() int {
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "where sandboxd, sandboxd-launch and sbx are")
	flag.StringVar(&o.report, "report", "", "file for the report; empty: standard output")
	flag.StringVar(&o.plot, "plot", "", "file for a picture of the launches, as SVG; empty: none")
	flag.IntVar(&o.runs, "runs", 200, "runs of each way to launch")
	flag.DurationVar(&o.lasting, "lasting", 5*time.Second, "how long each rate is measured")
	flag.IntVar(&o.files, "files", 5000, "files of the project in which work is measured")
	flag.StringVar(&o.only, "only", "", "tables to make, of launches,peers,rates,inside,growth; empty: all")
	flag.StringVar(&o.plain, "plain", "", "serve on this socket without a sandbox, for the comparison, and measure nothing")
	flag.Parse()
	if o.plain != "" {
		if err := servePlain(o.plain); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
		return 1
	}
	bin, err := filepath.Abs(o.bin) // what is started there has another working directory
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	o.bin = bin
	r, err := measure(o)
	if err == nil {
		err = r.write(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}

// pause is the time that an agent takes at least between two commands.
const pause = 50 * time.Millisecond

func settle() { time.Sleep(pause) }

// measure takes all tables, one after the other.
func measure(o options) (*report, error) {
	r := newReport(o)
	cold, err := startDaemon(o.bin, "[sandbox]\nwarm = 0\n", nil)
	if err != nil {
		return nil, err
	}
	defer cold.stop()
	warm, err := startDaemon(o.bin, "", nil)
	if err != nil {
		return nil, err
	}
	defer warm.stop()
	r.idle = warm.resident()
	coldClient, err := cold.client()
	if err != nil {
		return nil, err
	}
	warmClient, err := warm.client()
	if err != nil {
		return nil, err
	}
	p, err := defaultProfile(warm.project)
	if err != nil {
		return nil, err
	}
	raw, err := rawBwrap(p)
	if err != nil {
		return nil, err
	}
	if o.wants("launches") {
		unsandboxed, stop, err := plain()
		if err != nil {
			return nil, err
		}
		defer stop()
		alone, err := warm.exchange(warmClient)
		if err != nil {
			return nil, err
		}
		r.launches, err = interleaved(o.runs, []way{
			{name: "bare", run: bare},
			{name: "bwrap alone, equal mounts", run: raw},
			{name: "sandboxd, cold", run: coldClient.launch},
			{name: "a daemon without sandbox", run: unsandboxed},
			{name: "sandboxd, warm", run: warmClient.launch},
			{name: "warm, the exchange alone", run: alone.launch},
			{name: "warm, own descriptors", run: warmClient.passing},
			{name: "sbx run, cold", run: cold.sbxRun},
			{name: "sbx run, warm", run: warm.sbxRun},
		})
		if err != nil {
			return nil, err
		}
	}
	r.warm, r.warmOf = warmClient.warm, warmClient.runs
	if o.wants("peers") {
		ways, missing, err := installed(warm.project)
		if err != nil {
			return nil, err
		}
		r.missing = missing
		ours := []way{{name: "bare", run: bare}, {name: "bwrap alone, equal mounts", run: raw}, {name: "sbx run, warm", run: warm.sbxRun}}
		if r.peers, err = interleaved(max(20, o.runs/4), append(ours, ways...)); err != nil {
			return nil, err
		}
	}
	for _, atOnce := range []int{1, 2, 8} {
		if !o.wants("rates") {
			break
		}
		line := rates{atOnce: atOnce}
		for to, run := range map[*float64]func() error{&line.bare: bare, &line.bwrap: raw, &line.cold: oneOf(cold), &line.warm: oneOf(warm)} {
			if *to, err = rate(atOnce, o.lasting, run); err != nil {
				return nil, err
			}
		}
		r.rates = append(r.rates, line)
	}
	settle()
	r.pool, r.pooled = warm.waiting()
	r.busy = warm.resident()
	if o.wants("inside") {
		if err := fill(warm.project, o.files); err != nil {
			return nil, err
		}
		if r.inside, err = inside(warmClient, warm.project, 7); err != nil {
			return nil, err
		}
	}
	if !o.wants("growth") {
		return r, nil
	}
	r.growth, err = grow(o.bin, max(20, o.runs/4))
	return r, err
}

// oneOf launches in one session from several places at once.
func oneOf(d *daemon) func() error {
	free := make(chan *client, 64)
	return func() error {
		var c *client
		select {
		case c = <-free:
		default:
			var err error
			if c, err = d.client(); err != nil {
				return err
			}
		}
		defer func() { free <- c }()
		return c.launch()
	}
}
