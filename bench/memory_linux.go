package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// resident is the daemon's resident memory, in KiB (proc_pid_status(5)).
func (d *daemon) resident() int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	return field(text, "VmRSS:")
}

// waiting is the proportional set size of everything that the daemon has started
// and that still runs, in KiB, and how many sandboxes that is
// (proc_pid_smaps(5)).
func (d *daemon) waiting() (kib, sandboxes int) {
	for _, child := range children(d.cmd.Process.Pid) {
		kib += tree(child)
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child))
		if bytes.HasPrefix(line, []byte("sandboxd-launch\x00serve")) { // the server of them all
			for _, server := range children(child) {
				sandboxes += len(children(server))
			}
		} else {
			sandboxes++
		}
	}
	return kib, sandboxes
}

func tree(pid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	sum := field(text, "Pss:")
	for _, child := range children(pid) {
		sum += tree(child)
	}
	return sum
}

func children(pid int) []int {
	var list []int
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, task := range tasks {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		for _, word := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(word); err == nil {
				list = append(list, n)
			}
		}
	}
	return list
}

func field(text []byte, name string) int {
	for line := range bytes.Lines(text) {
		if f := strings.Fields(string(line)); len(f) > 1 && f[0] == name {
			n, _ := strconv.Atoi(f[1])
			return n
		}
	}
	return 0
}
