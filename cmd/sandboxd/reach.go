package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sandboxd/profile"
)

// reach lists the paths and hosts within a command's reach under p, one line each: write, read, network, and the
// project's own cache, which is apart because it is the same for every command and decides nothing.
func reach(p profile.Profile, root, home string) []string {
	var writes, hidden, caches []string
	own := filepath.Join(home, ".cache", "sandboxd") + "/"
	for _, r := range p.PathRules() {
		switch {
		case r.Kind == profile.Allow && r.Access.Has(profile.Write) && !strings.HasPrefix(r.Path, "/dev/"):
			if home != "" && strings.HasPrefix(r.Path, own) {
				caches = append(caches, r.Path)
				continue
			}
			writes = append(writes, r.Path)
		case r.Kind == profile.Hide:
			hidden = append(hidden, r.Path)
		}
	}
	write := "write: nothing that stays"
	if len(writes) > 0 {
		slices.Sort(writes)
		write = "write: " + list(writes, 3)
	}
	read := "read: the system"
	if root != "" && p.Allows(profile.OpRead, root).Allowed {
		read += " and " + root
	}
	if len(hidden) > 0 {
		slices.Sort(hidden)
		read += fmt.Sprintf("; not your home, nor %d hidden places", len(hidden))
	}
	n := p.Network()
	network := "network: " + n.Mode.String()
	if len(n.Hosts) > 0 {
		hosts := make([]string, len(n.Hosts))
		for i, h := range n.Hosts {
			hosts[i] = fmt.Sprint(h)
		}
		network = "network: only " + list(hosts, 3)
	}
	out := []string{write, read, network}
	if len(caches) > 0 {
		out = append(out, "cache: "+list(caches, 3))
	}
	return out
}

// list names the first n and says how many more there are.
func list(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}
