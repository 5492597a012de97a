package stage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// Step names a part of the program's work in the order of execution.
type Step uint8

// The steps. StepReady is not a failure: everything is in force and the next
// thing is execve(2). Nor is StepNetwork with code 0: that message carries the
// sockets of Order.Listen and Order.Dialers. StepWaiting says that the sandbox is
// ready and that the program waits for its order; with [ServeArg] the message carries its root
// and its mount namespace before the listener. StepBorn comes from a first process that the launch
// server made as soon as it exists, and from that server itself. Of a sandbox with a pid namespace
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
	StepMounts
	StepBorn
	steps
)

var stepNames = [steps]string{
	"none", "descriptors", "order", "session", "working directory", "network", "limits",
	"privileges", "landlock", "seccomp", "seccomp listener", "ready", "execute", "waiting", "started", "ended",
	"first process", "mounts", "born",
}

func (s Step) String() string {
	if s >= steps {
		return fmt.Sprintf("step %d", uint8(s))
	}
	return stepNames[s]
}

// Status is one datagram from the program to the daemon.
type Status struct {
	Step Step
	// Code is the exit status that follows, that of the command with StepEnded, 0 with
	// StepReady.
	Code int
	// Message names the failure, empty with StepReady.
	Message string

	alone bool
	cpu   time.Duration
}

// End says how the command ended.
type End struct {
	Code  int           // exit status, 128+n when signal n ended it
	Alone bool          // no process is left in the sandbox but its first
	CPU   time.Duration // of the command and of all that was waited for
}

// End returns the command's end, which StepEnded carries.
func (s Status) End() (End, error) {
	if s.Step != StepEnded {
		return End{}, fmt.Errorf("decode status: %v, not an end", s.Step)
	}
	return End{s.Code, s.alone, s.cpu}, nil
}

// reportSize is that of struct report in cmd/sandboxd-launch/launch.h.
const reportSize = 16

// ParseStatus decodes one datagram.
func ParseStatus(b []byte) (Status, error) {
	if len(b) < reportSize || Step(b[0]) >= steps || b[2] > 1 || b[3] != 0 {
		return Status{}, errors.New("decode status: malformed")
	}
	s := Status{Step: Step(b[0]), Code: int(b[1]), alone: b[2] == 1, cpu: time.Duration(binary.LittleEndian.Uint64(b[8:]))}
	what, object, _ := bytes.Cut(b[reportSize:], []byte{0})
	s.Message = string(what)
	if len(object) > 0 {
		s.Message += fmt.Sprintf(" %q", object)
	}
	if errno := binary.LittleEndian.Uint32(b[4:]); errno != 0 {
		s.Message += ": " + syscall.Errno(errno).Error()
	}
	return s, nil
}
