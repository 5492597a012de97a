package ipc_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// frame is one masked frame of a client (RFC 6455 §5.2), with a mask of zeros.
func frame(first byte, payload string) []byte {
	b := []byte{first}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	return append(append(b, 0, 0, 0, 0), payload...)
}

// FuzzWebSocket: whatever bytes follow the handshake, nothing breaks, and
// nothing is changed without a result that says so.
func FuzzWebSocket(f *testing.F) {
	call := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	}
	f.Add(frame(0x81, call("version", "{}")), false)
	f.Add(frame(0x81, call("session.open", `{"kind":"api"}`)), false)
	f.Add(frame(0x81, call("exec.start", `{"session":"session-1","secret":"secret of session-1","command":"echo"}`)),
		false)
	f.Add(frame(0x81, call("exec.events", `{"id":"exec-2","from_seq":1}`)), false)
	f.Add(frame(0x81, call("exec.stdin", `{"id":"exec-2","data":"aGk=","eof":true}`)), false)
	f.Add(frame(0x81, call("approval.decide", `{"id":"x","rev":1,"hash":"h","allow":true}`)), true)
	f.Add(frame(0x81, `{"jsonrpc":"2.0","method":"rpc.cancel","params":{"call":1}}`), true)
	f.Add(append(frame(0x01, `{"jsonrpc":"2.0",`), frame(0x80, `"id":1,"method":"version"}`)...), false) // in two pieces
	f.Add(frame(0x82, "{}"), false)
	f.Add(frame(0x88, "\x03\xe8bye"), false)
	f.Add(frame(0x89, "ping"), true)
	f.Add(frame(0xc1, "{}"), true) // compressed, which was not agreed on
	b, sockets := besieged(f)
	handshake := "GET /v1/ws HTTP/1.1\r\nHost: s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: " +
		"13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
	// exchange sends frames, and a close if wanted, and returns the answer's bytes until the other
	// side closes, a result comes, or nothing more does.
	exchange := func(t *testing.T, to net.Addr, frames []byte, closing bool) (answers []byte, open bool) {
		c, err := net.DialUnix("unix", nil, to.(*net.UnixAddr))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(5 * time.Second))
		io.WriteString(c, handshake)
		c.Write(frames)
		if closing {
			c.Write(frame(0x88, "\x03\xe8"))
			c.CloseWrite()
		}
		piece := make([]byte, 4096)
		for !bytes.Contains(answers, []byte(`"result":`)) {
			n, err := c.Read(piece)
			answers = append(answers, piece[:n]...)
			if err != nil {
				return answers, errors.Is(err, os.ErrDeadlineExceeded)
			}
		}
		return answers, true
	}
	f.Fuzz(func(t *testing.T, frames []byte, approver bool) {
		to := sockets.Agent.Addr()
		if approver {
			to = sockets.Approver.Addr()
		}
		before := b.Changes()
		answers, _ := exchange(t, to, frames, true)
		if b.Changes() == before || bytes.Contains(answers, []byte(`"result":`)) {
			return
		}
		// The close may have come before the answer: once more without it.
		before = b.Changes()
		answers, open := exchange(t, to, frames, false)
		if b.Changes() != before && open && !bytes.Contains(answers, []byte(`"result":`)) {
			t.Errorf("something was changed by %q, answered with %q", frames, answers)
		}
	})
}
