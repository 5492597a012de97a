package acceptance

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sandboxd/ipc"
)

// begun runs sbx as a process of its own, to be killed.
func (a *actor) begun(args ...string) *exec.Cmd {
	a.t.Helper()
	cmd := a.command(context.Background(), filepath.Join(bin, "sbx"), args...)
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd
}

// there reports whether the project has a file.
func (a *actor) there(name string) bool {
	_, err := os.Stat(filepath.Join(a.project, name))
	return err == nil
}

// wrote reports whether a command wrote a file, to the project or to its layer.
func (a *actor) wrote(name string) bool {
	layers, _ := filepath.Glob(filepath.Join(a.stateDir(), "layers", "*", "upper", name))
	return len(layers) > 0 || a.there(name)
}

// gather reads a command's events to the end, from number from on.
func gather(t *testing.T, c *ipc.Client, id string, from uint64) (output string, end *ipc.Exit) {
	t.Helper()
	s, err := c.ExecEvents(t.Context(), ipc.EventsRequest{ID: id, FromSeq: from})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var all strings.Builder
	for {
		e, err := s.Next(t.Context())
		if err != nil {
			t.Fatalf("after %d bytes: got %v, want the next event", all.Len(), err)
		}
		all.Write(e.Data)
		if e.Exit != nil {
			return all.String(), e.Exit
		}
	}
}

// hangUps are exchanges: the point, the participant that dies, and the script. A line of a script is an act of
// [hangUp.act], or an observation of [hangUp.observe] with the wanted value; "until" repeats an observation.
var hangUps = []struct{ at, script string }{
	{"question/client", `
		sbx touch question-client
		until asked 1
		kill client
		until asked 0
		until running 0
		file absent question-client`},
	{"question/client that keeps", `
		keep touch question-kept
		follow
		unfollow
		yes
		ends 0 ""
		file there question-kept`},
	{"question/approver", `
		watch
		exec touch question-approver
		follow
		news
		unwatch
		yes
		ends 0 ""
		file there question-approver`},
	{"running/client", `
		sbx touch running-client; (setsid sleep 98701 &); sleep 98701
		yes
		until processes 2 sleep 98701
		kill client
		until processes 0 sleep 98701`},
	{"running/client that resumes", `
		keep touch resumed; seq -f 'line %.0f' 0 29999
		yes
		resumes 29999`},
	{"running/approver", `
		watch
		input touch running-approver; read x; echo got $x
		follow
		yes
		until file there running-approver
		unwatch
		last "it\n"
		ends 0 "got it\n"`},
	{"running/command", `
		exec touch running-command; (setsid sleep 98702 &); exec sleep 98703
		follow
		yes
		until processes 1 sleep 98702
		until processes 1 sleep 98703
		kill sleep 98703
		ends SIGKILL ""
		processes 0 sleep 98702`},
	{"input/client", `
		sbx-json touch input-client; sleep 98704; cat
		yes
		until processes 1 sleep 98704
		kill client
		until processes 0 sleep 98704`},
	{"input/client that keeps", `
		keep-input touch input-kept; cat
		yes
		first "first "
		last "second"
		ends 0 "first second"`},
	{"input/command", `
		input touch input-command; read x
		yes
		unread conflict
		ends 0 ""`},
	{"ended/client", `
		keep cat README; touch ended-client
		yes
		until running 0
		ends 0 "hello\n"
		ends 0 "hello\n"`},
	// With a question, a command and a result open.
	{"all/daemon", `
		keep cat README
		ends 0 "hello\n"
		input touch daemon-running; (setsid sleep 98705 &); cat
		follow
		yes
		until processes 1 sleep 98705
		sbx touch daemon-asked
		until asked 1
		kill daemon
		breaks unexpected EOF
		until processes 0 sleep 98705
		exits 125
		start
		file absent daemon-asked
		asked 0
		events not_found
		verify 0
		logged all/daemon/keep`},
}

// hangUp is an exchange on a stage on which clients, approvers, commands and the daemon die.
type hangUp struct {
	*stage
	t       *testing.T
	at      string
	client  *ipc.Client
	session string
	process *exec.Cmd // the client that is a process of its own
	command string    // the latest,
	id      string    // and of the latest that the session's client started
	events  ipc.Stream[ipc.Event]
	watcher *peer
	news    ipc.Stream[ipc.News]
}

