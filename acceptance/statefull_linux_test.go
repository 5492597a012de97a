package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sandboxd/ipc"
)

// commandSession is one shell in which several `sbx run` belong to one session.
type commandSession struct {
	a    *actor
	name string // folder of the project in which it works
	step int
}

// inOneSession starts a shell that executes what run gives it, one command after the other.
func (a *actor) inOneSession(name string) *commandSession {
	a.t.Helper()
	a.sh("mkdir " + name)
	cmd := a.command(a.t.Context(), "/bin/bash", "-c", `PATH=$1:$PATH
for n in $(seq 100); do
  until [ -e $0/$n.sh ]; do [ -d $0 ] || exit 0; sleep 0.02; done
  bash $0/$n.sh > $0/$n.out 2> $0/$n.err
  echo $? > $0/$n.new; mv $0/$n.new $0/$n.code
done`, name, bin)
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() {
		os.RemoveAll(filepath.Join(a.project, name))
		cmd.Wait()
	})
	return &commandSession{a: a, name: name}
}

// begin starts a command of the shell; wait returns its result.
func (s *commandSession) begin(line string) (wait func() result) {
	s.a.t.Helper()
	s.step++
	file := filepath.Join(s.a.project, s.name, fmt.Sprint(s.step))
	if err := os.WriteFile(file+".new", []byte(line+"\n"), 0o755); err != nil {
		s.a.t.Fatal(err)
	}
	if err := os.Rename(file+".new", file+".sh"); err != nil {
		s.a.t.Fatal(err)
	}
	return func() (r result) {
		s.a.t.Helper()
		eventually(s.a.t, line, func() bool { return s.a.there(s.name + "/" + filepath.Base(file) + ".code") })
		for ending, to := range map[string]*string{"out": &r.out, "err": &r.err} {
			b, err := os.ReadFile(file + "." + ending)
			if err != nil {
				s.a.t.Fatal(err)
			}
			*to = string(b)
		}
		b, _ := os.ReadFile(file + ".code")
		fmt.Sscan(string(b), &r.code)
		return r
	}
}

func (s *commandSession) run(line string) result {
	s.a.t.Helper()
	return s.begin(line)()
}

// ends counts the records of ends of commands whose line contains text.
func (a *actor) ends(text string) (n int) {
	a.t.Helper()
	got := a.sbx("log", "--json", "-n", "1000")
	for line := range strings.Lines(got.out) {
		var r struct{ Operation, Subject string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			a.t.Fatalf("%v in %q", err, line)
		}
		if r.Operation == "end" && strings.Contains(r.Subject, text) {
			n++
		}
	}
	return n
}

// notStopped reports a text that names another cause than the log, or no remedy.
func notStopped(t *testing.T, what, text, cause, remedy string) {
	t.Helper()
	lower := strings.ToLower(text)
	for _, want := range []string{cause, "nobody stopped", remedy} {
		if !strings.Contains(lower, want) {
			t.Errorf("%s does not say %q: %s", what, want, text)
		}
	}
	for _, wrong := range []string{"user stopped", "stopped by", "is stopped", "session resume"} {
		if strings.Contains(lower, wrong) {
			t.Errorf("%s says %q: %s", what, wrong, text)
		}
	}
}

// waits runs until go-on is there.
const waits = "sbx run %s -c 'touch runs; while [ ! -e go-on ]; do sleep 0.05; done; echo %s'"

