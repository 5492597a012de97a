package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sandboxd/bwrap"
	"sandboxd/config"
	"sandboxd/ipc"
	"sandboxd/profile"
	"sandboxd/profile/document"
)

// command is the launched command.
const command = "true"

// bare starts the command without anything around it.
func bare() error { return exec.Command(command).Run() }

// rawBwrap starts the command in bubblewrap with the mounts and namespaces that
// the product would give it, and nothing else: no Landlock, no system call
// filter, no limits, no questions and no records.
func rawBwrap(p profile.Profile) (func() error, error) {
	program, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, err
	}
	out, err := exec.Command(program, "--version").Output()
	if err != nil {
		return nil, err
	}
	version, err := bwrap.ParseVersion(strings.TrimSpace(string(out)))
	if err != nil {
		return nil, err
	}
	const first = 4 // the descriptor behind that of the arguments
	result, err := bwrap.Compile(p, nil, bwrap.Host{Version: version, FS: bwrap.HostFS(), Euid: os.Geteuid(),
		Descriptor: first})
	if err != nil {
		return nil, err
	}
	args := []byte(strings.Join(result.Args, "\x00") + "\x00")
	return func() error {
		fd, err := unix.MemfdCreate("args", unix.MFD_CLOEXEC)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), "args")
		defer f.Close()
		if _, err := f.WriteAt(args, 0); err != nil {
			return err
		}
		cmd := exec.Command(program, "--args", strconv.Itoa(first-1), "--", command)
		cmd.ExtraFiles = []*os.File{f}
		for range result.Descriptors {
			null, err := os.Open(os.DevNull)
			if err != nil {
				return err
			}
			defer null.Close()
			cmd.ExtraFiles = append(cmd.ExtraFiles, null)
		}
		return cmd.Run()
	}, nil
}

// defaultProfile is the profile that the product derives for a trusted project without any
// configuration.
func defaultProfile(project string) (profile.Profile, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return profile.Profile{}, err
	}
	cfg, _, err := config.Load(config.Paths{})
	if err != nil {
		return profile.Profile{}, err
	}
	tools, err := cfg.ProfileTools(config.Session{Project: project, Trusted: true, Home: home})
	if err != nil {
		return profile.Profile{}, err
	}
	return document.Derive(tools)
}

// client is a session on connections that stay open.
type client struct {
	*ipc.Client
	session string
	warm    int // runs in a warm sandbox
	runs    int
}

func (d *daemon) client() (*client, error) {
	c, session, err := d.session()
	return &client{Client: c, session: session}, err
}

// run runs an argv to its end and returns its output.
func (c *client) run(argv ...string) (string, error) {
	return c.follow(ipc.ExecRequest{Session: c.session, Argv: argv})
}

// follow starts a command and follows it to its end.
func (c *client) follow(r ipc.ExecRequest) (string, error) {
	ctx := context.Background()
	_, events, err := c.RunExec(ctx, r)
	if err != nil {
		return "", err
	}
	defer events.Close()
	c.runs++
	var out strings.Builder
	for { // to the end of the stream, so that the connection can be used again
		e, err := events.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return out.String(), nil
		case err != nil:
			return "", err
		case e.Type == ipc.EventStdout:
			out.Write(e.Data)
		case e.Type == ipc.EventStarted && e.Started.Warm:
			c.warm++
		case e.Type == ipc.EventExit && (e.Exit.Code != 0 || e.Exit.Denied != nil || e.Exit.Error != nil):
			return "", fmt.Errorf("%q ended with %+v", r.Argv, *e.Exit)
		}
	}
}

func (c *client) launch() error {
	_, err := c.run(command)
	return err
}

// sbxRun is the whole program `sbx run`, from its start to its end.
func (d *daemon) sbxRun() error {
	cmd := exec.Command(filepath.Join(d.bin, "sbx"), "--socket-dir", filepath.Join(d.dir, "run"), "run", "-n", "--",
		command)
	cmd.Dir = d.project
	return cmd.Run()
}
