package broker

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/internal/accept"
	"sandboxd/ipc"
)

// Broker hands connections over. Its fields are set before Serve.
type Broker struct {
	Agent, Approver []net.Listener
	Heads           []net.Listener     // where daemons report the heads of their logs
	UsersDir        string             // see [UsersDir]
	HeadsDir        string             // see [HeadsDir]
	Key             ed25519.PrivateKey // signs heads; nil: they are kept unsigned
	Log             *slog.Logger

	handed, refused atomic.Uint64
	heads           sync.Mutex // held while a head is kept
	mu              sync.Mutex
	busy            map[place]int // connections that are being looked at
}

// place counts one user's connections to one kind of socket, so that requests cannot exhaust the
// limits of approvers or of log heads.
type place struct {
	uid  int
	want byte // wantAgent, wantApprover, or 0: a head
}

// maxBusy bounds one user's unfinished connections to a kind of socket. As many more get an error;
// those beyond are closed.
const maxBusy = 64

// Serve hands over until ctx ends.
func (b *Broker) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 8)
	var work sync.WaitGroup
	listen := func(list []net.Listener, each func(context.Context, *net.UnixConn)) {
		for _, l := range list {
			l = accept.Retrying(l)
			context.AfterFunc(ctx, func() { l.Close() })
			work.Go(func() {
				for {
					c, err := l.Accept()
					if err != nil {
						if ctx.Err() == nil {
							failed <- fmt.Errorf("accept on %q: %w", l.Addr(), err)
						}
						return
					}
					u, ok := c.(*net.UnixConn)
					if !ok {
						c.Close()
						continue
					}
					work.Go(func() {
						defer u.Close()
						defer context.AfterFunc(ctx, func() { u.SetDeadline(time.Now()) })()
						each(ctx, u)
					})
				}
			})
		}
	}
	listen(b.Agent, func(ctx context.Context, c *net.UnixConn) { b.pass(ctx, c, wantAgent) })
	listen(b.Approver, func(ctx context.Context, c *net.UnixConn) { b.pass(ctx, c, wantApprover) })
	listen(b.Heads, func(_ context.Context, c *net.UnixConn) { b.takeHead(c) })
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	cancel()
	work.Wait()
	return err
}

// Counts are the connections that were handed over, and those that were not.
func (b *Broker) Counts() (handed, refused uint64) { return b.handed.Load(), b.refused.Load() }

// Alive acquires and releases the lock of every connection, so that a watchdog notices a deadlock.
func (b *Broker) Alive() {
	b.mu.Lock()
	defer b.mu.Unlock()
}

// pass hands one connection over, or says on it why not.
func (b *Broker) pass(ctx context.Context, c *net.UnixConn, want byte) {
	uid, pid, err := peer(c)
	if err != nil {
		b.Log.Warn("connection closed", "error", err)
		return
	}
	at := place{uid, want}
	defer b.leave(at)
	switch n := b.enter(at); {
	case n > 2*maxBusy:
		b.refused.Add(1)
		return
	case n > maxBusy:
		b.refuse(c, http.StatusTooManyRequests, ipc.CodeLimit, "too many connections of this user are on their way", "")
		return
	}
	target := uid
	if want == wantApprover {
		target, err = means(c, uid)
		if errors.Is(err, errSilent) {
			return // it only wanted to know whether somebody listens
		}
		if err != nil {
			b.refuse(c, http.StatusBadRequest, ipc.CodeBadRequest, err.Error(), "name a user of this host")
			return
		}
	}
	err = b.deliver(ctx, target, want, c)
	switch {
	case err == nil:
		b.handed.Add(1)
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ECONNREFUSED):
		b.refuse(c, http.StatusServiceUnavailable, ipc.CodeNotFound, fmt.Sprintf("no launcher runs for user %d", target),
			fmt.Sprintf("log in as that user, or: loginctl enable-linger %s; for an account without a service manager: "+
				"systemctl enable --now sandboxd-launcher@%s.socket; launchers there are: %s",
				nameOf(target), nameOf(target), strings.Join(b.Users(), ", ")))
	default:
		b.Log.Warn("connection not handed over", "peer", uid, "pid", pid, "to", target, "error", err)
		b.refuse(c, http.StatusServiceUnavailable, ipc.CodeInternal,
			fmt.Sprintf("the launcher of user %d does not take the connection: %v", target, err),
			"systemctl --user status sandboxd-launcher.service")
	}
}

// enter counts one more connection there, and returns how many there are.
func (b *Broker) enter(at place) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.busy == nil {
		b.busy = map[place]int{}
	}
	b.busy[at]++
	return b.busy[at]
}