// R-AU-01, R-AU-03, R-UX-06: where the state disk is full, what runs has its end on record;
// nothing more runs, no person is asked, and nobody is said to have stopped anything; with
// room again the same session continues, on record, without a resume.
func TestStateIsFull(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("left out: only root can mount a small file system; CI runs this as root")
		return
	}
	bothUsers(t, func(t *testing.T, a *actor) {
		a.smallState(4096)
		a.approveAllCold()
		a.untilMakes(true)
		s := a.inOneSession("shell")
		end := s.begin(fmt.Sprintf(waits, "", "first"))
		eventually(t, "the command runs", func() bool { return a.wrote("runs") })
		a.fill("ballast")
		a.sh("touch go-on")
		if got := end(); got.code != 0 || got.out != "first\n" || got.err != "" {
			t.Errorf("it ended on a full disk: %v", got)
		}
		if n := a.ends("echo first"); n != 1 {
			t.Errorf("%d records of its end", n)
		}
		const cause, remedy = "the disk is full", "free space"
		// Some room is allocated ahead; the notes of runs may be the first that have none.
		for i := 0; ; i++ {
			got := s.run(fmt.Sprintf("rm -f second; sbx run -c 'echo %d > second'", i))
			if got.code == 0 && i < 90 {
				if n := a.ends(fmt.Sprintf("echo %d >", i)); n != 1 || !a.there("second") {
					t.Fatalf("%d records of its end: %v", n, got)
				}
				continue
			}
			if got.code != 125 || a.there("second") {
				t.Fatalf("it ran unrecorded: %v", got)
			}
			notStopped(t, "the refusal", got.err, cause, remedy)
			if strings.Contains(got.err, "audit log") {
				break
			}
		}
		a.refusedWhileFull(s, cause, remedy)
		got := a.sbx("status")
		if text := got.out + got.err; !strings.Contains(text, "no space left") || strings.Contains(text, "stopped") {
			t.Errorf("the status: %v", got)
		}
		if got := a.sbx("log", "verify"); got.code != 0 {
			t.Errorf("while full: %v", got)
		}
		if err := os.Remove(filepath.Join(a.stateDir(), "ballast")); err != nil {
			t.Fatal(err)
		}
		a.mended()
		if got := s.run("sbx run -c 'echo x > third'"); got.code != 0 || !a.there("third") {
			t.Errorf("the session does not continue: %v", got)
		}
		if got := a.sbx("log", "verify"); got.code != 0 || !strings.Contains(got.err, "repaired: recovered") {
			t.Errorf("with room again: %v", got)
		}
	})
}

// refusedWhileFull tries the ways to do something other than by a command, on a full disk.
func (a *actor) refusedWhileFull(s *commandSession, cause, remedy string) {
	a.t.Helper()
	fetch := event(a.t, call("claude", a.project, "WebFetch", map[string]any{"url": "https://example.invalid/"}),
		map[string]any{"session_id": nil}) // in the session of the terminal
	for name, line := range map[string]string{
		"file operation": "echo x | sbx file write made-by-tool",
		"folder":         "sbx file mkdir made-by-tool",
		"hook":           "sbx hook claude <<< '" + fetch + "'",
	} {
		recorded := func() int { return strings.Count(a.sbx("log", "--json").out, "example.invalid") }
		before := recorded()
		got := s.run(line)
		// Its records are small: some may have room where a command's have none. Then they are there.
		for tries := 0; name == "hook" && tries < 50 && !strings.Contains(strings.ToLower(got.out), cause); tries++ {
			if now := recorded(); now <= before {
				a.t.Fatalf("%s: permitted and not on record: %v", name, got)
			} else {
				before = now
			}
			got = s.run(line)
		}
		notStopped(a.t, name, got.out+got.err, cause, remedy)
		if got.code == 0 && name != "hook" || a.there("made-by-tool") {
			a.t.Errorf("%s: done unrecorded: %v", name, got)
		}
	}
}

// mended waits until the status says nothing about the log.
func (a *actor) mended() {
	a.t.Helper()
	eventually(a.t, "the log can be written", func() bool {
		got := a.sbx("status")
		return got.code == 0 && !strings.Contains(got.out+got.err, "can't be written")
	})
}

