package main

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"

	xterm "golang.org/x/term"

	"sandboxd/cmd/sbx/internal/term"
)

// pager shows a long text with the person's pager, on the terminal itself. The
// text is neutralised already; less is asked to start no other programs.
func pager(tty *term.Terminal) func(context.Context, string) error {
	return func(ctx context.Context, text string) error {
		words := strings.Fields(os.Getenv("PAGER"))
		if len(words) == 0 {
			words = []string{"less"}
		}
		file := tty.File()
		cmd := exec.CommandContext(ctx, words[0], words[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), file, file
		cmd.Env = append(os.Environ(), "LESSSECURE=1", "LESS=-R", "LV=-c")
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		saved, err := xterm.GetState(int(file.Fd()))
		if err != nil {
			return err
		}
		defer xterm.Restore(int(file.Fd()), saved)
		return cmd.Run()
	}
}
