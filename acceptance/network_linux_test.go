package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sandboxd/ipc"
)

// eachUserInWorld is eachUser, in a network of its own. Only root can make one.
func eachUserInWorld(t *testing.T, f func(t *testing.T, a *actor, w *world)) {
	if os.Geteuid() != 0 {
		t.Log("left out: only root can make networks; CI runs this as root")
		return
	}
	bothUsers(t, func(t *testing.T, a *actor) { f(t, a, newWorld(t)) })
}

// configured starts a daemon that has only this configuration.
func (a *actor) configured(config string, args ...string) {
	a.t.Helper()
	if err := os.WriteFile(a.configFile(), []byte(config), 0o644); err != nil {
		a.t.Fatal(err)
	}
	a.start(append([]string{"--config", a.configFile()}, args...)...)
}

// R-OS-09: what is listed is reached, through the proxy; what is not, is not.
func TestAllowlist(t *testing.T) {
	t.Parallel()
	eachUserInWorld(t, func(t *testing.T, a *actor, w *world) {
		w.name("good.example", "203.0.113.5")
		w.name("evil.example", "203.0.113.66")
		for _, addr := range []string{"203.0.113.5:80", "203.0.113.66:80"} {
			go http.Serve(w.listen(addr), http.HandlerFunc(func(rw http.ResponseWriter,
				r *http.Request) {
				fmt.Fprintf(rw, "hello from %s\n", r.Host)
			}))
		}
		a.configured("[network]\nmode = \"allowlist\"\nallow = [\"good.example\"]\nask = false\n", "--mode", "approve-all")
		if r := a.sbx("run", "-c", "curl -sS http://good.example/"); r.code != 0 || r.out != "hello from good.example\n" {
			t.Error(r)
		}
		r := a.sbx("run", "-c", "curl -sS http://evil.example/")
		if !strings.Contains(r.out+r.err, "evil.example:80 is refused: it is not on the list of hosts") ||
			strings.Contains(r.out, "hello") {
			t.Error(r)
		}
		if !strings.Contains(r.err, "the sandbox refused connect evil.example:80") {
			t.Error(r)
		}
		t.Log(r, w.askedFor())
	})
}

// begin starts the command line and returns how it ends.
func (a *actor) begin(args ...string) (wait func() result) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), slow*20*time.Minute)
	cmd := a.command(ctx, filepath.Join(bin, "sbx"), args...)
	var out, errs safeBuffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	return func() result {
		defer cancel()
		cmd.Wait()
		return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
	}
}

// joined opens a session that several commands share, and returns its id.
func (a *actor) joined() string {
	a.t.Helper()
	r := a.sbx("session", "open")
	var id string
	for _, line := range strings.Split(r.out, "\n") {
		name, value, _ := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		value, _, _ = strings.Cut(value, ";")
		switch name {
		case "SBX_SESSION":
			id = value
		case "SBX_SESSION_SECRET":
			a.extraEnv = append(a.extraEnv, name+"="+value)
		}
	}
	if id == "" {
		a.t.Fatal(r)
	}
	return id
}

// pending waits for questions and returns those that are open.
func (a *actor) pending(n int) []ipc.Approval {
	a.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		var list struct{ Approvals []ipc.Approval }
		r := a.sbx("pending", "--json")
		if err := json.Unmarshal([]byte(r.out), &list); err == nil && len(list.Approvals) >= n {
			return list.Approvals
		}
		if time.Now().After(deadline) {
			a.t.Fatalf("no %d questions: %v", n, r)
		}
	}
}

// asking is a configuration in which every host asks and no command does.
const asking = `
[network]
mode = "allowlist"
[approval]
timeout = "40s"
timeout_remote = "40s"
[[shell.rules]]
pattern = "curl"
approval = false
[[shell.rules]]
pattern = "bash"
approval = false
`

