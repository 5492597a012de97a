package acceptance

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sandboxd/approval"
	"sandboxd/approval/approvaltest"
	"sandboxd/ipc"
)

// stage is a daemon with everybody who talks to it.
type stage struct {
	*actor
	persons map[approval.Via]*peer
	agents  map[string]*peer // by the name of their executable
	config  string           // in force
	front   frontEnd         // nil: answers go to the approver's socket
}

// Times of a stage on which time passes. The specifications have 30 seconds, 5
// minutes, 10 minutes and an hour.
const (
	shortTimeout = 3 * time.Second // also for lifetimes of grants and modes
	shortRemote  = 5 * time.Second
	shortTimes   = "[approval]\ntimeout = \"3s\"\ntimeout_remote = \"5s\"\n"
	// answeredTimes is for a stage on which every question that matters is answered, be the machine ever so busy.
	answeredTimes = "[approval]\ntimeout = \"60s\"\ntimeout_remote = \"60s\"\n"
)

func (a *actor) configFile() string { return filepath.Join(a.dir, "config.toml") }

// newStage starts a daemon. The project is trusted by a person: what an
// untrusted one asks besides is no part of the specifications.
func newStage(a *actor, config string) *stage {
	a.t.Helper()
	st := &stage{actor: a, agents: map[string]*peer{}, config: config}
	st.write(config)
	a.start("--config", a.configFile())
	st.persons = map[approval.Via]*peer{
		approval.ViaTerminal: a.personPeer("terminal", true),
		approval.ViaRemote:   a.personPeer("remote", false),
	}
	if _, err := st.person().Trust(a.t.Context(), ipc.TrustRequest{Dir: a.project}); err != nil {
		a.t.Fatal(err)
	}
	return st
}

// gatewayConfig turns the gateway on.
const gatewayConfig = "\n[gateway]\nlisten = \"127.0.0.1:0\"\n"

// newStageAnswering is a stage whose persons answer by a front end, where front is not nil.
func newStageAnswering(a *actor, config string, front func(*stage) frontEnd) *stage {
	a.t.Helper()
	if front == nil {
		return newStage(a, config)
	}
	st := newStage(a, config+gatewayConfig)
	st.sh("mkdir -p tools/in api/v1")
	st.front = front(st)
	return st
}

// person is the approver's socket, as somebody at a terminal sees it.
func (st *stage) person() *ipc.Client { return &st.persons[approval.ViaTerminal].approver }

func (st *stage) write(config string) {
	st.t.Helper()
	st.do(strings.NewReader(config), "/bin/sh", "-c", "umask 077; cat > "+st.configFile())
}

// configure has the daemon read another configuration.
func (st *stage) configure(t *testing.T, config string) {
	t.Helper()
	if st.front != nil {
		config += gatewayConfig
	}
	if config == st.config {
		return
	}
	st.write(config)
	if _, err := st.person().Reload(t.Context()); err != nil {
		t.Fatalf("reload: %v", err)
	}
	st.config = config
}

// agent is the process of that name.
func (st *stage) agent(name string) *peer {
	p := st.agents[name]
	if p == nil {
		p = st.agentPeer(name)
		st.agents[name] = p
	}
	return p
}

