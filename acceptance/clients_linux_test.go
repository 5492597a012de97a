package acceptance

import (
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sandboxd/ipc"
)

// recorder passes connections on to a socket of the daemon, and keeps what
// went over them.
type recorder struct {
	name, to string
	mu       sync.Mutex
	open     sync.WaitGroup
	taped    []*tape
}

type tape struct{ sent, got safeBuffer }

func (r *recorder) serve(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		t := &tape{}
		r.mu.Lock()
		r.taped = append(r.taped, t)
		r.mu.Unlock()
		r.open.Go(func() { r.pass(c.(*net.UnixConn), t) })
	}
}

// answered counts the bytes that came back so far.
func (r *recorder) answered() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, t := range r.taped {
		n += len(t.got.String())
	}
	return n
}

func (r *recorder) pass(down *net.UnixConn, t *tape) {
	defer down.Close()
	c, err := net.Dial("unix", r.to)
	if err != nil {
		return
	}
	up := c.(*net.UnixConn)
	defer up.Close()
	var both sync.WaitGroup
	both.Go(func() { io.Copy(io.MultiWriter(up, &t.sent), down); up.CloseWrite() })
	both.Go(func() { io.Copy(io.MultiWriter(down, &t.got), up); down.CloseWrite() })
	both.Wait()
}

// record makes sockets called agent.sock and approver.sock in a directory of
// their own, which lead to the daemon by way of an agent's process and a person's.
func (a *actor) record(agent, approver string) (dir string, both []*recorder) {
	a.t.Helper()
	dir = filepath.Join(a.dir, "recorded")
	if err := os.Mkdir(dir, 0o755); err != nil {
		a.t.Fatal(err)
	}
	for _, r := range []*recorder{{name: "agent.sock", to: agent}, {name: "approver.sock", to: approver}} {
		l, err := net.Listen("unix", filepath.Join(dir, r.name))
		if err != nil {
			a.t.Fatal(err)
		}
		os.Chmod(filepath.Join(dir, r.name), 0o666)
		a.t.Cleanup(func() { l.Close() })
		go r.serve(l)
		both = append(both, r)
	}
	return dir, both
}

// R-IP-06: one suite of requests and expected answers holds for the Go, Python
// and TypeScript clients, for plain curl and for a WebSocket, and docs/openapi.yaml for every
// exchange that was recorded meanwhile.
//
//   - Row card-01 yes (curl): a supervisor daemon on a Unix socket
//   - Row card-11 yes (python): agents of any language over the socket
func TestClients(t *testing.T) {
	t.Parallel()
	suite, api := readSuite(t), readOpenAPI(t)
	dist := compiledTypeScript(t)
	python, err := filepath.Abs("../clients/python/src")
	if err != nil {
		t.Fatal(err)
	}
	drivers, err := filepath.Abs("../clients/conformance/drivers")
	if err != nil {
		t.Fatal(err)
	}
	clients := []struct {
		name  string
		start func(a *actor) suiteClient
	}{
		{"go", func(*actor) suiteClient { return goClient{} }},
		{"curl", func(a *actor) suiteClient { return &curlClient{a, api} }},
		{"websocket", func(a *actor) suiteClient { return &webSocketClient{api, a.t} }},
		{"python", func(a *actor) suiteClient {
			return startDriver(a, []string{"PYTHONPATH=" + a.readable(python), "PYTHONDONTWRITEBYTECODE=1"}, "/usr/bin/python3",
				a.readable(drivers)+"/driver.py")
		}},
		{"typescript", func(a *actor) suiteClient {
			return startDriver(a, nil, node(t), a.readable(drivers)+"/driver.mjs", dist)
		}},
	}
	bothUsers(t, func(t *testing.T, a *actor) {
		for i, c := range clients {
			if a.name == "root" && os.Geteuid() == 0 && i > 2 {
				break // to a client every user is the same
			}
			t.Run(c.name, func(t *testing.T) {
				one := newActor(t, a.name)
				suiteThrough(one, c.start, suite, api)
			})
		}
	})
}

