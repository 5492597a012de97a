package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// slices of time in which the ways take turns, for each number of runs at once.
const turns = 10

// sustained is the rate of one way with so many runs at once, at the median of the turns.
type sustained struct {
	name             string
	atOnce           int
	perSecond        float64
	ofBare, ofBwrap  float64       // medians of the ratios of each turn
	daemon, children time.Duration // processor time of a run
}

// loaded is a way whose runs are those of a daemon; nil: of none.
type loaded struct {
	way
	daemon *daemon
}

// sustain measures the ways in turns, each for a slice of the time. The first is bare, the second bwrap.
func sustain(atOnce int, lasting time.Duration, ways []loaded) ([]sustained, error) {
	out, rates := make([]sustained, len(ways)), make([][]float64, len(ways))
	for turn := range turns + 1 { // the first does not count: nothing is cold for one way alone
		for i, w := range ways {
			settle()
			own, children := w.daemon.processor()
			perSecond, runs, err := rate(atOnce, lasting/turns, w.run)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
			if turn == 0 {
				continue
			}
			settle() // the last of them are waited for
			ownAfter, childrenAfter := w.daemon.processor()
			rates[i] = append(rates[i], perSecond)
			out[i].daemon += (ownAfter - own) / time.Duration(runs*turns)
			out[i].children += (childrenAfter - children) / time.Duration(runs*turns)
		}
	}
	for i, w := range ways {
		out[i].name, out[i].atOnce, out[i].perSecond = w.name, atOnce, median(rates[i])
		out[i].ofBare, out[i].ofBwrap = medianOfRatios(rates[i], rates[0]), medianOfRatios(rates[i], rates[1])
	}
	return out, nil
}

func median(values []float64) float64 { return slices.Sorted(slices.Values(values))[len(values)/2] }

func medianOfRatios(a, b []float64) float64 {
	var ratios []float64
	for i := range a {
		ratios = append(ratios, a[i]/b[i])
	}
	return median(ratios)
}

// rate is how many runs end per second with so many at once, and how many ended.
func rate(atOnce int, lasting time.Duration, run func() error) (perSecond float64, runs int, err error) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	start := time.Now()
	for range atOnce {
		wg.Go(func() {
			for time.Since(start) < lasting {
				failed := run()
				mu.Lock()
				runs++
				if err == nil {
					err = failed
				}
				stop := err != nil
				mu.Unlock()
				if stop {
					return
				}
			}
		})
	}
	wg.Wait()
	return float64(runs) / time.Since(start).Seconds(), runs, err
}

// account has the kernel count the processor time of the daemon and of all that it starts, waited for or
// not (cgroup v1, cpuacct). Without it only the processes that the daemon waits for are counted.
func (d *daemon) account() {
	pid := strconv.Itoa(d.cmd.Process.Pid)
	group := "/sys/fs/cgroup/cpuacct/sbxbench." + pid
	if os.Mkdir(group, 0o755) == nil && os.WriteFile(group+"/cgroup.procs", []byte(pid), 0) == nil {
		d.group = group
	}
}

// processor is the processor time of the daemon (proc_pid_stat(5), in hundredths of a second), and of all
// that it has started.
func (d *daemon) processor() (own, children time.Duration) {
	if d == nil {
		return 0, 0
	}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.cmd.Process.Pid))
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // from the third, the state
	if len(fields) < 15 {
		return 0, 0
	}
	ticks := func(field int) time.Duration {
		n, _ := strconv.Atoi(fields[field-3])
		return time.Duration(n) * 10 * time.Millisecond
	}
	own, children = ticks(14)+ticks(15), ticks(16)+ticks(17)
	if all, err := os.ReadFile(d.group + "/cpuacct.usage"); err == nil {
		n, _ := strconv.ParseInt(strings.TrimSpace(string(all)), 10, 64)
		children = time.Duration(n) - own
	}
	return own, children
}

func (r *report) rateTable(b *strings.Builder) {
	if len(r.rates) == 0 {
		return
	}
	fmt.Fprintf(b, "`true` at full speed, the ways in %d turns; ratios are medians of the turns' own, "+
		"processor time is milliseconds of a run:\n\n"+
		"| at once | way | per second | of bare | of bwrap | the daemon's | what it started |\n"+
		"|---|---|---|---|---|---|---|\n", turns)
	for _, l := range r.rates {
		daemon, children := "", ""
		if l.daemon > 0 {
			daemon, children = ms(l.daemon), ms(l.children)
		}
		fmt.Fprintf(b, "| %d | %s | %.0f | %.2f | %.2f | %s | %s |\n",
			l.atOnce, l.name, l.perSecond, l.ofBare, l.ofBwrap, daemon, children)
	}
	b.WriteString("\n")
}
