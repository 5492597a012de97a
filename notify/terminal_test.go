package notify

import (
	"bufio"
	"context"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"pgregory.net/rapid"
)

// R-UX-13: a notice reaches a terminal in the form that is configured; one that refuses messages, a file and a
// terminal whose output is stopped get none, and delay nothing.
func TestTerminal(t *testing.T) {
	n := Notice{ID: "01J", State: Asked, Title: "A question; waits", Text: "claude asks\nsbx approve 01J"}
	closed := n
	closed.State = Closed
	code := base64.StdEncoding.EncodeToString
	for form, want := range map[string]string{
		"bell":   "\a",
		"osc9":   "\x1b]9;A question; waits: claude asks sbx approve 01J\x1b\\",
		"osc777": "\x1b]777;notify;A question, waits;claude asks sbx approve 01J\x1b\\",
		"osc99": "\x1b]99;i=01J:d=0:e=1;" + code([]byte(n.Title)) + "\x1b\\\x1b]99;i=01J:e=1:p=body;" +
			code([]byte(n.Text)) + "\x1b\\\x1b]99;i=01J:p=close;\x1b\\",
	} {
		dir := t.TempDir()
		open := pseudoTerminal(t, dir, "0", 0o620)
		silent := pseudoTerminal(t, dir, "1", 0o600)
		if err := os.WriteFile(filepath.Join(dir, "2"), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		r := &terminal{form: form, paths: []string{filepath.Join(dir, "[0-9]*")}}
		for _, n := range []Notice{n, closed} {
			if err := r.deliver(context.Background(), n); err != nil {
				t.Fatal(err)
			}
		}
		if got := shown(t, open, len(want)); got != want {
			t.Errorf("%s: got %q, want %q", form, got, want)
		}
		if got := shown(t, silent, 1); got != "" {
			t.Errorf("%s: a terminal that refuses messages got %q", form, got)
		}
		if b, err := os.ReadFile(filepath.Join(dir, "2")); err != nil || len(b) > 0 {
			t.Errorf("%s: a file got %q, %v", form, b, err)
		}
	}
}

// A terminal that a program opened from another one, as agents do for their commands, gets no notice.
func TestTerminalOfAnAgent(t *testing.T) { // R-UX-13
	outer, err := pty.Start(exec.Command("script", "-qc", "tty; exec sleep 60", "/dev/null"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { outer.Close() }) // which ends them
	name, err := bufio.NewReader(outer).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	inner := strings.TrimSpace(name)
	if err := os.Chmod(inner, 0o620); err != nil || !accepts(inner) {
		t.Fatalf("%s accepts no messages: %v", inner, err)
	}
	r := &terminal{form: "osc9", paths: []string{inner}}
	if err := r.deliver(t.Context(), Notice{ID: "01J", State: Asked, Title: "A question"}); err != nil {
		t.Error(err)
	}
	if got := shown(t, outer, 1); got != "" {
		t.Errorf("the agent's terminal got %q", got)
	}
}

// A terminal that nobody reads fills, and delays no notice longer than its deadline.
func TestTerminalThatIsFull(t *testing.T) {
	dir := t.TempDir()
	pseudoTerminal(t, dir, "0", 0o620)
	r := &terminal{form: "osc9", paths: []string{filepath.Join(dir, "*")}}
	n := Notice{ID: "01J", State: Asked, Text: strings.Repeat("x", 1<<20)}
	began := time.Now()
	if err := r.deliver(context.Background(), n); err == nil {
		t.Error("a full terminal is no error")
	}
	if took := time.Since(began); took > patience/2 {
		t.Errorf("took %s", took)
	}
}

// Whatever a notice contains, it ends no control sequence early and begins none.
func TestTerminalForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := Notice{ID: "01J", State: Asked, Title: rapid.String().Draw(t, "title"), Text: rapid.String().Draw(t, "text")}
		for form, want := range map[string]int{"bell": 0, "osc9": 2, "osc777": 2, "osc99": 4} {
			got := sequences[form](n)
			if strings.Count(got, "\x1b") != want || strings.ContainsAny(strings.TrimSuffix(got, "\a"), "\a\r\n\u009c\u009b") {
				t.Fatalf("%s: %q", form, got)
			}
		}
	})
}

// pseudoTerminal opens one of a mode; dir/name leads to it.
func pseudoTerminal(t *testing.T, dir, name string, mode os.FileMode) *os.File {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close(); slave.Close() })
	if err := slave.Chmod(mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(slave.Name(), filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
	return master
}

// shown reads want bytes from a terminal, or fewer after a moment.
func shown(t *testing.T, master *os.File, want int) string {
	t.Helper()
	got := make(chan string, 1)
	go func() {
		b := make([]byte, 4096)
		text := ""
		for len(text) < want {
			n, err := master.Read(b)
			if err != nil {
				break
			}
			text += string(b[:n])
		}
		got <- text
	}()
	select {
	case text := <-got:
		return text
	case <-time.After(300 * time.Millisecond):
		if want > 1 {
			return <-got
		}
		return ""
	}
}
