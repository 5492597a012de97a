package acceptance

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// The removal of a token and the sign-out of a browser close their open connections, too: an
// open WebSocket could still send answers. R-UX-04 R-AP-21
func TestFrontEndTakenOut(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	v := a.visit("", "chat")
	a.sbx("trust")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dial := func(path string, h http.Header) *websocket.Conn {
		t.Helper()
		ws, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(v.address, "http")+path, &websocket.DialOptions{HTTPHeader: h})
		if err != nil {
			t.Fatal(path, ": ", err)
		}
		t.Cleanup(func() { ws.CloseNow() })
		return ws
	}
	token := http.Header{"Authorization": {"Bearer " + v.token}}
	chat, rpc := dial("/v1/agent/approvals", token), dial("/v1/ws", token)
	streams := map[string]*http.Response{}
	for _, path := range []string{"/v1/agent/stream", "/v1/events"} {
		r, err := http.NewRequestWithContext(ctx, "GET", v.address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = token
		if streams[path], err = http.DefaultClient.Do(r); err != nil || streams[path].StatusCode != http.StatusOK {
			t.Fatal(streams[path], err)
		}
		defer streams[path].Body.Close()
	}
	address, secret := a.invitation()
	var key struct{ Key string }
	status, text, h := v.request("POST", "/enter", map[string]string{"invitation": secret}, func(r *http.Request) { r.Header.Set("Origin", address) })
	if err := json.Unmarshal([]byte(text), &key); err != nil || status != http.StatusOK {
		t.Fatal(status, text, err)
	}
	cookie, _, _ := strings.Cut(h.Get("Set-Cookie"), ";")
	own := http.Header{"Authorization": {"Bearer " + key.Key}, "Cookie": {cookie}}
	page := dial("/v1/ws", own)

	id, ended := a.ask("echo late > late.txt")
	if _, _, err := chat.Read(ctx); err != nil { // the event of the question
		t.Fatal(err)
	}
	if r := a.sbx("web", "rm", "chat"); r.code != 0 {
		t.Fatal(r)
	}
	if status, text, _ := v.request("POST", "/leave", nil, func(r *http.Request) { r.Header = own }); status != http.StatusOK {
		t.Fatal(status, text)
	}
	q := a.approvalOf(id)
	decide := fmt.Sprintf(`{"jsonrpc": "2.0", "id": 1, "method": "approval.decide", "params": {"id": %q, "rev": %d, "hash": %q, "allow": true}}`, id, q.Rev, q.Hash)
	for name, c := range map[string]struct {
		ws  *websocket.Conn
		say string
	}{"chat": {chat, fmt.Sprintf(`{"id": %q, "approved": true}`, id)}, "rpc": {rpc, decide}, "page": {page, decide}} {
		soon, cancel := context.WithTimeout(ctx, 5*time.Second)
		_ = c.ws.Write(soon, websocket.MessageText, []byte(c.say)) // may fail: it is closed
		if _, b, err := c.ws.Read(soon); err == nil || soon.Err() != nil {
			t.Errorf("%s: the WebSocket is still open: %s %v", name, b, err)
		}
		cancel()
	}
	for path, res := range streams {
		over := make(chan struct{})
		go func() {
			defer close(over)
			for b := make([]byte, 4096); ; {
				if _, err := res.Body.Read(b); err != nil {
					return
				}
			}
		}()
		select {
		case <-over:
		case <-time.After(5 * time.Second):
			t.Errorf("%s is still open", path)
		}
	}
	if q := a.approvalOf(id); q.ID != id {
		t.Errorf("the question is no longer open: %+v", q)
	}
	a.sbx("approve", id, "--deny")
	if r := <-ended; r.code != 126 {
		t.Errorf("it was approved: %v", r)
	}
}

