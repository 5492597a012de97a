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
type work struct{ name, script string }

const timed = `s=$(date +%%s%%N); { %s; } >/dev/null 2>&1 || exit 1; echo $(($(date +%%s%%N)-s))`

var works = []work{
	{"git status, three times", "for i in 1 2 3; do git status; done"},
	{"grep -r, three times", "for i in 1 2 3; do grep -r nothing-of-that . || true; done"},
	{"tar", "tar cf - . | cat"},
	{"500 forks and execs", "for i in $(seq 500); do /bin/true; done"},
	{"go build after a change", "cd program && echo \"package main; const n = $RANDOM\" > n.go && GOCACHE=$PWD/../.gocache HOME=/tmp $GO build -o /tmp/built ."},
	{"processor alone", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"},
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
	for name, text := range map[string]string{"go.mod": "module program\n\ngo 1.24\n", "main.go": "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(n) }\n"} {
		if err := os.WriteFile(filepath.Join(program, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	cmd := exec.Command("sh", "-c", "git init -q . && git add . && git -c user.name=b -c user.email=b@example.invalid commit -qm one")
	cmd.Dir = dir
	return cmd.Run()
}

// inside measures the works in turns, bare and in the sandbox.
func inside(c *client, project string, runs int) ([][2]timing, error) {
	compiler, err := exec.LookPath("go")
	if err != nil {
		return nil, err
	}
	var out [][2]timing
	for _, w := range works {
		script := "GO=" + compiler + "\n" + fmt.Sprintf(timed, w.script)
		said := map[string]*time.Duration{"bare": new(time.Duration), "inside": new(time.Duration)}
		note := func(way, text string) error {
			n, err := time.ParseDuration(strings.TrimSpace(text) + "ns")
			*said[way] = n
			return err
		}
		pair := [2]timing{{name: w.name}, {name: w.name}}
		for range runs {
			cmd := exec.Command("bash", "-c", script)
			cmd.Dir = project
			text, err := cmd.Output()
			if err == nil {
				err = note("bare", string(text))
			}
			if err != nil {
				return nil, fmt.Errorf("%s, bare: %w", w.name, err)
			}
			within, err := c.run("bash", "-c", script)
			if err == nil {
				err = note("inside", within)
			}
			if err != nil {
				return nil, fmt.Errorf("%s, inside: %w", w.name, err)
			}
			pair[0].times = append(pair[0].times, *said["bare"])
			pair[1].times = append(pair[1].times, *said["inside"])
		}
		for i := range pair {
			sortTimes(pair[i].times)
		}
		out = append(out, pair)
	}
	return out, nil
}
