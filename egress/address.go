package egress

import (
	"net"
	"net/netip"
)

// unusable are addresses that are never connected to, with any grant (IANA's special-purpose
// registries, RFC 6890).
var unusable = prefixes(map[string]string{
	"0.0.0.0/8":      "it means this host",
	"224.0.0.0/4":    "it is a multicast address",
	"240.0.0.0/4":    "it is a reserved address",
	"::/128":         "it means this host",
	"ff00::/8":       "it is a multicast address",
	"fec0::/10":      "it is a site-local address",
	"::ffff:0:0/96":  "it is an IPv4 address written as IPv6",
	"64:ff9b:1::/48": "it is a local translation of IPv4",
})

// local are addresses that must be granted as such: behind them are this machine, its neighbours,
// and services that give credentials to any client.
var local = prefixes(map[string]string{
	"127.0.0.0/8":        "it is this machine (loopback)",
	"::1/128":            "it is this machine (loopback)",
	"169.254.0.0/16":     "it is link-local, where cloud metadata services are",
	"fe80::/10":          "it is link-local",
	"10.0.0.0/8":         "it is a private address",
	"172.16.0.0/12":      "it is a private address",
	"192.168.0.0/16":     "it is a private address",
	"100.64.0.0/10":      "it is a private address of a carrier or cloud",
	"192.0.0.0/24":       "it is an address of a local protocol",
	"198.18.0.0/15":      "it is an address of a test network",
	"fc00::/7":           "it is a private address",
	"168.63.129.16/32":   "it is a cloud's metadata service",
	"fd00:ec2::/32":      "it is a cloud's metadata service",
	"fd20:ce::254/128":   "it is a cloud's metadata service",
	"100.100.100.200/32": "it is a cloud's metadata service",
})

type special struct {
	prefix netip.Prefix
	why    string
}

func prefixes(of map[string]string) (list []special) {
	for p, why := range of {
		list = append(list, special{netip.MustParsePrefix(p), why})
	}
	return list
}

// in returns why addr is special, by the longest prefix, "" if it is not.
func in(list []special, addr netip.Addr) (why string) {
	bits := -1
	for _, s := range list {
		if s.prefix.Contains(addr) && s.prefix.Bits() > bits {
			why, bits = s.why, s.prefix.Bits()
		}
	}
	return why
}

// never says why addr can't be granted at all, "" where it can.
func never(addr netip.Addr) string {
	if !addr.IsValid() {
		return "it is no address"
	}
	return in(unusable, addr.Unmap())
}

// isLocal says why a connection to addr needs a grant of that very address, ""
// for an address of the open network. own are the machine's.
func isLocal(addr netip.Addr, own []netip.Addr) string {
	addr = addr.Unmap()
	for _, o := range own {
		if o.Unmap().WithZone("") == addr {
			return "it is an address of this machine"
		}
	}
	if why := in(local, addr); why != "" {
		return why
	}
	if inner, ok := embedded(addr); ok {
		if why := never(inner); why != "" {
			return "it embeds " + inner.String() + ": " + why
		}
		if why := isLocal(inner, own); why != "" {
			return "it embeds " + inner.String() + ": " + why
		}
	}
	return ""
}

// embedded returns the IPv4 address to which a translator or tunnel would
// carry packets to addr.
func embedded(addr netip.Addr) (netip.Addr, bool) {
	if !addr.Is6() {
		return netip.Addr{}, false
	}
	b := addr.As16()
	at := func(i int) (netip.Addr, bool) { return netip.AddrFrom4([4]byte(b[i : i+4])), true }
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(addr): // NAT64, RFC 6052
		return at(12)
	case netip.MustParsePrefix("::/96").Contains(addr): // IPv4-compatible, RFC 4291
		return at(12)
	case netip.MustParsePrefix("2002::/16").Contains(addr): // 6to4, RFC 3056
		return at(2)
	case netip.MustParsePrefix("2001::/32").Contains(addr): // Teredo, RFC 4380
		for i := 12; i < 16; i++ {
			b[i] ^= 0xff
		}
		return at(12)
	}
	return netip.Addr{}, false
}

// ownAddresses are the machine's, now.
func ownAddresses() ([]netip.Addr, error) {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var own []netip.Addr
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok {
			if addr, ok := netip.AddrFromSlice(n.IP); ok {
				own = append(own, addr.Unmap())
			}
		}
	}
	return own, nil
}