func (b *Broker) leave(at place) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.busy[at]--; b.busy[at] == 0 {
		delete(b.busy, at)
	}
}

// deliver finds a user's launcher and checks that it is that user's.
func (b *Broker) deliver(ctx context.Context, uid int, want byte, c *net.UnixConn) error {
	dir := filepath.Join(b.UsersDir, strconv.Itoa(uid))
	if err := belongs(dir, uid); err != nil {
		return err
	}
	_, err := send(ctx, filepath.Join(dir, "launcher.sock"), uid, want, c)
	return err
}

// belongs returns why dir is not a directory of uid's that only it can change.
func belongs(dir string, uid int) error {
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return &os.PathError{Op: "lstat", Path: dir, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != uid || st.Mode&0o022 != 0 {
		return fmt.Errorf("%q is not a directory of user %d alone", dir, uid)
	}
	return nil
}

// Users lists the numbers of the users that have a place for a launcher.
func (b *Broker) Users() []string {
	entries, _ := os.ReadDir(b.UsersDir)
	list := []string{}
	for _, e := range entries {
		if _, err := os.Lstat(filepath.Join(b.UsersDir, e.Name(), "launcher.sock")); err == nil {
			list = append(list, e.Name())
		}
	}
	return list
}

// tell sends want to every user's launcher, and returns the errors by user.
func (b *Broker) tell(ctx context.Context, want byte) map[int]error {
	failed := map[int]error{}
	for _, name := range b.Users() {
		uid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		dir := filepath.Join(b.UsersDir, name)
		err = belongs(dir, uid)
		said := ""
		if err == nil {
			said, err = send(ctx, filepath.Join(dir, "launcher.sock"), uid, want, nil)
		}
		if err == nil && said != "ok" {
			err = errors.New(said)
		}
		if err != nil {
			failed[uid] = err
		}
	}
	return failed
}

// Reload has every user's daemon read its configuration again.
func (b *Broker) Reload(ctx context.Context) map[int]error { return b.tell(ctx, wantReload) }

// Stop has every user's daemon stop as planned.
func (b *Broker) Stop(ctx context.Context) map[int]error { return b.tell(ctx, wantStop) }

// maxHead is how much of a request is looked at for the header.
const maxHead = 16 << 10

// means returns the user whom an approver's first request names. It peeks (MSG_PEEK): the daemon
// that serves the connection reads the request again.
func means(c *net.UnixConn, own int) (int, error) {
	head, err := peek(c)
	if err != nil {
		return 0, err
	}
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(head)))
	if err != nil {
		return 0, errors.New("the first request can't be read")
	}
	name := r.Header.Get(ipc.UserHeader)
	if name == "" {
		return own, nil
	}
	if uid, err := strconv.ParseUint(name, 10, 31); err == nil {
		return int(uid), nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return 0, fmt.Errorf("there is no user %q", name)
	}
	return strconv.Atoi(u.Uid)
}

var errSilent = errors.New("the connection was closed before a request came")

func peek(c *net.UnixConn) ([]byte, error) {
	c.SetReadDeadline(time.Now().Add(patience))
	defer c.SetReadDeadline(time.Time{})
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	buf := make([]byte, maxHead)
	var n int
	var perr error
	err = raw.Read(func(fd uintptr) bool {
		n, _, perr = unix.Recvfrom(int(fd), buf, unix.MSG_PEEK|unix.MSG_DONTWAIT)
		if perr == unix.EAGAIN {
			return false
		}
		return perr != nil || n == 0 || n == len(buf) || bytes.Contains(buf[:n], []byte("\r\n\r\n"))
	})
	switch {
	case err != nil:
		return nil, errors.New("no request came")
	case perr != nil:
		return nil, perr
	case n == 0:
		return nil, errSilent
	case !bytes.Contains(buf[:n], []byte("\r\n\r\n")):
		return nil, fmt.Errorf("the first request's head is incomplete or longer than %d bytes", maxHead)
	}
	return buf[:n], nil
}

// refuse answers the request that the peer sent with the reason.
func (b *Broker) refuse(c *net.UnixConn, status int, code ipc.Code, message, hint string) {
	b.refused.Add(1)
	peek(c) // a client that is answered before it asks may miss the answer
	c.SetDeadline(time.Now().Add(patience))
	body, _ := json.Marshal(map[string]*ipc.Error{"error": {Code: code, Message: message, Hint: hint}})
	fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, http.StatusText(status), len(body), body)
}

func nameOf(uid int) string {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return strconv.Itoa(uid)
	}
	return u.Username
}
