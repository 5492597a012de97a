//go:build !linux

package main

import "os/exec"

// notDumpable is for Linux.
func notDumpable() error { return nil }

// dieWithParent is for Linux.
func dieWithParent(*exec.Cmd) {}
