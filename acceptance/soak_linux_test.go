package acceptance

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sandboxd/ipc"
)

// usage is what the daemon holds at one moment.
type usage struct {
	resident, descriptors, threads int64 // kB, number, number
	log                            int64 // bytes
}

func (a *actor) usage() usage {
	a.t.Helper()
	var u usage
	pid := a.daemon.Process.Pid
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		a.t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		n, _ := strconv.ParseInt(strings.Fields(value + " 0")[0], 10, 64)
		switch name {
		case "VmRSS":
			u.resident = n
		case "Threads":
			u.threads = n
		}
	}
	u.descriptors = a.descriptors()
	logs, _ := filepath.Glob(filepath.Join(a.stateDir(), "audit", "*.jsonl"))
	for _, l := range logs {
		if fi, err := os.Stat(l); err == nil {
			u.log += fi.Size()
		}
	}
	return u
}

// A long run of ordinary commands, at full speed, leaves memory, descriptors and
// threads where they were, and the log grows by the same for each command.
// SOAK=100000 is a day's worth; docs/benchmarks.md has the numbers.
func TestSoak(t *testing.T) {
	wholeMachine(t, "it measures the load")
	total := 400
	if s := os.Getenv("SOAK"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 400 {
			t.Fatalf("SOAK=%q: want a number, 400 at least", s)
		}
		total = n
	}
	a := newActor(t, "")
	a.start(a.counted()...)
	const workers = 2
	parts := 4
	if total >= 10000 {
		parts = 20
	}
	each := total / parts
	run := func(n int) {
		var busy sync.WaitGroup
		for w := range workers {
			busy.Go(func() {
				kinds := []string{"cat README", "git status --short", "ls -la", "grep -c hello README"}
				var lines []string
				for i := w; i < n; i += workers {
					lines = append(lines, kinds[i%len(kinds)])
				}
				a.commands(t, lines)
			})
		}
		busy.Wait()
	}
	run(100) // what is kept for reuse is there after this
	before := a.usage()
	begun := time.Now()
	var seen []usage
	for i := range parts {
		run(each)
		u := a.usage()
		t.Logf("after %6d commands, %v: %6d kB resident, %3d descriptors, %3d threads, log %d bytes",
			(i+1)*each, time.Since(begun).Round(time.Second), u.resident, u.descriptors, u.threads, u.log)
		seen = append(seen, u)
		if t.Failed() {
			return
		}
	}
	took := time.Since(begun)
	last := seen[parts-1]
	t.Logf("%.0f commands a second, %d bytes of log for each", float64(each*parts)/took.Seconds(),
		(last.log-before.log)/int64(each*parts))
	// Those of the last commands are closed a moment later.
	eventually(t, "the descriptors of the commands that ended are closed", func() bool {
		return a.descriptors() <= before.descriptors+16
	})
	if last.threads > before.threads+16 {
		t.Errorf("threads: %d before, %d after", before.threads, last.threads)
	}
	// What is kept of ended commands is bounded, so the first part may fill what
	// the others then reuse.
	if last.resident > before.resident+48<<10 {
		t.Errorf("resident: %d kB before, %d after", before.resident, last.resident)
	}
	first, rest := seen[0].log-before.log, last.log-seen[0].log
	if rest > 2*first*int64(parts-1) {
		t.Errorf("the log grows by %d bytes in the first part and %d in the other %d", first, rest, parts-1)
	}
}

// commands runs lines in a session of their own, up to the first that fails.
func (a *actor) commands(t *testing.T, lines []string) {
	c := &ipc.Client{Socket: filepath.Join(a.socketDir(), ipc.AgentSocket)}
	defer c.Close()
	s, err := c.OpenSession(t.Context(), ipc.SessionRequest{Root: a.project})
	if err != nil {
		t.Error(err)
		return
	}
	c.Secret = s.Secret
	defer c.CloseSession(t.Context(), ipc.CloseRequest{Session: s.ID})
	for i, line := range lines {
		if err := oneCommand(t, c, s.ID, line); err != nil {
			t.Errorf("command %d: %v", i, err)
			return
		}
	}
}

// oneCommand runs a command to its end.
func oneCommand(t *testing.T, c *ipc.Client, session, line string) error {
	x, err := c.StartExec(t.Context(), ipc.ExecRequest{Session: session, Command: line, Keep: true})
	if err != nil {
		return err
	}
	events, err := c.ExecEvents(t.Context(), ipc.EventsRequest{ID: x.ID})
	if err != nil {
		return err
	}
	defer events.Close()
	for {
		e, err := events.Next(t.Context())
		switch {
		case err == io.EOF:
			return errors.New("the events ended without an exit")
		case err != nil:
			return err
		case e.Type == ipc.EventExit && e.Exit.Code != 0:
			return fmt.Errorf("%s: exit %d, %+v, %+v", line, e.Exit.Code, e.Exit.Error, e.Exit.Denied)
		case e.Type == ipc.EventExit:
			return nil
		}
	}
}
