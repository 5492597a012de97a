package acceptance

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sandboxd/ipc"
	"sandboxd/notify"
)

// noticed is a web service that gets notices.
type noticed struct {
	*httptest.Server
	t   *testing.T
	key string

	mu   sync.Mutex
	list []notify.Notice
	text string // of all bodies
}

func (n *noticed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	mac := hmac.New(sha256.New, []byte(n.key))
	fmt.Fprintf(mac, "%s.%s.%s", r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp"), body)
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); r.Header.Get("webhook-signature") != want {
		n.t.Errorf("signature %q, want %q", r.Header.Get("webhook-signature"), want)
	}
	var notice notify.Notice
	if err := json.Unmarshal(body, &notice); err != nil {
		n.t.Errorf("%s: %v", body, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list, n.text = append(n.list, notice), n.text+string(body)
	fmt.Fprintf(w, `{"verb": "allow", "allow": true, "permission_id": %q}`, notice.ID) // nobody listens
}

// await returns the first notice of that state, of that question where there is an id.
func (n *noticed) await(state notify.State, id string) (found notify.Notice) {
	n.t.Helper()
	eventually(n.t, fmt.Sprintf("a notice %s of %q", state, id), func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, notice := range n.list {
			if found = notice; notice.State == state && (id == "" || notice.ID == id) {
				return true
			}
		}
		return false
	})
	return found
}

// asked starts a command that asks; the result comes when it ended.
func (a *actor) asked(command string) <-chan result {
	ended := make(chan result, 1)
	go func() { ended <- a.sbx("run", "-c", command) }()
	return ended
}

// R-UX-13: a notice goes to a signed webhook and to a program, contains no secret, and answers nothing. Dead, slow and
// failing receivers delay no question, and the status names them.
func TestNotices(t *testing.T) {
	t.Parallel()
	dead, failing, silent := badReceivers(t)
	bothUsers(t, func(t *testing.T, a *actor) {
		server := &noticed{t: t, key: "a key of the test"}
		server.Server = httptest.NewServer(server)
		defer server.Close()
		key, program, got := filepath.Join(a.dir, "key"), filepath.Join(a.dir, "program"), filepath.Join(a.dir, "got")
		a.sh(fmt.Sprintf(`umask 077; echo '%s' > %s; printf '#!/bin/sh\ncat >> %s\n' > %s; chmod 700 %[4]s`,
			server.key, key, got, program))
		config := a.receivers(program, key, server.URL, dead, failing, silent)
		a.start("--config", config)
		a.sbx("trust", a.project)

		began := time.Now()
		ended := a.asked("printf '%s' token=ghp_0123456789abcdefghijklmnopqrstuvwxyz > made")
		asked := server.await(notify.Asked, "")
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("the notice came after %s, beside dead receivers", took)
		}
		if !strings.Contains(asked.Text, "printf") || !strings.Contains(asked.Text, "sbx approve "+asked.ID) {
			t.Errorf("text %q, want the command and how to answer it", asked.Text)
		}
		eventually(t, "the program has the notice", func() bool {
			b, _ := os.ReadFile(got)
			return strings.Contains(string(b), asked.ID)
		})
		eventually(t, "the status names the dead receiver and the failing one", func() bool {
			status := a.sbx("status").String()
			return strings.Contains(status, "webhook "+strings.TrimPrefix(dead, "http://")) &&
				strings.Contains(status, "500 Internal Server Error")
		})
		if list := a.sbx("pending").out; !strings.Contains(list, asked.ID) || a.there("made") {
			t.Errorf("the answer of a web service decided the question: %s", list)
		}
		if r := a.sbx("approve", asked.ID, "--deny"); r.code != 0 {
			t.Fatal(r)
		}
		if r := <-ended; r.code != 126 {
			t.Errorf("got %s, want the refusal", r)
		}
		server.await(notify.Closed, asked.ID)
		if strings.Contains(server.text, "ghp_0123") {
			t.Error("a notice contains the token")
		}
		// With every yes, a command neither reads the key nor exchanges the program.
		for _, line := range []string{"cat " + key, "echo true > " + program} {
			if r := a.allowed(line); r.code == 0 || strings.Contains(r.out, server.key) {
				t.Errorf("%s: %s", line, r)
			}
		}
		if b, _ := os.ReadFile(program); !strings.Contains(string(b), "cat >>") {
			t.Errorf("the program is %q", b)
		}
	})
}

