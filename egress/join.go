package egress

import (
	"context"
	"io"
	"net"
	"sync"
)

// Join carries bytes between two connections until both directions are done or
// ctx ends, and closes both.
func Join(ctx context.Context, a, b net.Conn) {
	defer a.Close()
	defer b.Close()
	stop := context.AfterFunc(ctx, func() { a.Close(); b.Close() })
	defer stop()
	var both sync.WaitGroup
	carry := func(to, from net.Conn) {
		if _, err := io.Copy(to, from); err != nil {
			a.Close()
			b.Close()
			return
		}
		if c, ok := to.(interface{ CloseWrite() error }); ok {
			c.CloseWrite()
		}
	}
	both.Go(func() { carry(a, b) })
	both.Go(func() { carry(b, a) })
	both.Wait()
}
