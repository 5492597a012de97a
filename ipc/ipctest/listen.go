package ipctest

import (
	"net"
	"os"
	"sync"
	"syscall"
)

// Short is a listener for which there is no descriptor at first.
func Short(l net.Listener) net.Listener { return &short{Listener: l} }

type short struct {
	net.Listener
	once sync.Once
}

func (s *short) Accept() (c net.Conn, err error) {
	s.once.Do(func() { err = &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)} })
	if err != nil {
		return nil, err
	}
	return s.Listener.Accept()
}
