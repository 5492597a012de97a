package acceptance

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// client is one program that connects to a host. HOST in the script is a placeholder for the host's name.
type client struct {
	name, script string
	// out is what it prints when it got through.
	out string
}

func clients(node string) []client {
	python := `/usr/bin/python3 -c 'import sys, PKG; print(FETCH)'`
	py := func(pkg, fetch string) string {
		return strings.NewReplacer("PKG", pkg, "FETCH", fetch).Replace(python)
	}
	const nodeGet = ` -e 'require("MODULE").get("URL", r => { if (r.statusCode != 200) { r.resume(); console.error(r.statusCode); process.exitCode = 1 } else r.pipe(process.stdout) }).on("error", e => { console.error(e.message); process.exit(1) })'`
	get := func(module, url string) string {
		return node + strings.NewReplacer("MODULE", module, "URL", url).Replace(nodeGet)
	}
	const fetch = ` -e 'fetch("URL").then(r => { if (!r.ok) throw new Error(r.status); return r.text() }).then(t => process.stdout.write(t)).catch(e => { console.error(e.message, e.cause); process.exit(1) })'`
	const ssh = `export GIT_SSH_COMMAND="$GIT_SSH_COMMAND -o StrictHostKeyChecking=accept-new -o UserKnownHostsFile=/tmp/known -o IdentitiesOnly=yes -F /dev/null"; `
	return []client{
		{"curl, http", "curl -fsS http://HOST/hello", "HELLO HOST"},
		{"curl, https", "curl -fsS https://HOST/hello", "HELLO HOST"},
		{"curl, socks", "curl -fsS --proxy socks5h://127.0.0.1:1080 https://HOST/hello", "HELLO HOST"},
		{"wget, http", "wget -nv -O- --tries=1 http://HOST/hello", "HELLO HOST"},
		{"wget, https", "wget -nv -O- --tries=1 --ca-certificate=ca.pem https://HOST/hello", "HELLO HOST"},
		{"git, http", "rm -rf /tmp/c; git clone -q http://HOST/git/r.git /tmp/c && git -C /tmp/c log --format=GOT-%s",
			"GOT-first"},
		{"git, https", "rm -rf /tmp/c; git clone -q https://HOST/git/r.git /tmp/c && git -C /tmp/c log --format=GOT-%s",
			"GOT-first"},
		{"git, ssh", ssh + "rm -rf /tmp/c; git clone -q ssh://git@HOST/r.git /tmp/c && git -C /tmp/c log --format=GOT-%s",
			"GOT-first"},
		{"go, http", "./netclient http://HOST/hello", "HELLO HOST"},
		{"go, https", "./netclient https://HOST/hello", "HELLO HOST"},
		{"node, http", get("http", "http://HOST/hello"), "HELLO HOST"},
		{"node, https", get("https", "https://HOST/hello"), "HELLO HOST"},
		{"node, fetch http", node + strings.ReplaceAll(fetch, "URL", "http://HOST/hello"), "HELLO HOST"},
		{"node, fetch https", node + strings.ReplaceAll(fetch, "URL", "https://HOST/hello"), "HELLO HOST"},
		{"python urllib, http", py("urllib.request", `urllib.request.urlopen("http://HOST/hello").read().decode()`),
			"HELLO HOST"},
		{"python urllib, https", py("urllib.request", `urllib.request.urlopen("https://HOST/hello").read().decode()`),
			"HELLO HOST"},
		{"python requests, http", py("requests", `(lambda r: (r.raise_for_status(), r.text)[1])(requests.get("http://HOST/hello"))`), "HELLO HOST"},
		{"python requests, https", py("requests", `(lambda r: (r.raise_for_status(), r.text)[1])(requests.get("https://HOST/hello"))`), "HELLO HOST"},
		{"npm", "rm -rf /tmp/n; mkdir /tmp/n; cd /tmp/n; npm install --no-audit --no-fund --no-update-notifier " +
			"--fetch-retries=0 --registry http://HOST/npm/ tiny && ls node_modules", "tiny"},
		{"go mod download", "rm -rf /tmp/g; mkdir /tmp/g; cd /tmp/g; /usr/local/go/bin/go mod init x 2>/dev/null; " +
			"GOPROXY=http://HOST/go GOSUMDB=off GOTOOLCHAIN=local GOFLAGS=-modcacherw GOMODCACHE=/tmp/g/mod " +
			"/usr/local/go/bin/go mod download -json tiny.example/m@v1.0.0", `"Version": "v1.0.0"`},
	}
}

