package acceptance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"sandboxd/ipc"
)

// visitor is a program at the gateway's TCP port.
type visitor struct {
	a       *actor
	address string // http://127.0.0.1:PORT
	token   string
}

// visit turns the gateway on and gives a front end's token to a visitor.
func (a *actor) visit(config string, args ...string) *visitor {
	a.t.Helper()
	a.withGateway(config)
	v := &visitor{a: a, address: a.gatewayAddress()}
	if len(args) > 0 {
		r := a.sbx(append([]string{"web", "add"}, args...)...)
		if v.token = strings.TrimSpace(r.out); r.code != 0 || v.token == "" {
			a.t.Fatal(r)
		}
	}
	return v
}

// invitation is a new one-time address: the gateway's, and the secret.
func (a *actor) invitation() (address, secret string) {
	a.t.Helper()
	r := a.sbx("web", "--no-open")
	address, secret, ok := strings.Cut(strings.TrimSpace(r.out), "/#")
	if r.code != 0 || !ok {
		a.t.Fatal(r)
	}
	return address, secret
}

func (a *actor) gatewayAddress() string {
	address, _ := a.invitation()
	return address
}

// request sends one request; change may spoil it.
func (v *visitor) request(method, path string, body any, change func(*http.Request)) (int, string, http.Header) {
	v.a.t.Helper()
	var b io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			v.a.t.Fatal(err)
		}
		b = bytes.NewReader(raw)
	}
	r, err := http.NewRequest(method, v.address+path, b)
	if err != nil {
		v.a.t.Fatal(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if v.token != "" {
		r.Header.Set("Authorization", "Bearer "+v.token)
	}
	if change != nil {
		change(r)
	}
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		v.a.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		v.a.t.Fatal(err)
	}
	return res.StatusCode, string(text), res.Header
}

// ask has the actor run a command that asks, and waits for the question.
func (a *actor) ask(command string) (id string, ended <-chan result) {
	a.t.Helper()
	done := make(chan result, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), slow*20*time.Minute)
		defer cancel()
		cmd := a.command(ctx, filepath.Join(bin, "sbx"), "run", "-c", command)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		code := -1
		if cmd.ProcessState != nil {
			code = cmd.ProcessState.ExitCode()
		}
		done <- result{out.String(), fmt.Sprint(errs.String(), err), code}
	}()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		var list ipc.ApprovalList
		if json.Unmarshal([]byte(a.sbx("pending", "--json").out), &list) != nil {
			continue
		}
		for _, q := range list.Approvals {
			if q.Command == command {
				return q.ID, done
			}
		}
	}
	a.t.Fatalf("%q does not ask", command)
	return "", nil
}

