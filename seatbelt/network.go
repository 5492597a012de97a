package seatbelt

import (
	"fmt"

	"sandboxd/profile"
)

// network writes the reachable targets and the ports for listening. A filter names "localhost" or
// "*" as the host, nothing else; and dual-stack sockets bind to addresses that "localhost" does not
// match, so listening uses "*".
func (w *writer) network(n profile.Network, proxy uint16) {
	w.comment("network: " + n.Mode.String())
	switch n.Mode {
	case profile.NetNone:
	case profile.NetLoopback:
		w.gap("network", "loopback", "macOS has no network namespace, so a loopback would be the host's; there is no IP at "+
			"all",
			"grant the full network where local servers are needed")
	case profile.NetAllowlist:
		if proxy == 0 {
			w.gap("network", "allowlist", "there is no proxy; nothing can be reached", "start the proxy")
			break
		}
		w.raw(fmt.Sprintf("(allow network-outbound (remote ip \"localhost:%d\"))\n", proxy))
		w.gap("network", "listen", "a port that is listened on would be the host's; there are none", "")
	case profile.NetFull:
		w.raw(fullNetwork)
		w.listen(n)
	}
}

func (w *writer) listen(n profile.Network) {
	ports := make([]string, 0, len(n.Listen))
	for _, p := range n.Listen {
		if p == 0 {
			w.gap("network", "listen", "a port that the kernel picks cannot be distinguished from the others; it is not granted",
				"name the ports, or permit every one")
			continue
		}
		ports = append(ports, fmt.Sprint(p))
	}
	if n.ListenAny {
		ports = []string{"*"}
	}
	for _, p := range ports {
		w.raw(fmt.Sprintf("(allow network-bind network-inbound (local ip \"*:%s\"))\n", p))
	}
}

// fullNetwork permits any host, and the services for resolving names and checking certificates on
// macOS that Chromium (network.sb) and Codex (seatbelt_network_policy.sbpl) name, without the
// keychain.
const fullNetwork = `(allow system-socket)
(allow network-outbound
  (remote ip "*:*")
  (literal "/private/var/run/mDNSResponder"))
(allow mach-lookup
  (global-name "com.apple.SystemConfiguration.DNSConfiguration")
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.networkd")
  (global-name "com.apple.ocspd")
  (global-name "com.apple.trustd")
  (global-name "com.apple.trustd.agent"))
(allow sysctl-read (sysctl-name-prefix "net.routetable."))
`
