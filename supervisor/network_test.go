package supervisor

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sandboxd/approval"
	"sandboxd/config"
	"sandboxd/egress"
	"sandboxd/profile"
	"sandboxd/sandbox"
	"sandboxd/shell"
)

// configured returns the configuration of text.
func configured(t *testing.T, text string) *config.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.Load(config.Paths{User: file})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// network is the network of one command under a configuration, with a person's answers.
type network struct {
	*proxySession
	asked  []string // the questions, in order
	answer func(approval.Pending) approval.Answer
}

// Ask is the person's answer: [approval.Approver].
func (n *network) Ask(_ context.Context, p approval.Pending) (approval.Answer, error) {
	n.asked = append(n.asked, p.Description)
	return n.answer(p), nil
}

func yes(p approval.Pending) approval.Answer { return p.Allow(approval.Identity{}) }

var ann = approval.Identity{Principal: approval.Principal{UID: os.Getuid()}, Name: "ann", Via: approval.ViaTerminal}

// networked opens the network of a command; operator, if not nil, is the ceiling of what a person may add. Without
// sockets there is no proxy: the decisions alone.
func networked(t *testing.T, text string, operator *profile.Network, sockets *sandbox.Sockets) *network {
	t.Helper()
	s, sess := authorizer(t, t.TempDir())
	t.Cleanup(s.closeParts)
	s.Host, s.proxySessions = &sandbox.Host{}, map[*proxySession]bool{}
	s.connections = egress.NewBudget(16)
	s.config = configured(t, text)
	sess.Home, sess.User = t.TempDir(), "eve"
	s.Approval.OpenSession(sess.Ref())
	effective, _, err := s.profiles(s.config, sess, false, "")
	if err != nil {
		t.Fatal(err)
	}
	j := &judgement{}
	if j.reach, err = s.reaching(s.config, "", effective, nil); err != nil || j.reach == nil {
		t.Fatalf("got %+v, %v, want a network", j.reach, err)
	}
	j.reach.policy.operator = operator
	if sockets == nil {
		j.reach.proxied, sockets = false, &sandbox.Sockets{}
	}
	n := &network{answer: yes}
	t.Cleanup(s.Approval.Attach(ann, n))
	n.proxySession = s.openProxySession(&Exec{ID: "e", Session: sess, log: newEventLog(0)}, j, sockets)
	t.Cleanup(func() { n.close() })
	return n
}

func host(name string, port uint16) egress.Target {
	if addr, err := netip.ParseAddr(name); err == nil {
		return egress.Target{Addr: addr, Port: port}
	}
	return egress.Target{Name: name, Port: port}
}

const allowlist = `[network]
mode = "allowlist"
allow = ["good.example:443"]
deny = ["evil.example", "192.0.2.66"]
`

// A host is reached by the configuration or by a person's yes; a denial of the configuration and the operator's
// ceiling are above every yes. R-OS-09
func TestHosts(t *testing.T) {
	operator := &profile.Network{Mode: profile.NetAllowlist, Hosts: []profile.HostPort{
		{Host: "good.example", Port: 443}, {Host: "new.example", Port: 443},
	}}
	no := func(p approval.Pending) approval.Answer { return p.Deny(approval.Identity{}, "not today") }
	silent := func(p approval.Pending) approval.Answer { return p.Deny(approval.Identity{}, "") }
	for _, c := range []struct {
		name     string
		ask      string // a line of [network]
		operator *profile.Network
		target   egress.Target
		answer   func(approval.Pending) approval.Answer
		asked    int
		allowed  bool
		why      string // begins the reason of the refusal
	}{
		{"listed", "", nil, host("good.example", 443), no, 0, true, ""},
		{"another port", "", nil, host("good.example", 80), no, 1, false, "a person denied it: not today"},
		{"without a note", "", nil, host("new.example", 443), silent, 1, false, "a person denied it"},
		{"a yes", "", nil, host("new.example", 443), yes, 1, true, ""},
		{"an address", "", nil, host("192.0.2.1", 443), yes, 1, true, ""},
		{"not asked about", "ask = false", nil, host("new.example", 443), yes, 0, false, "it is not on the list of hosts"},
		{"denied", "", nil, host("evil.example", 443), yes, 0, false, "the configuration denies it"},
		{"a denied address", "", nil, host("192.0.2.66", 1), yes, 0, false, "the configuration denies it"},
		{"within the ceiling", "", operator, host("new.example", 443), yes, 1, true, ""},
		{"above the ceiling", "", operator, host("new.example", 80), yes, 0, false, "the operator's profile"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := networked(t, allowlist+c.ask, c.operator, nil)
			n.answer = c.answer
			got := n.Judge(t.Context(), c.target)
			if got.Allowed != c.allowed || !strings.HasPrefix(got.Why, c.why) {
				t.Errorf("got %+v, want allowed %v, why %q", got, c.allowed, c.why)
			}
			if again := n.Judge(t.Context(), c.target); again != got {
				t.Errorf("again: got %+v, want %+v", again, got)
			}
			if allows := n.Allows(c.target); allows != c.allowed {
				t.Errorf("got %v for the open connection, want %v", allows, c.allowed)
			}
			if len(n.asked) != c.asked {
				t.Errorf("got the questions %q, want %d", n.asked, c.asked)
			}
		})
	}
}

