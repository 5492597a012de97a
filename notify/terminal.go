package notify

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/process"
)

// terminal writes to the user's terminals: a bell, or a control sequence that a terminal emulator shows as a
// notification and that leaves the screen as it is.
type terminal struct {
	form  string
	paths []string // patterns of devices
}

// devices are the pseudo-terminals of Linux and of macOS.
var devices = []string{"/dev/pts/[0-9]*", "/dev/ttys[0-9]*"}

func (*terminal) name() string { return "terminal" }

// deliver writes to each terminal that is this user's and accepts messages, as mesg(1) has it, but for those that a
// program has opened from another terminal: they are an agent's, or the outer one shows them. It is an error if there
// are such terminals and none took the notice.
func (t *terminal) deliver(_ context.Context, n Notice) error {
	text := sequences[t.form](n)
	if text == "" {
		return nil
	}
	var failed []error
	written := false
	for _, pattern := range t.paths {
		list, _ := filepath.Glob(pattern) // the patterns are good
		for _, path := range list {
			if !accepts(path) || nested(path) {
				continue
			}
			err := ring(path, text)
			failed = append(failed, err)
			written = written || err == nil
		}
	}
	if written {
		return nil
	}
	return errors.Join(failed...)
}

// nested reports whether the session of a pseudo-terminal was started by a process that has another
// pseudo-terminal. Where /proc has no such processes to show, it is not.
func nested(path string) bool {
	i, err := os.Stat(path)
	if err != nil {
		return false
	}
	device := ttyNumber(i)
	list, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is good
	for _, file := range list {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		leader, err := process.ReadStat(pid)
		if err != nil || leader.Session != pid || leader.TTY != device {
			continue
		}
		for next := leader.Parent; next > 1; {
			above, err := process.ReadStat(next)
			if err != nil {
				break
			}
			if major := above.TTY >> 8 & 0xfff; above.TTY != device && major >= 136 && major <= 143 { // UNIX98 terminals
				return true
			}
			next = above.Parent
		}
	}
	return false
}

// ttyNumber is a device as /proc/PID/stat has it.
func ttyNumber(i os.FileInfo) uint64 {
	s, ok := i.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	major, minor := uint64(unix.Major(uint64(s.Rdev))), uint64(unix.Minor(uint64(s.Rdev)))
	return minor&0xff | major<<8 | minor>>8<<20
}

// accepts reports whether path is a terminal of this user's that others may write to.
func accepts(path string) bool {
	i, err := os.Stat(path)
	if err != nil || i.Mode()&os.ModeCharDevice == 0 || i.Mode()&0o020 == 0 {
		return false
	}
	s, ok := i.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}

// ring writes text to a terminal without making it ours, and gives up where its output is stopped (Ctrl-S).
func ring(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NOCTTY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_ = f.SetWriteDeadline(time.Now().Add(time.Second)) // a device that can't have one does not block, either
	_, err = f.WriteString(text)
	return err
}

const (
	esc = "\x1b"
	st  = esc + `\` // string terminator (ECMA-48 8.3.143)
)

// sequences are the values of Config.Terminal, each with the text about a notice; empty for none.
var sequences = map[string]func(Notice) string{
	"bell": func(n Notice) string {
		if n.State == Closed {
			return ""
		}
		return "\a"
	},
	// iTerm2, ConEmu, WezTerm, Ghostty.
	"osc9": func(n Notice) string {
		if n.State == Closed {
			return ""
		}
		return esc + "]9;" + oneLine(n.Title+": "+n.Text) + st
	},
	// urxvt, foot, Ghostty, WezTerm.
	"osc777": func(n Notice) string {
		if n.State == Closed {
			return ""
		}
		return esc + "]777;notify;" + strings.ReplaceAll(oneLine(n.Title), ";", ",") + ";" + oneLine(n.Text) + st
	},
	// kitty: the id replaces the notice, and withdraws it.
	"osc99": func(n Notice) string {
		if n.State == Closed {
			return fmt.Sprintf("%s]99;i=%s:p=close;%s", esc, n.ID, st)
		}
		encoded := base64.StdEncoding.EncodeToString
		return fmt.Sprintf("%s]99;i=%s:d=0:e=1;%s%s", esc, n.ID, encoded([]byte(n.Title)), st) +
			fmt.Sprintf("%s]99;i=%s:e=1:p=body;%s%s", esc, n.ID, encoded([]byte(n.Text)), st)
	},
}

// oneLine is text on one line, without characters that end a control sequence.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return ' '
		case r < 0x20 || r >= 0x7f && r < 0xa0:
			return -1
		}
		return r
	}, text)
}
