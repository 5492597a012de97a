// The number of processors is not asked of the control group: this program has
// one thread that matters.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Command sandboxd-launch is the first process inside a sandbox: it closes what
// was inherited, installs Landlock and seccomp, starts the command with its limits,
// and waits for its end. sandboxd starts it; it reads everything from inherited descriptors
// and takes no arguments (package sandboxd/sandbox/stage).
package main

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"sandboxd/sandbox/stage"
)

// The main goroutine stays on the main thread: what the stage installs must
// be on the thread that calls execve.
func init() { runtime.LockOSThread() }

func main() {
	if len(os.Args) == 3 && os.Args[1] == stage.PidsArg {
		os.Exit(stage.Run())
	}
	if _, err := unix.FcntlInt(stage.FDOrder, unix.F_GET_SEALS, 0); err != nil {
		fmt.Fprintln(os.Stderr, "sandboxd-launch: started by hand; it is started by sandboxd only (use: sbx run -- COMMAND)")
		os.Exit(2)
	}
	os.Exit(stage.Run())
}
