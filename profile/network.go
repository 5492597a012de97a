package profile

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// NetMode is how much of the network there is. A larger mode reaches more.
type NetMode uint8

const (
	// NetNone has no network, not even a loopback.
	NetNone NetMode = iota
	// NetLoopback has a loopback of its own, which reaches only the sandbox.
	NetLoopback
	// NetAllowlist reaches, besides, the named hosts through a proxy.
	NetAllowlist
	// NetFull is the host's network.
	NetFull
)

var netModes = [...]string{"none", "loopback", "allowlist", "full"}

// String returns the word a document uses for m.
func (m NetMode) String() string {
	if int(m) < len(netModes) {
		return netModes[m]
	}
	return fmt.Sprintf("NetMode(%d)", uint8(m))
}

// ParseNetMode reads a mode as a document writes it.
func ParseNetMode(s string) (NetMode, error) {
	if i := slices.Index(netModes[:], s); i >= 0 {
		return NetMode(i), nil
	}
	return 0, fmt.Errorf("unknown network mode %q: none, loopback, allowlist or full", s)
}

// Network is the set of reachable targets and the permission to listen.
type Network struct {
	// Mode is how much of the network there is.
	Mode NetMode
	// Hosts may be reached in mode allowlist.
	Hosts []HostPort
	// Listen holds the TCP ports that may be bound; 0 is a port that the
	// kernel picks, as in Landlock.
	Listen []uint16
	// ListenAny permits every port.
	ListenAny bool
}

// HostPort names a host, and a port or with 0 every port.
type HostPort struct {
	// Host is a lower-case name without a final dot, "*.name" for every name
	// below (not name itself), or an IP address.
	Host string
	Port uint16
}

// ParseHostPort reads "host", "host:port", "*.name:port" or "[v6]:port".
func ParseHostPort(s string) (HostPort, error) {
	h := HostPort{Host: s}
	if strings.Contains(s, "/") {
		return h, fmt.Errorf("host %q: want HOST or HOST:PORT, without a scheme and without a path", s)
	}
	if ap, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		h.Host = ap.String()
	} else if i := strings.LastIndexByte(s, ':'); i >= 0 {
		port, err := strconv.ParseUint(s[i+1:], 10, 16)
		if err != nil || port == 0 {
			return HostPort{}, fmt.Errorf("host %q: the port is a number from 1 to 65535", s)
		}
		h.Host, h.Port = s[:i], uint16(port)
		if strings.HasPrefix(h.Host, "[") && strings.HasSuffix(h.Host, "]") {
			h.Host = h.Host[1 : len(h.Host)-1]
		}
	}
	h.Host = strings.ToLower(strings.TrimSuffix(h.Host, "."))
	return h, h.validate()
}

// String returns the input of [ParseHostPort].
func (h HostPort) String() string {
	host := h.Host
	if h.Port == 0 {
		return host
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(h.Port))
}

func (h HostPort) validate() error {
	if addr, err := netip.ParseAddr(h.Host); err == nil {
		if addr.String() != h.Host || addr.Zone() != "" {
			return fmt.Errorf("host %q: write the address as %q", h.Host, addr.WithZone(""))
		}
		return nil
	}
	name := strings.TrimPrefix(h.Host, "*.")
	if name == "" || len(name) > 253 {
		return fmt.Errorf("host %q is not a name", h.Host)
	}
	for _, label := range strings.Split(name, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return fmt.Errorf("host %q is not a lower-case host name", h.Host)
		}
	}
	return nil
}

// covers reports whether h permits everything that g does.
func (h HostPort) covers(g HostPort) bool {
	if h.Port != 0 && h.Port != g.Port {
		return false
	}
	return h.Host == g.Host || strings.HasPrefix(h.Host, "*.") && strings.HasSuffix(g.Host, h.Host[1:]) && !isAddr(g.Host)
}

