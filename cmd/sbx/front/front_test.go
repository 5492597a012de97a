package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestRead(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	session := ""
	getenv := func(name string) string {
		if name == "SBX_SESSION" {
			return session
		}
		return "$" + name
	}
	for _, c := range []struct {
		args string
		want order
	}{
		{"run -- true", order{argv: []string{"true"}}},
		{"run true -n --json", order{argv: []string{"true", "-n", "--json"}}},
		{"run -n --no-ask --plain -- -x", order{argv: []string{"-x"}, noStdin: true}},
		{"run - x", order{argv: []string{"-", "x"}}},
		{"--socket-dir=/s run -c ls", order{line: "ls", socketDir: "/s"}},
		{"run --socket-dir /s --command=ls", order{line: "ls", socketDir: "/s"}},
		{"run -C /a/../b --description d --agent-name a -- x",
			order{argv: []string{"x"}, cwd: "/b", description: "d", agent: "a"}},
		{"run --cwd sub -- x", order{argv: []string{"x"}, cwd: here + "/sub"}},
		{"run --ticket t -c ls", order{line: "ls", ticket: "t"}},
		{"run --session s -- x", order{argv: []string{"x"}, session: "s", secret: "$SBX_SESSION_SECRET"}},
		{"run -e A=1 --env B=2=3 -t 90s -- x", order{argv: []string{"x"}, env: map[string]string{"A": "1", "B": "2=3"},
			timeout: 90 * time.Second}},
		{"run --timeout=0.5 -- x", order{argv: []string{"x"}, timeout: time.Second / 2}},
		{"--socket-dir /s shell -lc ls", order{line: "ls", socketDir: "/s", agent: "$SBX_AGENT_NAME"}},
	} {
		if c.want.socketDir == "" {
			c.want.socketDir = "$SBX_SOCKET_DIR"
		}
		if c.want.cwd == "" {
			c.want.cwd = here
		}
		c.want.project = here
		if got, ok := read(append([]string{"sbx"}, strings.Fields(c.args)...), getenv); !ok ||
			!reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v", c.args, got, ok)
		}
	}
	session = "s"
	for args, want := range map[string]string{"run -- x": "s", "run --session t -- x": "t",
		"run --ticket t -- x": "", "shell -c x": ""} {
		if got, ok := read(append([]string{"sbx"}, strings.Fields(args)...), getenv); !ok || got.session != want {
			t.Errorf("%s: session %q, %v; want %q", args, got.session, ok, want)
		}
	}
	if got, ok := read([]string{"-sbx-shell", "--norc", "-c", "ls", "name"}, getenv); !ok || got.line != "ls" ||
		got.cwd != here {
		t.Errorf("as a shell: %+v, %v", got, ok)
	}
	if got, ok := read([]string{"box", "run", "--", "ls"}, getenv); ok {
		t.Errorf("by another name: %+v", got)
	}
	// Mistakes, other verbs and rarer flags are not plain.
	for _, args := range []string{"", "run", "run --", "run -n", "run -c", "run -c ls -- ls", "run -c ls ls", "run -nc ls",
		"run -cls", "run --json -- ls",
		"run --no-ask=false -- ls", "--config c run -- ls", "run --state-dir=/s -- ls", "run --tty -- ls", "run -e =1 -- ls",
		"run --timeout never -- ls", "run --timeout= -- ls", "run -t -1 -- ls", "shell ls", "shell -c ls a b",
		"shell --socket-dir=/s -c ls", "shell -c ls --help", "run --agent -- ls", "run --help", "run -x -- ls", "run --cwd",
		"--user u run -- ls", "--help", "version", "-n run -- ls", "run --ticket t --session s -- ls"} {
		if got, ok := read(append([]string{"/usr/bin/sbx"}, strings.Fields(args)...), getenv); ok {
			t.Errorf("%q was taken: %+v", args, got)
		}
	}
	for _, args := range [][]string{{"run", "-c", " "}, {"run", "-c", ""}, {"run", "-c", "", "--", "ls"}, {"run", ""},
		{"run", "--", ""}, {"--socket-dir", "", "run", "ls"}, {"run", "--session=", "ls"}, {"run", "-C", "", "--", "ls"},
		{"run", "--ticket", "", "ls"}, {"run", "--agent-name", "", "ls"}} {
		if got, ok := read(append([]string{"sbx"}, args...), getenv); ok {
			t.Errorf("%q was taken: %+v", args, got)
		}
	}
}

