package supervisor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"sandboxd/approval"
	"sandboxd/config"
	"sandboxd/egress"
	"sandboxd/internal/accept"
	"sandboxd/profile"
	"sandboxd/sandbox"
)

// Ports on a command's own localhost, where the usual tools expect a proxy.
const (
	httpPort  = 3128
	socksPort = 1080
)

// callers is how many connections at once a published port takes.
const maxPublished = 64

// maxInside is how many connections at once the proxy has to the command's own localhost, for clients that do not read
// which names need no proxy.
const maxInside = 8

// maxHostQuestions bounds how many hosts one command can have a person asked
// about, and maxOpenQuestions how many of them wait at once.
const (
	maxHostQuestions = 64
	maxOpenQuestions = 4
)

// reaching is the network of a judgement, where it takes more than the kernel.
type reaching struct {
	proxied bool // mode allowlist
	policy  reachable
	// in are ports of the machine's localhost, out ports of the command's.
	in, out []uint16
	limits  egress.Limits
}

// reachable is which hosts a configuration lets a command reach.
type reachable struct {
	hosts    profile.Network  // derived ∩ operator
	operator *profile.Network // the ceiling of a person's additions; nil: none
	denied   profile.Network
	ask      bool
}

// reaching determines the network resources of a command; nil is none.
func (s *Supervisor) reaching(cfg *config.Config, word string, effective profile.Profile,
	operator *profile.Profile) (*reaching, error) {
	mode, err := netMode(cfg, word)
	if err != nil {
		return nil, err
	}
	if effective.Network().Mode == profile.NetAllowlist { // an agent's preset gives it more than the configuration
		mode = profile.NetAllowlist
	}
	var ceiling *profile.Network
	if operator != nil {
		n := operator.Network()
		mode, ceiling = min(mode, n.Mode), &n
	}
	if mode == profile.NetNone || mode == profile.NetFull || effective.Network().Mode == profile.NetNone {
		return nil, nil
	}
	r := &reaching{policy: reachable{hosts: effective.Network(), operator: ceiling, ask: cfg.Network.Ask}}
	r.proxied = mode == profile.NetAllowlist
	if r.policy.denied.Hosts, err = cfg.Network.Denied(); err != nil {
		return nil, err
	}
	r.policy.denied.Mode = profile.NetAllowlist
	for _, port := range cfg.Network.HostPorts {
		r.in = append(r.in, uint16(port))
	}
	for _, port := range cfg.Network.Publish {
		r.out = append(r.out, uint16(port))
	}
	l := cfg.Network.Limits
	r.limits = egress.Limits{Connections: l.Connections, Idle: time.Duration(l.Idle), Total: time.Duration(l.Total),
		Bytes: int64(l.Bytes)}
	if !r.proxied && len(r.in)+len(r.out) == 0 {
		return nil, nil
	}
	return r, nil
}

// netMode is the network mode of a command whose rule says word, by the configuration.
func netMode(cfg *config.Config, word string) (profile.NetMode, error) {
	mode, err := profile.ParseNetMode(cfg.Network.Mode)
	if err != nil || word == "" {
		return mode, err
	}
	own, err := profile.ParseNetMode(word)
	return min(mode, own), err
}

// ports returns the ports that the stage listens on, in the order in which serve
// takes them.
func (r *reaching) ports() (ports []uint16, callersInside int) {
	if r == nil {
		return nil, 0
	}
	if r.proxied {
		ports = []uint16{httpPort, socksPort}
	}
	switch {
	case len(r.out) > 0:
		callersInside = maxPublished
	case r.proxied:
		callersInside = maxInside
	}
	return append(ports, r.in...), callersInside
}

