package seccomp

import "sandboxd/profile"

// Constants of include/linux/socket.h, include/linux/net.h and include/uapi/linux/in.h.
const (
	afUnix, afInet, afInet6, afNetlink = 1, 2, 10, 16
	sockStream, sockDgram, sockRaw     = 1, 2, 3
	sockPacket                         = 10
	typeMask                           = 0xf // the rest is SOCK_NONBLOCK and SOCK_CLOEXEC
	tcp, udp, icmp, icmp6, mptcp       = 6, 17, 1, 58, 262
)

// network answers socket and socketpair. Unix sockets are always to be had: which of them can be reached is a matter
// of mounts, scopes and the network namespace. So is NETLINK_ROUTE, which only reads: getifaddrs(3), Node and Go list
// interfaces with it. IP sockets follow the mode: none at all for none, TCP and UDP for the others, also pings for
// full.
// Without a network namespace UDP and local addresses would be the host's, so only full has IP sockets then.
// Multipath TCP is refused as Landlock's port rules do not see it; programs fall back to TCP.
func network(mode profile.NetMode, shared bool) ([]rule, []profile.Gap) {
	family := func(f uint64) test { return is(0, f) }
	kind := func(t uint64) test { return test{1, typeMask, t} }
	protocol := func(p uint64) test { return is(2, p) }
	rules := []rule{
		{Calls: []string{"socket"}, When: []test{family(afUnix)}, Why: "Unix"},
		{Calls: []string{"socketpair"}, When: []test{family(afUnix)}, Why: "Unix"},
		{Calls: []string{"socket"}, When: []test{family(afNetlink), protocol(0)}, Why: "NETLINK_ROUTE"},
		{Calls: names(`socket socketpair`), Answer: EAFNOSUPPORT, Why: "other families and protocols"},
	}
	var gaps []profile.Gap
	none := mode == profile.NetNone
	if shared && mode != profile.NetFull && !none {
		none = true
		gaps = append(gaps, profile.Gap{Mechanism: "seccomp", Protection: "network", Object: mode.String(),
			Why:    "without a network namespace its addresses and UDP are the host's; no IP socket can be made",
			Remedy: "allow unprivileged user namespaces, or grant the full network"})
	}
	for _, f := range []uint64{afInet, afInet6} {
		if none {
			rules = append(rules, rule{Calls: []string{"socket"}, Answer: EPERM, When: []test{family(f)}, Why: "no network"})
			continue
		}
		ping := uint64(icmp)
		if f == afInet6 {
			ping = icmp6
		}
		rules = append(rules,
			rule{Calls: []string{"socket"}, Answer: EPERM, When: []test{family(f), kind(sockRaw)}, Why: "raw"},
			rule{Calls: []string{"socket"}, Answer: EPERM, When: []test{family(f), kind(sockPacket)}, Why: "packet"},
			rule{Calls: []string{"socket"}, Answer: EPROTONOSUPPORT, When: []test{family(f), kind(sockStream), protocol(mptcp)},
				Why: "multipath TCP"},
			rule{Calls: []string{"socket"}, When: []test{family(f), kind(sockStream), protocol(0)}, Why: "TCP"},
			rule{Calls: []string{"socket"}, When: []test{family(f), kind(sockStream), protocol(tcp)}, Why: "TCP"},
			rule{Calls: []string{"socket"}, When: []test{family(f), kind(sockDgram), protocol(0)}, Why: "UDP"},
			rule{Calls: []string{"socket"}, When: []test{family(f), kind(sockDgram), protocol(udp)}, Why: "UDP"})
		if mode == profile.NetFull {
			rules = append(rules, rule{Calls: []string{"socket"}, When: []test{family(f), kind(sockDgram), protocol(ping)},
				Why: "ping"})
		}
	}
	return rules, gaps
}
