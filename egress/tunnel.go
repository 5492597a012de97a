package egress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// chunk is how much is copied between two looks at the books. Between two TCP
// connections the kernel moves it (splice(2)).
const chunk = 1 << 20

// tunnel is one connection from inside, joined with one to a target.
type tunnel struct {
	gate   *Gate
	client *inner
	from   *bufio.Reader // of client; may hold bytes already
	link   *link
	raw    bool         // the bytes are not inspected
	active atomic.Int64 // when something passed last, Unix nanoseconds

	mu     sync.Mutex
	paused bool // the copying from link is to stop
}

// run carries bytes until both sides are done, and closes both.
func (t *tunnel) run() {
	defer t.client.Close()
	defer t.link.Close()
	t.touch()
	defer t.watch().Stop()
	var down sync.WaitGroup
	var came int64
	relay := func() {
		came = t.copy(t.client.TCPConn, t.link.Conn, false)
		if !t.isPaused() {
			t.client.CloseWrite()
		}
	}
	down.Go(relay) // of some protocols the server speaks first
	head, kind, err := t.look()
	if err != nil {
		t.client.Close() // with it ends the other direction
		t.link.Close()
		down.Wait()
		return
	}
	if kind == plainHTTP {
		t.pause(true)
		down.Wait()
		t.pause(false)
		if came == 0 {
			t.gate.serveTunnelled(t)
			return
		}
		head, _ = t.from.Peek(t.from.Buffered())
		down.Go(relay)
	}
	n, err := t.link.Conn.Write(head)
	if t.link.count(n, 0, err) == nil {
		t.touch()
		t.copy(t.link.Conn, t.client.TCPConn, true)
	}
	if c, ok := t.link.Conn.(interface{ CloseWrite() error }); ok {
		c.CloseWrite()
	}
	down.Wait()
}

// pause stops the copying from link, or resumes it.
func (t *tunnel) pause(yes bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.paused = yes
	if yes {
		t.link.SetReadDeadline(time.Unix(1, 0))
	} else {
		t.link.SetReadDeadline(time.Time{})
	}
}

func (t *tunnel) isPaused() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.paused
}

// patience makes the next read from a connection return often enough to notice traffic, unless
// copying is to stop. Writing has no deadline: bytes in the kernel's buffers would be lost with it.
func (t *tunnel) patience(from net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.paused || from != t.link.Conn {
		from.SetReadDeadline(time.Now().Add(t.gate.opts.Limits.Idle / 4))
	}
}

// watch ends the tunnel when nothing has passed for too long.
func (t *tunnel) watch() *time.Timer {
	idle := t.gate.opts.Limits.Idle
	var timer *time.Timer
	timer = time.AfterFunc(time.Hour, func() {
		if time.Since(time.Unix(0, t.active.Load())) >= idle {
			t.client.Close()
			t.link.Close()
			return
		}
		timer.Reset(idle / 4)
	})
	timer.Reset(idle / 4)
	return timer
}

func (t *tunnel) touch() { t.active.Store(time.Now().UnixNano()) }

// passed notes that n bytes did.
func (t *tunnel) passed(n int, err error) (int, error) {
	if n > 0 {
		t.touch()
	}
	return n, err
}

// copy carries bytes one way until the end, an error, or a pause, and returns
// how many they were.
func (t *tunnel) copy(to, from net.Conn, sent bool) (total int64) {
	for {
		t.patience(from)
		n, err := io.Copy(to, &io.LimitedReader{R: from, N: chunk})
		if total += n; n > 0 {
			t.touch()
		}
		spent := t.link.count(pick(sent, n), pick(!sent, n), nil)
		switch {
		case !sent && t.isPaused():
			return total
		case spent != nil:
			t.client.Close()
			t.link.Close()
			return total
		case errors.Is(err, os.ErrDeadlineExceeded):
		case err != nil:
			t.client.Close()
			t.link.Close()
			return total
		case n < chunk:
			return total
		}
	}
}

func pick(yes bool, n int64) int {
	if yes {
		return int(n)
	}
	return 0
}

type protocol int

const (
	opaque protocol = iota
	plainHTTP
)

