package acceptance

import (
	"bufio"
	"context"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// serveLoad answers a line "send N" with N bytes, and echoes any other line.
func serveLoad(l net.Listener) {
	zeros := make([]byte, 256<<10)
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			r := bufio.NewReader(c)
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				number, ok := strings.CutPrefix(strings.TrimSpace(line), "send ")
				if !ok {
					io.WriteString(c, line)
					continue
				}
				n, _ := strconv.Atoi(number)
				for n > 0 {
					k, err := c.Write(zeros[:min(n, len(zeros))])
					if n -= k; err != nil {
						return
					}
				}
				return
			}
		}()
	}
}

// Issue "The network", 5: the proxy carries at least 60 % of the throughput of a plain
// local TCP relay in the same run, and holds 500 connections at once. R-OS-09
func TestNetworkLoad(t *testing.T) {
	t.Parallel()
	eachUserInWorld(t, func(t *testing.T, a *actor, w *world) {
		w.name("good.example", "203.0.113.5")
		go serveLoad(w.listen("203.0.113.5:7000"))
		a.sh("cp " + netclient(t) + " netclient")
		a.configured("[network]\nmode = \"allowlist\"\nallow = [\"good.example:7000\"]\nask = false\n", "--mode",
			"approve-all")
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		relay := a.command(ctx, filepath.Join(a.project, "netclient"), "relay", "127.0.0.1:7100", "203.0.113.5:7000")
		if err := relay.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { cancel(); relay.Wait() }()
		for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			if c, err := net.Dial("tcp", "127.0.0.1:7100"); err == nil {
				c.Close()
				break
			} else if time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
		number := func(r result) int {
			t.Helper()
			n, err := strconv.Atoi(strings.TrimSpace(r.out))
			if err != nil {
				t.Fatal(r)
			}
			return n
		}
		plain := func(verb, n string) int {
			return number(a.do(nil, filepath.Join(a.project, "netclient"), verb, "direct", "127.0.0.1:7100", n))
		}
		bridged := func(verb, n string) int {
			return number(a.sbx("run", "--", "./netclient", verb, "127.0.0.1:3128", "good.example:7000", n))
		}
		// The machine does other things meanwhile: the median of some rounds, in each
		// of which one follows the other.
		const bytes = "268435456"
		var shares []int
		share := 0
		for len(shares) < 3 || len(shares) < 9 && share < 60 {
			relayed, through := plain("load", bytes), bridged("load", bytes)
			t.Logf("a plain relay carries %d MB/s, the proxy %d MB/s", relayed/1e6, through/1e6)
			shares = append(shares, through*100/relayed)
			slices.Sort(shares)
			share = shares[len(shares)/2]
		}
		if share < 60 {
			t.Errorf("%d %% of a plain relay's throughput", share)
		}
		t.Logf("connecting and one answer: %d µs through a plain relay, %d µs through the proxy", plain("lag", "200"),
			bridged("lag", "200"))
		if r := a.sbx("run", "--", "./netclient", "many", "127.0.0.1:3128", "good.example:7000",
			"500"); strings.TrimSpace(r.out) != "held 500" {
			t.Error(r)
		}
	})
}