// conform plays scenarios through the socket of real daemons. adapt translates a
// scenario to the daemon's own tools. Scenarios in which time passes run once, on a
// daemon with short times: time is the same for every user.
// front, where not nil, makes the front end that answers.
func conform(t *testing.T, scenarios func() []approvaltest.Scenario, adapt map[string]func(*approvaltest.Scenario),
	exec bool, front func(*stage) frontEnd) {
	all := scenarios()
	for name := range adapt {
		if !hasScenario(all, name) {
			t.Errorf("adapt names the scenario %q, which does not exist", name)
		}
	}
	prepare := func(s *approvaltest.Scenario) {
		withTools(s)
		if f := adapt[s.Name]; f != nil {
			f(s)
		}
	}
	eachUser(t, func(t *testing.T, a *actor) {
		st := newStageAnswering(a, "", front)
		for _, s := range scenarios() {
			if sleeps(s) {
				continue
			}
			prepare(&s)
			t.Run(s.Name, func(t *testing.T) {
				st.configure(t, s.Config)
				play(t, st, s, exec)
			})
		}
	})
	t.Run("time", func(t *testing.T) {
		config := shortTimes
		var timed []approvaltest.Scenario
		for _, s := range scenarios() {
			if sleeps(s) {
				prepare(&s)
				timed = append(timed, s)
				if s.Config != approvaltest.SpecifiedTime { // shortTimes is in its place
					config += s.Config // they share a daemon
				}
			}
		}
		if len(timed) == 0 {
			return
		}
		st := newStageAnswering(newActor(t, ""), config, front)
		st.agent("") // before they are many
		for _, s := range timed {
			// At once, except for those that bring an approver: who is there
			// changes how long every question waits.
			if connects(s) {
				t.Run(s.Name, func(t *testing.T) { play(t, st, s, exec) })
				continue
			}
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				play(t, st, s, exec)
			})
		}
	})
}

func hasScenario(all []approvaltest.Scenario, name string) bool {
	for _, s := range all {
		if s.Name == name {
			return true
		}
	}
	return false
}

func sleeps(s approvaltest.Scenario) bool { return sleepsLeft(s.Steps) > 0 }

func connects(s approvaltest.Scenario) bool {
	for _, step := range s.Steps {
		if step.Connect != "" {
			return true
		}
	}
	return false
}

func sleepsLeft(steps []approvaltest.Step) (n int) {
	for _, step := range steps {
		if step.Sleep > 0 {
			n++
		}
	}
	return n
}

// withTools translates a scenario to the tools that the daemon knows. A tool of an
// embedding program that asks for nothing just runs (R-AP-02); over the socket
// the daemon's tables decide about every tool (R-AP-24), so the part is played
// by tools that the tables have as harmless, and the reason is that one.
func withTools(s *approvaltest.Scenario) {
	for i := range s.Steps {
		step := &s.Steps[i]
		if c := step.Call; c != nil {
			c.Tool, c.Args = realTool(c.Tool, c.Args)
			for j := range c.Later {
				l := &c.Later[j]
				l.Tool, l.Args = realTool(l.Tool, l.Args)
			}
		}
		for j := range step.Want {
			if step.Want[j].Reason == approval.ReasonNoCheck {
				step.Want[j].Reason = approval.ReasonSafe
			}
		}
	}
}

func realTool(tool string, args map[string]any) (string, map[string]any) {
	switch tool {
	case "list_things":
		return "list_files", args
	case "file_read":
		return "bash", map[string]any{"command": "cat " + args["file"].(string)}
	case "file_delete":
		return "delete", args
	}
	return tool, args
}

// eachCall changes a scenario's calls of that tool.
func eachCall(s *approvaltest.Scenario, names []string, f func(c *approvaltest.Call)) {
	for i := range s.Steps {
		if c := s.Steps[i].Call; c != nil {
			for _, n := range names {
				if c.Name == n {
					f(c)
				}
			}
		}
	}
}

// eachWant changes what a scenario wants of a call.
func eachWant(s *approvaltest.Scenario, call string, f func(w *approvaltest.Want)) {
	for i := range s.Steps {
		for j := range s.Steps[i].Want {
			if w := &s.Steps[i].Want[j]; w.Call == call {
				f(w)
			}
		}
	}
}

// eachError changes the words of the error that an answer must get: those of
// the wire are others than those of the controller.
func eachError(s *approvaltest.Scenario, text string) {
	for i := range s.Steps {
		if a := s.Steps[i].Answer; a != nil && a.WantError != "" {
			a.WantError = text
		}
	}
}

// command makes calls commands of the shell tool.
func command(line string) func(*approvaltest.Call) {
	return func(c *approvaltest.Call) { c.Tool, c.Args = "bash", map[string]any{"command": line} }
}

// within bounds one step; nothing in it waits for a person longer.
func within(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), patience)
}