// R-AU-01: a command whose end can't be recorded, as the log is gone: the session runs
// nothing more and says why; when the log is back, that end is on record, first, and the
// session continues by itself.
func TestEndIsUnrecorded(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.approveAllCold()
		s := a.inOneSession("shell")
		end := s.begin(fmt.Sprintf(waits, "--json --direct", "first"))
		eventually(t, "the command runs", func() bool { return a.wrote("runs") })
		log := filepath.Join(a.stateDir(), "audit", "00000001.jsonl")
		if err := os.Rename(log, log+".away"); err != nil {
			t.Fatal(err)
		}
		a.sh("touch go-on")
		got := end()
		if got.code != 0 || !strings.Contains(got.out, "the end of this command is not on record yet") {
			t.Errorf("its end could not be recorded: %v", got)
		}
		notStopped(t, "the warning", got.out, "00000001.jsonl", "")
		if got = s.run("sbx run -c 'echo x > second'"); got.code != 125 || a.there("second") {
			t.Errorf("it ran unrecorded: %v", got)
		}
		notStopped(t, "the refusal", got.err, "00000001.jsonl", "fix the state directory")
		if err := os.Rename(log+".away", log); err != nil {
			t.Fatal(err)
		}
		a.mended()
		if n := a.ends("echo first"); n != 1 {
			t.Errorf("%d records of its end", n)
		}
		if got := s.run("sbx run -c 'echo x > third'"); got.code != 0 || !a.there("third") {
			t.Errorf("the session does not continue: %v", got)
		}
		if got := a.sbx("log", "verify"); got.code != 0 || !strings.Contains(got.err, "repaired: recovered") {
			t.Errorf("with the log again: %v", got)
		}
	})
}

// R-AU-03: the API's code on a full disk is that of the log, for commands, files and checks,
// and a stop by a person outlives it.
func TestStateIsFullAPI(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("left out: only root can mount a small file system; CI runs this as root")
		return
	}
	a := newActor(t, "")
	a.smallState(4096)
	a.approveAllCold()
	c := &ipc.Client{Socket: filepath.Join(a.socketDir(), ipc.AgentSocket)}
	defer c.Close()
	sess, err := c.OpenSession(t.Context(), ipc.SessionRequest{Root: a.project})
	if err != nil {
		t.Fatal(err)
	}
	c.Secret = sess.Secret
	attempts := map[string]func() error{
		"batch": func() error {
			touch := ipc.BatchCall{Exec: &ipc.ExecRequest{Command: "touch made"}}
			r, err := c.Batch(t.Context(), ipc.BatchRequest{Session: sess.ID, Calls: []ipc.BatchCall{touch}})
			if err != nil {
				return err
			}
			if x := r.Results[0].Exec; x != nil && x.Exit.Error != nil {
				return x.Exit.Error
			}
			return nil
		},
		"file": func() error {
			made := filepath.Join(a.project, "made")
			_, err := c.File(t.Context(), ipc.FileRequest{Op: "create", Session: sess.ID, Path: made, Content: "x"})
			return err
		},
		"read": func() error {
			readme := filepath.Join(a.project, "README")
			_, err := c.File(t.Context(), ipc.FileRequest{Op: "read", Session: sess.ID, Path: readme})
			return err
		},
		"check": func() error {
			_, err := c.Check(t.Context(), ipc.CheckRequest{Session: sess.ID, Command: "touch made"})
			return err
		},
	}
	if got := a.sbx("run", "true"); got.code != 0 { // which trusts the project
		t.Fatal(got)
	}
	a.fill("ballast")
	for range 1000 { // some room is allocated ahead
		if err = attempts["read"](); err != nil {
			break
		}
	}
	for name, try := range attempts {
		err := try()
		if ipc.CodeOf(err) != ipc.CodeAudit || a.there("made") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		notStopped(t, name, err.Error(), "the disk is full", "free space")
	}
	os.Remove(filepath.Join(a.stateDir(), "ballast"))
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		err := attempts["read"]()
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	for name, try := range attempts {
		if name != "file" { // which the batch has made
			if err := try(); err != nil {
				t.Errorf("with room again: %s: %v", name, err)
			}
		}
	}
}
