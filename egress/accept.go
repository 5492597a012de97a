package egress

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// Patient is a listener that goes on where connections can't be accepted for a
// moment, because descriptors or memory ran out: others will give some back.
func Patient(l net.Listener) net.Listener { return &patient{l} }

type patient struct{ net.Listener }

func (p *patient) Accept() (net.Conn, error) {
	for {
		c, err := p.Listener.Accept()
		switch {
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ENOBUFS), errors.Is(err, syscall.ENOMEM):
			time.Sleep(10 * time.Millisecond)
		default:
			return c, err
		}
	}
}
