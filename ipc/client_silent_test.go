package ipc_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"sandboxd/ipc"
)

// A daemon that accepts connections and answers nothing is reported, and requests that wait for nobody fail; each one
// hung.
func TestUnanswered(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var reported atomic.Int32
	c := ipc.Client{Socket: socket, Patience: 20 * time.Millisecond, Unanswered: func(err error) {
		if errors.Is(err, ipc.ErrUnanswered) {
			reported.Add(1)
		}
	}}
	defer c.Close()
	if _, err := c.Status(t.Context()); !errors.Is(err, ipc.ErrUnanswered) || reported.Load() == 0 {
		t.Errorf("status: %v, reported %d times", err, reported.Load())
	}
	reported.Store(0)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, _, err = c.RunExec(ctx, ipc.ExecRequest{Session: "s", Command: "true"})
	if !errors.Is(err, context.DeadlineExceeded) || reported.Load() == 0 {
		t.Errorf("a run waits: %v, reported %d times", err, reported.Load())
	}
}

// A request that waits while its daemon answers others is not reported.
func TestWaitingIsNoSilence(t *testing.T) {
	h, _, s := house(t, ipc.Limits{})
	var reported atomic.Int32
	h.Agent.Patience, h.Agent.Unanswered = 50*time.Millisecond, func(error) { reported.Add(1) }
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	_, err := h.Agent.Check(ctx, ipc.CheckRequest{Session: s.ID, Command: "ask me"})
	if n := reported.Load(); n > 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, reported %d times", err, n)
	}
}
