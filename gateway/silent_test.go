package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
)

// once is a listener for one connection.
type once chan net.Conn

func (l once) Accept() (net.Conn, error) {
	c, ok := <-l
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (l once) Close() error   { return nil }
func (l once) Addr() net.Addr { return &net.TCPAddr{} }

// A chat front end that is gone without a word, or answers no ping, is not waited for
// without an end: questions that come meanwhile would reach nobody. R-IP-05
func TestSilentFrontEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		l := make(once, 1)
		l <- server
		close(l)
		end := make(chan error, 1)
		h := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ws, err := websocket.Accept(w, r, nil)
			if err != nil {
				end <- err
				return
			}
			defer ws.CloseNow()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := &chatSocket{ws: ws, ctx: ctx, open: map[string]bool{}}
			go s.read()
			end <- s.ping()
		})}
		go h.Serve(l)
		go func() {
			fmt.Fprint(client, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: "+
				"websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
			io.Copy(io.Discard, bufio.NewReader(client)) // takes everything, says nothing
		}()
		select {
		case err := <-end:
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		case <-time.After(time.Hour):
			t.Error("it is waited for")
		}
		client.Close()
		h.Close()
		synctest.Wait()
	})
}
