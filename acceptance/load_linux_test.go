package acceptance

import (
	"context"

	"fmt"

	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sandboxd/ipc"
)

// load is how much the daemon is given: in every test run a part, with
// SOCKET_LOAD=full all that the issue names.
type load struct{ sessions, commands, watchers int }

func loadOf() load {
	if os.Getenv("SOCKET_LOAD") == "full" {
		return load{200, 50, 20}
	}
	return load{20, 5, 20}
}

// resident is the daemon's memory, in bytes (proc_pid_status(5), VmRSS).
func (a *actor) resident(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.daemon.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

// Issue "The socket", 5. R-IP-05: many sessions, each with its commands, while
// watchers look on that hardly read: nothing fails, no command waits for a watcher, and
// the daemon gives its memory back.
func TestLoad(t *testing.T) {
	wholeMachine(t, "it measures the load")
	l := loadOf()
	a := newActor(t, "")
	config := filepath.Join(a.dir, "config.toml")
	// The limits of one user and one process are for one agent; here is a crowd.
	if err := os.WriteFile(config, []byte("[daemon]\nsessions = 1000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.start("--config", config, "--mode", "approve-all")
	if got := a.sbx("trust", a.project); got.code != 0 {
		t.Fatal(got)
	}
	agent, approver := filepath.Join(a.socketDir(), "agent.sock"), filepath.Join(a.socketDir(), "approver.sock")
	// Warm: what any use at all costs is not what the crowd costs.
	for range 3 {
		if got := a.sbx("run", "--", "cat", "README"); got.code != 0 {
			t.Fatal(got)
		}
	}
	before := a.resident(t)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var watching, crowd sync.WaitGroup
	for range l.watchers {
		c := &ipc.Client{Socket: approver}
		news, err := c.News(ctx, ipc.NewsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		watching.Go(func() {
			defer c.Close()
			defer news.Close()
			for { // one event a second
				if _, err := news.Next(ctx); err != nil {
					return
				}
				select {
				case <-ctx.Done():
					return
				case <-time.After(time.Second):
				}
			}
		})
	}
	var failures, ran atomic.Int64
	failed := func(session, command int, what string, err error) {
		if failures.Add(1) <= 10 {
			t.Errorf("session %d, command %d: %s: %v", session, command, what, err)
		}
	}
	began := time.Now()
	for i := range l.sessions {
		crowd.Go(func() {
			c := &ipc.Client{Socket: agent}
			defer c.Close()
			s, err := c.OpenSession(ctx, ipc.SessionRequest{Agent: fmt.Sprintf("agent %d", i), Root: a.project})
			if err != nil {
				failed(i, 0, "open", err)
				return
			}
			c.Secret = s.Secret
			defer c.CloseSession(ctx, ipc.CloseRequest{Session: s.ID})
			for n := range l.commands {
				want := fmt.Sprintf("%d/%d\n", i, n)
				started, err := c.StartExec(ctx, ipc.ExecRequest{Session: s.ID, Command: "echo " + strings.TrimSpace(want)})
				if err != nil {
					failed(i, n, "start", err)
					return
				}
				stream, err := c.ExecEvents(ctx, ipc.EventsRequest{ID: started.ID})
				if err != nil {
					failed(i, n, "events", err)
					return
				}
				out, end := "", (*ipc.Exit)(nil)
				for end == nil && err == nil {
					var e ipc.Event
					e, err = stream.Next(ctx)
					out += string(e.Data)
					end = e.Exit
				}
				stream.Close()
				if end == nil || end.Code != 0 || out != want {
					failed(i, n, fmt.Sprintf("%q, %+v", out, end), err)
					return
				}
				ran.Add(1)
			}
		})
	}
	peak := atomic.Int64{}
	sampled := make(chan struct{})
	go func() {
		defer close(sampled)
		for ctx.Err() == nil {
			peak.Store(max(peak.Load(), a.resident(t)))
			time.Sleep(200 * time.Millisecond)
		}
	}()
	crowd.Wait()
	end := a.resident(t)
	took := time.Since(began)
	cancel()
	watching.Wait()
	<-sampled
	if want := int64(l.sessions * l.commands); ran.Load() != want {
		t.Errorf("%d of %d commands ran", ran.Load(), want)
	}
	t.Logf("%d commands in %v: %d MiB before, %d at most, %d at the end", ran.Load(), took.Round(time.Second), before>>20, peak.Load()>>20, end>>20)
	if end > 150<<20 {
		t.Errorf("the daemon holds %d MiB at the end", end>>20)
	}
	// What ended can be read for a while; the rest goes back at once.
	back := before + before/5
	for deadline := time.Now().Add(8 * time.Minute); ; time.Sleep(time.Second) {
		if now := a.resident(t); now <= back || now <= before+slack(l) {
			t.Logf("%d MiB after the sessions closed", now>>20)
			break
		} else if time.Now().After(deadline) {
			t.Errorf("%d MiB are held after the sessions closed, %d MiB before them", now>>20, before>>20)
			break
		}
	}
	c := &ipc.Client{Socket: approver}
	defer c.Close()
	if st, err := c.Status(t.Context()); err != nil || st.Running != 0 {
		t.Errorf("%+v, %v", st, err)
	}
}

// slack: the whole count has to come back to within a fifth; the small one is
// too small to tell from what the runtime keeps for itself.
func slack(l load) int64 {
	if l.sessions >= 200 {
		return 0
	}
	return 40 << 20
}
