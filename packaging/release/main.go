// Command release makes the parts of a release that need more than a shell:
//
//	release documents TREE DIR   copies the documents of a release from the source tree into DIR
//	release links DIR            checks the links of all documents below a directory
//	release nar DIR              prints Nix's hash of a directory
//
// It is a module of its own and needs no other, so that an installation downloads nothing.
package main

import (
	"errors"
	"fmt"
	"os"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if err := do(args); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		return 1
	}
	return 0
}

func do(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "documents":
		return documents(args[1], args[2])
	case len(args) == 2 && args[0] == "links":
		return links(args[1])
	case len(args) == 2 && args[0] == "nar":
		hash, err := narHash(args[1])
		if err == nil {
			fmt.Println(hash)
		}
		return err
	}
	return errors.New("want: documents TREE DIR, links DIR, or nar DIR")
}
