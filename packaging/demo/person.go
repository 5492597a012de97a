package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/creack/pty"
)

const (
	patience = 30 * time.Second       // for one command
	settle   = time.Second            // after a question appeared, before keys count
	between  = 800 * time.Millisecond // before Enter, which right behind other keys would be a paste
)

// command prepares sbx with the demonstration's daemon and project.
func (s *stage) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(
		ctx,
		s.sbx,
		append([]string{"--config", filepath.Join(s.dir, "config.toml")}, args...)...)
	cmd.Dir = filepath.Join(s.dir, "project")
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "SBX_") })
	cmd.Env = append(
		cmd.Env,
		"XDG_RUNTIME_DIR="+filepath.Join(s.dir, "run"),
		"SBX_STATE_DIR="+filepath.Join(s.dir, "state"),
	)
	if s.plain {
		cmd.Env = append(cmd.Env, "TERM=dumb")
	}
	return cmd
}

// play runs sbx at a pseudo-terminal, copies its screen to the output, and types the
// answer at each question until the command ends.
func (s *stage) play(args []string, answer string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := s.command(ctx, args...)
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(s.cols), Rows: uint16(s.rows)})
	if err != nil {
		return err
	}
	defer tty.Close()
	shown, ended := make(chan struct{}), make(chan error, 1)
	go func() { io.Copy(os.Stdout, tty); close(shown) }()
	go func() { ended <- cmd.Wait() }()
	for asked := false; ; {
		pause := 100 * time.Millisecond
		switch {
		case asked:
			io.WriteString(tty, answer)
			time.Sleep(between)
			io.WriteString(tty, "\r")
			asked, pause = false, settle
		case answer != "" && s.asks(ctx):
			asked, pause = true, settle
		}
		select {
		case err := <-ended:
			<-shown
			return err
		case <-time.After(pause):
		}
	}
}

// asks reports whether the daemon waits for an answer.
func (s *stage) asks(ctx context.Context) bool {
	out, err := s.command(ctx, "pending", "--json").Output()
	var pending struct{ Approvals []json.RawMessage }
	return err == nil && json.Unmarshal(out, &pending) == nil && len(pending.Approvals) > 0
}
