package acceptance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sandboxd/ipc"
)

// inner runs inside a sandbox. It speaks HTTP to agent.sock by hand, as any
// program could, and prints one JSON object with what became of each attempt.
const inner = `
import http.client, json, os, socket, sys, base64
d = sys.argv[1]; other = sys.argv[2]; here = os.getcwd(); stolen = sys.argv[3]; theft = sys.argv[4]
class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("sandboxd"); self.path = path
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX); self.sock.connect(self.path)
def call(method, path, body=None, secret=None):
    c = Unix(d + "/agent.sock")
    c.request(method, path, None if body is None else json.dumps(body), {"Authorization": "Bearer " + secret} if secret else {})
    r = c.getresponse().read()
    lines = [json.loads(l) for l in r.decode().splitlines() if l.strip()]
    return lines if len(lines) > 1 else lines[0]
def run(s, line, agent=False):
    x = call("POST", "/v1/exec", {"session": s["id"], "command": line, "agent": agent}, s["secret"])
    if "error" in x: return x["error"]["code"]
    events = call("GET", "/v1/exec/" + x["id"] + "/events", None, s["secret"])
    out = b"".join(base64.b64decode(e.get("data", "")) for e in events).decode()
    return str(events[-1]["exit"]["code"]) + " " + out
def write(s, path):
    r = call("POST", "/v1/files/write", {"session": s["id"], "path": path, "content": "x"}, s["secret"])
    return r.get("error", {}).get("code", "written")
res = {}
for name in ("approver", "stdio"):
    try:
        s = socket.socket(socket.AF_UNIX); s.connect(d + "/" + name + ".sock"); res[name] = "connected"
    except OSError as e: res[name] = "refused"
mine = call("POST", "/v1/sessions", {"root": here})
theirs = call("POST", "/v1/sessions", {"root": other})
res["mine"] = run(mine, "cat README; echo made > made-inside && cat made-inside")
res["mine file"] = write(mine, here + "/file-inside")
res["theirs"] = run(theirs, "cat " + other + "/private; echo x > " + other + "/made; true")
res["theirs file"] = write(theirs, other + "/made-too")
r = call("POST", "/v1/files/read", {"session": theirs["id"], "path": other + "/private"}, theirs["secret"])
res["theirs read"] = r.get("content", r.get("error", {}).get("code"))
knock = "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"" + d + "/agent.sock\")'"
res["its command"] = run(mine, knock + " 2>/dev/null && echo in || echo out")
res["its agent"] = run(mine, knock + " && echo in", True)
for root in ("/", os.path.expanduser("~"), d, "/etc"):
    res["root " + root] = call("POST", "/v1/sessions", {"root": root}).get("error", {}).get("code")
res["stolen"] = call("POST", "/v1/exec", {"session": stolen, "command": "cat " + other + "/private"}, theft).get("error", {}).get("code")
res["sessions"] = len(call("GET", "/v1/sessions")["sessions"])
res["mode"] = call("POST", "/v1/mode", {"session": mine["id"], "mode": "approve_all"}).get("error", {}).get("code")
res["trust"] = call("POST", "/v1/trust", {"dir": here}).get("error", {}).get("code")
print(json.dumps(res))
`

// R-IP-08, R-IP-07: a session that is opened from inside a sandbox runs within
// that sandbox's own profile, whatever root it names, files included; a stolen
// secret opens nothing, and nothing of the approver's is in reach.
func TestSessionInsideSandbox(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.outsideTmp()
		// A second project, trusted like the first.
		other := newActor(t, a.user())
		other.sh("echo PRIVATE > private")
		a.start("--mode", "approve-all")
		for _, dir := range []string{a.project, other.project} {
			if got := a.sbx("trust", dir); got.code != 0 {
				t.Fatal(got)
			}
		}
		// Outside, the other project is open to a session of its own: what is
		// refused below is refused because of where it is asked from.
		agent := a.agentPeer("outside")
		s, err := agent.agent.OpenSession(t.Context(), ipc.SessionRequest{Root: other.project})
		if err != nil {
			t.Fatal(err)
		}
		a.do(strings.NewReader(inner), "/bin/sh", "-c", "cat > inner.py")
		got := a.sbx("run", "--agent", "--", "python3", "inner.py", a.socketDir(), other.project, s.ID, string(s.Secret))
		var res map[string]any
		if err := json.Unmarshal([]byte(got.out), &res); err != nil {
			t.Fatalf("%v\n%v", err, got)
		}
		for name, want := range map[string]any{
			"approver": "refused", "stdio": "refused",
			"mine": "0 hello\nmade\n", "mine file": "written", "its command": "0 out\n", "its agent": "0 in\n",
			"root /": "bad_root", "root " + a.home: "bad_root", "root " + a.socketDir(): "bad_root", "root /etc": "bad_root",
			"stolen": "not_found", "sessions": 2.0, "mode": "no_route", "trust": "no_route",
		} {
			if name == "its command" && strings.HasPrefix(a.dir, a.home) {
				continue // every sandbox has a home of its own, and it shows there what the outer one was shown
			}
			if res[name] != want {
				t.Errorf("%s: %v, want %v", name, res[name], want)
			}
		}
		for _, name := range []string{"theirs", "theirs read"} {
			if text, _ := res[name].(string); strings.Contains(text, "PRIVATE") {
				t.Errorf("%s: read the other project: %v", name, text)
			}
		}
		if res["theirs file"] == "written" {
			t.Error("a file was written into the other project")
		}
		for _, name := range []string{"made", "made-too"} {
			if _, err := os.Stat(filepath.Join(other.project, name)); err == nil {
				t.Errorf("%s exists in the other project", name)
			}
		}
		if a.sh("cat made-inside file-inside") != "made\nx" {
			t.Error("its own project was not written")
		}
		// The sessions have ended with the sandbox.
		person := a.personPeer("person", false)
		if l, err := person.approver.Sessions(t.Context()); err != nil {
			t.Error(err)
		} else {
			for _, i := range l.Sessions {
				if i.Kind == ipc.KindAPI && i.ID != s.ID {
					t.Errorf("session %s of %s outlived its sandbox", i.ID, i.Root)
				}
			}
		}

		// What is not run as an agent does not reach the socket.
		got = a.sbx("run", "--", "python3", "-c", "import socket; socket.socket(socket.AF_UNIX).connect('"+a.socketDir()+
			"/agent.sock')")
		if got.code == 0 {
			t.Errorf("a sandbox reaches the socket unasked: %v", got)
		}
	})
}

// outsideTmp moves the actor's sockets out of /tmp, because the sandbox does not
// show the host's /tmp. A user who came by su, without a login, has no directory
// below /run/user: the sockets of that one are in the home.
func (a *actor) outsideTmp() {
	a.t.Helper()
	parent := "/run"
	if os.Geteuid() != 0 {
		parent = "/run/user/" + strconv.Itoa(os.Geteuid())
		if _, err := os.Stat(parent); err != nil {
			parent = a.home
		}
	}
	dir, err := os.MkdirTemp(parent, ".sbx-")
	if err != nil {
		a.t.Fatal(err)
	}
	if a.cred != nil {
		os.Chown(dir, int(a.cred.Uid), int(a.cred.Gid))
	}
	old := a.dir
	a.dir = dir
	a.t.Cleanup(func() { os.RemoveAll(old) })
}

// user is the name that newActor makes another actor of the same user from.
func (a *actor) user() string {
	if a.cred == nil {
		return ""
	}
	return a.name
}
