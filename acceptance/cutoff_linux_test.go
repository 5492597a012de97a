package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sandboxd/ipc"
)

// forSure is after how long nothing that changes can be taken for a dead command's:
// DESIGN's "a person saved it meanwhile".
const forSure = 2500 * time.Millisecond

// Commands plant files under protected names, and their daemon is killed. The next daemon moves
// the files into the trash, records and reports each, and restores them after a person's yes.
// Files that a person saved in the meantime stay. R-OS-03, R-OP-03, R-AU-01
func TestPlantedByCommandsThatWereCutOff(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.sh(`rm -r .git/hooks; mkdir .vscode sub pkg; echo mine > .vscode/settings.json; echo old > AGENTS.md; cp AGENTS.md pkg/AGENTS.md`)
		a.direct()
		peer := a.agentPeer("editor")
		agent := a.fileAgent(peer, ipc.KindCLI)
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
		defer cancel()
		// Several at once: at a terminal, with nobody listening, and one that plants until it dies.
		const mark = "98764"
		for i, r := range []ipc.ExecRequest{
			{Command: `mkdir .git/hooks && printf '#!/bin/sh\ntouch pwned\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit; echo x > ready0; sleep ` + mark},
			{Command: `git init -q born && printf '#!/bin/sh\n' > born/.git/hooks/post-checkout && chmod +x born/.git/hooks/post-checkout && git -C born config core.fsmonitor 'touch pwned'; mkdir sub/.vscode; echo x > sub/.vscode/tasks.json; echo x > ready1; sleep ` + mark, TTY: true, Keep: true},
			{Command: `(setsid sh -c 'while :; do echo x > .envrc; echo x > n; mv n sub/.envrc; sleep 0.02; done' &); (sleep 1; echo x > ready2) & sleep ` + mark, Keep: true},
		} {
			r.Session = agent.session
			if _, err := agent.StartExec(ctx, r); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the command has planted", func() bool {
				_, err := os.Stat(filepath.Join(a.project, fmt.Sprint("ready", i)))
				return err == nil
			})
		}
		a.die()
		eventually(t, "the commands' end", func() bool { return count("sleep "+mark) == 0 && count("sleep 0.02") == 0 })
		for _, f := range []string{".git/hooks/pre-commit", ".envrc", "sub/.envrc", "sub/.vscode/tasks.json", "born/.git/hooks/post-checkout"} {
			if _, err := os.Stat(filepath.Join(a.project, f)); err != nil {
				t.Fatalf("the attempt did not come off: %v", err)
			}
		}
		time.Sleep(forSure)
		a.sh(`echo mine > CLAUDE.md; echo mine too > sub/.vscode/settings.json; echo new > AGENTS.md; mkdir -p more/.github/workflows; echo mine > more/.github/workflows/ci.yml; rm -r .vscode; mv pkg moved`)

		a.start()
		// The daemon scans the project before it runs a command.
		if r := a.sbx("run", "--", "git", "status", "--short"); r.code != 0 {
			t.Error(r)
		}
		a.sh(`for f in .git/hooks/pre-commit .envrc sub/.envrc sub/.vscode/tasks.json born/.git/hooks/post-checkout; do [ ! -e $f ] || { echo "$f is still there"; exit 1; }; done
			! git -C born config core.fsmonitor; git -C born status
			for f in CLAUDE.md more/.github/workflows/ci.yml; do grep -qx mine $f; done; grep -qx "mine too" sub/.vscode/settings.json; grep -qx new AGENTS.md; grep -qx old moved/AGENTS.md; [ ! -e .vscode ]`)

		// The daemon has recorded and reported each planted file.
		var hook ipc.Change
		log := a.sbx("log", "--json", "-n", "1000").out
		for _, want := range []string{".git/hooks", "/.envrc", "sub/.envrc", "sub/.vscode/tasks.json", "born/.git/hooks/post-checkout", "born/.git/config"} {
			if !recorded(log, "quarantine", filepath.Join(a.project, want)) {
				t.Errorf("no record of %s:\n%s", want, a.sbx("log").out)
			}
		}
		for _, own := range []string{"CLAUDE.md", "sub/.vscode/settings.json", "AGENTS.md"} {
			if !recorded(log, "notice", filepath.Join(a.project, own)) {
				t.Errorf("nobody is asked to look at %s:\n%s", own, a.sbx("log").out)
			}
		}
		if text := a.sbx("log").out; strings.Count(text, "execution cut off") != 3 || !strings.Contains(text, "execution quarantine") {
			t.Errorf("sbx log:\n%s", text)
		}
		if s := a.sbx("status"); !strings.Contains(s.out+s.err, "in the trash") || !strings.Contains(s.out+s.err, "may be your own") {
			t.Errorf("sbx status: %v", s)
		}
		a.noNotes()

		// With a person's yes it comes back.
		agent = a.fileAgent(peer, ipc.KindCLI)
		person := a.personPeer("ann", true)
		list, err := agent.do(ctx, ipc.FileRequest{Op: "undo", DryRun: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list.Changes {
			if c.Op == "quarantine" && strings.HasSuffix(strings.Join(c.What, ""), "/.git/hooks") {
				hook = c
			}
		}
		done := make(chan error, 1)
		go func() {
			_, err := agent.do(ctx, ipc.FileRequest{Op: "undo", UndoID: hook.ID, CallID: "back"})
			done <- err
		}()
		decide(ctx, t, &person.approver, question(ctx, t, &person.approver, "back"), ipc.Answer{Allow: true})
		if err := <-done; err != nil {
			t.Errorf("undo %+v: %v", hook, err)
		}
		a.sh("grep -q pwned .git/hooks/pre-commit")

		// The next start reports nothing and moves nothing.
		a.start()
		if s := a.sbx("status"); strings.Contains(s.out+s.err, "in the trash") {
			t.Errorf("the status reports it again: %v", s)
		}
		a.sh("grep -q pwned .git/hooks/pre-commit; [ ! -e pwned ]")
		if r := a.sbx("log", "verify"); r.code != 0 {
			t.Error(r)
		}
	})
}