// answerOf is an answer as the daemon writes it, each line in a chunk.
func answerOf(whole bool, lines ...string) []byte {
	text := "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, l := range lines {
		text += fmt.Sprintf("%x\r\n%s\n\r\n", len(l)+1, l)
	}
	if whole {
		text += "0\r\n\r\n"
	}
	return []byte(text)
}

const (
	queued  = `{"seq":1,"time":"t","type":"queued","queued":{"id":"x","session":{"id":"s","root":"/a \"b\"","warnings":[]}}}`
	warned  = `{"seq":1,"time":"t","type":"queued","queued":{"id":"x","session":{"id":"s","warnings":[{"message":"m"}]}}}`
	decided = `{"seq":2,"time":"t","type":"approval","decision":{"allowed":true}}`
	asked   = `{"seq":2,"time":"t","type":"approval","approval":{"id":"q"}}`
	started = `{"seq":3,"time":"t","type":"started","started":{"decision":"auto"}}`
)

func exitOf(members string) string {
	return `{"seq":4,"time":"t","type":"exit","exit":{` + members + `}}`
}

func enforced(protection string) string {
	return `"enforcement":{"level":"enforced","layers":[],"protections":[{"name":"files","level":"enforced","by":"b"}` +
		protection + `]}`
}

// Front suppresses no report that a person needs: it leaves every answer to sbx-verbs
// that is not known to need none.
func TestLook(t *testing.T) {
	full := enforced("")
	good := exitOf(`"code":0,"uncapped":["stdout"],"duration_ms":2,` + full + `,"warnings":[{"message":"m"}]`)
	for _, c := range []struct {
		what   string
		answer []byte
		status int
		want   verdict
	}{
		{"a plain end", answerOf(true, queued, decided, started, good), 0, ended},
		{"with warnings of the session, not reported after success", answerOf(false, warned, decided, started, good), 0, ended},
		{"a status", answerOf(false, queued, started, exitOf(`"code":3,`+full)), 3, ended},
		{"a status with warnings of the host", answerOf(false, strings.Replace(warned, `{"mess`, `{"where":"journal","mess`, 1), exitOf(`"code":3,`+full+`,"warnings":[{"where":"this host","message":"m"}]`)), 3, ended},
		{"a status where limits are watched", answerOf(false, queued, exitOf(`"code":3,`+enforced(`,{"name":"limits","level":"partial"}`)+`,"warnings":[{"message":"limits partial: watched"}]`)), 3, ended},
		{"a status with another warning", answerOf(false, queued, exitOf(`"code":3,`+full+`,"warnings":[{"message":"files partial: m"}]`)), 0, rich},
		{"limits that are watched", answerOf(false, queued, exitOf(`"code":0,`+enforced(`,{"name":"limits","level":"partial"}`))), 0, ended},
		{"not yet", answerOf(false, queued, decided, started), 0, unended},
		{"nothing yet", nil, 0, unended},
		{"half a head", []byte("HTTP/1.1 200 OK\r\nContent-Ty"), 0, unended},

		{"an end without an end", answerOf(true, queued, started), 0, rich},
		{"a question", answerOf(false, queued, asked), 0, rich},
		{"output", answerOf(false, queued, started, `{"seq":4,"time":"t","type":"stdout","data":"eA=="}`), 0, rich},
		{"a refusal", answerOf(false, queued, started, `{"seq":4,"time":"t","type":"violation","violation":{}}`), 0, rich},
		{"something new", answerOf(false, queued, `{"seq":4,"time":"t","type":"novelty"}`), 0, rich},
		{"no type", answerOf(false, queued, `{"seq":4}`), 0, rich},
		{"an error", answerOf(false, `{"error":{"code":"internal"}}`), 0, rich},
		{"no JSON", answerOf(false, `seq 1`), 0, rich},
		{"a status with warnings", answerOf(false, queued, exitOf(`"code":3,`+full+`,"warnings":[{"message":"m"}]`)), 0, rich},
		{"a status with the session's warnings", answerOf(false, warned, exitOf(`"code":3,`+full)), 0, rich},
		{"a signal", answerOf(false, queued, exitOf(`"code":-1,"signal":"SIGKILL","signal_num":9,`+full)), 0, rich},
		{"not run", answerOf(false, queued, exitOf(`"code":-1,`+full)), 0, rich},
		{"denied", answerOf(false, queued, exitOf(`"code":0,"denied":{},`+full)), 0, rich},
		{"too late", answerOf(false, queued, exitOf(`"code":0,"timed_out":true,`+full)), 0, rich},
		{"something taken out", answerOf(false, queued, exitOf(`"code":0,"quarantined":[{}],`+full)), 0, rich},
		{"something refused", answerOf(false, queued, exitOf(`"code":0,"violations":[{}],`+full)), 0, rich},
		{"cut", answerOf(false, queued, exitOf(`"code":0,"cut_bytes":7,`+full)), 0, rich},
		{"a gap", answerOf(false, queued, exitOf(`"code":0,`+enforced(`,{"name":"network","level":"none"}`))), 0, rich},
		{"a part of a protection", answerOf(false, queued, exitOf(`"code":0,`+enforced(`,{"name":"files","level":"partial"}`))), 0, rich},
		{"no code", answerOf(false, queued, exitOf(full)), 0, rich},
		{"an empty end", answerOf(false, queued, `{"seq":4,"type":"exit"}`), 0, rich},
		{"a name with an escape", answerOf(false, queued, exitOf(`"c\u006fde":0,`+full)), 0, rich},
		{"an error's status", []byte("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\n{}"), 0, rich},
		{"no chunks", []byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), 0, rich},
		{"a wrong chunk", append(answerOf(false, queued), "x\r\n"...), 0, rich},
		{"very much", append(answerOf(false, queued), make([]byte, maxAnswer)...), 0, rich},
	} {
		a := answer{raw: c.answer}
		status, got := a.look()
		if status != c.status || got != c.want {
			t.Errorf("%s: %d, %v; want %d, %v", c.what, status, got, c.status, c.want)
		}
	}
	// However it comes, the same is read, and written once.
	whole := answerOf(true, queued, decided, started, outputOf(4, "stdout", "some "), outputOf(5, "stderr", "text"), outputOf(6, "stdout", ""), good)
	for step := range len(whole) {
		var wrote string
		a := answer{run: run{write: func(fd int, data []byte) error { wrote += fmt.Sprint(fd) + string(data); return nil }}}
		status, got := 0, unended
		for rest := whole; got == unended && len(rest) > 0; {
			n := min(step+1, len(rest))
			a.raw = append(a.raw, rest[:n]...)
			rest = rest[n:]
			status, got = a.look()
		}
		if got != ended || status != 0 || wrote != "1some 2text1" || a.run.written != 6 {
			t.Errorf("by %d: %d, %v, %q", step+1, status, got, wrote)
		}
	}
	// What can't be written is not taken for written.
	a := answer{raw: answerOf(false, queued, outputOf(2, "stdout", "a"), outputOf(3, "stdout", "b")), run: run{write: func(_ int, data []byte) error {
		if string(data) == "b" {
			return os.ErrClosed
		}
		return nil
	}}}
	if _, got := a.look(); got != rich || a.run.written != 2 {
		t.Errorf("%v, %d", got, a.run.written)
	}
}

