package sandbox

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// Stdio are the command's standard streams. Out and Err must be set; nil as In is
// /dev/null. The caller closes them.
type Stdio struct{ In, Out, Err *os.File }

// Exit says how a command ended.
type Exit struct {
	// Code is the exit status, 128+n when signal n ended it. A command that
	// itself exits with such a number can't be distinguished from one that a
	// signal ended, as in every shell.
	Code int
	// Signal is the signal that ended it, 0 for none.
	Signal syscall.Signal
	// Cause is why the daemon or a limit ended it, empty when it ended itself.
	Cause EndCause
	Wall  time.Duration
	CPU   time.Duration
}

// EndCause names the cause of an end from outside.
type EndCause string

// The causes. Limits are named as in the configuration's [sandbox.limits].
const (
	EndWall      EndCause = "wall"
	EndCPU       EndCause = "cpu"
	EndMemory    EndCause = "memory"
	EndProcesses EndCause = "processes"
	EndFileSize  EndCause = "file_size"
	EndTmp       EndCause = "tmp"
	EndLayer     EndCause = "layer"
	EndCancelled EndCause = "cancelled"
	EndClient    EndCause = "client gone"
	EndSession   EndCause = "session closed"
	EndShutdown  EndCause = "daemon stopped"
	EndServer    EndCause = "launch server ended"
)

type processState = *os.ProcessState

// StageError says that the last stage inside the sandbox refused to continue;
// the command did not start. Code is the exit status that fits: 127 not found,
// 126 not executable, 125 anything else.
type StageError struct {
	Step    string
	Code    int
	Message string
}

func (e *StageError) Error() string { return "start in the sandbox: " + e.Step + ": " + e.Message }

// LaunchError says that the sandbox itself did not come up; nothing ran.
type LaunchError struct {
	Mechanism string
	Cause     error
}

func (e *LaunchError) Error() string {
	return fmt.Sprintf("start sandbox by %s: %v", e.Mechanism, e.Cause)
}
func (e *LaunchError) Unwrap() error { return e.Cause }
