package main

import (
	"fmt"
	"os/exec"
	"strings"
)

// layers is the cost of a layer.
type layers struct {
	runs   []timing    // a reader and a layered run, in a small project and in a large one
	inside [][2]timing // direct, and on a layer
}

// On a layer: the first write to a file copies it there, and so does a commit's first write to its files.
var layeredWorks = []work{
	works[0], works[1], works[4],
	{name: "git commit of one file",
		script: "echo $RANDOM > d0/f0.txt && git -c user.name=b -c user.email=b@example.invalid commit -qam more"},
	{name: "tar x, 10,000 new files", before: "rm -rf new && mkdir new", script: "tar xf many.tar -C new"},
}

// many makes a copy of true, and an archive of 10,000 files of 4 KB.
const many = `cp /bin/true . && mkdir many && head -c 40960000 /dev/zero | split -b 4096 -a 4 - many/f &&
	tar cf many.tar -C many . && rm -r many`

// measureLayers measures `true` and a copy of it in the project. The former reads only; the latter's effect is not
// known, so that it runs on a layer. Each size of project has a daemon of its own.
func measureLayers(o options) (l layers, err error) {
	var ways []way
	for _, files := range []int{10, 100_000} {
		d, c, err := layeredIn(o.bin, "auto", files)
		if err != nil {
			return l, err
		}
		defer d.stop()
		named := func(name string) string { return fmt.Sprintf("%s, %d files", name, files) }
		ways = append(ways, way{named("reader"), c.launch},
			way{named("layered"), func() error { _, err := c.run("./true"); return err }})
	}
	if l.runs, err = interleaved(max(15, o.runs/4), ways); err != nil {
		return l, err
	}
	var places [2]place
	for i, mode := range []string{"off", "auto"} {
		d, c, err := layeredIn(o.bin, mode, o.files)
		if err != nil {
			return l, err
		}
		defer d.stop()
		places[i] = insideOf("layers = "+mode, c)
	}
	l.inside, err = inside(layeredWorks, places, 7)
	return l, err
}

// layeredIn starts a daemon of the native back end with [sandbox] layers in a project of so many files.
func layeredIn(bin, mode string, files int) (*daemon, *client, error) {
	d, err := startDaemon(bin, fmt.Sprintf("[sandbox]\nbackend = \"native\"\nlayers = %q\n", mode), nil)
	if err != nil {
		return nil, nil, err
	}
	if err = fill(d.project, files); err == nil {
		cmd := exec.Command("sh", "-c", many)
		cmd.Dir = d.project
		err = cmd.Run()
	}
	var c *client
	if err == nil {
		c, err = d.client()
	}
	if err != nil {
		d.stop()
	}
	return d, c, err
}

func (l layers) table(b *strings.Builder) {
	if len(l.runs) == 0 {
		return
	}
	fmt.Fprintf(b, "A layer, %d runs of each in turns, milliseconds:\n\n"+
		"| run | median | p99 | more than the reader |\n|---|---|---|---|\n", len(l.runs[0].times))
	for i, t := range l.runs {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", t.name, ms(t.median()), ms(t.at(0.99)),
			ms(t.median()-l.runs[i&^1].median()))
	}
	b.WriteString("\nWork on a layer, launch and landing excluded, milliseconds at the median of 7:\n\n" +
		"| work | direct | layered | ratio |\n|---|---|---|---|\n")
	for _, p := range l.inside {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", p[0].name, ms(p[0].median()), ms(p[1].median()),
			ratio(p[1].median(), p[0].median()))
	}
	b.WriteString("\n")
}
