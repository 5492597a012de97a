package ipc

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// Patient is a listener that goes on where connections can't be accepted for a
// moment, because descriptors or memory ran out: whoever used them up must not end
// what everybody is served by.
func Patient(l net.Listener) net.Listener { return &patient{l} }

type patient struct{ net.Listener }

// acceptPause is how long to wait before the next attempt.
const acceptPause = 10 * time.Millisecond

func (p *patient) Accept() (net.Conn, error) {
	for {
		c, err := p.Listener.Accept()
		if err == nil || !passes(err) {
			return c, err
		}
		time.Sleep(acceptPause)
	}
}

// passes reports an error of accept(2) that is of the moment.
func passes(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