// R-IP-02, R-AP-14: when a participant dies at any point of an exchange, the result is the one of the table in
// docs/protocol.md, and no process remains.
func TestHangUps(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		st := newStage(a, "")
		for _, c := range hangUps {
			t.Run(c.at, func(t *testing.T) {
				client, s := st.sessionOf(t, "hangup")
				h := &hangUp{stage: st, t: t, at: c.at, client: client, session: s.ID}
				for line := range strings.Lines(strings.TrimSpace(c.script)) {
					h.perform(strings.TrimSpace(line))
				}
			})
		}
	})
}

func (h *hangUp) perform(line string) {
	h.t.Helper()
	observation, repeat := strings.CutPrefix(line, "until ")
	verb, rest, _ := strings.Cut(observation, " ")
	if known, err := h.act(verb, rest); known {
		if err != nil {
			h.t.Fatalf("%s: got %v, want no error", line, err)
		}
		return
	}
	got, want := h.observe(verb, rest)
	for deadline := time.Now().Add(patience); repeat && got != want && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
		got, want = h.observe(verb, rest)
	}
	if got != want {
		h.t.Fatalf("%s: got %s, want %s", line, got, want)
	}
}

// act makes a participant do something, if verb is an act.
func (h *hangUp) act(verb, rest string) (known bool, err error) {
	ctx := h.t.Context()
	switch verb {
	case "sbx":
		h.command, h.process = rest, h.begun("run", "--no-ask", "-c", rest)
	case "sbx-json":
		h.command, h.process = rest, h.begun("run", "--no-ask", "--json", "-c", rest)
	case "exec", "keep", "input", "keep-input":
		r := ipc.ExecRequest{Session: h.session, Command: rest, CallID: h.at + "/" + verb}
		r.Keep = strings.HasPrefix(verb, "keep")
		if strings.HasSuffix(verb, "input") {
			r.Stdin = ipc.StdinStream
		}
		var started ipc.ExecStarted
		started, err = h.client.StartExec(ctx, r)
		h.command, h.id = rest, started.ID
	case "follow":
		if h.events, err = h.client.ExecEvents(ctx, ipc.EventsRequest{ID: h.id}); err == nil {
			h.t.Cleanup(func() { h.events.Close() })
			_, err = h.events.Next(ctx)
		}
	case "unfollow":
		h.events.Close()
	case "watch":
		h.watcher = h.personPeer("dying-"+h.at[:1], false)
		h.news, err = h.watcher.approver.News(ctx, ipc.NewsRequest{})
	case "unwatch":
		h.news.Close()
		h.watcher.approver.Close()
	case "first": // on a connection that is closed then
		one := &ipc.Client{Socket: h.client.Socket, Secret: h.client.Secret}
		defer one.Close()
		err = one.WriteStdin(ctx, ipc.StdinRequest{ID: h.id, Data: unquoted(rest)})
	case "last":
		err = h.client.WriteStdin(ctx, ipc.StdinRequest{ID: h.id, Data: unquoted(rest), EOF: true})
	case "kill":
		h.kill(rest)
	case "start":
		h.actor.start("--config", h.configFile())
	default:
		return false, nil
	}
	return true, err
}

func (h *hangUp) kill(participant string) {
	switch participant {
	case "client":
		h.process.Process.Kill()
	case "daemon":
		h.actor.daemon.Process.Kill()
		h.actor.daemon.Wait()
		h.actor.daemon = nil
	default:
		for _, p := range processes() {
			if strings.HasPrefix(p.cmdline, participant+" ") {
				syscall.Kill(p.pid, syscall.SIGKILL)
			}
		}
	}
}

// observe returns one value of the exchange and the wanted one.
func (h *hangUp) observe(verb, rest string) (got, want string) {
	ctx := h.t.Context()
	value, object, _ := strings.Cut(rest, " ")
	switch verb {
	case "yes": // the command that the answered question is about
		return h.says(h.t, ipc.Answer{Allow: true}).Command, h.command
	case "news": // the command of the question that the watcher sees
		n, err := h.news.Next(ctx)
		if err != nil || n.Approval == nil {
			return fmt.Sprintf("%+v, %v", n, err), h.command
		}
		return n.Approval.Command, h.command
	case "asked": // the number of open questions
		l, err := h.person().Approvals(ctx)
		return quantity(len(l.Approvals), err), value
	case "running": // the number of commands of the daemon
		status, err := h.person().Status(ctx)
		return quantity(status.Running, err), value
	case "processes":
		return quantity(count(object), nil), value
	case "file":
		if h.wrote(object) {
			return "there", value
		}
		return "absent", value
	case "ends": // exit status or signal, and output
		out, end := gather(h.t, h.client, h.id, 1)
		return described(end) + " " + strconv.Quote(out), rest
	case "resumes": // all output, the lines up to a number
		last, _ := strconv.Atoi(value)
		var lines strings.Builder
		for i := range last + 1 {
			fmt.Fprintf(&lines, "line %d\n", i)
		}
		return summary(h.resumed()), summary(lines.String())
	case "unread": // the code for input that nobody reads
		err := h.client.StreamStdin(ctx, h.id, strings.NewReader("x\n"+strings.Repeat("y", 1<<20)), true)
		return string(ipc.CodeOf(err)), value
	}
	return h.observeDeath(verb, rest)
}

