package seatbelt

import (
	"fmt"
	"slices"
	"strings"

	"sandboxd/profile"
	"sandboxd/profile/abspath"
)

// links are the symbolic links in the root directory of macOS, and where they lead: hier(7).
var links = map[string]string{"/tmp": "/private/tmp", "/var": "/private/var", "/etc": "/private/etc"}

// realPath returns the path under which the sandbox sees p.
func realPath(p string) string {
	for link, target := range links {
		if p == link || strings.HasPrefix(p, link+"/") {
			return target + p[len(link):]
		}
	}
	return p
}

// resolve returns the profile with the real paths in the place of paths through links. Where p has
// rules for both, the stricter one holds, as for any two rules.
func resolve(p profile.Profile) (profile.Profile, error) {
	rules, sockets := p.Rules(), p.UnixSockets()
	for i := range rules {
		rules[i].Path = realPath(rules[i].Path)
	}
	for i := range sockets {
		sockets[i] = realPath(sockets[i])
	}
	real, err := profile.New(profile.Spec{Rules: rules, UnixSockets: sockets})
	if err != nil {
		return profile.Profile{}, fmt.Errorf("seatbelt resolve links: %w", err)
	}
	return real, nil
}

// above lists the directories above p, the root first, p not among them.
func above(p string) []string {
	var dirs []string
	for p != "/" {
		p = abspath.Parent(p)
		dirs = append(dirs, p)
	}
	slices.Reverse(dirs)
	return dirs
}

// byDepthFirst orders a directory before its entries, and those before its later siblings.
func byDepthFirst(a, b string) int { return slices.Compare(abspath.Elements(a), abspath.Elements(b)) }