// Addresses of this machine and of private networks need a grant of their own: a name's does not cover them. R-OS-09
func TestAddresses(t *testing.T) {
	n := networked(t, `[network]
mode = "allowlist"
allow = ["10.0.0.1:443"]
deny = ["10.0.0.2"]
host_ports = [5432]
`, nil, nil)
	for _, c := range []struct {
		addr            string
		port            uint16
		granted, denied bool
	}{
		{"127.0.0.1", 5432, true, false},
		{"::1", 5432, true, false},
		{"127.0.0.1", 5433, false, false},
		{"10.0.0.1", 443, true, false},
		{"10.0.0.1", 80, false, false},
		{"10.0.0.2", 443, false, true},
	} {
		addr := netip.MustParseAddr(c.addr)
		granted, denied := n.Granted(addr, c.port), n.Denied(addr, c.port)
		if granted != c.granted || denied != c.denied {
			t.Errorf("%s port %d: got granted %v, denied %v, want %v, %v",
				addr, c.port, granted, denied, c.granted, c.denied)
		}
	}
}

// A grant that is revoked and a configuration that is reloaded count at once, also for connections that are open; after
// a revocation the host is asked about again. R-OS-09, R-AP-08
func TestNetworkIsRechecked(t *testing.T) {
	n := networked(t, allowlist, nil, nil)
	n.answer = func(p approval.Pending) approval.Answer {
		a := yes(p)
		a.Scope = approval.ScopeSession
		return a
	}
	listed, granted := host("good.example", 443), host("new.example", 443)
	expect := func(when string, wantListed, wantGranted bool) {
		t.Helper()
		if a, b := n.Allows(listed), n.Allows(granted); a != wantListed || b != wantGranted {
			t.Errorf("%s: got listed %v, granted %v, want %v, %v", when, a, b, wantListed, wantGranted)
		}
	}
	expect("before the question", true, false)
	if got := n.Judge(t.Context(), granted); !got.Allowed {
		t.Fatalf("got %+v, want the person's yes", got)
	}
	expect("after the yes", true, true)
	grants := n.s.Approval.Grants(ann)
	if len(grants) != 1 {
		t.Fatalf("got the grants %+v, want one", grants)
	}
	if err := n.s.RevokeGrant(ann, grants[0].ID); err != nil {
		t.Fatal(err)
	}
	expect("after the revocation", true, false)
	if got := n.Judge(t.Context(), granted); !got.Allowed || len(n.asked) != 2 {
		t.Errorf("got %+v after the questions %q, want a second question", got, n.asked)
	}
	for _, c := range []struct {
		config          string
		listed, granted bool
	}{
		{`[network]
mode = "allowlist"
allow = ["other.example"]
`, false, true},
		{`[network]
mode = "allowlist"
deny = ["new.example"]
allow = ["good.example"]
`, true, false},
		{"[network]\nmode = \"full\"\n", true, true},
		{"[network]\nmode = \"none\"\n", false, true}, // the yes was to this command, and is not withdrawn
	} {
		n.s.config = configured(t, c.config)
		n.s.recheckOutlets()
		expect(c.config, c.listed, c.granted)
	}
}

