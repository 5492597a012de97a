package ipc_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"sandboxd/ipc"
)

// acts are what a child can do to itself before it connects, on some systems.
var acts = map[string]func() error{}

// play is what a child of the test does, chosen by IPC_TEST_ACT. It says
// "ready" when it is, and ends when its input does.
func play(act string) int {
	act, arg, _ := strings.Cut(act, " ")
	if before := acts[act]; before != nil {
		if err := before(); err != nil {
			fmt.Println(err)
			return 1
		}
		act = "connect"
	}
	switch act {
	case "connect": // hold a connection
		c, err := net.Dial("unix", arg)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		defer c.Close()
	case "listen": // serve a socket that answers nothing
		l, err := net.Listen("unix", arg)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		os.Chmod(arg, 0o777)
		defer l.Close()
	case "daemon": // hold a socket directory
		s, err := ipc.Listen(ipc.SocketDir{Path: arg})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		defer s.Close()
	case "follow": // start a command, read some events, and keep the stream open
		c := &ipc.Client{Socket: arg}
		ctx := context.Background()
		s, err := c.OpenSession(ctx, ipc.SessionRequest{Kind: ipc.KindCLI})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		started, err := c.StartExec(ctx, ipc.ExecRequest{Session: s.ID, Command: "wait"})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		events, err := c.ExecEvents(ctx, ipc.EventsRequest{ID: started.ID})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		defer events.Close()
	case "steal": // use descriptors that another process passed
		var socket, session, secret string
		fmt.Sscan(arg, &socket, &session, &secret)
		c := &ipc.Client{Socket: socket, Secret: ipc.Secret(secret)}
		_, _, err := c.RunExec(context.Background(),
			ipc.ExecRequest{Session: session, Command: "echo stolen", Stdio: []string{"stdout"}})
		if ipc.CodeOf(err) != ipc.CodeNotFound {
			fmt.Println("it got", err)
			return 1
		}
	default:
		return 1
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	return 0
}

// child is a process that plays.
type child struct {
	*exec.Cmd
	in io.Closer
}

// start runs this test binary as another process, until the test ends.
func start(t testing.TB, act string, attr *syscall.SysProcAttr) *child {
	t.Helper()
	return startFile(t, os.Args[0], act, attr)
}

func startFile(t testing.TB, exe, act string, attr *syscall.SysProcAttr) *child {
	t.Helper()
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "IPC_TEST_ACT="+act)
	cmd.SysProcAttr = attr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %q: %v", act, err)
	}
	c := &child{Cmd: cmd, in: in}
	t.Cleanup(func() { c.end() })
	said := make([]byte, 512)
	n, _ := out.Read(said)
	if got := strings.TrimSpace(string(said[:n])); got != "ready" {
		t.Fatalf("%q says %q", act, got)
	}
	return c
}

// end lets the child finish, and waits for it.
func (c *child) end() {
	c.in.Close()
	timer := time.AfterFunc(10*time.Second, func() { c.Process.Kill() })
	defer timer.Stop()
	c.Wait()
}
