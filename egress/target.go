package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Target is where a connection is to go, in the one form in which everything
// judges it: exactly one of Name and Addr is set.
type Target struct {
	// Name is a lower-case name in its ASCII form, without a final dot.
	Name string
	// Addr is an address without a zone; one of IPv4 is never written as IPv6.
	Addr netip.Addr
	Port uint16
}

// Host is the name or the address.
func (t Target) Host() string {
	if t.Name != "" {
		return t.Name
	}
	return t.Addr.String()
}

// String is "host:port", with brackets around an IPv6 address.
func (t Target) String() string {
	if t.Name != "" {
		return t.Name + ":" + strconv.Itoa(int(t.Port))
	}
	return netip.AddrPortFrom(t.Addr, t.Port).String()
}

// parseTarget reads "host:port" as CONNECT has it, an IPv6 address in brackets.
func parseTarget(s string) (Target, error) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return Target{}, fmt.Errorf("%s has no port", quote(s))
	}
	port, err := parsePort(s[i+1:])
	if err != nil {
		return Target{}, fmt.Errorf("%s: %w", quote(s), err)
	}
	return parseHost(s[:i], port, true)
}

// parsePort takes decimal digits only: no sign, no leading zero, no space.
func parsePort(s string) (uint16, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != s {
		return 0, fmt.Errorf("port %s is not a number from 1 to 65535", quote(s))
	}
	return uint16(n), nil
}

// lookup normalizes a host name as a browser does (UTS #46, non-transitional): case folding,
// full-width forms, punycode. Labels are checked.
var lookup = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false), idna.BidiRule())

// parseHost is the one parse of a host. bracketed demands brackets around an IPv6 address, as in a
// URL.
func parseHost(s string, port uint16, bracketed bool) (Target, error) {
	switch {
	case s == "":
		return Target{}, errors.New("there is no host")
	case len(s) > 1024:
		return Target{}, fmt.Errorf("a host of %d bytes is too long", len(s))
	}
	inner, hadBrackets := s, false
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		inner, hadBrackets = s[1:len(s)-1], true
	}
	if addr, err := netip.ParseAddr(inner); err == nil {
		switch {
		case addr.Zone() != "":
			return Target{}, fmt.Errorf("host %s: an address with a zone is not a host of the network", quote(s))
		case addr.Is4() && hadBrackets, addr.Is6() && bracketed && !hadBrackets:
			return Target{}, fmt.Errorf("host %s: brackets go around IPv6 addresses, and only around them", quote(s))
		}
		return Target{Addr: addr.Unmap(), Port: port}, nil
	}
	name, err := canonicalName(s)
	if err != nil {
		return Target{}, err
	}
	// UTS #46 maps full-width digits and dots, so an apparent name may become an address. Nobody
	// writes one that way by accident.
	if _, err := netip.ParseAddr(name); err == nil {
		return Target{}, fmt.Errorf("host %s: write an address in ASCII digits", quote(s))
	}
	return Target{Name: name, Port: port}, nil
}

// canonicalName checks a host name and returns its one form.
func canonicalName(s string) (string, error) {
	bad := func(why string) (string, error) { return "", fmt.Errorf("host %s: %s", quote(s), why) }
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == 0x7f || strings.IndexByte("/\\?#@%<>[]^|\"'`{}:;,&=+$!*()~", c) >= 0 {
			return bad("a host name has no such character")
		}
	}
	name, err := lookup.ToASCII(s)
	if err != nil || !utf8.ValidString(s) {
		return bad("it is not a host name")
	}
	if again, err := lookup.ToASCII(name); err != nil || again != name {
		return bad("it is not a host name in its one form")
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if name == "" || len(name) > 253 {
		return bad("a host name has 1 to 253 characters")
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return bad("it is not a host name")
		}
	}
	if numeric(labels[len(labels)-1]) {
		// inet_aton(3) reads octal, hexadecimal and shortened addresses; so may the resolver of
		// this name.
		return bad("write an IPv4 address as four decimal numbers")
	}
	return name, nil
}

// numeric reports a last label that makes a host an IPv4 address for a browser
// (URL Standard, "ends in a number checker").
func numeric(label string) bool {
	if strings.Trim(label, "0123456789") == "" {
		return true
	}
	hex, ok := strings.CutPrefix(label, "0x")
	return ok && strings.Trim(hex, "0123456789abcdef") == ""
}

// CanonicalHost is the one form of a host of a configuration: a name, "*.name"
// or an address, without a port.
func CanonicalHost(s string) (string, error) {
	rest, wild := strings.CutPrefix(s, "*.")
	t, err := parseHost(rest, 0, false)
	if err != nil {
		return "", err
	}
	if wild {
		if t.Name == "" {
			return "", fmt.Errorf("host %s: an address has nothing below it", quote(s))
		}
		return "*." + t.Name, nil
	}
	return t.Host(), nil
}

// quote makes text from inside a sandbox safe and short enough for a message.
func quote(s string) string {
	const most = 80
	if len(s) > most {
		return strconv.QuoteToASCII(s[:most]) + "…"
	}
	return strconv.QuoteToASCII(s)
}