// The gateway refuses every request without valid credentials, name and origin: it reveals
// nothing and decides nothing. R-UX-03 R-IP-01
//
//   - Row 002-23 yes: an app without its token is refused
func TestGatewayRefuses(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	v := a.visit("", "chat")
	a.sbx("trust")
	id, ended := a.ask("echo never > never.txt")
	q := a.approvalOf(id)
	decide := map[string]any{"rev": q.Rev, "hash": q.Hash, "allow": true}
	permit := map[string]any{"permission_id": id, "behavior": "allow"}

	for _, c := range []struct {
		name   string
		change func(*http.Request)
	}{
		{"no secret", func(r *http.Request) { r.Header.Del("Authorization") }},
		{"a wrong token", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+strings.Repeat("A", 43)) }},
		{"a part of the token", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+v.token[:42]) }},
		{"the token as a cookie", func(r *http.Request) { asCookie(r, v.token) }},
		{"another name (DNS rebinding)", func(r *http.Request) { r.Host = "rebound.example:80" }},
		{"another name with our port", func(r *http.Request) { r.Host = "rebound.example:" + r.URL.Port() }},
		{"no name", func(r *http.Request) { r.Host = "127.0.0.1" }},
		{"the origin of another site", func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }},
		{"a page without an origin", func(r *http.Request) { r.Header.Set("Origin", "null") }},
		{"the origin of another port", func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }},
		{"two origins", func(r *http.Request) { r.Header["Origin"] = []string{"http://" + r.URL.Host, "https://evil.example"} }},
		{"another site, without an origin", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }},
		{"another port, without an origin", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }},
	} {
		for _, to := range []struct {
			path string
			body any
		}{{"/v1/approvals/" + id + "/decision", decide}, {"/v1/agent/tool_permission", permit}, {"/ticket", map[string]any{}}} {
			status, text, _ := v.request("POST", to.path, to.body, c.change)
			if status < 400 || strings.Contains(text, q.Hash) {
				t.Errorf("%s: POST %s: %d %s", c.name, to.path, status, text)
			}
		}
		for _, path := range []string{"/v1/approvals", "/v1/agent/stream", "/v1/ws", "/v1/agent/approvals", "/v1/audit"} {
			status, text, h := v.request("GET", path, nil, c.change)
			if status < 400 || strings.Contains(text, "never.txt") || h.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s: GET %s: %d %s %v", c.name, path, status, text, h)
			}
		}
	}

	// Forms and simple requests, as a page of any site can send them.
	for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json; charset=utf-8\r\n", ""} {
		status, _, _ := v.request("POST", "/v1/agent/tool_permission", permit, func(r *http.Request) {
			r.Header.Set("Content-Type", strings.TrimSpace(media))
			r.Header.Set("Sec-Fetch-Site", "cross-site")
		})
		if status < 400 {
			t.Errorf("Content-Type %q from another site: %d", media, status)
		}
	}

	// What is not for front ends, whatever their role.
	for path, body := range map[string]any{"/v1/shutdown": map[string]any{}, "/v1/reload": nil, "/v1/trust": map[string]any{"dir": a.project},
		"/v1/mode": map[string]any{"mode": "approve_all"}, "/v1/web/invitations": map[string]any{}, "/v1/web/front_ends": map[string]any{"name": "more"},
		"/v1/exec": map[string]any{"command": "true"}, "/v1/sessions": map[string]any{}} {
		if status, text, _ := v.request("POST", path, body, nil); status < 400 {
			t.Errorf("a front end: POST %s: %d %s", path, status, text)
		}
	}

	// A watcher looks on.
	watcher := *v
	watcher.token = strings.TrimSpace(a.sbx("web", "add", "wall", "--role", "watcher").out)
	if status, text, _ := watcher.request("GET", "/v1/approvals", nil, nil); status != 200 || !strings.Contains(text, "never.txt") {
		t.Errorf("a watcher sees: %d %s", status, text)
	}
	if status, _, _ := watcher.request("POST", "/v1/approvals/"+id+"/decision", decide, nil); status != http.StatusForbidden {
		t.Errorf("a watcher answers: %d", status)
	}

	// The clicks of another page: no frame holds ours.
	_, _, h := v.request("GET", "/", nil, nil)
	for _, want := range []string{"frame-ancestors 'none'", "script-src 'self'", "require-trusted-types-for 'script'"} {
		if !strings.Contains(h.Get("Content-Security-Policy"), want) {
			t.Errorf("the policy lacks %s: %s", want, h.Get("Content-Security-Policy"))
		}
	}
	if h.Get("X-Frame-Options") != "DENY" || h.Get("Referrer-Policy") != "no-referrer" {
		t.Error(h)
	}

	// Another user of this machine, with the right token.
	if os.Geteuid() == 0 { // only root becomes somebody else; CI runs this as root
		r := newActor(t, ordinaryUser(t)).do(nil, "/usr/bin/curl", "-s", "-H", "Authorization: Bearer "+v.token, v.address+"/v1/approvals")
		if strings.Contains(r.out, "never.txt") || !strings.Contains(r.out, "another user") {
			t.Errorf("another user: %v", r)
		}
	}

	// What runs in a sandbox has no way there, after a yes either.
	inside, reached := a.ask("bash -c 'exec 3<>/dev/tcp/127.0.0.1/" + portOf(t, v.address) + "'")
	a.sbx("approve", inside, "--allow", "--confirm")
	if r := <-reached; r.code != 1 || !strings.Contains(r.err, "/dev/tcp/127.0.0.1/") {
		t.Errorf("a sandboxed command at the gateway's port: %v", r)
	}
	a.sbx("approve", id, "--deny")
	if r := <-ended; r.code != 126 {
		t.Error(r)
	}
	if _, err := os.Stat(filepath.Join(a.project, "never.txt")); err == nil {
		t.Error("it ran")
	}
	time.Sleep(3 * time.Second) // the wrong tokens above are forgotten; this one is out of force at once
	a.sbx("web", "rm", "chat")
	if status, _, _ := v.request("GET", "/v1/approvals", nil, nil); status != http.StatusUnauthorized {
		t.Errorf("a token that was taken out: %d", status)
	}
}

