package ipc_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"sandboxd/ipc"
)

// send writes bytes to a socket and reads one answer, as no client of ours would.
func send(t testing.TB, socket, what string) (*http.Response, string, net.Conn) {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(10 * time.Second))
	io.WriteString(c, what)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		c.Close()
		return nil, err.Error(), nil
	}
	body, _ := io.ReadAll(resp.Body)
	return resp, string(body), c
}

// raw makes one request by hand.
func raw(t testing.TB, socket, method, path, body string) (int, string) {
	t.Helper()
	resp, answer, c := send(t, socket, request(method, path, body))
	if c == nil {
		return 0, answer
	}
	c.Close()
	return resp.StatusCode, answer
}

func request(method, path, body string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		method, path, len(body), body)
}

// codeIn is the code of an error's body.
func codeIn(body string) ipc.Code {
	var e struct{ Error ipc.Error }
	if json.Unmarshal([]byte(body), &e) != nil {
		return "no code in " + ipc.Code(body)
	}
	return e.Error.Code
}

// R-IP-05: malformed input is answered with an error, and changes nothing.
func TestMalformed(t *testing.T) {
	h, b, s := house(t, ipc.Limits{Body: 4096})
	before := b.Changes()
	exec := `{"session":"` + s.ID + `","command":"echo hi"`
	deep := strings.Repeat(`{"a":`, 80) + "1" + strings.Repeat("}", 80)
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		code                     ipc.Code
	}{
		{"nothing", "POST", "/v1/exec", "", 400, ipc.CodeBadRequest},
		{"not JSON", "POST", "/v1/exec", "hello", 400, ipc.CodeBadRequest},
		{"cut short", "POST", "/v1/exec", `{"session":"`, 400, ipc.CodeBadRequest},
		{"an array", "POST", "/v1/exec", `[]`, 400, ipc.CodeBadRequest},
		{"two objects", "POST", "/v1/exec", exec + `}{}`, 400, ipc.CodeBadRequest},
		{"a key twice", "POST", "/v1/exec", exec + `,"command":"rm -rf /"}`, 400, ipc.CodeBadRequest},
		{"a key twice inside", "POST", "/v1/exec", exec + `,"env":{"A":"1","A":"2"}}`, 400, ipc.CodeBadRequest},
		{"a key twice, escaped", "POST", "/v1/exec", exec + `,"\u0063ommand":"rm"}`, 400, ipc.CodeBadRequest},
		{"not UTF-8", "POST", "/v1/exec", exec + ",\"cwd\":\"\xff\"}", 400, ipc.CodeBadRequest},
		{"half a character", "POST", "/v1/exec", exec + `,"cwd":"\ud800"}`, 400, ipc.CodeBadRequest},
		{"a wrong type", "POST", "/v1/exec", `{"session":1}`, 400, ipc.CodeBadRequest},
		{"too deep", "POST", "/v1/exec", deep, 400, ipc.CodeBadRequest},
		{"too large", "POST", "/v1/exec", exec + strings.Repeat(" ", 5000) + "}", 413, ipc.CodeTooLarge},
		{"both command and argv", "POST", "/v1/exec", exec + `,"argv":["ls"]}`, 400, ipc.CodeBadRequest},
		{"neither", "POST", "/v1/exec", `{"session":"` + s.ID + `"}`, 400, ipc.CodeBadRequest},
		{"no session", "POST", "/v1/exec", `{"command":"ls"}`, 400, ipc.CodeBadRequest},
		{"a NUL", "POST", "/v1/exec", `{"session":"` + s.ID + `","command":"ls\u0000 -l"}`, 400, ipc.CodeBadRequest},
		{"a NUL in argv", "POST", "/v1/exec", `{"session":"` + s.ID + `","argv":["ls","\u0000"]}`, 400, ipc.CodeBadRequest},
		{"a NUL in env", "POST", "/v1/exec", exec + `,"env":{"A":"\u0000"}}`, 400, ipc.CodeBadRequest},
		{"an empty program", "POST", "/v1/exec", `{"session":"` + s.ID + `","argv":[""]}`, 400, ipc.CodeBadRequest},
		{"an empty program to judge", "POST", "/v1/check", `{"dry_run":true,"argv":[""]}`, 400, ipc.CodeBadRequest},
		{"a bad name in env", "POST", "/v1/exec", exec + `,"env":{"A=B":"1"}}`, 400, ipc.CodeBadRequest},
		{"an unknown stdin", "POST", "/v1/exec", exec + `,"stdin":"file"}`, 400, ipc.CodeBadRequest},
		{"stdin_data alone", "POST", "/v1/exec", exec + `,"stdin_data":"aGk="}`, 400, ipc.CodeBadRequest},
		{"a negative time", "POST", "/v1/exec", exec + `,"timeout_ms":-1}`, 400, ipc.CodeBadRequest},
		{"a huge terminal", "POST", "/v1/exec", exec + `,"cols":70000}`, 400, ipc.CodeBadRequest},
		{"no place in the batch", "POST", "/v1/exec", exec + `,"batch":{"id":"b","index":3,"total":3}}`, 400,
			ipc.CodeBadRequest},
		{"an empty terminal", "POST", "/v1/exec/x/resize", `{"cols":0,"rows":3}`, 400, ipc.CodeBadRequest},
		{"no signal", "POST", "/v1/exec/x/signal", `{}`, 400, ipc.CodeBadRequest},
		{"a parameter that is not UTF-8", "GET", "/v1/profile?session=" + s.ID + "&path=/a%FF", "", 400, ipc.CodeBadRequest},
		{"an id that is not UTF-8", "GET", "/v1/jobs/%FF", "", 400, ipc.CodeBadRequest},
		{"an id that is not UTF-8, with a body", "POST", "/v1/exec/%FF/signal", `{"signal":"INT"}`, 400, ipc.CodeBadRequest},
		{"not a number", "GET", "/v1/exec/x/events?from_seq=-1", "", 400, ipc.CodeBadRequest},
		{"a parameter twice", "GET", "/v1/exec/x/events?from_seq=1&from_seq=2", "", 400, ipc.CodeBadRequest},
		{"not a flag", "GET", "/v1/doctor?prove=maybe", "", 400, ipc.CodeBadRequest},
		{"an unknown kind", "POST", "/v1/sessions", `{"kind":"root"}`, 400, ipc.CodeBadRequest},
		{"an unknown operation", "POST", "/v1/files/format", `{}`, 404, ipc.CodeNoRoute},
		{"an unknown path", "GET", "/v1/nothing", "", 404, ipc.CodeNoRoute},
		{"an unknown method", "PUT", "/v1/exec", "{}", 405, ipc.CodeMethod},
		{"the server as a whole", "OPTIONS", "*", "", 404, ipc.CodeNoRoute},
		{"an id that climbs", "DELETE", "/v1/exec/..%2f..%2fsessions", "", 404, ipc.CodeNotFound},
		{"empty batch", "POST", "/v1/batch", `{"session":"s","calls":[]}`, 400, ipc.CodeBadRequest},
		{"a batch's call without a kind", "POST", "/v1/batch", `{"session":"s","calls":[{}]}`, 400, ipc.CodeBadRequest},
		{"two things to judge", "POST", "/v1/check", `{"dry_run":true,"command":"ls","argv":["ls"]}`, 400,
			ipc.CodeBadRequest},
		{"args that are not an object", "POST", "/v1/check", `{"dry_run":true,"tool":"x","args":[1]}`, 400,
			ipc.CodeBadRequest},
		{"a real check without a session", "POST", "/v1/check", `{"command":"ls"}`, 400, ipc.CodeBadRequest},
	} {
		status, body := raw(t, h.Agent.Socket, c.method, c.path, c.body)
		if status != c.status || codeIn(body) != c.code {
			t.Errorf("%s: %d %s, want %d %s", c.name, status, body, c.status, c.code)
		}
	}
	if b.Changes() != before {
		t.Errorf("%d changes came of rejected requests", b.Changes()-before)
	}
}