// look reads as much of the client's first bytes as it takes to find the host. It returns the
// bytes, to be forwarded.
func (t *tunnel) look() (head []byte, kind protocol, err error) {
	if t.raw {
		return nil, opaque, nil
	}
	t.client.SetReadDeadline(time.Time{}) // the watch ends it
	first, err := t.from.Peek(1)
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil, opaque, nil // it only listens
		}
		return nil, opaque, err
	}
	switch first[0] {
	case 22:
		t.client.SetReadDeadline(time.Now().Add(headTimeout))
		raw, name, err := readHello(t.from)
		if err != nil {
			return nil, opaque, t.gate.refuse(t.link.target.String(), err.Error(), "")
		}
		if err := t.checkName(name); err != nil {
			return nil, opaque, err
		}
		head = raw
	default:
		t.client.SetReadDeadline(time.Now().Add(headTimeout))
		ahead, err := httpAhead(t.from)
		if err != nil {
			return nil, opaque, t.gate.refuse(t.link.target.String(), "it may begin like HTTP, and no whole line came", "")
		}
		if ahead {
			return nil, plainHTTP, nil
		}
		if slices.Contains(webPorts, t.link.target.Port) && !prefaceAhead(t.from) && !startsWith(t.from, "SSH-") {
			return nil, opaque, t.gate.refuse(t.link.target.String(), "it begins neither like TLS nor like HTTP", "")
		}
	}
	rest, _ := t.from.Peek(t.from.Buffered())
	return append(head, rest...), opaque, nil
}

// checkName compares the server name of a ClientHello with the judged host. A granted address may
// have any server name.
func (t *tunnel) checkName(name string) error {
	if name == "" || t.link.target.Name == "" {
		return nil
	}
	if got, err := parseHost(name, t.link.target.Port, true); err == nil && got == t.link.target {
		return nil
	}
	return t.gate.refuse(t.link.target.String(), fmt.Sprintf("the TLS server name %s is another host", quote(name)), "")
}

// preface is how HTTP/2 begins (RFC 9113, 3.4), which has its own ways.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// httpAhead reports whether the next bytes may be an HTTP/1 request for a server, as lenient as
// servers are: empty lines before it, any method, any white space behind that (RFC 9112, 2.2 and
// 3). It reads no more than it needs, the first line at most. An error means that it stayed
// undecided.
func httpAhead(r *bufio.Reader) (bool, error) {
	at := func(i int) (byte, error) {
		b, err := r.Peek(i + 1)
		if err != nil {
			return 0, err
		}
		return b[i], nil
	}
	i, method, standard := 0, 0, true
	for ; ; i++ {
		c, err := at(i)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return true, nil
		case errors.Is(err, io.EOF):
			return false, nil // and nothing more comes
		case err != nil:
			return false, err
		}
		switch space := strings.IndexByte(" \t\v\f\r\n", c) >= 0; {
		case method == 0 && space:
			continue // before the request
		case method > 0 && c == '\n':
			return false, nil // a line of one word
		case method > 0 && space:
			if standard && method > 1 && c == ' ' {
				return !prefaceAhead(r), nil
			}
			return versionAhead(at, i)
		case c >= 'A' && c <= 'Z':
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
			standard = false
		default:
			return false, nil // no character of a method
		}
		method++
	}
}

// webPorts are the ports whose servers are asked for other hosts by HTTP: what is neither TLS nor a request there, a
// lenient server may still read as one, so that it is refused. SSH, which goes by 443 where 22 is closed, passes.
var webPorts = []uint16{80, 443, 3000, 5000, 8000, 8008, 8080, 8081, 8443, 8888}

// prefaceAhead reports whether HTTP/2 begins, and not only something like it.
func prefaceAhead(r *bufio.Reader) bool { return startsWith(r, preface) }

// startsWith reports whether the next bytes are those of text; it reads no byte behind the first that differs.
func startsWith(r *bufio.Reader, text string) bool {
	for n := 1; n <= len(text); n++ {
		if b, err := r.Peek(n); err != nil || b[n-1] != text[n-1] {
			return false
		}
	}
	return true
}

// versionAhead reports whether the line at i names a version of HTTP.
func versionAhead(at func(int) (byte, error), i int) (bool, error) {
	var line []byte
	for ; ; i++ {
		c, err := at(i)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return true, nil // longer than the inspected part
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, err
		case c == '\n':
			return bytes.Contains(bytes.ToUpper(line), []byte("HTTP/")), nil
		}
		if c < ' ' && strings.IndexByte("\t\v\f\r", c) < 0 {
			return false, nil // no server takes that for text
		}
		line = append(line, c)
	}
}
