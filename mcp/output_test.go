package mcp

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// initialize with params 5 was answered with the name of a Go type.
func TestWrongParams(t *testing.T) {
	in, requests := io.Pipe()
	answers, written := io.Pipe()
	s, ended := new(Server), make(chan error)
	go func() {
		ended <- s.new().Run(context.Background(), &mcp.IOTransport{Reader: in, Writer: output{written}})
	}()
	io.WriteString(requests, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":5}`+"\n")
	got, err := bufio.NewReader(answers).ReadString('\n')
	requests.Close()
	<-ended
	want := `{"error":{"code":-32602,"message":"handling 'initialize': the params do not have the protocol's form"},` +
		`"id":1,"jsonrpc":"2.0"}` + "\n"
	if got != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	var out bytes.Buffer
	result := `{"jsonrpc":"2.0","id":1,"result":{"text":"json: cannot unmarshal"}}` + "\n"
	if n, err := (output{&out}).Write([]byte(result)); n != len(result) || err != nil || out.String() != result {
		t.Errorf("a result: %s, %v", &out, err)
	}
}