// suiteThrough plays the suite against a fresh daemon.
func suiteThrough(a *actor, start func(*actor) suiteClient, suite []suiteCase, api *openAPI) {
	t := a.t
	config := filepath.Join(a.dir, "config.toml")
	a.do(strings.NewReader("[approval]\ntimeout = \"60s\"\n"), "/bin/sh", "-c", "umask 077; cat > "+config)
	a.start("--config", config)
	agent, person := a.agentPeer("suite"), a.personPeer("suite", true)
	dir, recorded := a.record(agent.agent.Socket, person.approver.Socket)
	client := start(a)
	for _, c := range suite {
		t.Run(c.Name, func(t *testing.T) {
			project := filepath.Join(a.project, c.Name)
			a.sh("mkdir '" + project + "' && cd '" + project + "' && git init -q .")
			for name, content := range c.Project.Files {
				a.do(strings.NewReader(content), "/bin/sh", "-euc", "cat > '"+filepath.Join(project, name)+"'")
			}
			if !c.Project.Untrusted {
				if _, err := person.approver.Trust(t.Context(), ipc.TrustRequest{Dir: project}); err != nil {
					t.Fatal(err)
				}
			}
			r := &suiteRun{t: t, client: client, agent: filepath.Join(dir, "agent.sock"),
				approver: filepath.Join(dir, "approver.sock"),
				project:  project, vars: map[string]any{"project": project, "home": a.home},
				background: map[string]chan suiteReply{}, recorded: recorded}
			for i, s := range c.Steps {
				if err := r.step(s); err != nil {
					t.Fatalf("step %d, %s%s: %v", i+1, s.Op, s.Await, err)
				}
			}
		})
	}
	count := map[string]int{}
	for _, r := range recorded {
		a.waitForTapes(r)
		for _, tape := range r.taped {
			if err := api.exchanges(r.name, []byte(tape.sent.String()), []byte(tape.got.String()), count); err != nil {
				t.Error(err)
			}
		}
	}
	for name := range api.operations {
		if count[name] == 0 && !strings.HasSuffix(t.Name(), "/websocket") {
			t.Errorf("no case of clients/conformance has the operation %s", name)
		}
	}
}

// waitForTapes waits until the daemon's last answers are on the tapes.
func (a *actor) waitForTapes(r *recorder) {
	a.stop()
	r.open.Wait()
}

// readable is a copy of a folder that every user may read.
func (a *actor) readable(dir string) string {
	a.t.Helper()
	to, err := os.MkdirTemp(bin, "copy-")
	if err != nil {
		a.t.Fatal(err)
	}
	os.Chmod(to, 0o755)
	if err := os.CopyFS(to+"/d", os.DirFS(dir)); err != nil {
		a.t.Fatal(err)
	}
	return to + "/d"
}

// node is the JavaScript runtime's path.
func node(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		t.Fatalf("%v; packaging/prerequisites.sh test installs it", err)
	}
	return path
}

var typescript struct {
	once sync.Once
	dist string
	err  string
}

// compiledTypeScript is the TypeScript client as Node runs it: compiled with
// the compiler that its package.json names, when a program of one's own installs it from a fresh clone.
func compiledTypeScript(t *testing.T) string {
	t.Helper()
	typescript.once.Do(func() {
		dir := filepath.Join(bin, "typescript")
		if err := os.CopyFS(dir, os.DirFS("../clients/typescript")); err != nil {
			typescript.err = err.Error()
			return
		}
		program := filepath.Join(bin, "program")
		if err := os.Mkdir(program, 0o755); err != nil {
			typescript.err = err.Error()
			return
		}
		for _, command := range [][]string{
			{"npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error", dir},
			{"node", "--input-type=module", "-e", `import { Agent } from "sandboxd-client"; new Agent()`},
		} {
			cmd := exec.Command(command[0], command[1:]...)
			cmd.Dir = program
			if out, err := cmd.CombinedOutput(); err != nil {
				typescript.err = strings.Join(command, " ") + ": " + err.Error() + "\n" + string(bytes.TrimSpace(out))
				return
			}
		}
		typescript.dist = filepath.Join(dir, "dist")
	})
	if typescript.err != "" {
		t.Fatal(typescript.err)
	}
	return typescript.dist
}
