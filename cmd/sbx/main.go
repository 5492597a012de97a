// The number of processors is not asked of the control group: this program waits
// for others.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Sbx asks sandboxd to run commands, answers its questions, and shows its
// decisions and their reasons.
//
//	sbx run -- git status        runs unasked: it only reads
//	sbx run -c 'echo hi > new'   asks; anything but a yes is a no
//	sbx approve                  answers questions of other programs
//	sbx log                      shows decisions and runs
//
// Every verb has a --help with an example. Data is on standard output,
// everything else on standard error, questions are on the terminal itself.
//
// # Exit status
//
// Of `sbx run`: the command's own; 128+n when signal n ended it; 124 when it
// took too long; 125 for a failure of ours; 126 when it was denied or blocked; 127 when
// it was not found. Other verbs: 0; 1 where the answer is "no" (a log that does not
// verify, a protection that does not hold); 125 and 126 as above.
//
// # Limitations
//
// The command line is a client: it shows and asks, but only the daemon
// decides and runs. It links none of the packages that could.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(execute(context.Background(), asShell(os.Args)))
}
