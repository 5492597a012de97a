package egress

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// maxHello bounds a ClientHello: post-quantum key shares make it some 2 KiB,
// tickets and encrypted hellos more.
const maxHello = 64 << 10

var errHello = errors.New("it begins like TLS, but its ClientHello can't be read")

// readHello returns the first bytes of a TLS connection, which hold a whole
// ClientHello (RFC 8446, 4.1.2), and the server name in it, "" for none. The
// message may be spread over several records.
func readHello(r *bufio.Reader) (raw []byte, name string, err error) {
	var message []byte
	for {
		header, err := r.Peek(5)
		if err != nil {
			return raw, "", errHello
		}
		n := int(binary.BigEndian.Uint16(header[3:]))
		if header[0] != 22 || header[1] != 3 || n == 0 || n > 1<<14 || len(raw)+5+n > maxHello {
			return raw, "", errHello
		}
		record := make([]byte, 5+n)
		if _, err := io.ReadFull(r, record); err != nil {
			return raw, "", errHello
		}
		raw, message = append(raw, record...), append(message, record[5:]...)
		if len(message) < 4 {
			continue
		}
		if message[0] != 1 { // client_hello
			return raw, "", errHello
		}
		if size := int(message[1])<<16 | int(message[2])<<8 | int(message[3]); len(message) >= 4+size {
			name, err := serverName(message[4 : 4+size])
			return raw, name, err
		}
	}
}

// serverName finds the server_name extension (RFC 6066, 3). More than one, or more than one name in
// it, is an error: a server might choose another one.
func serverName(hello []byte) (string, error) {
	d := cursor{hello, false}
	d.take(2 + 32)  // version, random
	d.take(d.n8())  // session id
	d.take(d.n16()) // cipher suites
	d.take(d.n8())  // compression methods
	if d.bad {
		return "", errHello
	}
	if len(d.b) == 0 {
		return "", nil // no extensions
	}
	name, seen := "", false
	for extensions := (cursor{d.take(d.n16()), d.bad}); ; {
		if extensions.bad || d.bad {
			return "", errHello
		}
		if len(extensions.b) == 0 {
			return name, nil
		}
		kind := extensions.n16()
		body := extensions.take(extensions.n16())
		if kind != 0 {
			continue
		}
		list := cursor{body, extensions.bad}
		entry := cursor{list.take(list.n16()), list.bad}
		hostName := entry.n8() == 0
		text := entry.take(entry.n16())
		if seen || entry.bad || !hostName || len(entry.b) != 0 || len(list.b) != 0 {
			return "", errHello
		}
		name, seen = string(text), true
	}
}

// cursor reads big-endian numbers and bytes; after a fault bad is set.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) take(n int) []byte {
	if n > len(c.b) {
		c.bad, c.b = true, nil
		return nil
	}
	out := c.b[:n]
	c.b = c.b[n:]
	return out
}

func (c *cursor) n8() int {
	b := c.take(1)
	if len(b) == 0 {
		return 0
	}
	return int(b[0])
}

func (c *cursor) n16() int {
	b := c.take(2)
	if len(b) == 0 {
		return 0
	}
	return int(b[0])<<8 | int(b[1])
}