// A refusal of base64 names the field.
func TestBadBase64(t *testing.T) {
	h, _, s := house(t, ipc.Limits{})
	status, body := raw(t, h.Agent.Socket, "POST", "/v1/exec", `{"session":"`+s.ID+
		`","command":"cat","stdin":"inline","stdin_data":"?"}`)
	if status != 400 || !strings.Contains(body, `field \"stdin_data\": want base64`) {
		t.Errorf("%d %s", status, body)
	}
}

// The time for running commands to end is not negative: that was none.
func TestShutdownRefused(t *testing.T) {
	h, b, _ := house(t, ipc.Limits{})
	before := b.Changes()
	status, body := raw(t, h.Approver.Socket, "POST", "/v1/shutdown", `{"drain_ms":-5}`)
	if status != 400 || b.Changes() != before {
		t.Errorf("%d %s", status, body)
	}
}

// Outside of decisions, unknown fields are ignored: an older server serves a
// newer client.
func TestUnknownFieldsAreIgnored(t *testing.T) {
	h, _, _ := house(t, ipc.Limits{})
	status, body := raw(t, h.Agent.Socket, "POST", "/v1/check", `{"dry_run":true,"command":"ls","next_year":{"a":[1,2]}}`)
	if status != 200 || !strings.Contains(body, `"decision":"auto"`) {
		t.Errorf("%d %s", status, body)
	}
}

