// As in sbx-verbs.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Front is the program that is installed as sbx. It performs a plain `sbx run` or `sbx shell` itself,
// within a millisecond and a half of processor time. For everything else it executes sbx-verbs, the
// program with all verbs, from its own directory.
//
// Plain is a run that has nothing to tell or to ask: no standard descriptor is a
// terminal or a device, standard input is no socket, the daemon is there, the flags are of the common
// ones, nobody is asked and nothing goes wrong. Front writes the request that
// sbx-verbs would write and reads the answer until the command has ended. When
// anything else comes, it executes sbx-verbs and hands the connection over,
// together with the part of the answer that it read, so that everything happens once, and is
// understood, shown and asked in one place. A failure before the request is sent
// is left to sbx-verbs from the start.
//
// It links neither cobra nor net/http nor encoding/json: to start with them takes
// longer than the command.
package main

import (
	"os"

	"sandboxd/cmd/internal/paths"
)

func main() {
	if o, ok := read(os.Args, os.Getenv); ok {
		o.run() // returns where it did nothing
	}
	rest("")
}

// rest executes sbx-verbs with our own arguments, behind the handed-over ones.
func rest(handed string) {
	args := []string{os.Args[0]}
	if handed != "" {
		args = append(args, handed)
	}
	err := paths.Execute(paths.Rest, append(args, os.Args[1:]...))
	os.Stderr.WriteString("sbx: " + err.Error() + "\n")
	os.Exit(paths.ExitOwn(os.Args[1:]))
}

// exitOwn is the exit status for a failure of ours.
const exitOwn = 125
