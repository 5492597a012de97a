package main

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"sandboxd/ipc"
)

// shared are programs that run any script: their executable does not identify
// the agent. sbx and its parts act for their parent.
var shared = regexp.MustCompile(`^(sbx(-[a-z]+)?|python.*|node.*|deno|bun|electron|ruby.*|perl.*|php.*|lua.*|` +
	`java|Rscript|tclsh.*|busybox|env|(ba|da|z|k|fi|tc|c)?sh|ld[-.].*)$`)

// agentID identifies the program that opens a session by its executable, as
// "exe:PATH sha256:…", or is "" where that would tell nothing (R-AP-08). The
// file is the one that the process runs (proc_pid_exe(5)), even if its path now
// names another; the process must outlive the read, so that its number still
// means it.
func agentID(kind string, p ipc.Peer) string {
	if kind == ipc.KindCLI || kind == ipc.KindHook || shared.MatchString(filepath.Base(p.Exe)) {
		return ""
	}
	link := "/proc/" + strconv.Itoa(p.PID) + "/exe"
	f, err := os.Open(link)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	// " (deleted)" is part of the link's text where the file has no name.
	path, err := os.Readlink(link)
	if err != nil || path != p.Exe || !onDisk(path, f) || p.Exited() {
		return ""
	}
	return "exe:" + path + " sha256:" + hex.EncodeToString(h.Sum(nil))
}

// onDisk reports whether path still names the open file.
func onDisk(path string, f *os.File) bool {
	a, err := os.Lstat(path)
	if err != nil {
		return false
	}
	b, err := f.Stat()
	return err == nil && os.SameFile(a, b)
}
