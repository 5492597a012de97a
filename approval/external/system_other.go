//go:build !unix

package external

import "os/exec"

func ownGroup(*exec.Cmd) {}

func trusted(string) error { return nil }