// die kills the actor's daemon.
func (a *actor) die() {
	a.t.Helper()
	a.daemon.Process.Kill()
	a.daemon.Wait()
	a.daemon = nil
}

// noNotes waits until there is no note of a run.
func (a *actor) noNotes() {
	a.t.Helper()
	eventually(a.t, "no note", func() bool {
		left, _ := filepath.Glob(filepath.Join(a.stateDir(), "running", "x-*"))
		return len(left) == 0
	})
}

// dieWith kills the daemon and a client that would start another one.
func (a *actor) dieWith(client *exec.Cmd) {
	a.t.Helper()
	client.Process.Signal(syscall.SIGSTOP)
	a.die()
	client.Process.Kill()
	client.Wait()
}

// recorded reports whether the log has a record of an operation on a subject.
func recorded(log, operation, subject string) bool {
	for line := range strings.Lines(log) {
		var r struct{ Operation, Subject string }
		if json.Unmarshal([]byte(line), &r) == nil && r.Operation == operation && r.Subject == subject {
			return true
		}
	}
	return false
}

// The daemon reports a note that is torn, forged or another user's, and does not act on it. The
// same holds for a note whose folder is missing, until the folder returns. A command whose note
// the daemon can't write does not run.
// R-OP-03, R-AU-03
func TestNotesOfCommandsThatWereCutOff(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.direct()
		const mark = "98765"
		var cmd *exec.Cmd
		start := func() {
			t.Helper()
			cmd = a.command(t.Context(), filepath.Join(bin, "sbx"), "run", "-c", "echo x > .envrc; sleep "+mark)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the plant", func() bool { return a.there(".envrc") })
		}
		killed := func() {
			t.Helper()
			a.dieWith(cmd)
			eventually(t, "no process of the command", func() bool { return count("sleep "+mark) == 0 })
		}
		running := filepath.Join(a.stateDir(), "running")
		planted := func() bool { _, err := os.Stat(filepath.Join(a.project, ".envrc")); return err == nil }

		for name, forge := range map[string]string{
			"torn":             `f=$(ls x-*); head -c 100 $f > t; cat t > $f; rm t`,
			"empty":            `: > $(ls x-*)`,
			"another user's":   `f=$(ls x-*); sed -i 's/"uid":[0-9]*/"uid":12345/' $f`,
			"another's name":   `mv x-* x-00000000000000000000000000`,
			"a field too many": `f=$(ls x-*); sed -i '1s/^{/{"also":1,/' $f`,
			"open to others":   `chmod 666 x-*`,
			"a link":           `f=$(ls x-*); mv $f ../moved; ln -s ../moved $f`,
			"another snapshot": `f=$(ls before-*); echo x >> $f`,
			"no snapshot":      `rm before-*`,
			"a pipe":           `mkfifo x-11111111111111111111111111; rm $(ls x-* | grep -v 1111)`,
		} {
			start()
			killed()
			a.sh("cd " + running + "; " + forge)
			a.direct()
			if r := a.sbx("run", "--", "git", "status", "--short"); r.code != 0 {
				t.Errorf("%s: the next run: %v", name, r)
			}
			if !planted() {
				t.Errorf("%s: it was believed", name)
			}
			if s := a.sbx("status"); !strings.Contains(s.out+s.err, "can't be read") {
				t.Errorf("%s: the status does not report it: %v", name, s)
			}
			a.noNotes()
			a.sh("rm .envrc; rm -f " + a.stateDir() + "/moved")
		}

		// The folder is away, and comes back.
		start()
		killed()
		a.sh("mv " + a.project + " " + a.project + ".away; mkdir " + a.project)
		t.Cleanup(func() { os.RemoveAll(a.project + ".away") })
		a.sh("echo mine > .envrc")
		a.direct()
		a.sbx("run", "--", "true")
		a.sh("grep -qx mine .envrc")
		if s := a.sbx("status"); !strings.Contains(s.out+s.err, "is not there, or is another folder") {
			t.Errorf("the status does not report it: %v", s)
		}
		os.RemoveAll(a.project)
		if err := os.Rename(a.project+".away", a.project); err != nil {
			t.Fatal(err)
		}

		a.direct()
		a.sbx("run", "--", "true")
		if planted() {
			t.Error("what lay in a folder that was away stays")
		}

		// Without a note nothing runs.
		a.sh("rm -r " + running + "; echo x > " + running)
		if r := a.sbx("run", "-c", "echo x > .envrc"); r.code != 125 || !strings.Contains(r.err, "record the state before the run") || planted() {
			t.Errorf("it ran without a note: %v", r)
		}
		a.sh("rm " + running)
		if r := a.sbx("run", "-c", "echo x > f"); r.code != 0 {
			t.Errorf("the directory is not made again: %v", r)
		}
	})
}

