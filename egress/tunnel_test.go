package egress

import (
	"bufio"
	"io"
	"os"
	"strings"
	"testing"
)

// Bytes that a server may read as HTTP are HTTP; other protocols pass at once, also without a
// newline.
func TestHTTPAhead(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]bool{
		"GET /": true, "OPTIONS *": true, "\r\n\r\nGET /": true, "get / HTTP/1.1\r\n": true, "get /\thttp/1.0\n": true,
		"GET\t/ HTTP/1.1\n": true, "PRI * HTTP/1.1\r\n": true, "PRI * HTTP/2.0\r\n\r\nGET": true,
		preface: false, "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n": false, "0033git-upload-pack /x.git\x00host=h\x00": false,
		"*1\r\n$4\r\nPING\r\n": false, "get key\r\n": false, "QUIT\r\n": false, "0\x0c\x02\x01\x01\x60\x07": false,
		"AMQP\x00\x00\x09\x01": false, "\x00\x00\x00\x08\x04\xd2\x16\x2f": false, "<stream:stream": false,
		"\x10\x1eMQTT": false,
	} {
		got, err := httpAhead(bufio.NewReader(io.MultiReader(strings.NewReader(said), late{})))
		if got != want || err != nil {
			t.Errorf("%.40q: %v, %v, want %v", said, got, err, want)
		}
	}
	// What may still become a request is not let through because it is slow.
	for _, said := range []string{"", "GE", "\r\n", "get / HT", "PRI"} {
		if got, err := httpAhead(bufio.NewReader(io.MultiReader(strings.NewReader(said), late{}))); err == nil && !got {
			t.Errorf("%q, and then nothing for too long: it passes", said)
		}
	}
}

// late is a connection on which nothing comes until the deadline.
type late struct{}

func (late) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }
