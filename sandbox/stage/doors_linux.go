package stage

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// openDoors listens on ports of 127.0.0.1, makes callers, and hands everything
// to the daemon in one message; the listeners come first, in order. A socket
// belongs to the network namespace in which it was made, whoever holds it
// (network_namespaces(7)): through these the daemon is at both ends of the
// command's loopback, and nothing inside is part of it.
func openDoors(ports []uint16, callers int) error {
	var fds []int
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	for _, port := range ports {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("socket: %w", err)
		}
		fds = append(fds, fd)
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
			return fmt.Errorf("listen on port %d: %w", port, err)
		}
		if err := unix.Bind(fd, &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}}); err != nil {
			return fmt.Errorf("bind port %d: %w", port, err)
		}
		if err := unix.Listen(fd, 1024); err != nil {
			return fmt.Errorf("listen on port %d: %w", port, err)
		}
	}
	for range callers {
		// One of IPv6 reaches 127.0.0.1 as well (ipv6(7)).
		fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err == nil {
			err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0)
		}
		if err != nil {
			return fmt.Errorf("socket: %w", err)
		}
		fds = append(fds, fd)
	}
	if err := unix.Sendmsg(FDStatus, Status{Step: StepNetwork}.encode(), unix.UnixRights(fds...), nil, 0); err != nil {
		return fmt.Errorf("hand out sockets: %w", err)
	}
	return nil
}