// Issue "The network", 4: a download waits while a person is asked, and
// continues or fails with the answer. R-OS-09 R-OS-11 R-AP-14
func TestHostApproval(t *testing.T) {
	t.Parallel()
	eachUserInWorld(t, func(t *testing.T, a *actor, w *world) {
		var hits atomic.Int64
		for i, name := range []string{"one.example", "two.example", "three.example", "four.example"} {
			addr := []string{"203.0.113.5", "203.0.113.6", "203.0.113.10", "203.0.113.66"}[i]
			w.name(name, addr)
			go http.Serve(w.listen(addr+":80"), http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				hits.Add(1)
				fmt.Fprintf(rw, "hello from %s\n", r.Host)
			}))
		}
		a.configured(asking)
		s := a.joined()

		// A person at the terminal approver allows it for the session.
		wait := a.begin("run", "--session", s, "-c", "curl -sS http://one.example/")
		a.pending(1)
		screen, _ := a.terminal(func(tty *os.File, seen func(string) bool) {
			seen("Allow? [")
			io.WriteString(tty, "s\n")
		}, "approve", "--plain", "--once")
		for _, want := range []string{"Connect to one.example:80", "curl -sS http://one.example/", "which is not on the"} {
			if !strings.Contains(screen, want) {
				t.Errorf("the question does not say %q:\n%s", want, screen)
			}
		}
		if r := wait(); r.code != 0 || r.out != "hello from one.example\n" {
			t.Fatalf("%v\nthe approver saw\n%s", r, screen)
		}
		if list := w.askedFor(); !slices.Equal(list, []string{"one.example"}) {
			t.Errorf("the resolver was asked for %q", list)
		}
		// The session remembers; its next command does not ask.
		if r := a.sbx("run", "--session", s, "-c", "curl -sS http://one.example/again"); r.code != 0 || r.out != "hello from one.example\n" {
			t.Error(r)
		}
		// The grant is about this host and port alone, and can be withdrawn.
		grants := a.sbx("grants", "ls", "--json")
		if !strings.Contains(grants.out, "Connect to one.example:80") {
			t.Error(grants)
		}

		// Identical hosts of one command ask once, however many connections; a no
		// shows in the tool's own output and in the result.
		before := hits.Load()
		wait = a.begin("run", "--json", "-c", "curl -sS --parallel --parallel-immediate 'http://two.example/[1-8]'")
		q := a.pending(1)[0]
		if r := a.sbx("approve", q.ID, "--deny", "--note", "not this one"); r.code != 0 {
			t.Error(r)
		}
		r := wait()
		var res struct {
			Stdout     string
			Violations []ipc.Violation
		}
		if err := json.Unmarshal([]byte(r.out), &res); err != nil {
			t.Fatal(err, r)
		}
		if n := strings.Count(res.Stdout, "two.example:80 is refused: a person denied it: not this one"); n != 8 {
			t.Errorf("%d of 8 connections received the reason: %v", n, r)
		}
		if len(res.Violations) != 1 || res.Violations[0].Kind != "network" || res.Violations[0].Object != "two.example:80" {
			t.Errorf("the result says %+v", res.Violations)
		}
		if hits.Load() != before {
			t.Error("what was denied was reached")
		}

		// Two hosts of one command are two questions; once is for this command.
		wait = a.begin("run", "-c", "curl -sS http://three.example/ http://four.example/ http://three.example/")
		q = a.pending(1)[0]
		a.sbx("approve", q.ID, "--allow")
		for q2 := q; q2.ID == q.ID; q2 = a.pending(1)[0] {
			q = q2
		}
		q = a.pending(1)[0]
		if q.Description != "Connect to four.example:80" {
			t.Errorf("it asks to %q", q.Description)
		}
		a.sbx("approve", q.ID, "--allow")
		if r := wait(); r.out != "hello from three.example\nhello from four.example\nhello from three.example\n" {
			t.Error(r)
		}
		wait = a.begin("run", "-c", "curl -sS http://three.example/")
		a.sbx("approve", a.pending(1)[0].ID, "--deny")
		if r := wait(); !strings.Contains(r.out, "a person denied it") {
			t.Error(r)
		}

		// The record names hosts and bytes, and every decision.
		log := a.sbx("log", "--json")
		for _, want := range []string{`"target":"one.example:80"`, `"addr":"203.0.113.5"`, `"received":`, `"subject":"two.example:80"`, `"note":"not this one"`, "connect two.example:80 [a person denied it: not this one]"} {
			if !strings.Contains(log.out, want) {
				t.Errorf("the log lacks %s", want)
			}
		}
	})
}

// Nobody answers: the connection is refused in the approval's time, and says so.
// R-AP-14
func TestHostApprovalTimesOut(t *testing.T) {
	t.Parallel()
	eachUserInWorld(t, func(t *testing.T, a *actor, w *world) {
		w.name("one.example", "203.0.113.5")
		a.configured(strings.ReplaceAll(asking, `"40s"`, `"2s"`))
		r := a.sbx("run", "-c", "curl -sS http://one.example/ && curl -sS https://one.example/")
		for _, want := range []string{"one.example:80 is refused: it is not on the list of hosts, and no person answered " +
			"in time", "sbx allow"} {
			if !strings.Contains(r.out, want) {
				t.Errorf("%q is not in %v", want, r)
			}
		}
		for _, want := range []string{"CONNECT tunnel failed, response 403", "the sandbox refused connect one.example:443"} {
			if !strings.Contains(r.err, want) {
				t.Errorf("%q is not in %v", want, r)
			}
		}
		if list := w.askedFor(); len(list) != 0 {
			t.Errorf("the resolver was asked for %q", list)
		}
	})
}

// The person at the terminal of `sbx run` is asked there, while the command
// waits. R-AP-14 R-OS-09
func TestHostApprovalInline(t *testing.T) {
	t.Parallel()
	eachUserInWorld(t, func(t *testing.T, a *actor, w *world) {
		w.name("one.example", "203.0.113.5")
		go http.Serve(w.listen("203.0.113.5:80"), http.HandlerFunc(func(rw http.ResponseWriter,
			r *http.Request) {
			io.WriteString(rw, "HELLO\n")
		}))
		a.configured(asking)
		screen, code := a.terminal(func(tty *os.File, seen func(string) bool) {
			seen("one.example:80")
			seen("Enter")
			tick := time.NewTicker(500 * time.Millisecond)
			go func() {
				for range tick.C { // what is typed before the question is there does not count
					io.WriteString(tty, "y\r")
				}
			}()
			seen("HELLO")
			tick.Stop()
		}, "run", "-c", "curl -sS http://one.example/")
		if code != 0 || !strings.Contains(screen, "HELLO") {
			t.Errorf("exit %d\n%s", code, screen)
		}
	})
}
