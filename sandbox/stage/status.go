package stage

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Step names a part of the stage's work in the order of execution.
type Step uint8

// The steps. StepReady is not a failure: everything is in force and the next
// thing is execve(2). Nor is StepNetwork with code 0: that message carries the
// sockets of Order.Doors and Order.Callers. StepWaiting says that the sandbox is
// laid and that the stage waits for its order.
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
	steps
)

var stepNames = [steps]string{
	"none", "descriptors", "order", "session", "working directory", "network", "limits",
	"privileges", "landlock", "seccomp", "seccomp listener", "ready", "execute", "waiting",
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
	// Code is the exit status that follows, 0 with StepReady.
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
