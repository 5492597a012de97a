package ipc

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"testing"
	"unicode/utf8"
)

// seeds are bodies of every kind.
var seeds = []string{
	``, `{}`, `[]`, `null`, `{"session":"s","command":"echo hi"}`, `{"session":"s","argv":["a","b"],"env":{"A":"B"}}`,
	`{"rev":1,"hash":"h","allow":true}`, `{"rev":1,"hash":"h","allow":false,"mode":"soft","note":"n"}`,
	`{"rev":1,"hash":"h","allow":null}`, `{"rev":1,"hash":"h","ALLOW":true}`, `{"rev":1,"rev":2}`,
	`{"a":"\ud83d\ude00"}`, `{"a":"\ud800"}`, `{"a":"\ud800\u0041"}`, `{"a":"\\ud800"}`, `{"\u0061":1,"a":2}`,
	"{\"a\":\"\xff\"}", `{"a":[{"b":[[]]}]}`, `{} {}`, `{"session":"s","calls":[{"exec":{"command":"x"}}]}`,
	`{"path":"p","edits":[{"find":"a","replace":"b"}]}`,
}

// FuzzDecode: what is accepted has one meaning, survives being written again,
// and, where it is an answer, was said in full.
func FuzzDecode(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if e, err := decode[ExecRequest](body); err == nil {
			if (e.Command == "") == (len(e.Argv) == 0) || e.Session == "" {
				t.Fatalf("accepted %+v", e)
			}
			again, err := decode[ExecRequest](encode(e))
			if err != nil || !reflect.DeepEqual(normal(e), normal(again)) {
				t.Fatalf("%+v became %+v, %v", e, again, err)
			}
		}
		if a, err := decode[Answer](body); err == nil {
			var said map[string]json.RawMessage
			if json.Unmarshal(body, &said) != nil || string(said["allow"]) != map[bool]string{true: "true",
				false: "false"}[a.Allow] || said["rev"] == nil || said["hash"] == nil {
				t.Fatalf("accepted %q as %+v", body, a)
			}
		}
		decode[BatchRequest](body)
		decode[FileRequest](body)
		decode[CheckRequest](body)
		decode[TurnRequest](body)
		if members, err := scanObject(body, nil); err == nil {
			var said map[string]json.RawMessage
			if !utf8.Valid(body) || json.Unmarshal(body, &said) != nil || len(said) != len(members) {
				t.Fatalf("scanned %q as %v", body, members)
			}
		}
	})
}

// normal is e without the differences between empty and absent.
func normal(e ExecRequest) string {
	b, _ := json.Marshal(e)
	return string(b)
}

// FuzzQuickEvent: what the quick way reads, the slow way reads the same.
func FuzzQuickEvent(f *testing.F) {
	f.Add([]byte(`{"seq":7,"time":"2026-01-02T03:04:05.6Z","type":"stdout","data":"aGk="}`))
	f.Add([]byte(`{"seq":7,"time":"2026-01-02T03:04:05+01:00","type":"pty","data":""}`))
	f.Add([]byte(`{"seq":7,"time":"2026-01-02T03:04:05Z","type":"stderr","data":"aGk=","data":"eA=="}`))
	f.Add([]byte(`{"seq":7,"time":"2026-01-02T03:04:05Z","type":"stderr","data":"aGk\u003d"}`))
	f.Add(encode(Event{Seq: 1, Type: EventStdout, Data: []byte("x")}))
	f.Fuzz(func(t *testing.T, line []byte) {
		quick, ok := quickEvent(line)
		if !ok {
			return
		}
		var slow Event
		if err := json.Unmarshal(line, &slow); err != nil || slow.Seq != quick.Seq || slow.Type != quick.Type ||
			!bytes.Equal(slow.Data, quick.Data) || !slow.Time.Equal(quick.Time) {
			t.Fatalf("%q: %+v and %+v, %v", line, quick, slow, err)
		}
	})
}

// FuzzLines: the client's readers neither panic nor loop on what a server may
// send them.
func FuzzLines(f *testing.F) {
	for _, s := range []string{
		"{\"seq\":1,\"type\":\"exit\"}\n", "{\"seq\":1}\n{\"seq\":2", "{\"error\":{\"code\":\"internal\"}}\n", "\n\n",
		"null\n", "id: 1\nevent: granted\ndata: {\"seq\":1}\n\n", ":\n\ndata: x\n\n", "event: error\ndata: {}\n\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		closer := io.NopCloser(nil)
		e := &eventReader{lines: newLines(bytes.NewReader(b)), body: closer, cancel: func() {}}
		for range len(b) + 2 {
			if _, err := e.Next(t.Context()); err != nil {
				break
			}
		}
		n := &newsReader{lines: newLines(bytes.NewReader(b)), body: closer, cancel: func() {}}
		for range len(b) + 2 {
			if _, err := n.Next(t.Context()); err != nil {
				break
			}
		}
	})
}

// FuzzCall: a call that is taken means one HTTP request, whose body is what the
// params held besides.
func FuzzCall(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"exec.start","params":` + s + `}`))
	}
	f.Add([]byte(`{"jsonrpc":"2.0","id":"a","method":"exec.stdin","params":{"id":"x","data":"aGk=","eof":true}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":-1.5e3,"method":"audit","params":{"limit":3,"last":true,"tool":null,"since":"x"}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","method":"rpc.cancel","params":{"call":1}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":2,"method":"file","params":{"op":"read","secret":"s"}}`))
	f.Fuzz(func(t *testing.T, message []byte) {
		c, number, bad := readCall(message)
		if (bad == nil) != (number == 0) {
			t.Fatalf("%q: %d %v", message, number, bad)
		}
		if bad != nil {
			return
		}
		for _, r := range Routes() {
			if r.Name != c.Method || r.out == nil {
				continue
			}
			req, _, bad := r.request(t.Context(), c.Params)
			if bad != nil {
				return
			}
			body, err := io.ReadAll(req.Body)
			if err != nil || int64(len(body)) != req.ContentLength && req.ContentLength != 0 {
				t.Fatalf("%q: %v", message, err)
			}
			if r.in != nil {
				if _, err := scanObject(body, nil); err != nil {
					t.Fatalf("%q became %q: %v", message, body, err)
				}
			}
		}
	})
}
