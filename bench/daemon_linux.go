package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"sandboxd/ipc"
)

// daemon is a sandboxd of our own, for a new project of the person's home.
type daemon struct {
	bin, dir, project string
	cmd               *exec.Cmd
	group             string // of control, that counts its processor time; empty: there is none
}

// startDaemon starts the daemon of the directory bin with a configuration and trusts
// its project. A state that is not nil fills the state directory before the start. The
// daemon asks nobody: no measurement needs a person.
func startDaemon(bin, config string, state func(dir string) error) (*daemon, error) {
	dir, err := os.MkdirTemp("", "sbxbench")
	if err != nil {
		return nil, err
	}
	d := &daemon{bin: bin, dir: dir}
	home, err := os.UserHomeDir()
	if err == nil {
		d.project, err = os.MkdirTemp(home, "sbxbench-")
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "config.toml"), []byte(config), 0o600)
	}
	if err == nil && state != nil {
		if err = os.Mkdir(filepath.Join(dir, "state"), 0o700); err == nil {
			err = state(filepath.Join(dir, "state"))
		}
	}
	if err == nil {
		err = d.serve()
	}
	if err == nil {
		approver := &ipc.Client{Socket: d.socket(ipc.ApproverSocket)}
		defer approver.Close()
		_, err = approver.Trust(context.Background(), ipc.TrustRequest{Dir: d.project})
	}
	if err != nil {
		d.stop()
		return nil, err
	}
	return d, nil
}

func (d *daemon) socket(name string) string { return filepath.Join(d.dir, "run", name) }

func (d *daemon) serve() error {
	log, err := os.Create(filepath.Join(d.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	d.cmd = exec.Command(filepath.Join(d.bin, "sandboxd"), "--socket-dir", filepath.Join(d.dir, "run"),
		"--state-dir", filepath.Join(d.dir, "state"), "--config", filepath.Join(d.dir, "config.toml"), "--mode",
		"approve-all")
	d.cmd.Stdout, d.cmd.Stderr = log, log
	if err := d.cmd.Start(); err != nil {
		return err
	}
	d.account()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("unix", d.socket(ipc.ApproverSocket)); err == nil {
			return c.Close()
		}
	}
	text, _ := os.ReadFile(filepath.Join(d.dir, "log"))
	return fmt.Errorf("the daemon does not serve: %s", text)
}

// session opens a program's session and returns a client that is in it.
func (d *daemon) session() (*ipc.Client, string, error) {
	c := &ipc.Client{Socket: d.socket(ipc.AgentSocket)}
	s, err := c.OpenSession(context.Background(), ipc.SessionRequest{Kind: ipc.KindAPI, Agent: "bench", Root: d.project})
	c.Secret = s.Secret
	return c, s.ID, err
}

func (d *daemon) stop() {
	if d.cmd != nil && d.cmd.Process != nil {
		d.cmd.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(20*time.Second, func() { d.cmd.Process.Kill() })
		d.cmd.Wait()
		late.Stop()
	}
	if d.group != "" {
		os.Remove(d.group)
	}
	os.RemoveAll(d.dir)
	if d.project != "" {
		os.RemoveAll(d.project)
	}
}
