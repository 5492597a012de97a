//go:build !linux

// Command sandboxd-launch is the last stage inside a sandbox on Linux. Other
// systems have no use for it.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "sandboxd-launch: only Linux needs this program")
	os.Exit(2)
}
