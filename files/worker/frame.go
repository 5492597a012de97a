package worker

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"sandboxd/internal/fdconn"
)

// Bounds of one frame, in bytes. The body of a change is at most that of a request; the head grows
// with listings.
const (
	maxHead = 64 << 20
	maxBody = 256 << 20
	maxFDs  = 64
)

var errFrame = errors.New("frame too large")

// link sends and receives frames. It is not safe for concurrent use.
type link struct {
	conn *net.UnixConn
}

// Inherit makes a connection of a descriptor that the parent passed.
func Inherit(fd int) (*net.UnixConn, error) {
	f := os.NewFile(uintptr(fd), "worker socket")
	if f == nil {
		return nil, fmt.Errorf("inherit worker socket: descriptor %d is not open", fd)
	}
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("inherit worker socket: %w", err)
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, errors.New("inherit worker socket: not a Unix socket")
	}
	return u, nil
}

// Pair makes the two ends of a worker's connection: one for NewClient, one to
// hand to the worker's process, which is closed here once it has started.
func Pair() (ours *net.UnixConn, theirs *os.File, err error) {
	fds, err := socketpair()
	if err != nil {
		return nil, nil, fmt.Errorf("worker socket: %w", err)
	}
	ours, err = Inherit(fds[0])
	if err != nil {
		unix.Close(fds[1])
		return nil, nil, err
	}
	return ours, os.NewFile(uintptr(fds[1]), "worker socket"), nil
}

// send writes one frame. The files stay the caller's.
func (l *link) send(head any, body []byte, fds ...*os.File) error {
	data, err := json.Marshal(head)
	if err != nil {
		return err
	}
	if len(data) > maxHead || len(body) > maxBody || len(fds) > maxFDs {
		return fmt.Errorf("%w: head %d, body %d, %d descriptors", errFrame, len(data), len(body), len(fds))
	}
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(body)))
	frame = append(frame, data...)
	if _, err := fdconn.Write(l.conn, frame, fdconn.Numbers(fds)...); err != nil {
		return err
	}
	_, err = l.conn.Write(body)
	return err
}

// receive reads one frame into head. The caller closes the files.
func (l *link) receive(head any) (body []byte, fds []*os.File, err error) {
	var lengths [8]byte
	fds, err = l.start(lengths[:])
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			fdconn.Close(fds)
			fds = nil
		}
	}()
	h, b := binary.BigEndian.Uint32(lengths[:4]), binary.BigEndian.Uint32(lengths[4:])
	if h > maxHead || b > maxBody {
		return nil, fds, fmt.Errorf("%w: head %d, body %d", errFrame, h, b)
	}
	data := make([]byte, h)
	if _, err := io.ReadFull(l.conn, data); err != nil {
		return nil, fds, err
	}
	if b > 0 {
		body = make([]byte, b)
		if _, err := io.ReadFull(l.conn, body); err != nil {
			return nil, fds, err
		}
	}
	return body, fds, json.Unmarshal(data, head)
}

// start reads the lengths, with which descriptors come along.
func (l *link) start(lengths []byte) (fds []*os.File, err error) {
	got := 0
	for got < len(lengths) {
		n, more, err := fdconn.Read(l.conn, lengths[got:], maxFDs)
		fds = append(fds, more...)
		if err == nil && n == 0 {
			err = io.EOF
		}
		if err != nil {
			fdconn.Close(fds)
			return nil, err
		}
		got += n
	}
	return fds, nil
}