func isAddr(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// meet returns the targets that both permit, if any.
func (h HostPort) meet(g HostPort) (HostPort, bool) {
	port := h.Port
	if port == 0 {
		port = g.Port
	}
	m := HostPort{h.Host, port}
	if !h.covers(m) || !g.covers(m) {
		m.Host = g.Host
	}
	return m, h.covers(m) && g.covers(m)
}

// validate checks modes, hosts and ports.
func (n Network) validate() error {
	if n.Mode > NetFull {
		return fmt.Errorf("unknown mode %d", n.Mode)
	}
	if len(n.Hosts) > 0 && n.Mode != NetAllowlist {
		return fmt.Errorf("hosts with mode %q: they belong to mode %q", n.Mode, NetAllowlist)
	}
	for _, h := range n.Hosts {
		if err := h.validate(); err != nil {
			return err
		}
	}
	return nil
}

func (n Network) clone() Network {
	n.Hosts, n.Listen = slices.Clone(n.Hosts), slices.Clone(n.Listen)
	return n
}

func (n Network) normal() Network {
	n = n.clone()
	n.Hosts = maximal(n.Hosts, HostPort.covers, compareHosts)
	slices.Sort(n.Listen)
	n.Listen = slices.Compact(n.Listen)
	if n.Mode == NetAllowlist && len(n.Hosts) == 0 {
		n.Mode = NetLoopback
	}
	if n.Mode != NetAllowlist {
		n.Hosts = nil
	}
	if n.Mode == NetNone {
		n.ListenAny = false
	}
	if n.ListenAny || n.Mode == NetNone || len(n.Listen) == 0 {
		n.Listen = nil
	}
	return n
}

func compareHosts(a, b HostPort) int {
	if c := strings.Compare(a.Host, b.Host); c != 0 {
		return c
	}
	return int(a.Port) - int(b.Port)
}

// maximal sorts items and drops those that another one covers.
func maximal[T comparable](items []T, covers func(T, T) bool, compare func(T, T) int) []T {
	items = slices.Clone(items)
	slices.SortFunc(items, compare)
	items = slices.Compact(items)
	var kept []T
	for i, item := range items {
		covered := false
		for j, other := range items {
			covered = covered || i != j && covers(other, item)
		}
		if !covered {
			kept = append(kept, item)
		}
	}
	return kept
}

// Intersect returns the network that both permit.
func (n Network) Intersect(m Network) Network {
	out := Network{Mode: min(n.Mode, m.Mode), ListenAny: n.ListenAny && m.ListenAny}
	switch {
	case out.Mode != NetAllowlist:
	case n.Mode == NetFull:
		out.Hosts = m.Hosts
	case m.Mode == NetFull:
		out.Hosts = n.Hosts
	default:
		for _, h := range n.Hosts {
			for _, g := range m.Hosts {
				if both, ok := h.meet(g); ok {
					out.Hosts = append(out.Hosts, both)
				}
			}
		}
	}
	switch {
	case n.ListenAny:
		out.Listen = m.Listen
	case m.ListenAny:
		out.Listen = n.Listen
	default:
		for _, port := range n.Listen {
			if slices.Contains(m.Listen, port) {
				out.Listen = append(out.Listen, port)
			}
		}
	}
	return out.normal()
}

// Within reports whether n permits nothing that m does not.
func (n Network) Within(m Network) bool { return n.Intersect(m).equal(n.normal()) }

func (n Network) equal(m Network) bool {
	return n.Mode == m.Mode && n.ListenAny == m.ListenAny && slices.Equal(n.Hosts, m.Hosts) &&
		slices.Equal(n.Listen, m.Listen)
}

// AllowsHost reports whether a connection to host and port may be made. In mode loopback no host
// may be reached; listeners inside may.
func (n Network) AllowsHost(host string, port uint16) bool {
	want := HostPort{strings.ToLower(strings.TrimSuffix(host, ".")), port}
	if addr, err := netip.ParseAddr(want.Host); err == nil {
		want.Host = addr.String()
	}
	return n.Mode == NetFull || n.Mode == NetAllowlist &&
		slices.ContainsFunc(n.Hosts, func(h HostPort) bool { return h.covers(want) })
}

// AllowsListen reports whether port may be bound; 0 asks for any free one.
func (n Network) AllowsListen(port uint16) bool {
	return n.Mode != NetNone && (n.ListenAny || slices.Contains(n.Listen, port))
}
