package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/sandbox/stage"
)

// loop runs for the life of the process and never unlocks its thread.
func (s *spawner) loop() {
	runtime.LockOSThread()
	for r := range s.queue {
		null, err := guarded(r.devices, r.start)
		if err != nil && r.cmd != nil && r.cmd.Process != nil { // started, but this thread did not find its way back
			r.cmd.Process.Kill()
			r.cmd.Wait()
		}
		if null != nil && !s.null.CompareAndSwap(nil, null) {
			null.Close()
		}
		r.done <- err
	}
}

// start starts the command, in its group where it has one to be born in.
func (s spawn) start() error {
	if s.cmd == nil { // guarded alone was wanted
		return nil
	}
	if s.group == nil {
		return s.cmd.Start()
	}
	return s.group.start(s.cmd)
}

// sealedMemfd returns a close-on-exec memfd that holds data and that
// nobody can change (memfd_create(2)).
func sealedMemfd(name string, data io.Reader) (*os.File, error) {
	// MFD_EXEC declares to kernels that warn about its absence (Linux 6.3) that the
	// helper's memfd is meant to be executed; older ones refuse the flag.
	flags := unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("sandboxd-"+name, flags|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate("sandboxd-"+name, flags)
	}
	if err != nil {
		return nil, fmt.Errorf("memfd %q: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := io.Copy(f, data); err != nil {
		f.Close()
		return nil, fmt.Errorf("memfd %q: %w", name, err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		f.Close()
		return nil, fmt.Errorf("memfd %q: %w", name, err)
	}
	// EBUSY: something of the kernel's own holds a page for a moment, as when it looks
	// for memory that is not used (memfd_wait_for_pins in mm/memfd.c gives up after 150 ms).
	for try := 0; ; try++ {
		_, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, stage.Seals)
		if err == nil {
			return f, nil
		}
		if err != unix.EBUSY || try == maxSealTries {
			f.Close()
			return nil, fmt.Errorf("seal memfd %q: %w", name, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// maxSealTries is how often a memfd whose pages are held is sealed again.
const maxSealTries = 20

// packetConn wraps our end of the status socket and asks the kernel to name
// the sender of every datagram (unix(7), SO_PASSCRED).
func packetConn(fd int) (*net.UnixConn, error) {
	f := os.NewFile(uintptr(fd), "status")
	defer f.Close()
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PASSCRED, 1); err != nil {
		return nil, fmt.Errorf("status socket: %w", err)
	}
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("status socket: %w", err)
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, errors.New("status socket: not a Unix socket")
	}
	return u, nil
}

// message is one datagram of the stage.
type message struct {
	stage.Status
	pid   int // of the sender, as seen from this process's namespace
	files []*os.File
}

// readStatus reads one datagram. An end of file is io.EOF, also where the other end
// left something unread (unix(7)).
func readStatus(c *net.UnixConn) (m message, err error) {
	buf := make([]byte, 8192)
	oob := make([]byte, unix.CmsgSpace(unix.SizeofUcred)+unix.CmsgSpace(4*stage.MaxSockets))
	n, oobn, _, _, err := c.ReadMsgUnix(buf, oob)
	if errors.Is(err, unix.ECONNRESET) { // it ended with an order unread, and what it has sent comes next
		n, oobn, _, _, err = c.ReadMsgUnix(buf, oob)
	}
	if errors.Is(err, unix.ECONNRESET) {
		err = io.EOF
	}
	if err != nil {
		return m, err
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return m, fmt.Errorf("decode status: %w", err)
	}
	for _, control := range msgs {
		if fds, err := unix.ParseUnixRights(&control); err == nil {
			for _, fd := range fds {
				m.files = append(m.files, os.NewFile(uintptr(fd), "stage"))
			}
		} else if cred, err := unix.ParseUnixCredentials(&control); err == nil {
			m.pid = int(cred.Pid)
		}
	}
	switch {
	case n == 0:
		err = io.EOF
	case m.pid == 0:
		err = errors.New("decode status: no sender")
	default:
		m.Status, err = stage.ParseStatus(buf[:n])
	}
	if err != nil || m.Step != stage.StepNetwork && m.Step != stage.StepReady && m.Step != stage.StepWaiting {
		m.close()
	}
	return m, err
}

func (m *message) close() {
	for _, f := range m.files {
		f.Close()
	}
	m.files = nil
}

// orphaned reports whether bwrap has ended though its first process reports. That process has
// asked for a signal at bwrap's death, as the last thing before its program, and does not get it
// for one that was before. Where both have ended, the first process was first, and all is well.
func (l *launch) orphaned() bool {
	var ended unix.Siginfo
	err := unix.Waitid(unix.P_PID, l.cmd.Process.Pid, &ended, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	if err == nil && ended.Signo == 0 {
		return false
	}
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(l.proc.init), Events: unix.POLLIN}}, 0)
	return n == 0 && err == nil
}

var errOrphaned = errors.New("bubblewrap was killed while the sandbox came up")

// readChildPid reads bwrap's --info-fd answer (bwrap(1)).
func readChildPid(r io.Reader) (int, error) {
	var info struct {
		ChildPid int `json:"child-pid"`
	}
	if err := json.NewDecoder(r).Decode(&info); err != nil {
		return 0, err
	}
	if info.ChildPid <= 0 {
		return 0, errors.New("no child-pid")
	}
	return info.ChildPid, nil
}

// DataFile returns a file that reads as data from its beginning.
func DataFile(name string, data io.Reader) (*os.File, error) { return sealedMemfd(name, data) }
