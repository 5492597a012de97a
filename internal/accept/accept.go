// Package accept keeps a listener open while the host is out of descriptors or memory for new connections.
package accept

import (
	"errors"
	"net"
	"slices"
	"syscall"
	"time"
)

// pause is the time between two attempts.
const pause = 10 * time.Millisecond

// Retrying returns a listener that repeats an accept(2) that failed for lack of resources, so that a client that used
// them up does not end the service of all others.
func Retrying(l net.Listener) net.Listener { return &retrying{l} }

type retrying struct{ net.Listener }

func (r *retrying) Accept() (net.Conn, error) {
	for {
		c, err := r.Listener.Accept()
		if err == nil || !temporary(err) {
			return c, err
		}
		time.Sleep(pause)
	}
}

func temporary(err error) bool {
	return slices.ContainsFunc([]error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM},
		func(e error) bool { return errors.Is(err, e) })
}
