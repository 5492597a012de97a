package supervisor_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"sandboxd/approval"
	"sandboxd/audit"
	"sandboxd/config"
	"sandboxd/files/store"
	"sandboxd/sandbox"
	"sandboxd/supervisor"
	"sandboxd/supervisor/aftermath"
)

// A program that embeds the supervisor asks for commands as the daemon does: they are judged,
// decided, recorded, and run in a sandbox. Nobody answers here, so the write does not run.
func Example() {
	dir, err := os.MkdirTemp(os.Getenv("HOME"), "supervisor-example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	project := filepath.Join(dir, "project")
	if err := os.Mkdir(project, 0o700); err != nil {
		panic(err)
	}
	s, end := embedded(dir, "")
	defer end()

	peer := supervisor.Peer{UID: os.Getuid(), PID: os.Getpid()}
	session, _, err := s.OpenSession(supervisor.SessionRequest{Kind: supervisor.KindAPI, Peer: peer, Root: project})
	if err != nil {
		panic(err)
	}
	for _, line := range []string{"echo hello | wc -c", "echo hello > notes.md"} {
		run, err := s.Exec(session, peer, supervisor.ExecRequest{Line: line})
		if err != nil {
			panic(err)
		}
		for events := run.Events(0); ; {
			event, err := events.Next(context.Background())
			if err != nil {
				panic(err)
			}
			if event.Kind == supervisor.EventStdout {
				fmt.Print(string(event.Data))
			}
			if event.Result != nil {
				fmt.Println(event.Result.Outcome, event.Result.Code)
				break
			}
		}
	}
	// Output:
	// 6
	// ran 0
	// timeout 126
}

// embedded opens a supervisor with its state below dir, and returns a function that ends both. With a setting for
// layers it has the native back end, which makes layers and the places of sessions.
func embedded(dir, layers string) (*supervisor.Supervisor, func()) {
	ctx, stage := context.Background(), filepath.Join(dir, "sandboxd-launch")
	if out, err := exec.Command("../cmd/sandboxd-launch/build.sh", stage).CombinedOutput(); err != nil {
		panic(string(out))
	}
	var paths config.Paths
	if layers != "" {
		paths.User = filepath.Join(dir, "config.toml")
		try(os.WriteFile(paths.User, []byte("[sandbox]\nbackend = \"native\"\nlayers = \""+layers+"\"\n"), 0o600))
	}
	cfg, _, err := config.Load(paths)
	try(err)
	cfg.Approval.Timeout = approval.Duration(time.Second) // nobody is there to answer
	host, err := sandbox.Open(ctx, sandbox.Options{Stage: stage, Backend: cfg.Sandbox.Backend})
	try(err)
	log, err := audit.Open(filepath.Join(dir, "audit"), audit.Options{})
	try(err)
	trust, err := supervisor.OpenTrust(filepath.Join(dir, "trust.json"))
	try(err)
	controller, err := approval.New(approval.Options{Config: cfg.Approval})
	try(err)
	undo, err := store.Open(dir, store.Options{})
	try(err)
	notes, err := aftermath.OpenNotes(filepath.Join(dir, "running"))
	try(err)
	self, err := os.Executable()
	try(err)
	o := supervisor.Options{
		Host: host, Approval: controller, Audit: log, Trust: trust, Config: cfg, Own: []string{dir + "/audit"},
		Trash: filepath.Join(dir, "trash"), Notes: notes, Undo: undo, Worker: self,
	}
	if layers != "" {
		o.Layers, o.Places = filepath.Join(dir, "layers"), filepath.Join(dir, "places")
	}
	s, err := supervisor.New(o)
	try(err)
	return s, func() {
		try(s.Shutdown(ctx))
		controller.Close(ctx)
		try(log.Close())
		host.Close()
	}
}

func try(err error) {
	if err != nil {
		panic(err)
	}
}