// observeDeath observes the effects of a dead daemon.
func (h *hangUp) observeDeath(verb, rest string) (got, want string) {
	ctx := h.t.Context()
	switch verb {
	case "breaks": // the error at the end of the followed events, which have no exit
		for {
			e, err := h.events.Next(ctx)
			if errors.Is(err, io.ErrUnexpectedEOF) {
				return io.ErrUnexpectedEOF.Error(), rest
			}
			if err != nil || e.Exit != nil {
				return fmt.Sprintf("%v, exit %+v", err, e.Exit), rest
			}
		}
	case "exits": // the status of the client that is a process
		h.process.Wait()
		return strconv.Itoa(h.process.ProcessState.ExitCode()), rest
	case "events": // the code for the events of the command
		_, err := h.client.ExecEvents(ctx, ipc.EventsRequest{ID: h.id})
		return string(ipc.CodeOf(err)), rest
	case "verify": // the exit status of sbx log verify
		return strconv.Itoa(h.sbx("log", "verify").code), rest
	case "logged":
		if r := h.sbx("log", "--json"); !strings.Contains(r.out, rest) {
			return r.String(), rest
		}
		return rest, rest
	}
	h.t.Fatalf("got the line %q, want an act or an observation", verb+" "+rest)
	return "", ""
}

// resumed reads a command's output over many connections, each from the first event that is missing.
func (h *hangUp) resumed() string {
	h.t.Helper()
	var output strings.Builder
	next, ended := uint64(1), false
	for round := 0; !ended; round++ {
		one := &ipc.Client{Socket: h.client.Socket, Secret: h.client.Secret}
		s, err := one.ExecEvents(h.t.Context(), ipc.EventsRequest{ID: h.id, FromSeq: next})
		if err != nil {
			h.t.Fatal(err)
		}
		for i := 0; i < 1+round%4 && !ended; i++ {
			e, err := s.Next(h.t.Context())
			if err != nil || e.Seq != next {
				h.t.Fatalf("got event %d, %v, want %d", e.Seq, err, next)
			}
			next++
			output.Write(e.Data)
			ended = e.Exit != nil
		}
		s.Close()
		one.Close()
	}
	return output.String()
}

func quantity(n int, err error) string {
	if err != nil {
		return err.Error()
	}
	return strconv.Itoa(n)
}

func described(end *ipc.Exit) string {
	status := strconv.Itoa(end.Code)
	if end.Signal != "" {
		status = end.Signal
	}
	if end.Cancelled {
		status += " cancelled"
	}
	return status
}

func summary(output string) string {
	return fmt.Sprintf("%d bytes, SHA-256 %x", len(output), sha256.Sum256([]byte(output)))
}

func unquoted(s string) []byte {
	text, err := strconv.Unquote(s)
	if err != nil {
		panic(err)
	}
	return []byte(text)
}

// R-IP-05: a client that is killed in the middle of a request requests nothing.
func TestHangUpInTheMiddle(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	a.start("--mode", "approve-all")
	c := &ipc.Client{Socket: filepath.Join(a.socketDir(), "agent.sock")}
	defer c.Close()
	s, err := c.OpenSession(t.Context(), ipc.SessionRequest{Root: a.project})
	if err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"session":%q,"command":"touch middle","keep":true}`, s.ID)
	whole := fmt.Sprintf("POST /v1/exec HTTP/1.1\r\nHost: s\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s",
		string(s.Secret), len(body), body)
	for i := 1; i < len(whole); i += 7 {
		cmd := a.command(t.Context(), "/usr/bin/python3", "-c", `
import os, socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(sys.stdin.buffer.read())
os.kill(os.getpid(), 9)`, c.Socket)
		cmd.Stdin = strings.NewReader(whole[:i])
		cmd.Run()
		if i > 60 {
			i += 20
		}
	}
	c.Secret = s.Secret
	l, err := c.Sessions(t.Context())
	if err != nil || len(l.Sessions) != 1 || len(l.Sessions[0].Running) != 0 || a.there("middle") {
		t.Errorf("got %+v, %v, want one session without a command, and no file", l, err)
	}
}