// A command can't have a person asked without end. R-AP-15
func TestHostQuestionsAreBounded(t *testing.T) {
	n := networked(t, allowlist, nil, nil)
	for i := range maxHostQuestions + 2 {
		got := n.Judge(t.Context(), host("new.example", uint16(i+1)))
		if want := i < maxHostQuestions; got.Allowed != want {
			t.Fatalf("host %d: got %+v, want allowed %v", i+1, got, want)
		}
	}
	if len(n.asked) != maxHostQuestions {
		t.Errorf("got %d questions, want %d", len(n.asked), maxHostQuestions)
	}
}

// The proxy of a command refuses with its reason, and the refusal is in the report at the end.
func TestProxyRefuses(t *testing.T) {
	sockets := &sandbox.Sockets{}
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		sockets.Listeners = append(sockets.Listeners, l)
	}
	proxy := "http://" + sockets.Listeners[0].Addr().String()
	n := networked(t, allowlist, nil, sockets)
	at, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(at), DisableKeepAlives: true}}
	resp, err := client.Get("http://evil.example/")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("got %s, want 403", resp.Status)
	}
	_, violations := n.close()
	want := Violation{Kind: sandbox.RefusedNetwork, Op: "connect", Object: "evil.example:80", By: "proxy", Count: 1,
		Rule: "the configuration denies it ([network] deny)"}
	if !slices.Equal(violations, []Violation{want}) {
		t.Errorf("got %+v, want %+v", violations, want)
	}
	if got := n.Judge(t.Context(), host("late.example", 1)); got.Allowed {
		t.Error("got a host after the command's end")
	}
}

// A refused host says to the tool's reader who refused it and how it is permitted, if it can be.
func TestHostRuling(t *testing.T) {
	const hint = "to permit it: sbx allow new.example:443"
	for _, c := range []struct {
		decision approval.Decision
		want     egress.Ruling
	}{
		{approval.Decision{Approved: true}, egress.Ruling{Allowed: true}},
		{approval.Decision{Reason: approval.ReasonTimeout},
			egress.Ruling{Why: "it is not on the list of hosts, and no person answered in time", Hint: hint}},
		{approval.Decision{Reason: approval.ReasonNoApprover},
			egress.Ruling{Why: "it is not on the list of hosts, and no person answered in time", Hint: hint}},
		{approval.Decision{Reason: approval.ReasonQuit}, egress.Ruling{Why: "a person denied it"}},
		{approval.Decision{Reason: approval.ReasonStopped}, egress.Ruling{Why: "the session is stopped"}},
		{approval.Decision{Reason: approval.ReasonGrant, Why: "a grant denies it"},
			egress.Ruling{Why: "a grant denies it", Hint: hint}},
		{approval.Decision{Reason: approval.ReasonGrant},
			egress.Ruling{Why: "it is not on the list of hosts (grant)", Hint: hint}},
	} {
		if got := hostRuling(host("new.example", 443), c.decision); got != c.want {
			t.Errorf("%+v: got %+v, want %+v", c.decision, got, c.want)
		}
	}
}

