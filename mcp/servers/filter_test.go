package servers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"sandboxd/mcp/servers"
)

// A filter passes all messages on but the refused calls, which it answers. A text that only some readers take for a
// call reaches no server.
func TestFilter(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no","arguments":{"x":1}}}`
	const refused = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"refused {\"x\":1}"}],` +
		`"isError":true}}`
	const passed = `{"id":1,"jsonrpc":"2.0","method":"tools/call","params":{"arguments":{"x":1},"name":"yes"}}`
	const last = `{"method":"ping","id":1,"method":"tools/call","params":{"name":"no"}}`
	for name, c := range map[string]struct{ in, server, client string }{
		"another message": {`{"method":"ping","id":1}`, `{"id":1,"method":"ping"}`, ""},
		"an allowed call": {strings.Replace(call, `"no"`, `"yes"`, 1), passed, ""},
		"a refused call":  {call, "", refused},
		"a notification":  {strings.Replace(call, `"id":1,`, "", 1), "", ""},
		"no parameters":   {`{"id":1,"method":"tools/call","params":[]}`, "", `it has no parameters`},
		"no name":         {`{"id":1,"method":"tools/call","params":{}}`, "", `refused`},
		"a batch":         {`[{"method":"ping"},` + call + `]`, `{"method":"ping"}`, "refused"},
		"the last counts": {last, "", "refused"},
		"another case":    {`{"id":1,"Method":"tools/call"}`, `{"Method":"tools/call","id":1}`, ""},
		"no JSON":         {`{"method":"tools/call","x":NaN}`, "", "this is not JSON"},
		"two on a line":   {`{"method":"ping"} ` + call, "", "this is not JSON"},
		"carriage returns": {
			"{\"method\":\"x\",\"params\":\r" + call + "\r}", `{"method":"x","params":` + call + `}`, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var server, client bytes.Buffer
			judge := func(_ context.Context, tool string, arguments json.RawMessage) string {
				if tool == "yes" {
					return ""
				}
				return "refused " + string(arguments)
			}
			f := servers.Filter{Client: &client, Judge: judge}
			if err := f.Calls(t.Context(), &server, strings.NewReader(c.in+"\n")); err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSpace(server.String()); got != c.server {
				t.Errorf("the server got %q, want %q", got, c.server)
			}
			if got := client.String(); !strings.Contains(got, c.client) || (got == "") != (c.client == "") {
				t.Errorf("the client got %q, want %q", got, c.client)
			}
		})
	}
}

// A call that the client cancels before its judgement never runs, and has no answer. Calls beyond the most that may
// wait are answered meanwhile.
func TestFilterWaits(t *testing.T) {
	t.Parallel()
	begun, lines := make(chan struct{}), make(chan string)
	judge := func(ctx context.Context, tool string, _ json.RawMessage) string {
		if tool == "slow" {
			close(begun)
			<-ctx.Done()
		}
		return ""
	}
	call := func(id int, tool string) string {
		return fmt.Sprintf(`{"id":%d,"method":"tools/call","params":{"name":%q}}`+"\n", id, tool)
	}
	var server bytes.Buffer
	f := servers.Filter{Client: lineWriter(lines), Judge: judge}
	client, messages := io.Pipe()
	done := make(chan error)
	go func() { done <- f.Calls(t.Context(), &server, client) }()
	io.WriteString(messages, call(0, "slow"))
	<-begun
	for id := range 1000 {
		io.WriteString(messages, call(id+1, "yes"))
	}
	if got := <-lines; !strings.Contains(got, `"id":1000,`) || !strings.Contains(got, "1000 calls") {
		t.Errorf("the call beyond the most was answered %s", got)
	}
	const cancel = `{"method":"notifications/cancelled","params":{"requestId":%d}}` + "\n"
	fmt.Fprintf(messages, cancel, 7)
	fmt.Fprintf(messages, cancel, 0)
	fmt.Fprintf(messages, cancel, 5000)
	messages.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	got := server.String()
	ran, other := strings.Count(got, "tools/call"), strings.Count(got, "cancelled")
	if ran != 998 || other != 1 || strings.Contains(got, `"id":7,`) || strings.Contains(got, "slow") {
		t.Errorf("the server got %d calls and %d cancellations, want 998 without the cancelled ones, and 1", ran, other)
	}
}

// lineWriter sends what is written.
type lineWriter chan string

func (w lineWriter) Write(p []byte) (int, error) {
	w <- string(p)
	return len(p), nil
}