// However early the daemon is killed, and however soon it is started again, no plant
// stays. R-OP-03
func TestNoPlantStaysAfterDeaths(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.direct()
		const mark = "98766"
		planted := 0
		for i := range max(4, launches(t)/20) {
			cmd := a.command(t.Context(), filepath.Join(bin, "sbx"), "run", "-c",
				`(setsid sh -c 'while :; do echo x > .envrc; mkdir -p d; echo x > d/CLAUDE.md; done' &); sleep `+mark)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the note of the run", func() bool {
				notes, _ := filepath.Glob(filepath.Join(a.stateDir(), "running", "x-*"))
				return len(notes) > 0
			})
			if i%2 == 0 {
				eventually(t, "the plant", func() bool { return a.there(".envrc") })
			} else {
				time.Sleep(time.Duration(i*7%30) * time.Millisecond)
			}
			a.dieWith(cmd)
			if _, err := os.Stat(filepath.Join(a.project, ".envrc")); err == nil {
				planted++
			}
			a.direct()
			if r := a.sbx("run", "--", "git", "status", "--short"); r.code != 0 || strings.Contains(r.out, "CLAUDE.md") {
				t.Errorf("round %d: %v", i, r)
			}
			a.sh("[ ! -e .envrc ]; [ ! -e d/CLAUDE.md ]; rm -rf d")
		}
		if planted == 0 {
			t.Error("nothing was planted: the test proves nothing")
		}
	})
}