func portOf(t *testing.T, address string) string {
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Port()
}

// approvalOf is one question, whole.
func (a *actor) approvalOf(id string) ipc.Approval {
	a.t.Helper()
	var q ipc.Approval
	if err := json.Unmarshal([]byte(a.sbx("pending", id, "--json").out), &q); err != nil {
		a.t.Fatal(err)
	}
	return q
}

// An invitation lets one browser in, once; and the cookie alone is nothing.
func TestGatewayInvitation(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	v := a.visit("")
	address, secret := a.invitation()
	own := func(r *http.Request) { r.Header.Set("Origin", address) }
	enter := func(s string, change func(*http.Request)) (int, string, http.Header) {
		return v.request("POST", "/enter", map[string]string{"invitation": s}, change)
	}
	if status, _, _ := enter(secret, nil); status < 400 {
		t.Error("without an origin: ", status)
	}
	status, text, h := enter(secret, own)
	cookie := h.Get("Set-Cookie")
	if status != 200 || !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") {
		t.Fatal(status, text, cookie)
	}
	if status, _, h := enter(secret, own); status != http.StatusUnauthorized || h.Get("Set-Cookie") != "" {
		t.Error("used again: ", status)
	}
	var key struct{ Key string }
	if err := json.Unmarshal([]byte(text), &key); err != nil || key.Key == "" {
		t.Fatal(text)
	}
	cookie, _, _ = strings.Cut(cookie, ";")
	for name, c := range map[string]struct {
		cookie, key string
		want        int
	}{"both": {cookie, key.Key, 200}, "the cookie alone": {cookie, "", 401}, "the key alone": {"", key.Key, 401}, "the cookie as key": {cookie, strings.TrimPrefix(cookie, "sandboxd="), 401}} {
		status, text, _ := v.request("GET", "/v1/approvals", nil, func(r *http.Request) {
			r.Header.Set("Cookie", c.cookie)
			r.Header.Set("Authorization", "Bearer "+c.key)
		})
		if status != c.want {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	// A process that asks can't answer, not even with all secrets: the page
	// was opened from its own tree.
	inside := a.do(nil, "/bin/bash", "-c", fmt.Sprintf(`
		%[1]s run -c 'echo self > self.txt' 2>/dev/null &
		url=$(%[1]s web --no-open 2>/dev/null); base=${url%%%%/#*}
		for i in $(seq 300); do id=$(%[1]s pending --json | jq -r '.approvals[0].id // empty'); [ -n "$id" ] && break; sleep 0.1; done
		q=$(%[1]s pending "$id" --json)
		out=$(curl -si -H "Origin: $base" -H 'Content-Type: application/json' -d "{\"invitation\":\"${url#*#}\"}" "$base/enter")
		cookie=$(sed -n 's/^Set-Cookie: \([^;]*\).*/\1/p' <<<"$out"); key=$(sed -n 's/.*"key":"\([^"]*\)".*/\1/p' <<<"$out")
		curl -s -H "Origin: $base" -H "Cookie: $cookie" -H "Authorization: Bearer $key" -H 'Content-Type: application/json' -d "$(jq -c '{rev, hash, allow: true}' <<<"$q")" "$base/v1/approvals/$id/decision"
		echo; %[1]s stop --now 2>/dev/null; wait`, filepath.Join(bin, "sbx")))
	if !strings.Contains(inside.out, "self_approval") {
		t.Errorf("self approval: %v", inside)
	}
	if _, err := os.Stat(filepath.Join(a.project, "self.txt")); err == nil {
		t.Error("it ran")
	}
}

// The chat specification's scenarios, message by message. R-UX-04 R-IP-04
// R-AP-08 R-AP-15
//
//   - Row 002-03 yes: blocked_path
//   - Row 002-04 yes: conversation_id binds the answer
//   - Row 002-05 yes: POST /v1/agent/tool_permission is answered with {"ok": true}
//   - Row 002-08 yes: cwd in the answer
//   - Row 002-22 yes: an answer needs nothing but HTTP, so that an app can answer from a store of its own
//   - Row 002-25 yes: the stream stays open after each decision
//   - Row 002-29 different: only chats are concerned | all approvers see one queue (R-IP-01)
//   - Row 002-30 yes: the program that asked gets a permission error
func TestChatFrontEnd(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	v := a.visit("[approval]\ntimeout = \"25s\"\ntimeout_remote = \"25s\"\n", "chat")
	a.sbx("trust")
	events := v.stream("/v1/agent/stream")
	answer := func(more map[string]any) (int, string) {
		status, text, _ := v.request("POST", "/v1/agent/tool_permission", more, nil)
		return status, text
	}

	// Trigger a tool permission and approve once: the stream continues.
	_, ended := a.ask("echo once > once.txt")
	e := events("tool_permission")
	if e["tool_name"] != "bash" || e["input"].(map[string]any)["command"] != "echo once > once.txt" || e["permission_suggestions"] == nil {
		t.Errorf("event: %v", e)
	}
	if e["blocked_path"] != filepath.Join(a.project, "once.txt") || !strings.HasSuffix(fmt.Sprint(e["text"]), "10m)") {
		t.Errorf("the event's blocked_path or text: %v", e)
	}
	id := e["permission_id"]
	for name, bad := range map[string]map[string]any{
		"no behavior":          {"permission_id": id},
		"an unknown one":       {"permission_id": id, "behavior": "maybe"},
		"another conversation": {"permission_id": id, "behavior": "allow", "conversation_id": "elsewhere"},
		"another cwd":          {"permission_id": id, "behavior": "allow", "cwd": "/"},
		"another permission":   {"permission_id": "none", "behavior": "allow"},
		"an unknown key":       {"permission_id": id, "behavior": "allow", "approve": true},
	} {
		if status, text := answer(bad); status < 400 {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	// What reads as a no and as a yes is neither.
	for _, bad := range []string{`"behavior": "deny", "behavior": "allow"`, `"behavior": "deny", "Behavior": "allow"`, `"Behavior": "allow"`} {
		if status, text, _ := v.request("POST", "/v1/agent/tool_permission", json.RawMessage(fmt.Sprintf(`{"permission_id": %q, %s}`, id, bad)), nil); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", bad, status, text)
		}
	}
	if a.approvalOf(fmt.Sprint(id)).ID != id {
		t.Error("a bad answer decided")
	}
	good := map[string]any{"conversation_id": e["conversation_id"], "cwd": a.project, "permission_id": id, "behavior": "allow"}
	if status, text := answer(good); status != 200 || strings.TrimSpace(text) != `{"ok":true}` {
		t.Errorf("allow: %d %s", status, text)
	}
	if r := <-ended; r.code != 0 {
		t.Error(r)
	}
	if e := events("tool_permission_resolved"); e["behavior"] != "allow" || e["permission_id"] != id {
		t.Error(e)
	}
	// The same answer again gets the same receipt.
	if status, text := answer(good); status != 200 {
		t.Errorf("again: %d %s", status, text)
	}

	// Deny once: the run ends with a permission error that contains the reason.
	_, ended = a.ask("echo no > no.txt")
	e = events("tool_permission")
	if status, text := answer(map[string]any{"permission_id": e["permission_id"], "behavior": "deny", "message": "Permission denied by user."}); status != 200 {
		t.Errorf("deny: %d %s", status, text)
	}
	if r := <-ended; r.code != 126 || !strings.Contains(r.err, "Permission denied by user.") {
		t.Error(r)
	}
	events("tool_permission_resolved")

	// Deny & remember, for all agents: the next one is refused unasked.
	_, ended = a.ask("echo forever > forever.txt")
	e = events("tool_permission")
	if status, text := answer(map[string]any{"permission_id": e["permission_id"], "behavior": "deny", "scope": "global"}); status != 200 {
		t.Errorf("deny for all: %d %s", status, text)
	}
	<-ended
	events("tool_permission_resolved")
	if r := a.sbx("run", "-c", "echo forever > forever.txt"); r.code != 126 || strings.Contains(r.err, "waiting for a person") {
		t.Errorf("after a global deny: %v", r)
	}

	// Always for this agent: the next request of it, in another session, is
	// not asked about.
	const once = `api() { curl -s --unix-socket "$SBX_SOCKET_DIR/agent.sock" -H 'Content-Type: application/json' "$@"; }
		s=$(api -d "$(jq -n --arg cwd "$PWD" '{agent: "tester", cwd: $cwd}')" http://sandboxd/v1/sessions)
		api -H "Authorization: Bearer $(jq -r .secret <<<"$s")" -d "$(jq -n --arg s "$(jq -r .id <<<"$s")" '{session: $s, tool: "bash", command: "touch always"}')" http://sandboxd/v1/check | jq -c '[.allowed, .decision]'`
	first := make(chan string, 1)
	go func() {
		r := a.do(nil, "/bin/bash", "-euc", once)
		first <- r.out + r.err
	}()
	e = events("tool_permission")
	if status, text := answer(map[string]any{"permission_id": e["permission_id"], "behavior": "allow", "scope": "agent"}); status != 200 {
		t.Errorf("allow for this agent: %d %s", status, text)
	}
	if got := <-first; !strings.HasPrefix(got, "[true,") {
		t.Errorf("the first: %s", got)
	}
	events("tool_permission_resolved")
	if got := a.sh(once); got != "[true,\"auto\"]\n" {
		t.Errorf("the next of the same agent: %s", got)
	}

	// No answer within the time: denied, and the stream says so.
	// (The token outlives the daemon.)
	a.withGateway("[approval]\ntimeout = \"5s\"\ntimeout_remote = \"5s\"\n")
	v.address = a.gatewayAddress()
	events = v.stream("/v1/agent/stream")
	_, ended = a.ask("echo late > late.txt")
	events("tool_permission")
	if r := <-ended; r.code != 126 {
		t.Error(r)
	}
	if e := events("tool_permission_resolved"); e["behavior"] != "deny" || e["reason"] != "timeout" {
		t.Error(e)
	}
	// The record names the front end that answered.
	if log := a.sbx("log", "--json").out; !strings.Contains(log, "front end chat") {
		t.Error("the record does not name the front end")
	}
}

// stream opens a stream of events; the function waits for the next of a type.
func (v *visitor) stream(path string) func(kind string) map[string]any {
	v.a.t.Helper()
	r, err := http.NewRequest("GET", v.address+path, nil)
	if err != nil {
		v.a.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+v.token)
	res, err := http.DefaultClient.Do(r)
	if err != nil || res.StatusCode != 200 {
		v.a.t.Fatal(res, err)
	}
	v.a.t.Cleanup(func() { res.Body.Close() })
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(res.Body); s.Scan(); {
			if data, ok := strings.CutPrefix(s.Text(), "data: "); ok {
				lines <- data
			}
		}
	}()
	return func(kind string) map[string]any {
		v.a.t.Helper()
		for late := time.After(patience); ; {
			select {
			case line := <-lines:
				var e map[string]any
				if err := json.Unmarshal([]byte(line), &e); err != nil {
					v.a.t.Fatalf("%q: %v", line, err)
				}
				if e["type"] == kind {
					return e
				}
			case <-late:
				v.a.t.Fatalf("no %s came", kind)
			}
		}
	}
}

// The web specification's batch of three, message by message. R-UX-04 R-AP-10
// R-AP-12
func TestWebBatch(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	v := a.visit("", "front")
	a.sbx("trust")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(v.address, "http")+"/v1/agent/approvals",
		&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + v.token}}})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	next := func(kind string) map[string]any {
		t.Helper()
		for {
			_, b, err := ws.Read(ctx)
			if err != nil {
				t.Fatal(kind, ": ", err)
			}
			var m map[string]any
			if err := json.Unmarshal(b, &m); err != nil {
				t.Fatal(err)
			}
			if m["type"] == kind {
				return m
			}
		}
	}
	say := func(m map[string]any) {
		t.Helper()
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := ws.Write(ctx, websocket.MessageText, b); err != nil {
			t.Fatal(err)
		}
	}

	calls := []ipc.NextCall{{Tool: "bash", Command: "touch installed"}, {Tool: "write", Args: json.RawMessage(`{"path":"config.json"}`)}, {Tool: "bash", Command: "touch installed"}}
	verdicts := a.batch(calls)
	first := next("approval_needed")
	remaining := first["batch_remaining"].([]any)
	if first["tool"] != "bash" || first["arguments"].(map[string]any)["command"] != "touch installed" || len(remaining) != 2 || remaining[0].(map[string]any)["tool"] != "write" {
		t.Errorf("the first: %v", first)
	}
	for _, bad := range []string{`{"approve": true}`, `{"approved": false, "approved": true}`, `{"approved": false, "Approved": true}`, `{"APPROVED": true}`} {
		if err := ws.Write(ctx, websocket.MessageText, []byte(bad)); err != nil {
			t.Fatal(err)
		}
		if _, b, err := ws.Read(ctx); err != nil || !strings.Contains(string(b), `"type":"error"`) {
			t.Fatalf("%s: %s %v", bad, b, err)
		}
	}
	say(map[string]any{"approved": true, "scope": "session"})
	if m := next("approval_resolved"); m["id"] != first["id"] || m["approved"] != true {
		t.Error(m)
	}
	second := next("approval_needed")
	if second["tool"] != "write" || len(second["batch_remaining"].([]any)) != 1 {
		t.Errorf("the second: %v", second)
	}
	say(map[string]any{"approved": false, "mode": "reject_soft", "feedback": "Don't write that file"})
	if m := next("approval_resolved"); m["approved"] != false {
		t.Error(m)
	}
	got := <-verdicts
	if len(got) != 3 || !got[0].Allowed || got[1].Allowed || !got[2].Allowed {
		t.Fatalf("the three: %+v", got)
	}
	if d := got[1].Denied; d == nil || !strings.Contains(d.Message+d.Note, "Don't write that file") || d.Mode != "soft" {
		t.Errorf("the soft rejection: %+v", d)
	}

	// Without a mode it is hard: the rest is refused, and the session stops.
	verdicts = a.batch([]ipc.NextCall{{Tool: "bash", Command: "touch hard"}, {Tool: "bash", Command: "touch rest"}})
	next("approval_needed")
	say(map[string]any{"approved": false})
	got = <-verdicts
	if got[0].Allowed || got[1].Allowed || got[0].Denied == nil || got[0].Denied.Mode != "hard" || got[1].Denied == nil || got[1].Denied.Code != ipc.CodeStopped {
		t.Errorf("the hard rejection: %+v %+v", got[0].Denied, got[1].Denied)
	}
}

