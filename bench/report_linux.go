package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// report is everything that was measured. Memory is in KiB.
type report struct {
	machine, load string
	runs, files   int

	launches     []timing
	peers        []timing
	missing      []string // peers that were not measured, and why
	warm, warmOf int
	rates        []sustained
	inside       [][2]timing
	layers       layers
	growth       []grown
	idle         int
	memory       []memory
}

// memory is the memory of a daemon and its waiting sandboxes after the launches.
type memory struct {
	backend             string
	busy, pool, waiting int
}

func newReport(o options) *report {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	model := ""
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
			}
		}
	}
	version := "none"
	if out, err := exec.Command("bwrap", "--version").Output(); err == nil {
		version = strings.TrimSpace(string(out))
	}
	return &report{runs: o.runs, files: o.files, load: loadNow(),
		machine: fmt.Sprintf("%d processors (%s), Linux %s, %s, %s",
			runtime.NumCPU(), model, strings.TrimSpace(string(kernel)), runtime.Version(), version)}
}

func loadNow() string {
	text, _ := os.ReadFile("/proc/loadavg")
	load, _, _ := strings.Cut(string(text), " ")
	return load
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond)) }

func ratio(a, b time.Duration) string { return fmt.Sprintf("%.2f", float64(a)/float64(b)) }

// write writes the report, and the picture where one is wanted.
func (r *report) write(o options) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s, %s; load %s at the start and %s at the end.\n\n",
		time.Now().UTC().Format(time.DateOnly), r.machine, r.load, loadNow())
	r.launchTable(&b)
	r.peerTable(&b)
	r.rateTable(&b)
	r.insideTable(&b)
	r.layers.table(&b)
	r.memoryTable(&b)
	if o.plot != "" {
		if err := os.WriteFile(o.plot, []byte(plot(r.launches)), 0o644); err != nil {
			return err
		}
	}
	if o.report == "" {
		_, err := os.Stdout.WriteString(b.String())
		return err
	}
	return os.WriteFile(o.report, []byte(b.String()), 0o644)
}

func (r *report) launchTable(b *strings.Builder) {
	if len(r.launches) == 0 {
		return
	}
	fmt.Fprintf(b, "`true`, %d runs of each in turns, milliseconds:\n\n| way | median | p99 | least | of bare | of "+
		"bwrap |\n|---|---|---|---|---|---|\n", r.runs)
	for _, t := range r.launches {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", t.name, ms(t.median()), ms(t.at(0.99)), ms(t.times[0]),
			ratio(t.median(), r.launches[0].median()), ratio(t.median(), r.launches[1].median()))
	}
	fmt.Fprintf(b, "\n%d of %d launches of the warm daemon used a warm sandbox.\n\n", r.warm, r.warmOf)
}

func (r *report) peerTable(b *strings.Builder) {
	if len(r.peers) == 0 {
		return
	}
	fmt.Fprintf(b, "The whole programs, `true`, %d runs of each in turns, milliseconds:\n\n| program | median | p99 | "+
		"of bare | of sbx run, native |\n|---|---|---|---|---|\n", len(r.peers[0].times))
	for _, t := range r.peers {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", t.name, ms(t.median()), ms(t.at(0.99)),
			ratio(t.median(), r.peers[0].median()), ratio(t.median(), r.peers[2].median()))
	}
	if len(r.missing) > 0 {
		fmt.Fprintf(b, "\nNot measured: %s.\n", strings.Join(r.missing, "; "))
	}
	b.WriteString("\n")
}

func (r *report) insideTable(b *strings.Builder) {
	if len(r.inside) == 0 {
		return
	}
	fmt.Fprintf(b, "Work inside a project of %d files, the launch excluded, milliseconds at the median of 7:\n\n| work "+
		"| bare | inside | ratio |\n|---|---|---|---|\n", r.files)
	for _, p := range r.inside {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", p[0].name, ms(p[0].median()), ms(p[1].median()),
			ratio(p[1].median(), p[0].median()))
	}
	b.WriteString("\n")
}

func (r *report) memoryTable(b *strings.Builder) {
	if len(r.growth) > 0 {
		b.WriteString("Growth, a warm launch at the median:\n\n| with | ms | of nothing | daemon, MiB resident | KiB a " +
			"session |\n|---|---|---|---|---|\n")
		for _, g := range r.growth {
			fmt.Fprintf(b, "| %s | %s | %s | %.1f | %.1f |\n", g.name, ms(g.launch.median()),
				ratio(g.launch.median(), r.growth[0].launch.median()), float64(g.kib)/1024, g.perKiB)
		}
	}
	fmt.Fprintf(b, "\nThe daemon has %.1f MiB resident when it starts.\n\n| back end | MiB after the launches | "+
		"sandboxes that wait | "+
		"MiB of each (proportional set size) |\n|---|---|---|---|\n", float64(r.idle)/1024)
	for _, m := range r.memory {
		fmt.Fprintf(b, "| %s | %.1f | %d | %.2f |\n", m.backend, float64(m.busy)/1024, m.waiting,
			float64(m.pool)/1024/float64(max(1, m.waiting)))
	}
}

// plot draws the medians, with a line up to the 99th percentile.
func plot(launches []timing) string {
	const left, width, height = 190, 430, 30
	most := time.Duration(1)
	for _, t := range launches {
		most = max(most, t.at(0.99))
	}
	x := func(d time.Duration) float64 { return float64(d) / float64(most) * width }
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "+
		"font-size=\"12\">\n", left+width+110, len(launches)*height+30)
	fmt.Fprintf(&b, "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n")
	for i, t := range launches {
		y := 10 + i*height
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", left-8, y+14, t.name)
		fmt.Fprintf(&b, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"18\" fill=\"#4878a8\"/>\n", left, y, x(t.median()))
		fmt.Fprintf(&b, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"#333\"/>\n", left+x(t.median()), left+
			x(t.at(0.99)), y+9, y+9)
		fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%d\">%s ms</text>\n", left+x(t.at(0.99))+6, y+14, ms(t.median()))
	}
	fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" fill=\"#555\">bar: median; line: up to the 99th percentile</text>\n</svg>\n",
		left, len(launches)*height+22)
	return b.String()
}