// variables lead the usual tools to the proxy. Names are resolved by it, never
// inside. A tool that ignores all of them has no route.
func (r *reaching) variables() map[string]string {
	if r == nil || !r.proxied {
		return nil
	}
	proxy := "http://127.0.0.1:" + strconv.Itoa(httpPort)
	local := "localhost,.localhost,127.0.0.1,127.0.0.0/8,0.0.0.0,::1,[::1]"
	java := "localhost|*.localhost|127.*|0.0.0.0|[::1]"
	if name, err := os.Hostname(); err == nil && machineName.MatchString(name) {
		local, java = local+","+name, java+"|"+name
	}
	env := map[string]string{
		"NODE_USE_ENV_PROXY": "1", "CARGO_NET_GIT_FETCH_WITH_CLI": "true",
		// ssh has no proxy of its own; bash can speak to ours.
		"GIT_SSH_COMMAND": "ssh -o ProxyCommand='" + sshProxy + "'",
		"JAVA_TOOL_OPTIONS": fmt.Sprintf("-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=%d -Dhttps.proxyHost=127.0.0.1 "+
			"-Dhttps.proxyPort=%d -Dhttp.nonProxyHosts=%s", httpPort, httpPort, java),
		"npm_config_proxy": proxy, "npm_config_https_proxy": proxy, "npm_config_noproxy": local,
	}
	for _, name := range []string{"http_proxy", "https_proxy", "all_proxy", "ftp_proxy", "HTTP_PROXY", "HTTPS_PROXY",
		"ALL_PROXY"} {
		env[name] = proxy
	}
	env["no_proxy"], env["NO_PROXY"] = local, local
	return env
}

// machineName has no character that separates names in these variables.
var machineName = regexp.MustCompile(`^[A-Za-z0-9.-]+$`)

// sshProxy connects standard input and output to %h:%p through the proxy. A
// refusal goes to standard error. It holds no single quote.
var sshProxy = fmt.Sprintf(`bash -c "exec 3<>/dev/tcp/127.0.0.1/%d; `+
	`printf \"CONNECT %%h:%%p HTTP/1.1\r\nHost: %%h:%%p\r\n\r\n\" >&3; `+
	`IFS= read -r line <&3; case \$line in *\" 200 \"*) ;; *) echo \"\$line\" >&2; exit 1;; esac; `+
	`IFS= read -r line <&3; cat <&3 & cat >&3; kill \$!"`, httpPort)

// proxySession is the network of one running command.
type proxySession struct {
	s    *Supervisor
	exec *Exec
	j    *judgement
	gate *egress.Gate
	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup
	open chan struct{} // a slot for each question that waits

	mu        sync.Mutex
	policy    reachable
	questions map[egress.Target]*hostQuestion
	refusals  []Violation
	published []net.Listener
}

// maxConnections leaves the daemon descriptors for everything else; a
// connection takes two.
func maxConnections() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 256
	}
	return int(min(l.Cur/4, 8192))
}

// hostQuestion is a person's answer about one host, for the rest of a command.
type hostQuestion struct {
	done     chan struct{}
	decision approval.Decision // valid once done is closed
	err      error
}

// openProxySession serves the sockets of a command that has just started; nil: it has none.
func (s *Supervisor) openProxySession(e *Exec, j *judgement, sockets *sandbox.Sockets) *proxySession {
	if j.reach == nil {
		return nil
	}
	o := &proxySession{s: s, exec: e, j: j, policy: j.reach.policy, questions: map[egress.Target]*hostQuestion{},
		open: make(chan struct{}, maxOpenQuestions)}
	o.ctx, o.stop = context.WithCancel(context.Background())
	machine, _ := os.Hostname() // empty: it has no name
	o.gate = egress.Open(egress.Options{Policy: o, Limits: j.reach.limits, Budget: s.connections, Refused: o.refused,
		Inside: sockets.Call, Machine: machine})
	listeners := sockets.Listeners
	if j.reach.proxied {
		o.work.Go(func() { o.gate.ServeHTTP(sockets.Listeners[0]) })
		o.work.Go(func() { o.gate.ServeSOCKS(sockets.Listeners[1]) })
		listeners = listeners[2:]
	}
	for i, l := range listeners {
		to := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), j.reach.in[i])
		o.work.Go(func() { o.gate.Forward(l, to) })
	}
	for _, port := range j.reach.out {
		o.publish(sockets, port)
	}
	s.mu.Lock()
	s.proxySessions[o] = true
	s.mu.Unlock()
	return o
}

// close ends all connections, and returns their uses and violations.
func (o *proxySession) close() ([]egress.Use, []Violation) {
	o.s.mu.Lock()
	delete(o.s.proxySessions, o)
	o.s.mu.Unlock()
	o.stop()
	o.mu.Lock()
	for _, l := range o.published {
		l.Close()
	}
	o.mu.Unlock()
	uses := o.gate.Close()
	o.work.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	return uses, o.refusals
}

// refused notes refusals for the report at the end of the command.
func (o *proxySession) refused(r egress.Refusal) {
	o.mu.Lock()
	defer o.mu.Unlock()
	const most = 100
	if len(o.refusals) < most {
		o.refusals = append(o.refusals, Violation{Kind: sandbox.RefusedNetwork, Op: "connect", Object: r.Target,
			Rule: r.Why, By: "proxy", Hint: r.Hint, Count: 1})
	}
}

