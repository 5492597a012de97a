package acceptance

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

// eachUserInWorld is eachUser, in a network of its own. Only root can make one.
func eachUserInWorld(t *testing.T, f func(t *testing.T, a *actor, w *world)) {
	if os.Geteuid() != 0 {
		t.Log("left out: only root can make networks; CI runs this as root")
		return
	}
	eachUser(t, func(t *testing.T, a *actor) { f(t, a, newWorld(t)) })
}

// configured starts a daemon that has only this configuration.
func (a *actor) configured(config string, args ...string) {
	a.t.Helper()
	if err := os.WriteFile(a.configFile(), []byte(config), 0o644); err != nil {
		a.t.Fatal(err)
	}
	a.start(append([]string{"--config", a.configFile()}, args...)...)
}

// R-OS-09: what is listed is reached, through the proxy; what is not, is not.
func TestAllowlist(t *testing.T) {
	eachUserInWorld(t, func(t *testing.T, a *actor, w *world) {
		w.name("good.example", "203.0.113.5")
		w.name("evil.example", "203.0.113.66")
		for _, addr := range []string{"203.0.113.5:80", "203.0.113.66:80"} {
			go http.Serve(w.listen(addr), http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { fmt.Fprintf(rw, "hello from %s\n", r.Host) }))
		}
		a.configured("[network]\nmode = \"allowlist\"\nallow = [\"good.example\"]\nask = false\n", "--mode", "approve-all")
		if r := a.sbx("run", "-c", "curl -sS http://good.example/"); r.code != 0 || r.out != "hello from good.example\n" {
			t.Error(r)
		}
		r := a.sbx("run", "-c", "curl -sS http://evil.example/")
		if !strings.Contains(r.out+r.err, "evil.example:80 is refused: it is not on the list of hosts") || strings.Contains(r.out, "hello") {
			t.Error(r)
		}
		if !strings.Contains(r.err, "the sandbox refused network evil.example:80") {
			t.Error(r)
		}
		t.Log(r, w.askedFor())
	})
}
