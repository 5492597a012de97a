package acceptance

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"sandboxd/ipc"
)

// coder is an agent that works in the project that other agents work in.
type coder struct {
	*actor
	session  string
	number   int
	attempts int
	landed   []string // edits that were reported as landed
	commits  []string // subjects of commits that were reported as landed
	// kept are the edits that did not land, by the change set that holds them.
	kept map[string]string
	errs []string
}

// coders opens sessions of one project.
func (a *actor) coders(n int) (list []*coder) {
	for i := range n {
		p, b := a.openProgram(), *a
		b.extraEnv = append(slices.Clone(a.extraEnv), "SBX_SESSION_SECRET="+p.secret)
		list = append(list, &coder{actor: &b, session: p.id, number: i, kept: map[string]string{}})
	}
	return list
}

// command runs a line in the agent's session.
func (p *coder) command(stdin io.Reader, line string) (out ran) {
	r := p.do(stdin, filepath.Join(bin, "sbx"), "run", "--json", "--session", p.session, "-c", line)
	if err := json.Unmarshal([]byte(r.out), &out); err != nil || r.code != 0 && out.Changes.HeldID == "" {
		p.errs = append(p.errs, fmt.Sprintf("%s: %v %s", line, err, r))
	}
	out.result = r
	return out
}

// edit appends a line to the agent's own file and to the one that all share. What is held for a conflict is tried to
// land, and then done again: the first such change set stays, later ones are dropped.
func (p *coder) edit(stdin io.Reader, first string) {
	for range 20 {
		p.attempts++
		text := fmt.Sprintf("agent-%d-%d.", p.number, p.attempts)
		r := p.command(stdin, fmt.Sprintf("echo %s >> own%d/log; %s echo %[1]s >> shared", text, p.number, first))
		stdin, first = nil, ""
		id := r.Changes.HeldID
		switch {
		case r.code == 0, id != "" && p.sbx("changes", "land", id).code == 0:
			p.landed = append(p.landed, text)
			return
		case id == "":
			return
		case len(p.kept) == 0:
			p.kept[id] = text
		case p.sbx("changes", "drop", id).code != 0:
			p.errs = append(p.errs, "drop of "+id)
		}
	}
	p.errs = append(p.errs, "20 edits did not land")
}

// commit commits what there is of the agent's, which another agent's commit may have taken with it.
func (p *coder) commit(round int) {
	subject := fmt.Sprintf("commit-%d-%d.", p.number, round)
	r := p.command(nil, fmt.Sprintf("git add own%d shared && { git diff --cached --quiet || "+
		"{ git commit -qm %s && echo committed; }; }", p.number, subject))
	switch id := r.Changes.HeldID; {
	case id != "" && p.sbx("changes", "drop", id).code != 0:
		p.errs = append(p.errs, "drop of "+id)
	case id == "" && strings.Contains(r.Stdout, "committed"):
		p.commits = append(p.commits, subject)
	}
}

// R-LY-03, R-LY-05: eight agents work in one project at once: edits of own files and of one that they share, git add,
// commits, tests. Writers beside a long test conflict, and their change sets are held. At the end git accepts the
// repository, each edit and commit that was reported as landed is there once, and sbx changes has the others.
// $ACCEPTANCE_PARALLEL_AGENTS is the number of rounds of each.
func TestLayersOfParallelAgents(t *testing.T) {
	t.Parallel()
	rounds := atLeastOne(t, "ACCEPTANCE_PARALLEL_AGENTS", 1)
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		a.repository()
		a.sh("mkdir own0 own1 own2 own3 own4 own5 own6 own7; echo start > shared; " +
			"printf 'grep -qF \"$2\" own$1/log && echo passed \"$2\" > own$1/report\\n' > test.sh; " +
			"git add -A; git commit -qm all")
		list := a.coders(8)
		release, long := io.Pipe()
		edited, all := make(chan struct{}, rounds*len(list)), sync.WaitGroup{}
		work := func(p *coder, stdin io.Reader, first string) {
			for round := range rounds {
				p.edit(stdin, first)
				stdin, first = nil, ""
				edited <- struct{}{}
				p.commit(round)
				if len(p.landed) > 0 {
					p.command(nil, fmt.Sprintf("sh test.sh %d %s", p.number, p.landed[len(p.landed)-1]))
				}
			}
		}
		all.Go(func() { work(list[0], release, "touch own0/begun; read -r line;") })
		eventually(t, "the long test", func() bool { return a.wrote("own0/begun") })
		for _, p := range list[1:] {
			all.Go(func() { work(p, nil, "") })
		}
		<-edited
		io.WriteString(long, "continue\n")
		long.Close()
		all.Wait()
		a.agreed(list)
	})
}

// agreed compares the project and what is held with the reports to the agents.
func (a *actor) agreed(list []*coder) {
	a.t.Helper()
	if out := a.sh("git fsck --full --no-dangling --no-progress 2>&1"); out != "" {
		a.t.Errorf("git fsck: %s", out)
	}
	shared, log := a.sh("cat shared"), a.sh("git log --format=%s")
	var held ipc.HeldChanges
	if r := a.sbx("changes", "--json"); json.Unmarshal([]byte(r.out), &held) != nil {
		a.t.Fatal(r)
	}
	want := map[string]string{}
	for _, p := range list {
		own := a.sh(fmt.Sprintf("cat own%d/log", p.number))
		for _, text := range p.landed {
			if strings.Count(shared, text+"\n") != 1 || strings.Count(own, text+"\n") != 1 {
				a.t.Errorf("%s landed; shared has\n%s, own%d/log\n%s", text, shared, p.number, own)
			}
		}
		for _, subject := range p.commits {
			if strings.Count(log, subject+"\n") != 1 {
				a.t.Errorf("%s landed; the log has\n%s", subject, log)
			}
		}
		if len(p.errs) > 0 {
			a.t.Errorf("agent %d: %s", p.number, strings.Join(p.errs, "\n"))
		}
		for id, text := range p.kept {
			want[id] = text
		}
		if report := a.sh(fmt.Sprintf("cat own%d/report", p.number)); !strings.HasPrefix(report, "passed agent-") {
			a.t.Errorf("agent %d's test: %q", p.number, report)
		}
	}
	for _, c := range held.Changes {
		if shown := a.sbx("changes", "show", c.ID); want[c.ID] == "" || strings.Count(shown.out, want[c.ID]) < 2 {
			a.t.Errorf("%s is held, want %q in %s", c.ID, want[c.ID], shown)
		}
		delete(want, c.ID)
	}
	if len(want) > 0 || len(held.Changes) == 0 {
		a.t.Errorf("held: %v, missing: %v", held.Changes, want)
	}
	a.t.Logf("%d change sets are held\n%s", len(held.Changes), log)
}