// publish lets the machine's localhost reach a port of the command's. Another
// command may have it already; then it keeps it.
func (o *proxySession) publish(sockets *sandbox.Sockets, port uint16) {
	at := "127.0.0.1:" + strconv.Itoa(int(port))
	l, err := net.Listen("tcp", at)
	if err != nil {
		o.refused(egress.Refusal{Target: at, Why: "it can't be published: " + err.Error(),
			Hint: "another command may have it; try when that has ended"})
		return
	}
	o.published = append(o.published, l)
	o.work.Go(func() { o.letIn(l, func() (net.Conn, error) { return sockets.Call(o.ctx, port) }) })
}

// letIn joins the connections of l with those of call, until the command's end.
func (o *proxySession) letIn(l net.Listener, call func() (net.Conn, error)) {
	l = accept.Retrying(l)
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		o.work.Go(func() {
			in, err := call()
			if err != nil {
				c.Close()
				return
			}
			egress.Join(o.ctx, c, in)
		})
	}
}

// denies reports a host that is never reached. The lock is held.
func (r *reachable) denies(host string, port uint16) bool { return r.denied.AllowsHost(host, port) }

// Judge implements egress.Policy: the configuration, then a person.
func (o *proxySession) Judge(ctx context.Context, t egress.Target) egress.Ruling {
	o.mu.Lock()
	p := o.policy
	switch {
	case p.denies(t.Host(), t.Port):
		o.mu.Unlock()
		return egress.Ruling{Why: "the configuration denies it ([network] deny)"}
	case p.hosts.AllowsHost(t.Host(), t.Port):
		o.mu.Unlock()
		return egress.Ruling{Allowed: true}
	case p.operator != nil && !p.operator.AllowsHost(t.Host(), t.Port):
		o.mu.Unlock()
		return egress.Ruling{Why: "the operator's profile does not allow this host", Hint: "ask the administrator"}
	case !p.ask:
		o.mu.Unlock()
		return egress.Ruling{Why: "it is not on the list of hosts", Hint: hostHint(t)}
	}
	q := o.questions[t]
	if q != nil && o.withdrawn(q) {
		delete(o.questions, t)
		q = nil
	}
	if q == nil {
		if len(o.questions) >= maxHostQuestions {
			o.mu.Unlock()
			return egress.Ruling{Why: fmt.Sprintf("it is not on the list of hosts, and this command has had %d others asked "+
				"about", maxHostQuestions), Hint: hostHint(t)}
		}
		q = &hostQuestion{done: make(chan struct{})}
		o.questions[t] = q
		o.work.Go(func() { o.put(q, t) })
	}
	o.mu.Unlock()
	select {
	case <-q.done:
	case <-ctx.Done():
		return egress.Ruling{Why: "the command did not wait for the answer"}
	}
	if q.err != nil {
		return egress.Ruling{Why: q.err.Error()}
	}
	return hostRuling(t, q.decision)
}

func hostHint(t egress.Target) string {
	return fmt.Sprintf("to permit it: sbx allow %s", t)
}

// hostRuling words a decision for the reader of a tool's output.
func hostRuling(t egress.Target, d approval.Decision) egress.Ruling {
	if d.Approved {
		return egress.Ruling{Allowed: true}
	}
	r := egress.Ruling{Why: d.Why, Hint: hostHint(t)}
	switch d.Reason {
	case approval.ReasonTimeout, approval.ReasonNoApprover:
		r.Why = "it is not on the list of hosts, and no person answered in time"
	case approval.ReasonPerson, approval.ReasonQuit:
		r.Why, r.Hint = "a person denied it", ""
		if d.Note != "" {
			r.Why += ": " + d.Note
		}
	case approval.ReasonStopped:
		r.Why, r.Hint = "the session is stopped", ""
	}
	if r.Why == "" {
		r.Why = "it is not on the list of hosts (" + string(d.Reason) + ")"
	}
	return r
}

// put asks about t, and puts the answer on record before it takes effect.
func (o *proxySession) put(q *hostQuestion, t egress.Target) {
	defer close(q.done)
	select {
	case o.open <- struct{}{}:
		defer func() { <-o.open }()
	case <-o.ctx.Done():
		q.err = fmt.Errorf("the command has ended")
		return
	}
	p, err := o.s.authorize(o.ctx, &hostAction{o, t})
	o.mu.Lock()
	q.decision, q.err = p.Decision, err
	o.mu.Unlock()
	if err == nil {
		o.whileGranted(p.Decision)
		o.exec.log.add(Event{Kind: EventDecided, Decision: &p.Decision})
	}
}