// The network of a command is the narrower of the configuration's and its rule's.
func TestReaching(t *testing.T) {
	for _, c := range []struct {
		config, word     string
		ports            []uint16
		callers          int
		proxied, nothing bool
	}{
		{config: "none", nothing: true},
		{config: "full", nothing: true}, // the kernel's own network
		{config: "loopback", nothing: true},
		{config: "loopback\"\nhost_ports = [5432]\npublish = [8080]\n#\"", ports: []uint16{5432}, callers: maxPublished},
		{config: "allowlist", ports: []uint16{httpPort, socksPort}, callers: maxInside, proxied: true},
		{config: "allowlist", word: "none", nothing: true},
		{config: "allowlist", word: "loopback", nothing: true},
		{config: "allowlist", word: "full", ports: []uint16{httpPort, socksPort}, callers: maxInside, proxied: true},
	} {
		cfg := configured(t, "[network]\nmode = \""+c.config+"\"\n")
		s := &Supervisor{Host: &sandbox.Host{}, config: cfg}
		sess := &Session{Root: t.TempDir(), Home: t.TempDir(), User: "eve"}
		effective, operator, err := s.profiles(cfg, sess, true, c.word)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.reaching(cfg, c.word, effective, operator)
		if err != nil || (r == nil) != c.nothing {
			t.Errorf("%q, %q: got %+v, %v, want nothing %v", c.config, c.word, r, err, c.nothing)
			continue
		}
		ports, callers := r.ports()
		if !slices.Equal(ports, c.ports) || callers != c.callers {
			t.Errorf("%q, %q: got ports %v, %d callers, want %v, %d",
				c.config, c.word, ports, callers, c.ports, c.callers)
		}
		if got := r.variables()["https_proxy"] == "http://127.0.0.1:3128"; got != c.proxied {
			t.Errorf("%q, %q: got the proxy named %v, want %v", c.config, c.word, got, c.proxied)
		}
	}
}

// The hint at a refused socket or address names the narrowest setting that permits it, and the place of that setting.
func TestNetworkHint(t *testing.T) {
	for _, c := range []struct {
		config, word, object string
		mode                 profile.NetMode // of the command's profile
		operator             *profile.Network
		want                 string
	}{
		{"none", "none", "127.0.0.1:80", profile.NetNone, nil,
			`to permit it: [network] mode = "loopback" for 127.0.0.1 and ::1`},
		{"none", "none", "192.0.2.1:80", profile.NetNone, nil,
			"to permit it: sbx allow 192.0.2.1:80"},
		{"none", "none", "192.0.2.1:53", profile.NetNone, nil,
			"to permit it: sbx allow HOST:PORT for the host whose name it looked up"},
		{"none", "none", "IPv4 ping", profile.NetNone, nil, `to permit it: [network] mode = "full"`},
		{"none", "none", "IPv4 TCP", profile.NetNone, nil,
			`to permit it: [network] mode = "loopback" for 127.0.0.1 and ::1, ` +
				`or sbx allow HOST:PORT for other hosts`},
		{"none", "none", "IPv4 UDP", profile.NetNone, nil,
			`to permit it: [network] mode = "loopback" for 127.0.0.1 and ::1, or mode = "full" for other hosts`},
		{"full", "none", "IPv4 ping", profile.NetNone, nil, `to permit it: [[shell.rules]] network = "full"`},
		{"allowlist", "", "192.0.2.1:80", profile.NetAllowlist, nil,
			"it did not use the proxy that the environment names, which is the only way out (docs/network.md has how: " +
				`Node from 22.21 and 24.5); to permit the host there: sbx allow 192.0.2.1:80`},
		{"none", "none", "192.0.2.1:80", profile.NetNone, &profile.Network{}, hintOperator},
	} {
		cfg := configured(t, "[network]\nmode = \""+c.config+"\"\n")
		s := &Supervisor{Host: &sandbox.Host{}, config: cfg}
		sess := &Session{Root: t.TempDir(), Home: t.TempDir(), User: "eve"}
		network := profile.Network{Mode: c.mode, Hosts: []profile.HostPort{{Host: "good.example", Port: 443}}}
		if c.mode == profile.NetNone {
			network.Hosts = nil
		}
		p, err := profile.New(profile.Spec{Network: network})
		if err != nil {
			t.Fatal(err)
		}
		j := &judgement{plan: &sandbox.Plan{Profile: p}, verdict: shell.Verdict{Network: c.word}}
		if c.operator != nil {
			ceiling, err := profile.New(profile.Spec{Network: *c.operator})
			if err != nil {
				t.Fatal(err)
			}
			j.operator = &ceiling
		}
		refusal := sandbox.Refusal{Kind: sandbox.RefusedNetwork, Object: c.object}
		if got := s.networkHint(refusal, j, sess); got != c.want {
			t.Errorf("%s in mode %s: got %q, want %q", c.object, c.config, got, c.want)
		}
	}
}
