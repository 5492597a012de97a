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
	flag.StringVar(&o.only, "only", "", "tables to make, of launches,peers,rates,inside,layers,growth; empty: all")
	flag.StringVar(&o.plain, "plain", "", "serve on this socket without a sandbox, for comparison, and measure nothing")
	flag.Parse()
	if o.plain != "" {
		if err := servePlain(o.plain); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
		return 1
	}
	bin, err := filepath.Abs(o.bin) // a started program has another working directory
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

// pair is the daemons of one back end, without sandboxes that wait and with them.
type pair struct {
	backend                string
	cold, warm             *daemon
	coldClient, warmClient *client
}

func (p *pair) start(bin, backend string) (err error) {
	p.backend = backend
	if p.cold, err = startDaemon(bin, fmt.Sprintf("[sandbox]\nwarm = 0\nbackend = %q\n", backend), nil); err == nil {
		p.warm, err = startDaemon(bin, fmt.Sprintf("[sandbox]\nbackend = %q\n", backend), nil)
	}
	if err == nil {
		p.coldClient, err = p.cold.client()
	}
	if err == nil {
		p.warmClient, err = p.warm.client()
	}
	return err
}

func (p *pair) stop() {
	for _, d := range []*daemon{p.cold, p.warm} {
		if d != nil {
			d.stop()
		}
	}
}

// ways are the launches of one after the other.
func (p *pair) ways() ([]way, error) {
	alone, err := p.warm.exchange(p.warmClient)
	if err != nil {
		return nil, err
	}
	named := func(name string) string { return name + ", " + p.backend }
	return []way{
		{name: named("cold"), run: p.coldClient.launch},
		{name: named("warm"), run: p.warmClient.launch},
		{name: named("warm, the exchange alone"), run: alone.launch},
		{name: named("warm, own descriptors"), run: p.warmClient.passing},
		{name: named("sbx run, cold"), run: p.cold.sbxRun},
		{name: named("sbx run, warm"), run: p.warm.sbxRun},
	}, nil
}

// measure takes all tables, one after the other.
func measure(o options) (*report, error) {
	r := newReport(o)
	var pairs [2]pair
	for i, backend := range []string{"bwrap", "native"} {
		defer pairs[i].stop()
		if err := pairs[i].start(o.bin, backend); err != nil {
			return nil, err
		}
	}
	bwrap, native := &pairs[0], &pairs[1] // what [sandbox] backend = "auto" chooses
	warm := native.warm
	r.idle = warm.resident()
	p, err := defaultProfile(warm.project)
	if err != nil {
		return nil, err
	}
	raw, err := rawBwrap(p)
	if err != nil {
		return nil, err
	}
	first := []way{{name: "bare", run: bare}, {name: "bwrap alone, equal mounts", run: raw}}
	if err := r.launch(o, first, pairs[:]); err != nil {
		return nil, err
	}
	if o.wants("peers") {
		ways, missing, err := installed(warm.project)
		if err != nil {
			return nil, err
		}
		r.missing = missing
		ours := append(first, way{name: "sbx run, warm, native", run: warm.sbxRun},
			way{name: "sbx run, warm, bwrap", run: bwrap.warm.sbxRun})
		if r.peers, err = interleaved(max(20, o.runs/4), append(ours, ways...)); err != nil {
			return nil, err
		}
	}
	if o.wants("rates") {
		if err := r.sustain(o, first, pairs[:]); err != nil {
			return nil, err
		}
	}
	settle()
	for _, p := range pairs {
		m := memory{backend: p.backend, busy: p.warm.resident()}
		m.pool, m.waiting = p.warm.waiting()
		r.memory = append(r.memory, m)
	}
	if o.wants("inside") {
		if err := fill(warm.project, o.files); err != nil {
			return nil, err
		}
		if r.inside, err = inside(works, [2]place{bareIn(warm.project), insideOf("inside", native.warmClient)},
			7); err != nil {
			return nil, err
		}
	}
	if o.wants("layers") {
		if r.layers, err = measureLayers(o); err != nil {
			return nil, err
		}
	}
	if !o.wants("growth") {
		return r, nil
	}
	r.growth, err = grow(o.bin, max(20, o.runs/4))
	return r, err
}

// launch measures single launches.
func (r *report) launch(o options, ways []way, pairs []pair) error {
	if !o.wants("launches") {
		return nil
	}
	unsandboxed, stop, err := plain()
	if err != nil {
		return err
	}
	defer stop()
	ways = append(ways[:len(ways):len(ways)], way{name: "a daemon without sandbox", run: unsandboxed})
	for _, p := range pairs {
		more, err := p.ways()
		if err != nil {
			return err
		}
		ways = append(ways, more...)
	}
	r.launches, err = interleaved(o.runs, ways)
	for _, p := range pairs {
		r.warm, r.warmOf = r.warm+p.warmClient.warm, r.warmOf+p.warmClient.runs
	}
	return err
}

// sustain measures launches at full speed: of a client's, and of eight loops of the whole program.
func (r *report) sustain(o options, first []way, pairs []pair) error {
	var exchanges, programs []loaded
	for _, w := range first {
		exchanges, programs = append(exchanges, loaded{w, nil}), append(programs, loaded{w, nil})
	}
	for _, p := range pairs {
		exchanges = append(exchanges, loaded{way{"warm = 0, " + p.backend, oneOf(p.cold)}, p.cold},
			loaded{way{"warm, " + p.backend, oneOf(p.warm)}, p.warm})
		programs = append(programs, loaded{way{"loops of sbx run, " + p.backend, p.warm.sbxRun}, p.warm})
	}
	for _, atOnce := range []int{1, 2, 8, 32} {
		lines, err := sustain(atOnce, o.lasting, exchanges)
		if err != nil {
			return err
		}
		r.rates = append(r.rates, lines...)
	}
	lines, err := sustain(8, o.lasting, programs)
	if err == nil {
		r.rates = append(r.rates, lines[len(first):]...)
	}
	return err
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
