package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// work is a load that is measured inside the sandbox and outside, without the
// launch: it takes its own time and prints it in nanoseconds.
type work struct {
	name, script string
	before       string // precedes the measured script
}

const timed = `%s
s=$(date +%%s%%N); { %s; } >/dev/null 2>&1 || exit 1; echo $(($(date +%%s%%N)-s))`

var works = []work{
	{name: "git status, three times", script: "for i in 1 2 3; do git status; done"},
	{name: "grep -r, three times", script: "for i in 1 2 3; do grep -r nothing-of-that . || true; done"},
	{name: "tar", script: "tar cf - . | cat"},
	{name: "500 forks and execs", script: "for i in $(seq 500); do /bin/true; done"},
	{name: "go build after a change", script: "cd program && echo \"package main; const n = $RANDOM\" > n.go && " +
		"GOCACHE=$PWD/../.gocache HOME=/tmp $GO build -o /tmp/built ."},
	{name: "processor alone", script: "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"},
}

// fill makes a repository of so many small files, and a program.
func fill(dir string, files int) error {
	for i := range files {
		name := filepath.Join(dir, fmt.Sprintf("d%d/f%d.txt", i/100, i))
		if i%100 == 0 {
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(name, []byte(strings.Repeat("text ", 50)), 0o644); err != nil {
			return err
		}
	}
	program := filepath.Join(dir, "program")
	if err := os.Mkdir(program, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{"go.mod": "module program\n\ngo 1.24\n",
		"main.go": "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(n) }\n"} {
		if err := os.WriteFile(filepath.Join(program, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	cmd := exec.Command("sh", "-c", "git init -q . && git add . && git -c user.name=b -c user.email=b@example.invalid "+
		"commit -qm one")
	cmd.Dir = dir
	return cmd.Run()
}

// place is where a work is measured: bare, in a sandbox, on a layer. It runs a script of bash and returns its output.
type place struct {
	name string
	run  func(script string) (string, error)
}

// bareIn runs scripts in a directory without a sandbox.
func bareIn(dir string) place {
	return place{"bare", func(script string) (string, error) {
		cmd := exec.Command("bash", "-c", script)
		cmd.Dir = dir
		text, err := cmd.Output()
		return string(text), err
	}}
}

// insideOf runs scripts by a client.
func insideOf(name string, c *client) place {
	return place{name, func(script string) (string, error) { return c.run("bash", "-c", script) }}
}

// inside measures the works at two places in turns.
func inside(works []work, places [2]place, runs int) ([][2]timing, error) {
	compiler, err := exec.LookPath("go")
	if err != nil {
		return nil, err
	}
	var out [][2]timing
	for _, w := range works {
		script := "GO=" + compiler + "\n" + fmt.Sprintf(timed, w.before, w.script)
		pair := [2]timing{{name: w.name}, {name: w.name}}
		for range runs {
			for i, p := range places {
				text, err := p.run(script)
				var took time.Duration
				if err == nil {
					took, err = time.ParseDuration(strings.TrimSpace(text) + "ns")
				}
				if err != nil {
					return nil, fmt.Errorf("%s, %s: %w", w.name, p.name, err)
				}
				pair[i].times = append(pair[i].times, took)
			}
		}
		for i := range pair {
			sortTimes(pair[i].times)
		}
		out = append(out, pair)
	}
	return out, nil
}
