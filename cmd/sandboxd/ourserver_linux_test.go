package main

import (
	"os"
	"testing"

	"sandboxd/ipc"
)

// The tools of our own server are known by their names, and its process by its file and the agent above it.
func TestOurServer(t *testing.T) {
	for tool, want := range map[string]bool{
		"mcp__sandboxd__exec": true, "sandboxd_read": true, "mcp__sandboxd__deploy": false, "exec": false,
	} {
		if got := ourTools.MatchString(tool); got != want {
			t.Errorf("%s: got %v, want %v", tool, got, want)
		}
	}
	if fromOurServer(ipc.Peer{UID: os.Getuid(), PID: os.Getpid()}, "mcp__sandboxd__exec") {
		t.Error("got our server where none runs")
	}
	if got := startedBy(os.Getpid()); got == os.Getpid() {
		t.Errorf("got %d, want a process above this one", got)
	}
}