func outputOf(seq int, kind, text string) string {
	return fmt.Sprintf(`{"seq":%d,"time":"t","type":%q,"data":%q}`, seq, kind,
		base64.StdEncoding.EncodeToString([]byte(text)))
}

// FuzzMembers: what is read as an object's members is what encoding/json reads.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, `{"a":"b\"}","c":[{"d":[]},"]"],"e":null}`,
		exitOf(`"code":0,` + enforced("")), `{"a":1,}`, `{"a"}`, `{"a":}`, `{,}`, `{"a":1}}`, `{"a":[}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got := map[string]string{}
		ok := members(text, func(name string, value []byte) { got[name] = string(value) })
		var want map[string]json.RawMessage
		if json.Unmarshal(text, &want) != nil || !ok || want == nil {
			return // of what is no JSON nothing is promised, but that it ends
		}
		for name, value := range want {
			if strings.TrimSpace(got[name]) != string(value) && utf8Only(text) {
				t.Errorf("%q: %s is %q, want %q", text, name, got[name], value)
			}
		}
	})
}

// utf8Only: encoding/json alters what is not.
func utf8Only(text []byte) bool { return strings.ToValidUTF8(string(text), "") == string(text) }

// FuzzQuote: what is written is read as what it was.
func FuzzQuote(f *testing.F) {
	f.Add("a\"b\\c\n\x00\x7f é\u2028😀")
	f.Add("\xff")
	f.Fuzz(func(t *testing.T, s string) {
		var o object
		o.set("a", s)
		text := "{}"
		if s != "" {
			text = string(o.end())
		}
		var got struct{ A string }
		if err := json.Unmarshal([]byte(text), &got); err != nil || !o.bad && got.A != s {
			t.Errorf("%q: %s, %v", s, text, err)
		}
	})
}