// A chat front end that reconnects to another daemon receives the open questions, whatever its
// Last-Event-ID: each daemon numbers its events itself. R-UX-04 R-AP-15
func TestChatStreamOfAnotherDaemon(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	v := a.visit("", "chat")
	a.sbx("trust")
	id, ended := a.ask("echo open > open.txt")
	// read gives the events' ids and what they are about, until one is about until or some time has passed.
	read := func(last, until string) (ids, about []string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, "GET", v.address+"/v1/agent/stream", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+v.token)
		if last != "" {
			r.Header.Set("Last-Event-ID", last)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(res, err)
		}
		defer res.Body.Close()
		for s := bufio.NewScanner(res.Body); s.Scan(); {
			if id, ok := strings.CutPrefix(s.Text(), "id: "); ok {
				ids = append(ids, id)
			}
			var e struct {
				Type         string
				PermissionID string `json:"permission_id"`
			}
			if data, ok := strings.CutPrefix(s.Text(), "data: "); ok && json.Unmarshal([]byte(data), &e) == nil {
				if about = append(about, e.Type+" "+e.PermissionID); strings.HasSuffix(about[len(about)-1], until) && until != "" {
					return ids, about
				}
			}
		}
		return ids, about
	}
	for _, last := range []string{"", "1", "57", "another-1", "99999999999999999999"} {
		if _, about := read(last, id); len(about) == 0 || about[len(about)-1] != "tool_permission "+id {
			t.Errorf("after %q: %q", last, about)
		}
	}
	// In the same stream nothing comes twice.
	a.sbx("approve", id, "--deny")
	<-ended
	second, ended := a.ask("echo second > second.txt")
	third := make(chan []string, 1)
	go func() {
		_, about := read("", "") // says nothing of the first
		third <- about
	}()
	if got := <-third; len(got) != 1 || got[0] != "tool_permission "+second {
		t.Errorf("what is open: %q", got)
	}
	ids := make(chan []string, 1)
	go func() {
		got, _ := read("", second+"-never")
		ids <- got
	}()
	time.Sleep(500 * time.Millisecond) // the stream is there by then, or the rest shows it
	a.sbx("approve", second, "--deny")
	<-ended
	got := <-ids
	if len(got) == 0 {
		t.Fatal("no event has an id")
	}
	_, ended = a.ask("echo fourth > fourth.txt")
	if _, about := read(got[len(got)-1], ""); len(about) != 1 {
		t.Errorf("after %q came %q", got[len(got)-1], about)
	}
	for _, q := range a.pending(1) {
		a.sbx("approve", q.ID, "--deny")
	}
	<-ended
}

// A requester can't register itself as a front end and answer, not even from a process that is
// not dumpable, which the daemon cannot identify behind its connection.
// Promise 4; R-IP-01
func TestGatewayTokenOfWhoAsks(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.withGateway("[approval]\ntimeout = \"1m\"\ntimeout_remote = \"1m\"\n")
		a.sbx("trust")
		got := a.do(nil, "/bin/bash", "-c", fmt.Sprintf(`
			token=$(%[1]s web add mine 2>/dev/null); base=$(%[1]s web --json | jq -r .address)
			%[1]s run -c 'echo self > self.txt' 2>/dev/null &
			for i in $(seq 300); do id=$(%[1]s pending --json | jq -r '.approvals[0].id // empty')
				[ -n "$id" ] && break; sleep 0.1; done
			export TOKEN=$token URL="${base}v1/approvals/$id/decision"
			BODY="$(%[1]s pending "$id" --json | jq -c '{rev, hash, allow: true}')" python3 -c '
import ctypes, os, urllib.error, urllib.request
assert ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) == 0  # PR_SET_DUMPABLE
r = urllib.request.Request(os.environ["URL"], os.environ["BODY"].encode(), {"Content-Type": "application/json",
	"Authorization": "Bearer " + os.environ["TOKEN"]})
try:
    print(urllib.request.urlopen(r).read().decode())
except urllib.error.HTTPError as e:
    print(e.read().decode())
'
			%[1]s stop --now 2>/dev/null; wait`, filepath.Join(bin, "sbx")))
		if !strings.Contains(got.out, "self_approval") {
			t.Errorf("it answered: %v", got)
		}
		if _, err := os.Stat(filepath.Join(a.project, "self.txt")); err == nil {
			t.Error("it ran")
		}
	})
}

// asCookie sends the token of a front end as a browser's cookie.
func asCookie(r *http.Request, token string) {
	r.Header.Del("Authorization")
	r.Header.Set("Cookie", "sandboxd="+token)
}