// badReceivers are the addresses of servers: one is gone, one always fails, and one accepts and never answers.
func badReceivers(t *testing.T) (dead, failing, silent string) {
	t.Helper()
	fails := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(fails.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	closed := httptest.NewServer(nil)
	closed.Close()
	return closed.URL, fails.URL, "http://" + l.Addr().String()
}

// receivers writes a configuration with all kinds of receivers, and returns its path.
func (a *actor) receivers(program, key, server, dead, failing, silent string) string {
	config := filepath.Join(a.dir, "notices.toml")
	a.sh(fmt.Sprintf(`umask 077; cat > %s <<'E'
[notify]
share = "command"
delay = "100ms"
delay_high = "100ms"
command = %q
[[notify.webhooks]]
url = %q
form = "json"
secret_file = %q
[[notify.webhooks]]
url = %q
form = "slack"
[[notify.webhooks]]
url = %q
form = "teams"
[[notify.webhooks]]
url = "%s/topic"
form = "ntfy"
E`, config, program, server, key, dead, failing, silent))
	return config
}

// R-UX-13: a notification service shows a notice, replaces it before the end, and withdraws it at the answer.
func TestDesktopNotices(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		monitor := a.desktop()
		config := filepath.Join(a.dir, "desktop.toml")
		a.sh("umask 077; printf '[approval]\ntimeout = \"20s\"\n" +
			"[notify]\ndesktop = true\ndelay = \"100ms\"\n' > " + config)
		a.start("--config", config)
		a.sbx("trust", a.project)
		ended := a.asked("touch made")
		shown := func(n string) func() bool {
			return func() bool { return strings.TrimSpace(a.do(nil, "dunstctl", "count", "displayed").out) == n }
		}
		eventually(t, "the notice is shown", shown("1"))
		a.picture("notice.png")
		eventually(t, "the second notice is sent", func() bool { return strings.Contains(monitor(), "times out at") })
		if !shown("1")() {
			r := a.do(nil, "dunstctl", "count", "displayed")
			t.Errorf("displayed: %s, want that the second notice replaces the first", r)
		}
		if r := a.sbx("approve", a.waiting(), "--allow"); r.code != 0 {
			t.Fatal(r)
		}
		if r := <-ended; r.code != 0 {
			t.Errorf("allowed: %s", r)
		}
		eventually(t, "the notice is withdrawn", shown("0"))
		if !strings.Contains(monitor(), "member=CloseNotification") {
			t.Error("the notice was not withdrawn by the daemon")
		}
	})
}

// allowed runs a command, answers each of its questions with yes, and returns its result.
func (a *actor) allowed(command string) result {
	a.t.Helper()
	for ended := a.asked(command); ; {
		select {
		case r := <-ended:
			return r
		case <-time.After(200 * time.Millisecond):
			if id := a.waiting(); id != "" {
				if r := a.sbx("approve", id, "--allow", "--confirm"); r.code != 0 {
					a.t.Logf("%s: %s", command, r)
					a.sbx("approve", id, "--deny")
				}
			}
		}
	}
}

// waiting returns the id of the question that waits; empty for none.
func (a *actor) waiting() string {
	a.t.Helper()
	var list ipc.ApprovalList
	if err := json.Unmarshal([]byte(a.sbx("pending", "--json").out), &list); err != nil || len(list.Approvals) == 0 {
		return ""
	}
	return list.Approvals[0].ID
}

// picture makes a picture of the actor's screen, for make pictures.
func (a *actor) picture(name string) {
	if to := os.Getenv("PICTURES"); to != "" && a.root() {
		a.do(nil, "import", "-window", "root", "-crop", "340x150+460+45", filepath.Join(to, name))
	}
}

// desktop starts an X server, a session bus and a notification service for the actor. The returned function returns the
// messages about notices so far.
func (a *actor) desktop() (messages func() string) {
	a.t.Helper()
	ready, display, err := os.Pipe()
	if err != nil {
		a.t.Fatal(err)
	}
	defer ready.Close()
	x := a.command(a.t.Context(), "Xvfb", "-displayfd", "3", "-screen", "0", "800x400x24", "-nolisten", "tcp")
	x.ExtraFiles = []*os.File{display}
	a.background(x)
	display.Close()
	number := make([]byte, 16)
	n, err := ready.Read(number)
	if err != nil {
		a.t.Fatalf("Xvfb: %v", err)
	}
	bus := "unix:path=" + filepath.Join(a.dir, "bus")
	a.extraEnv = append(a.extraEnv, "DISPLAY=:"+strings.TrimSpace(string(number[:n])), "DBUS_SESSION_BUS_ADDRESS="+bus)
	a.background(a.command(a.t.Context(), "dbus-daemon", "--session", "--nofork", "--nopidfile", "--address="+bus))
	eventually(a.t, "the bus serves", func() bool {
		_, err := os.Stat(filepath.Join(a.dir, "bus"))
		return err == nil
	})
	a.background(a.command(a.t.Context(), "dunst"))
	eventually(a.t, "the notification service serves", func() bool { return a.do(nil, "dunstctl", "count").code == 0 })
	log, err := os.Create(filepath.Join(a.dir, "messages"))
	if err != nil {
		a.t.Fatal(err)
	}
	defer log.Close()
	monitor := a.command(a.t.Context(), "dbus-monitor", "--session", "interface=org.freedesktop.Notifications")
	monitor.Stdout = log
	a.background(monitor)
	return func() string {
		b, _ := os.ReadFile(log.Name())
		return string(b)
	}
}

// background starts a program that ends with the test.
func (a *actor) background(cmd *exec.Cmd) {
	a.t.Helper()
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}