// hostAction is a connection to a host that no list has. Its digest names the command and the host: nothing else can
// change while the command waits.
type hostAction struct {
	o *proxySession
	t egress.Target
}

func (a *hostAction) exec() *Exec { return a.o.exec }

func (a *hostAction) judge(context.Context) (subject, error) {
	call := a.o.call(a.t)
	r := recordOf(a.o.exec, a.o.j)
	r.Tool, r.Subject, r.Digest, r.Rule = call.Tool, a.t.String(), call.Digest, ""
	r.Risk, r.Reasons, r.Input = string(call.Request.Risk), call.Request.Reasons, nil
	return subject{digest: call.Digest, call: call, record: r}, nil
}

func (a *hostAction) decided(approval.Decision) error { return nil }

// NetworkTool is the name under which hosts are asked about and granted.
const NetworkTool = "network"

// call is the question whether the command may reach t.
func (o *proxySession) call(t egress.Target) approval.Call {
	e := o.exec
	payload := map[string]any{"host": t.Host(), "port": int(t.Port)}
	request := &approval.Request{
		Tool: NetworkTool, Description: "Connect to " + t.String(), Payload: payload, Risk: approval.RiskNormal,
		Reasons: []string{"the command wants to connect to " + t.String() + ", which is not on the list of hosts; " +
			"it waits"},
		Suggestions: []approval.Suggestion{{Label: "every port of " + t.Host(),
			Pattern: approval.Pattern{Tool: NetworkTool, Where: []approval.Condition{approval.Equal("host", t.Host())},
				Free: []string{"port"}}}},
	}
	for _, u := range o.gate.Uses() {
		if u.Connections > 0 && len(request.Reasons) < 4 {
			request.Reasons = append(request.Reasons, fmt.Sprintf("so far it sent %d bytes to %s, and received %d", u.Sent,
				u.Target, u.Received))
		}
	}
	if t.Addr.IsValid() {
		request.Reasons = append(request.Reasons, "it names an address, not a host: who is behind it can't be seen")
		request.Risk = approval.RiskHigh
	}
	class := approval.Class{}
	if o.s.Config().Approval.Policy == approval.PolicyBlacklist {
		// There all runs that no list names; but these hosts have a list.
		class.Rule, class.RuleText = approval.RuleAsk, "[network] mode"
	}
	sum := sha256.Sum256([]byte(e.ID + " " + t.String()))
	return approval.Call{
		ID: e.Request.CallID, Principal: e.Session.principal(), Session: e.Session.ID, Agent: e.Session.Agent,
		Project: e.Session.Root,
		Tool:    NetworkTool, Payload: payload, Request: request, Class: class, Digest: hex.EncodeToString(sum[:]),
		Cwd:    e.Request.Cwd,
		Inline: e.Request.Inline && !e.Request.Terminal,
		Asked:  func(p approval.Pending) { e.log.add(Event{Kind: EventAsked, Pending: &p}) },
	}
}

// Allows implements egress.Policy.
func (o *proxySession) Allows(t egress.Target) bool {
	o.mu.Lock()
	p, q := o.policy, o.questions[t]
	var d approval.Decision
	if q != nil && q.err == nil {
		d = q.decision
	}
	o.mu.Unlock()
	switch {
	case p.denies(t.Host(), t.Port):
		return false
	case p.hosts.AllowsHost(t.Host(), t.Port):
		return true
	case p.operator != nil && !p.operator.AllowsHost(t.Host(), t.Port):
		return false
	}
	return d.Approved && o.s.stillGranted(o.exec, d)
}

// Granted implements egress.Policy.
func (o *proxySession) Granted(addr netip.Addr, port uint16) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.policy.denies(addr.String(), port) {
		return false
	}
	// The way to a port of this machine's localhost is a grant of its own.
	if addr.IsLoopback() && slices.Contains(o.j.reach.in, port) {
		return true
	}
	return o.policy.hosts.Mode == profile.NetAllowlist && o.policy.hosts.AllowsHost(addr.String(), port)
}

// Denied implements egress.Policy.
func (o *proxySession) Denied(addr netip.Addr, port uint16) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.policy.denies(addr.String(), port)
}