// Issue "The network", 1: the usual tools reach a listed host and fail clearly for
// any other. A connection that bypasses the proxy has no route. R-OS-09 R-OS-11
func TestNetworkClients(t *testing.T) {
	t.Parallel()
	eachUserInWorld(t, func(t *testing.T, a *actor, w *world) {
		node, fetcher := modernNode(t), netclient(t)
		ca := newAuthority(t)
		good := newSite(t, w, ca, "good.example", "203.0.113.5", "2001:db8:2::5")
		evil := newSite(t, w, ca, "evil.example", "203.0.113.66", "2001:db8:2::66")
		packets := w.countPackets("203.0.113.5:443", "203.0.113.66:443", "203.0.113.66:53", "[2001:db8:2::66]:443")
		if err := os.WriteFile(filepath.Join(a.project, "ca.pem"), ca.pem, 0o644); err != nil {
			t.Fatal(err)
		}
		a.sh("cp " + fetcher + " netclient")
		a.configured(`
[network]
mode = "allowlist"
allow = ["good.example", "good.example:22"]
ask = false
[presets]
use = ["go"]
[environment]
set = {SSL_CERT_FILE = "`+filepath.Join(a.project, "ca.pem")+`", CURL_CA_BUNDLE = "`+filepath.Join(a.project, "ca.pem")+`", GIT_SSL_CAINFO = "`+filepath.Join(a.project, "ca.pem")+`", NODE_EXTRA_CA_CERTS = "`+filepath.Join(a.project, "ca.pem")+`", REQUESTS_CA_BUNDLE = "`+filepath.Join(a.project, "ca.pem")+`", npm_config_cache = "/tmp/npm"}
`, "--mode", "approve-all")
		for _, c := range clients(node) {
			if a.cred != nil && strings.HasSuffix(c.name, "https") && os.Getenv("ACCEPTANCE_ALL") == "" {
				continue // the same walls as for root, whose run has all of them
			}
			for _, host := range []string{"good.example", "evil.example"} {
				r := a.sbx("run", "--json", "-c", strings.ReplaceAll(c.script, "HOST", host))
				var res struct {
					Status         int
					Stdout, Stderr string
					Violations     []struct{ Object, Kind string }
				}
				if err := json.Unmarshal([]byte(r.out), &res); err != nil {
					t.Fatalf("%s: %v: %v", c.name, err, r)
				}
				through := res.Status == 0 && strings.Contains(res.Stdout, strings.ReplaceAll(c.out, "HOST", host))
				switch {
				case host == "good.example" && !through:
					t.Errorf("%s: it does not get through to a listed host: exit %d\n%s\n%s\n%v", c.name, res.Status, res.Stdout, res.Stderr, res.Violations)
				case host == "evil.example" && res.Status == 0:
					t.Errorf("%s: it does not fail: %s", c.name, res.Stdout)
				case host == "evil.example" && (len(res.Violations) == 0 || !strings.HasPrefix(res.Violations[0].Object, "evil.example:")):
					t.Errorf("%s: the result does not say what was refused: %+v\n%s", c.name, res.Violations, res.Stderr)
				case host == "evil.example" && !strings.Contains(res.Stdout+res.Stderr, "403") && !strings.Contains(res.Stdout+res.Stderr, "refused") && !strings.Contains(res.Stderr, "Can't complete SOCKS5"):
					t.Errorf("%s: it fails, but not clearly:\n%s%s", c.name, res.Stdout, res.Stderr)
				}
			}
		}
		if n := evil.conns.Load(); n != 0 {
			t.Errorf("the host that is not listed got %d connections", n)
		}

		// What ignores the proxy has no route, to whatever host.
		before := good.conns.Load()
		for _, c := range []client{
			{"curl without proxy", "curl -fsS -m 5 --noproxy '*' http://good.example/hello", ""},
			{"curl without variables", "env -u http_proxy -u HTTP_PROXY -u all_proxy -u ALL_PROXY curl -fsS -m 5 http://good.example/hello", ""},
			{"curl, address", "curl -fsS -m 5 --noproxy '*' http://203.0.113.5/hello", ""},
			{"curl, IPv6 address", "curl -fsS -m 5 --noproxy '*' 'http://[2001:db8:2::5]/hello'", ""},
			{"curl, interface", "curl -fsS -m 5 --noproxy '*' --interface lo http://203.0.113.5/hello", ""},
			{"wget without proxy", "wget -qO- --tries=1 --timeout=5 --no-proxy http://203.0.113.5/hello", ""},
			{"raw IPv4", "timeout 5 bash -c 'exec 3<>/dev/tcp/203.0.113.66/80'", ""},
			{"raw IPv6", "timeout 5 bash -c 'exec 3<>/dev/tcp/2001:db8:2::66/80'", ""},
			{"the machine", "timeout 5 bash -c 'exec 3<>/dev/tcp/192.0.2.1/80'", ""},
			{"the gateway", "timeout 5 bash -c 'exec 3<>/dev/tcp/192.0.2.2/80'", ""},
			{"UDP", "timeout 5 bash -c 'echo x >/dev/udp/203.0.113.66/53'", ""},
			{"QUIC", "timeout 5 bash -c 'head -c 1200 /dev/zero >/dev/udp/203.0.113.5/443'", ""},
			{"UDP over IPv6", "timeout 5 bash -c 'echo x >/dev/udp/2001:db8:2::66/443'", ""},
			{"ICMP", `/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP).sendto(b"\x08\0\xf7\xff\0\0\0\0", ("203.0.113.66", 0))'`, ""},
			{"raw ICMP", `/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)'`, ""},
			{"DNS", `/usr/bin/python3 -c 'import socket; print(socket.getaddrinfo("secret.evil.example", 80))'`, ""},
			{"DNS by hand", "timeout 5 bash -c 'echo x >/dev/udp/192.0.2.2/53'", ""},
		} {
			if r := a.sbx("run", "-c", c.script); r.code == 0 {
				t.Errorf("%s: it got through: %v", c.name, r)
			}
		}
		if n := good.conns.Load(); n != before {
			t.Errorf("%d connections went around the proxy", n-before)
		}
		if n := packets.Load(); n != 0 {
			t.Errorf("%d packets got out", n)
		}
		for _, name := range w.askedFor() {
			if name != "good.example" {
				t.Errorf("the resolver was asked for %q", name)
			}
		}
	})
}

// countPackets counts the UDP packets that arrive on the servers' side.
func (w *world) countPackets(addrs ...string) *atomic.Int64 {
	w.t.Helper()
	n := new(atomic.Int64)
	for _, addr := range addrs {
		var conn net.PacketConn
		var err error
		w.on(func() { conn, err = net.ListenPacket("udp", addr) })
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { conn.Close() })
		go func() {
			for {
				if _, _, err := conn.ReadFrom(make([]byte, 2000)); err != nil {
					return
				}
				n.Add(1)
			}
		}()
	}
	return n
}