// A field's name in other letters is no unknown field: another reader of the same bytes on the way,
// to the letter, would see another command than the daemon.
func TestFieldsInOtherLetters(t *testing.T) {
	h, _, _ := house(t, ipc.Limits{})
	for path, body := range map[string]string{
		"/v1/check": `{"dry_run":true,"command":"ls","Command":"rm -rf x"}`,
		"/v1/exec":  `{"COMMAND":"rm -rf x"}`,
		"/v1/batch": `{"session":"s","calls":[{"exec":{"command":"ls","commanD":"rm -rf x"}}]}`,
	} {
		if status, answer := raw(t, h.Agent.Socket, "POST", path, body); status != 400 ||
			codeIn(answer) != ipc.CodeBadRequest || !strings.Contains(answer, "is spelled") {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
	status, answer := raw(t, h.Agent.Socket, "POST", "/v1/check",
		`{"dry_run":true,"command":"ls","env":{"path":"a","PATH":"b"}}`)
	if status != 200 {
		t.Errorf("variables that differ in case: %d %s", status, answer)
	}
}

// R-AP-14: nothing but an explicit yes approves, and an answer that is not
// understood whole decides nothing.
func TestDecisionIsStrict(t *testing.T) {
	h, b, s := house(t, ipc.Limits{})
	if _, err := h.Agent.StartExec(t.Context(), ipc.ExecRequest{Session: s.ID, Command: "ask me",
		Keep: true}); err != nil {
		t.Fatal(err)
	}
	var id string
	eventually(t, "the question is there", func() bool {
		l, err := h.Approver.Approvals(t.Context())
		if err != nil || len(l.Approvals) == 0 {
			return false
		}
		id = l.Approvals[0].ID
		return true
	})
	before := b.Changes()
	good := `"rev":1,"hash":"hash of ` + id + `","allow":true`
	for _, c := range []struct {
		name, body string
		status     int
		code       ipc.Code
	}{
		{"nothing", ``, 400, ipc.CodeBadRequest},
		{"an empty object", `{}`, 400, ipc.CodeBadRequest},
		{"no allow", `{"rev":1,"hash":"h"}`, 400, ipc.CodeBadRequest},
		{"no rev", `{"hash":"h","allow":true}`, 400, ipc.CodeBadRequest},
		{"no hash", `{"rev":1,"allow":true}`, 400, ipc.CodeBadRequest},
		{"an unknown field", `{` + good + `,"scop":"once"}`, 400, ipc.CodeUnknownField},
		{"another case", `{"rev":1,"hash":"h","ALLOW":true}`, 400, ipc.CodeUnknownField},
		{"another case besides", `{` + good + `,"Allow":false}`, 400, ipc.CodeUnknownField},
		{"the id in the body", `{` + good + `,"ID":"other"}`, 400, ipc.CodeUnknownField},
		{"allow twice", `{` + good + `,"allow":false}`, 400, ipc.CodeBadRequest},
		{"allow as text", `{"rev":1,"hash":"h","allow":"true"}`, 400, ipc.CodeBadRequest},
		{"allow as a number", `{"rev":1,"hash":"h","allow":1}`, 400, ipc.CodeBadRequest},
		{"an unknown scope", `{` + good + `,"scope":"forever"}`, 400, ipc.CodeBadRequest},
		{"an unknown mode", `{"rev":1,"hash":"h","allow":false,"mode":"mild"}`, 400, ipc.CodeBadRequest},
		{"a yes with a mode", `{` + good + `,"mode":"soft"}`, 400, ipc.CodeBadRequest},
		{"a negative time", `{` + good + `,"for_ms":-1}`, 400, ipc.CodeBadRequest},
		{"a wrong hash", `{"rev":1,"hash":"h","allow":true}`, 409, ipc.CodeStale},
		{"a wrong rev", `{"rev":2,"hash":"hash of ` + id + `","allow":true}`, 409, ipc.CodeStale},
	} {
		status, body := raw(t, h.Approver.Socket, "POST", "/v1/approvals/"+id+"/decision", c.body)
		if status != c.status || codeIn(body) != c.code {
			t.Errorf("%s: %d %s, want %d %s", c.name, status, body, c.status, c.code)
		}
	}
	if b.Changes() != before {
		t.Error("something was decided")
	}
	status, body := raw(t, h.Approver.Socket, "POST", "/v1/approvals/"+id+"/decision", "{"+good+"}")
	if status != 200 {
		t.Errorf("a good answer: %d %s", status, body)
	}
}

// allow null is a no that nobody gave: it is refused like its absence.
func TestNullIsNotAnAnswer(t *testing.T) {
	h, b, _ := house(t, ipc.Limits{})
	before := b.Changes()
	status, body := raw(t, h.Approver.Socket, "POST", "/v1/approvals/x/decision", `{"rev":1,"hash":"h","allow":null}`)
	if status != 400 || codeIn(body) != ipc.CodeBadRequest || b.Changes() != before {
		t.Errorf("%d %s", status, body)
	}
}

// After an error the connection can be used again.
func TestConnectionSurvivesErrors(t *testing.T) {
	h, _, _ := house(t, ipc.Limits{})
	c, err := net.Dial("unix", h.Agent.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	io.WriteString(c, request("POST", "/v1/exec", "{}")+request("GET", "/v1/nothing", "")+
		request("GET", "/v1/version", ""))
	answers := bufio.NewReader(c)
	for _, want := range []int{400, 404, 200} {
		resp, err := http.ReadResponse(answers, nil)
		if err != nil || resp.StatusCode != want {
			t.Fatalf("%+v, %v; want %d", resp, err, want)
		}
		io.Copy(io.Discard, resp.Body)
	}
}

// Every refusal of net/http itself is clean too.
func TestBrokenFrames(t *testing.T) {
	h, b, _ := house(t, ipc.Limits{Header: 4096})
	before := b.Changes()
	for name, what := range map[string]string{
		"garbage":        "\x00\x01\x02\x03\r\n\r\n",
		"HTTP/2 preface": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"no host":        "GET /v1/version HTTP/1.1\r\n\r\n",
		"two lengths":    "POST /v1/exec HTTP/1.1\r\nHost: s\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
		"length and chunks": "POST /v1/exec HTTP/1.1\r\nHost: s\r\nContent-Length: 2\r\nTransfer-Encoding: " +
			"chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"bad chunk":        "POST /v1/exec HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"huge header":      "GET /v1/version HTTP/1.1\r\nHost: s\r\nA: " + strings.Repeat("a", 20000) + "\r\n\r\n",
		"header injection": "GET /v1/version HTTP/1.1\r\nHost: s\r\nA b: c\r\n\r\n",
		"wrong media type": "POST /v1/exec HTTP/1.1\r\nHost: s\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}",
	} {
		resp, body, c := send(t, h.Agent.Socket, what)
		if c == nil {
			continue // closed without an answer
		}
		c.Close()
		if resp.StatusCode < 400 {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
	}
	if b.Changes() != before {
		t.Error("something was changed")
	}
	if _, err := h.Agent.Version(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
