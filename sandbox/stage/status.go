package stage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Step names a part of the stage's work in the order of execution.
type Step uint8

// The steps. StepReady is not a failure: everything is in force and the next
// thing is execve(2). Nor is StepNetwork with code 0: that message carries the
// sockets of Order.Doors and Order.Callers. StepWaiting says that the sandbox is
// laid and that the stage waits for its order. Of a sandbox with a pid namespace
// StepStarted says that the command executes, and StepEnded carries an [End].
const (
	StepNone Step = iota
	StepDescriptors
	StepOrder
	StepSession
	StepDir
	StepNetwork
	StepLimits
	StepPrivileges
	StepLandlock
	StepSeccomp
	StepListener
	StepReady
	StepExec
	StepWaiting
	StepStarted
	StepEnded
	StepFirst
	steps
)

var stepNames = [steps]string{
	"none", "descriptors", "order", "session", "working directory", "network", "limits",
	"privileges", "landlock", "seccomp", "seccomp listener", "ready", "execute", "waiting", "started", "ended", "first process",
}

func (s Step) String() string {
	if s >= steps {
		return fmt.Sprintf("step %d", uint8(s))
	}
	return stepNames[s]
}

// Status is one datagram from the stage to the daemon.
type Status struct {
	Step Step
	// Code is the exit status that follows, that of the command with StepEnded, 0 with
	// StepReady; with StepStarted it is how many threads the limit of processes has beside
	// the command's.
	Code int
	// Message says what failed, empty with StepReady.
	Message string
}

// maxMessage keeps a status in one datagram.
const maxMessage = 4096

func (s Status) encode() []byte {
	b := []byte{byte(s.Step)}
	b = binary.AppendUvarint(b, uint64(s.Code))
	if len(s.Message) > maxMessage {
		s.Message = s.Message[:maxMessage]
	}
	return append(b, s.Message...)
}

// End says how the command ended.
type End struct {
	Code  int   // exit status, 128+n when signal n ended it
	Alone bool  // no process is left in the sandbox but its first
	CPU   int64 // nanoseconds of the command and of all that was waited for
}

func (e End) status() Status {
	rest := "some"
	if e.Alone {
		rest = "none"
	}
	return Status{Step: StepEnded, Code: e.Code, Message: rest + " " + strconv.FormatInt(e.CPU, 10)}
}

// End decodes what StepEnded carries.
func (s Status) End() (End, error) {
	rest, cpu, ok := strings.Cut(s.Message, " ")
	n, err := strconv.ParseInt(cpu, 10, 64)
	if s.Step != StepEnded || !ok || err != nil {
		return End{}, fmt.Errorf("decode status: %v, not an end", s)
	}
	return End{s.Code, rest == "none", n}, nil
}

// ParseStatus decodes one datagram.
func ParseStatus(b []byte) (Status, error) {
	if len(b) < 2 || Step(b[0]) >= steps {
		return Status{}, errors.New("decode status: malformed")
	}
	code, n := binary.Uvarint(b[1:])
	if n <= 0 || code > 255 {
		return Status{}, errors.New("decode status: malformed code")
	}
	return Status{Step: Step(b[0]), Code: int(code), Message: string(b[1+n:])}, nil
}
