package main

import (
	"bytes"
	"fmt"
	"net"

	"sandboxd/ipc"
)

// exchange is a request that was written beforehand, on a connection that stays open:
// the daemon's time, without a client's time to write and to read JSON.
type exchange struct {
	conn    net.Conn
	request []byte
	answer  []byte
}

func (d *daemon) exchange(c *client) (*exchange, error) {
	body := fmt.Sprintf(`{"session":%q,"argv":[%q]}`, c.session, command)
	head := "POST /v1/exec/events HTTP/1.1\r\nHost: sandboxd\r\nContent-Type: application/json\r\nAuthorization: Bearer " +
		string(c.Secret) +
		fmt.Sprintf("\r\nContent-Length: %d\r\n\r\n", len(body))
	conn, err := net.Dial("unix", d.socket(ipc.AgentSocket))
	return &exchange{conn: conn, request: []byte(head + body), answer: make([]byte, 64<<10)}, err
}

// launch asks, and reads the answer to its end.
func (x *exchange) launch() error {
	if _, err := x.conn.Write(x.request); err != nil {
		return err
	}
	for n := 0; ; {
		more, err := x.conn.Read(x.answer[n:])
		if n += more; err != nil {
			return fmt.Errorf("%w after %q", err, x.answer[:n])
		}
		if !bytes.HasSuffix(x.answer[:n], []byte("\r\n0\r\n\r\n")) { // the last chunk (RFC 9112, 7.1)
			continue
		}
		if !bytes.Contains(x.answer[:n], []byte(`"exit":{"code":0,`)) {
			return fmt.Errorf("%q ended with %q", command, x.answer[:n])
		}
		return nil
	}
}
