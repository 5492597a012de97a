package acceptance

import (
	"encoding/json"
	"strings"
	"testing"

	"sandboxd/ipc"
)

// R-LY-05: a session that was opened with land = "hold", and every one where the configuration says so, a project's
// file too, holds what its commands write: the next ones see it, readers run, and what can have no layer does not run.
func TestLayersSessionHolds(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("")
		a.repository()
		before := a.everything()
		// each runs lines, by their flags, and a reader that prints one, which sees what its own session holds.
		each := func(run func(line string, flags ...string) ran, reader string) {
			t.Helper()
			r := run("echo one > made")
			if r.code != 0 || r.Changes.HeldID == "" || *r.Changes.Landed || r.Changes.Exit != nil || a.there("made") {
				t.Errorf("%d %+v %s", r.code, r.Changes, r.err)
			}
			if r := run(reader); r.code != 0 || r.Stdout != "one\n" || r.Changes.Kind != "none" {
				t.Errorf("a reader: %d %q %+v %s", r.code, r.Stdout, r.Changes, r.err)
			}
			if r := run("echo two > two", "--direct"); r.code != 125 || a.there("two") ||
				!strings.Contains(r.err+r.out, "can't be held: the request says so") {
				t.Errorf("a direct run: %d %s%s", r.code, r.out, r.err)
			}
			if r := a.landing(always, "changes", "drop", r.Changes.HeldID); r.code != 0 || a.everything() != before {
				t.Errorf("the drop: %s%s", r.out, r.err)
			}
		}
		run := func(line string, flags ...string) (out ran) {
			out.result = a.sbx(append(append([]string{"run", "--json"}, flags...), "-c", line)...)
			_ = json.Unmarshal([]byte(out.result.out), &out)
			return out
		}
		agent := a.agentPeer("holder")
		ctx, cancel := within(t)
		defer cancel()
		s, err := agent.agent.OpenSession(ctx, ipc.SessionRequest{Root: a.project, Land: ipc.LandHold})
		if err != nil {
			t.Fatal(err)
		}
		client := &ipc.Client{Socket: agent.agent.Socket, Secret: s.Secret}
		defer client.Close()
		each(func(line string, flags ...string) ran {
			return runIn(t, client, ipc.ExecRequest{Session: s.ID, Command: line, Direct: len(flags) > 0})
		}, "cat made")
		for _, land := range []string{"hold", "land"} {
			kind := ipc.KindAPI
			if land == "hold" {
				kind = ipc.KindCLI
			}
			r := ipc.SessionRequest{Kind: kind, Root: a.project, Land: land}
			if _, err := agent.agent.OpenSession(ctx, r); ipc.CodeOf(err) != ipc.CodeBadRequest {
				t.Errorf("%+v: %v", r, err)
			}
		}
		if r := run("echo one > made"); r.Changes.HeldID != "" || !a.there("made") {
			t.Errorf("another session: %+v", r.Changes)
		}
		a.sh("rm made; printf '[sandbox]\\nland = \"hold\"\\n' > .sandboxd.toml")
		before = a.everything()
		each(run, "head -n1 src/one.txt")
		a.startWith("[sandbox]\nbackend = \"" + overlays + "\"\nland = \"hold\"\n[approval]\npolicy = \"contained\"\n")
		a.sh("printf '[sandbox]\\nland = \"land\"\\n' > .sandboxd.toml") // a project's file does not widen
		before = a.everything()
		each(run, "head -n1 src/one.txt")
	})
}

// runIn runs a command over the socket.
func runIn(t *testing.T, client *ipc.Client, r ipc.ExecRequest) (out ran) {
	t.Helper()
	ctx, cancel := within(t)
	defer cancel()
	_, events, err := client.RunExec(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	for {
		e, err := events.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		out.Stdout += string(e.Data)
		if x := e.Exit; x != nil {
			if out.code = x.Code; x.Error != nil {
				out.code, out.err = 125, x.Error.Message
			}
			if x.Changes != nil {
				out.Changes = *x.Changes
			}
			return out
		}
	}
}
