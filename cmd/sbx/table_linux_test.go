package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"

	"sandboxd/display"
)

// terminalWidths are those of which the manners of lists are claimed.
var terminalWidths = []uint16{40, 60, 80, 120, 200}

// atTerminal returns what f writes to a terminal that is so wide, or to a pipe where width is 0.
func atTerminal(t *testing.T, width uint16, f func(*os.File) error) string {
	t.Helper()
	screen, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: width}); err != nil {
		t.Fatal(err)
	}
	shown := make(chan string)
	go func() {
		out, _ := io.ReadAll(screen) // its error is the end of the other side: pty(7)
		shown <- string(out)
	}()
	err = f(tty)
	tty.Close()
	if err != nil {
		t.Error(err)
	}
	return strings.ReplaceAll(<-shown, "\r\n", "\n")
}

// tooWide returns the first line with columns that a terminal of that width wraps.
func tooWide(out string, width uint16) string {
	for line := range strings.Lines(out) {
		columns := strings.Contains(strings.TrimSpace(line), "  ")
		if line = strings.TrimSuffix(line, "\n"); columns && display.Width(line) > int(width) {
			return line
		}
	}
	return ""
}

// Rows hold their columns, whole ids and all of their text at every width.
func TestTableWidths(t *testing.T) {
	id := "s-01m85vdgegwkabe562yssem7z1"
	rows := [][]string{
		{"ID", "KIND", "USED", "AGENT", "ROOT"},
		{id, "cli", "12 min ago", "日本語の名前がとても長いエージェント", "/home/somebody/" + strings.Repeat("very-long-name/", 9)},
		{id, "program", "0 s ago", "", "/p"},
	}
	letters := func(s string) string { return strings.Join(strings.Fields(s), "") }
	for width := uint16(40); width <= 200; width++ {
		out := atTerminal(t, width, func(tty *os.File) error {
			list := [][]string{}
			for _, row := range rows {
				list = append(list, append([]string(nil), row...))
			}
			table(tty, list)
			return nil
		})
		if line := tooWide(out, width); line != "" {
			t.Fatalf("%d columns: %q is too wide in\n%s", width, line, out)
		}
		if strings.Count(out, id) != 2 {
			t.Errorf("%d columns: the ids are cut:\n%s", width, out)
		}
		head, first, _ := strings.Cut(out, "\n")
		if !strings.HasPrefix(head, "ID") { // a block for each row
			if !strings.Contains(out, "\n  kind: cli\n") || strings.Contains(out, "agent: \n") {
				t.Errorf("%d columns:\n%s", width, out)
			}
			continue
		}
		var text string
		for _, column := range []string{"KIND", "USED", "AGENT", "ROOT"} {
			at := strings.Index(head, column)
			for line := range strings.Lines(first) {
				before, rest := cells(strings.TrimSuffix(line, "\n"), at)
				if before != "" && !strings.HasSuffix(before, "  ") {
					t.Fatalf("%d columns: %s begins elsewhere in %q:\n%s", width, column, line, out)
				}
				if column == "ROOT" {
					text += rest
				}
			}
		}
		if letters(text) != rows[1][4]+"/p" {
			t.Errorf("%d columns: the roots are %q", width, letters(text))
		}
	}
}

// cells cuts a line after n cells of a terminal.
func cells(line string, n int) (before, rest string) {
	for i := range line {
		if display.Width(line[:i]) >= n {
			return line[:i], line[i:]
		}
	}
	return line, ""
}

// Each list of each verb fits every terminal, with names in wide characters and as long as they get.
func TestTablesFit(t *testing.T) {
	t.Parallel()
	wide := "見積もり"
	h := furnished(t, slow+"[gateway]\nlisten = \"127.0.0.1:0\"\n[presets]\nuse = [\"go\"]\n")
	h.write(wide+"-"+strings.Repeat("long", 30)+".txt", "x\n")
	agent := h.agent()
	for scope, more := range map[string]string{"session": "", "once": "; sleep 300 &"} {
		done := agent.asks(line("touch " + wide + "-" + scope + "-" + strings.Repeat("name", 20) + more))
		h.sbx("approve", h.waits(1)[0].ID, "--allow", "--scope", scope)
		<-done
	}
	h.sbx("file", "write", "notes.txt")
	h.sbx("web", "add", strings.Repeat("board", 6))
	done := agent.asks(line("touch " + strings.Repeat(wide, 40)))
	waiting := h.waits(1)[0].ID
	for _, args := range []string{
		"session ls", "pending", "pending " + waiting, "grants ls", "jobs", "undo --list", "trust --list", "web ls",
		"status", "doctor --quick", "stats", "advise", "log", "file ls .", "preset ls", "help", "help run", "version",
	} {
		for _, width := range terminalWidths {
			var problems bytes.Buffer
			out := atTerminal(t, width, func(tty *os.File) error {
				cmd := h.command(strings.Fields(args)...)
				cmd.Env = append(cmd.Env, "SBX_PAGER=cat", "TERM=xterm", "NO_COLOR=1")
				cmd.Stdout, cmd.Stderr = tty, &problems
				if err := cmd.Run(); err != nil {
					return fmt.Errorf("sbx %s: %w: %s", args, err, &problems)
				}
				return nil
			})
			if line := tooWide(out, width); line != "" {
				t.Errorf("sbx %s at %d columns: %q is too wide in\n%s", args, width, line, out)
			}
		}
	}
	h.sbx("approve", waiting, "--deny")
	<-done
}