// batch has an agent of its own check calls one after the other, in a session
// of its own.
func (a *actor) batch(calls []ipc.NextCall) <-chan []ipc.Verdict {
	a.t.Helper()
	var args []string
	for i, c := range calls {
		body := map[string]any{"session": "$SESSION", "tool": c.Tool, "batch": ipc.BatchPlace{ID: "b", Index: i, Total: len(calls), Remaining: calls[i+1:]}}
		if c.Command != "" {
			body["command"] = c.Command
		} else {
			body["args"] = c.Args
		}
		b, err := json.Marshal(map[string]any{"path": "/v1/check", "body": body})
		if err != nil {
			a.t.Fatal(err)
		}
		args = append(args, string(b))
	}
	node, err := exec.LookPath("node")
	if err != nil {
		a.t.Fatal(err)
	}
	here, err := filepath.Abs("testdata/web/agent.mjs")
	if err != nil {
		a.t.Fatal(err)
	}
	ch := make(chan []ipc.Verdict, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		out, err := a.command(ctx, node, append([]string{here, filepath.Join(a.socketDir(), "agent.sock")}, args...)...).Output()
		var list []ipc.Verdict
		for i, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			var v ipc.Verdict
			if i == 0 {
				continue // the session
			}
			if err := json.Unmarshal([]byte(line), &v); err == nil {
				list = append(list, v)
			}
		}
		if err != nil || len(list) != len(calls) {
			a.t.Errorf("agent: %v: %s", err, out)
			list = make([]ipc.Verdict, len(calls))
		}
		ch <- list
	}()
	return ch
}
