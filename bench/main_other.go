//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "bench: the ways to launch that it compares are Linux's")
	os.Exit(1)
}
