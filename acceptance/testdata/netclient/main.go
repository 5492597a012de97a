// Command netclient is what the network tests run inside and beside sandboxes.
//
//	netclient URL                    fetch it the way any Go program does
//	netclient relay LISTEN TARGET    be a plain TCP relay
//	netclient load VIA TARGET BYTES  receive so much, and print bytes a second
//	netclient lag VIA TARGET N       print the median of connecting and one answer, in microseconds
//	netclient many VIA TARGET N      hold N connections at once, and use all of them
//
// VIA is "direct", or an HTTP proxy's address.
package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1:
		return fetch(args[0])
	case len(args) == 3 && args[0] == "relay":
		return relay(args[1], args[2])
	case len(args) == 4:
		n, err := strconv.Atoi(args[3])
		if err != nil {
			return err
		}
		return map[string]func(via, target string, n int) error{"load": load, "lag": lag, "many": many}[args[0]](args[1], args[2], n)
	}
	return fmt.Errorf("usage: see the source")
}

func fetch(url string) error {
	res, err := http.Get(url)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	io.Copy(os.Stdout, res.Body)
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", res.Status)
	}
	return nil
}

func relay(listen, target string) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	for {
		in, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer in.Close()
			out, err := net.Dial("tcp", target)
			if err != nil {
				return
			}
			defer out.Close()
			go func() { io.Copy(out, in); out.(*net.TCPConn).CloseWrite() }()
			io.Copy(in, out)
		}()
	}
}

// dial connects to target, through a proxy unless via is "direct".
func dial(via, target string) (net.Conn, *bufio.Reader, error) {
	to := via
	if via == "direct" {
		to = target
	}
	conn, err := net.DialTimeout("tcp", to, 30*time.Second)
	if err != nil {
		return nil, nil, err
	}
	r := bufio.NewReader(conn)
	if via == "direct" {
		return conn, r, nil
	}
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target)
	line, err := r.ReadString('\n')
	if err != nil || !strings.Contains(line, " 200 ") {
		return nil, nil, fmt.Errorf("%q %v", line, err)
	}
	_, err = r.ReadString('\n')
	return conn, r, err
}

func load(via, target string, n int) error {
	conn, r, err := dial(via, target)
	if err != nil {
		return err
	}
	defer conn.Close()
	start := time.Now()
	fmt.Fprintf(conn, "send %d\n", n)
	buf := make([]byte, 256<<10)
	got := 0
	for {
		k, err := r.Read(buf)
		if got += k; err == io.EOF {
			break
		} else if err != nil {
			return err
		}
	}
	if got != n {
		return fmt.Errorf("%d of %d bytes", got, n)
	}
	fmt.Println(int(float64(n) / time.Since(start).Seconds()))
	return nil
}

func echo(conn net.Conn, r *bufio.Reader) error {
	fmt.Fprintln(conn, "hello")
	if s, err := r.ReadString('\n'); s != "hello\n" {
		return fmt.Errorf("%q %v", s, err)
	}
	return nil
}

func lag(via, target string, n int) error {
	var took []int
	for range n {
		start := time.Now()
		conn, r, err := dial(via, target)
		if err == nil {
			err = echo(conn, r)
		}
		if err != nil {
			return err
		}
		took = append(took, int(time.Since(start).Microseconds()))
		conn.Close()
	}
	slices.Sort(took)
	fmt.Println(took[n/2])
	return nil
}

func many(via, target string, n int) error {
	var all sync.WaitGroup
	open := make(chan struct{})
	var ready sync.WaitGroup
	errs := make(chan error, 2*n)
	ready.Add(n)
	for range n {
		all.Go(func() {
			conn, r, err := dial(via, target)
			if err == nil {
				err = echo(conn, r)
			}
			ready.Done()
			if err != nil {
				errs <- err
				return
			}
			defer conn.Close()
			<-open // every other one is there, too
			if err := echo(conn, r); err != nil {
				errs <- err
			}
		})
	}
	ready.Wait()
	close(open)
	all.Wait()
	close(errs)
	failed := 0
	var last error
	for err := range errs {
		failed, last = failed+1, err
	}
	if last != nil {
		return fmt.Errorf("%d of %d failed, the last with %w", failed, n, last)
	}
	fmt.Println("held", n)
	return nil
}
