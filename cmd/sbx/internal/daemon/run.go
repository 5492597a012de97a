package daemon

import (
	"errors"
	"io"
	"os"
	"os/exec"
)

// Run runs the sandboxd beside this program in the foreground, for what only
// it can tell, such as `config check`. Its exit status is in the error.
func Run(args []string, stdin *os.File, stdout, stderr io.Writer) error {
	program, err := sibling()
	if err != nil {
		return err
	}
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	return cmd.Run()
}

// ExitStatus is the status in an error of [Run].
func ExitStatus(err error) (int, bool) {
	var e *exec.ExitError
	if errors.As(err, &e) {
		return e.ExitCode(), true
	}
	return 0, false
}
