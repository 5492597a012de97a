package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"sandboxd/profile"
)

// Sockets of the command's own localhost are served and reached from outside,
// without any part in the sandbox; to the host's localhost none of it leads.
// R-OS-09
func TestSockets(t *testing.T) {
	outside, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer outside.Close()
	spec := systemSpec("", profile.Limits{})
	spec.Network = profile.Network{Mode: profile.NetLoopback, ListenAny: true}
	p, err := profile.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	port := strings.TrimPrefix(outside.Addr().String(), "127.0.0.1:")
	script := `import socket
s = socket.create_connection(("127.0.0.1", 3128)); s.sendall(b"from inside\n"); print(s.makefile().readline().strip())
print("host:", socket.socket().connect_ex(("127.0.0.1", ` + port + `)) != 0)
l = socket.create_server(("127.0.0.1", 8080)); print("listening", flush=True)
n = 0
while n < 50:
    c, _ = l.accept(); f = c.makefile("rw"); assert f.readline() == "from outside\n"; f.write("heard\n"); f.flush(); f.close(); c.close(); n += 1
print(n)`
	plan, err := testHost.Plan(Request{Profile: p, Listen: []uint16{3128}, Dialers: 2,
		Command: Command{Argv: []string{"/usr/bin/python3", "-c", script}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}}})
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	proc, err := testHost.Start(context.Background(), plan, Stdio{In: null, Out: w, Err: w}, nil)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	sockets := proc.Sockets()
	defer sockets.Close()
	defer proc.End(EndCancelled, 0)
	go func() {
		c, err := sockets.Listeners[0].Accept()
		if err != nil {
			t.Error(err)
			return
		}
		line, _ := bufio.NewReader(c).ReadString('\n')
		io.WriteString(c, "heard "+line)
		c.Close()
	}()
	var out bytes.Buffer
	lines := bufio.NewReader(io.TeeReader(r, &out))
	time.AfterFunc(30*time.Second, func() { proc.End(EndCancelled, 0) })
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("it ended:\n%s", out.String())
		}
		if line == "listening\n" {
			break
		}
	}
	if _, err := sockets.Call(context.Background(), 9); err == nil {
		t.Error("a port on which nothing listens took a connection")
	}
	for range 50 { // with two sockets
		c, err := sockets.Call(context.Background(), 8080)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, "from outside\n")
		if b, err := io.ReadAll(c); string(b) != "heard\n" {
			t.Fatalf("%q %v", b, err)
		}
		c.Close()
	}
	io.Copy(io.Discard, lines)
	if exit := proc.Wait(); exit.Code != 0 || out.String() != "heard from inside\nhost: True\nlistening\n50\n" {
		t.Errorf("exit %d:\n%s", exit.Code, out.String())
	}
}
