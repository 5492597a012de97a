package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"

	"sandboxd/cmd/internal/paths"
	"sandboxd/ipc"
	"sandboxd/process"
)

// ourTools are the tools of sbx mcp, as agents name those of a server that they know as sandboxd.
var ourTools = regexp.MustCompile(
	`^(mcp__sandboxd__|mcp_sandboxd_|sandboxd__|sandboxd[_-])(exec|output|cancel|status|read|write|edit|list|grep|undo|approve)$`)

// shells start a program for an agent, and are none.
var shells = regexp.MustCompile(`^((ba|da|z|k|fi|tc|c)?sh|busybox|env)$`)

// fromOurServer reports whether tool is one of sbx mcp, and whether the agent that p asks for runs that: the program
// beside this daemon, by its file, as a child of the agent or of a shell in between. The server asks itself.
func fromOurServer(p ipc.Peer, tool string) bool {
	if !ourTools.MatchString(tool) {
		return false
	}
	self, err := os.Executable()
	if err != nil {
		return false
	}
	server, err := os.Stat(filepath.Join(filepath.Dir(self), paths.MCP))
	if err != nil {
		return false
	}
	agent := 0
	for _, above := range p.Ancestors {
		if agent = above.PID; !isShell(agent) {
			break
		}
	}
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range processes {
		exe, err := os.Stat(filepath.Join(dir, "exe"))
		if err != nil || !os.SameFile(exe, server) {
			continue
		}
		if owner, err := os.Stat(dir); err != nil || int(owner.Sys().(*syscall.Stat_t).Uid) != p.UID {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if agent > 1 && startedBy(pid) == agent {
			return true
		}
	}
	return false
}

// startedBy is the nearest process above pid that is no shell; 0: there is none.
func startedBy(pid int) int {
	for {
		st, err := process.ReadStat(pid)
		if err != nil || st.Ended() {
			return 0
		}
		if pid = st.Parent; !isShell(pid) {
			return pid
		}
	}
}

func isShell(pid int) bool {
	exe, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	return err == nil && shells.MatchString(filepath.Base(exe))
}
