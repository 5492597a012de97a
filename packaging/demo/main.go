// Command demo is `make run`: it shows bin/sbx at work in a project and with a daemon of
// its own, both below a temporary directory, and answers the questions at a
// pseudo-terminal as a person would.
//
//	demo           a command that reads, one that writes, an edit, its undo, the log
//	demo COMMAND   this command line for bash, with the user's own daemon and answers
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/term"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	programs, err := filepath.Abs("bin")
	if err == nil && len(args) > 0 && args[0] != "" {
		return own(filepath.Join(programs, "sbx"), args[0])
	}
	if err == nil {
		err = show(programs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		return 1
	}
	return 0
}

// own runs one command line where the user is and returns its exit status.
func own(sbx, line string) int {
	cmd := exec.Command(sbx, "run", "-c", line)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, "demo:", err)
		return 125
	}
	return cmd.ProcessState.ExitCode()
}

// stage is the demonstration's own project and daemon.
type stage struct {
	dir, sbx   string
	cols, rows int
	plain      bool // questions as lines: no terminal here, or too low a one for a card
}

func show(programs string) (err error) {
	dir, err := os.MkdirTemp("", "sbx-demo-")
	if err != nil {
		return err
	}
	s := &stage{dir: dir, sbx: filepath.Join(programs, "sbx"), cols: 80, rows: 24, plain: true}
	if cols, rows, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		s.cols, s.rows, s.plain = cols, rows, rows < 40
	}
	defer os.RemoveAll(dir)
	defer s.command(context.Background(), "stop", "--now").Run()
	if err := s.furnish(); err != nil {
		return err
	}
	for _, part := range []struct {
		title   string
		args    []string
		answers string // typed at the question; empty: none comes
	}{
		{"A command that only reads runs at once, inside a sandbox:", []string{"run", "--", "wc", "-l", "menu.conf"}, ""},
		{
			"A command that writes asks first. A script types the answer here, y and Enter:",
			[]string{"run", "-c", "date +%Y > year.txt"}, "y",
		},
		{
			"An edit shows the difference, and asks:",
			[]string{"file", "edit", "menu.conf", "--find", "tea", "--replace", "coffee"}, "y",
		},
		{"Undo it, which overwrites the file and so asks, too:", []string{"undo", "--last"}, "y"},
		{"The project, as that left it:", []string{"run", "--", "tail", "menu.conf", "year.txt"}, ""},
		{"The log has every decision:", []string{"log"}, ""},
	} {
		fmt.Printf("\n%s\n$ sbx %s\n", bold(part.title), quoted(part.args))
		if err := s.play(part.args, part.answers); err != nil {
			return fmt.Errorf("sbx %s: %w", quoted(part.args), err)
		}
	}
	if err := s.check(); err != nil {
		return err
	}
	fmt.Printf(
		"\n%s The programs are in bin/.\nNext: docs/tutorial.md, bin/sbx doctor, bin/sbx run -- YOUR COMMAND\n",
		bold("It works here."),
	)
	return nil
}

// furnish creates the project.
func (s *stage) furnish() error {
	for _, name := range []string{"run", "state", "project"} {
		if err := os.Mkdir(filepath.Join(s.dir, name), 0o700); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{"config.toml": "", "project/menu.conf": "drink = tea\n"} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	git := exec.Command("git", "init", "-q", filepath.Join(s.dir, "project"))
	git.Stderr = os.Stderr
	return git.Run()
}

// check returns an error unless the project is as the demonstration has it: written
// after a yes, and back as it was after the undo.
func (s *stage) check() error {
	notes, err := os.ReadFile(filepath.Join(s.dir, "project", "menu.conf"))
	if err == nil && !strings.Contains(string(notes), "drink = tea") {
		err = fmt.Errorf("menu.conf: the edit was not undone: %q", notes)
	}
	if err == nil {
		_, err = os.Stat(filepath.Join(s.dir, "project", "year.txt"))
	}
	return err
}

func quoted(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		if words[i] = a; strings.ContainsAny(a, " >+") {
			words[i] = "'" + a + "'"
		}
	}
	return strings.Join(words, " ")
}

// bold returns text in bold where the output is a terminal with colours.
func bold(text string) string {
	if os.Getenv("NO_COLOR") != "" || !term.IsTerminal(int(os.Stdout.Fd())) {
		return text
	}
	return "\x1b[1m" + text + "\x1b[0m"
}
