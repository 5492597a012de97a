package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"sandboxd/ipc"
)

// servePlain is a daemon that does nothing but start the command, without any
// sandbox, for each request: the cost of a daemon by itself.
func servePlain(socket string) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := bare(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
}

// plain starts such a daemon, as a process of its own, and returns how it is asked.
func plain() (run func() error, stop func(), err error) {
	dir, err := os.MkdirTemp("", "sbxbench")
	if err != nil {
		return nil, nil, err
	}
	socket := filepath.Join(dir, "plain.sock")
	cmd := exec.Command("/proc/self/exe", "-plain", socket)
	cmd.Stderr = os.Stderr
	stop = func() { os.RemoveAll(dir) }
	if err := cmd.Start(); err != nil {
		stop()
		return nil, nil, err
	}
	stop = func() {
		cmd.Process.Kill()
		cmd.Wait()
		os.RemoveAll(dir)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _,
		_ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	run = func() error {
		resp, err := client.Post("http://plain/", "", nil)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("the plain daemon answered %s", resp.Status)
		}
		return nil
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if err = run(); err == nil {
			return run, stop, nil
		}
		if time.Now().After(end) {
			stop()
			return nil, nil, err
		}
	}
}

// passing launches with the caller's own descriptors as the command's.
func (c *client) passing() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	own := &ipc.Passed{File: null}
	_, err = c.follow(ipc.ExecRequest{Session: c.session, Argv: []string{command},
		Passed: ipc.Stdio{In: own, Out: own, Err: own}})
	return err
}
