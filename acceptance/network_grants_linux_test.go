package acceptance

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// A grant for a time holds for so long, and one for a turn until the next, also for what runs
// already: the connection that it let through ends with it, and the next one is asked about. R-AP-08 R-OS-09
func TestHostGrantEnds(t *testing.T) {
	t.Parallel()
	eachUserInWorld(t, func(t *testing.T, a *actor, w *world) {
		w.name("one.example", "203.0.113.5")
		go http.Serve(w.listen("203.0.113.5:80"), http.HandlerFunc(ticking))
		a.configured(asking)
		s := a.joined()
		for name, c := range map[string]struct {
			grant []string
			end   func()
		}{
			"time": {[]string{"--scope", "session", "--for", "3s"}, func() {}},
			"turn": {[]string{"--scope", "turn"}, func() {
				a.sh(`curl -sSf --unix-socket "$SBX_SOCKET_DIR/agent.sock" -H "Authorization: Bearer $SBX_SESSION_SECRET" --json '{}' http://sandboxd/v1/sessions/` + s + "/turn")
			}},
		} {
			wait := a.begin("run", "--session", s, "-c",
				`bash -c 'curl -sSN http://one.example/ > /tmp/got & p=$!; while ! [ -s /tmp/got ]; do sleep 0.1; done; wait $p; echo "cut $?"; curl -sS http://one.example/'`)
			q := a.pending(1)[0]
			if q.Tool != "network" { // the command itself
				a.sbx("approve", q.ID, "--allow")
				for first := q.ID; q.ID == first; q = a.pending(1)[0] {
				}
			}
			if r := a.sbx(append([]string{"approve", q.ID, "--allow"}, c.grant...)...); r.code != 0 {
				t.Error(name, r)
			}
			time.Sleep(500 * time.Millisecond) // let some of it pass; that is no condition
			c.end()
			again := a.pending(1)[0] // the next connection asks
			if again.ID == q.ID || again.Tool != "network" {
				t.Errorf("%s: %+v", name, again)
			}
			a.sbx("approve", again.ID, "--deny")
			if r := wait(); !strings.Contains(r.out, "cut ") || strings.Contains(r.out, "cut 0") ||
				!strings.Contains(r.out, "a person denied it") {
				t.Errorf("%s: it was not cut: %v", name, r)
			}
		}
	})
}

// R-UX-10, R-LY-08, U3: where commands have no network, the question about one that names a host offers a yes that
// connects it to that host, for that run; any other host is asked for, and none where the configuration forbids it.
func TestYesOpensAHost(t *testing.T) {
	t.Parallel()
	eachUserInWorld(t, func(t *testing.T, a *actor, w *world) {
		w.name("one.example", "203.0.113.5")
		w.name("two.example", "203.0.113.5")
		go http.Serve(w.listen("203.0.113.5:80"), http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			rw.Write([]byte("HELLO " + r.Host + "\n"))
		}))
		ask := func(command string, answer ...string) (offered int, end result) {
			wait := a.begin("run", "-c", command)
			q := a.pending(1)[0]
			if got := a.sbx(append([]string{"approve", q.ID}, answer...)...); got.code != 0 {
				t.Errorf("%s: got %v, want the answer taken", command, got)
				a.sbx("approve", q.ID, "--deny")
			}
			for strings.Contains(command, "two.example") {
				if next := a.pending(1)[0]; next.ID != q.ID {
					if next.Tool != "network" {
						t.Errorf("got %+v, want the other host to be asked for", next)
					}
					a.sbx("approve", next.ID, "--deny")
					break
				}
			}
			return len(q.Widenings), wait()
		}
		a.configured("")
		a.sbx("trust", a.project)
		const one = "curl -sSf http://one.example/ > got; cat got"
		if offered, end := ask(one, "--allow"); offered != 1 || strings.Contains(end.out, "HELLO") {
			t.Errorf("got %d offers and %v by a plain yes, want one and no connection", offered, end)
		}
		if _, end := ask(one, "--allow", "--widening", "1"); end.out != "HELLO one.example\n" {
			t.Errorf("got %v, want the host's answer", end)
		}
		const redirected = "h=two; curl -sSf http://one.example/; curl -sS http://$h.example/ # two.example"
		if _, end := ask(redirected, "--allow", "--widening", "1"); !strings.Contains(end.out, "HELLO one.example") ||
			strings.Contains(end.out, "HELLO two.example") {
			t.Errorf("got %v, want the one host alone", end)
		}
		a.stop()
		a.configured("[network]\ndeny = [\"one.example\"]\n")
		if offered, _ := ask(one, "--deny"); offered != 0 {
			t.Errorf("got %d offers of a host that the configuration denies, want none", offered)
		}
	})
}

// R-LY-08, R-OS-09: where commands reach no host, package managers do not try for a minute, and the refusal names the
// setting that helps.
func TestPackageManagersFailAtOnce(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.approveAll()
		for _, line := range []string{"npm install --no-audit --no-fund left-pad", "python3 -m pip download left-pad"} {
			begin := time.Now()
			r := a.sbx("run", "-c", line)
			took := time.Since(begin)
			if r.code == 0 || took > 30*time.Second || !strings.Contains(r.err, "sbx allow HOST:PORT") {
				t.Errorf("%s, after %v: got %v, want a refusal that names the setting", line, took, r)
			}
		}
	})
}
