package acceptance

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// apart is set in the environment of tests that runApart started.
const apart = "SBX_TEST_APART"

// atTerminal reports whether this process has a controlling terminal (tty(4)).
func atTerminal() bool {
	f, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// runApart runs the tests in a process tree of their own. At a terminal all that
// a test starts has ancestors in one terminal session, so that the daemon takes
// the people of a test for its agents and, rightly, refuses their answers.
//
// The tests end when this process does: they hold the other end of a pipe.
func runApart() int {
	lifeRead, life, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	status, statusWrite, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command("setsid", append([]string{"--fork"}, os.Args...)...)
	cmd.Env = append(os.Environ(), apart+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{lifeRead, statusWrite}
	if err := cmd.Run(); err != nil {
		panic(fmt.Sprintf("run the tests away from the terminal: %v", err))
	}
	lifeRead.Close()
	statusWrite.Close()
	defer life.Close()
	code := 1
	if _, err := fmt.Fscan(status, &code); err != nil {
		fmt.Fprintln(os.Stderr, "the tests ended without saying how")
	}
	return code
}

// ranApart runs the tests for runApart.
func ranApart(run func() int) int {
	life, status := os.NewFile(3, "life"), os.NewFile(4, "status")
	syscall.CloseOnExec(3)
	syscall.CloseOnExec(4)
	go func() {
		io.Copy(io.Discard, life)
		os.Exit(1)
	}()
	code := run()
	fmt.Fprintln(status, code)
	return code
}
