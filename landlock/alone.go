package landlock

import (
	"sandboxd/landlock/lsm"
	"sandboxd/profile"
)

// gapRow is a line of the table of Landlock's gaps.
type gapRow struct {
	protection, why, remedy string
	until                   int // the ABI that closes it; 0: none does
}

const namespaces = "make user namespaces available to bwrap"

// aloneRows is the table of [Alone].
var aloneRows = []gapRow{
	{"metadata", "chmod, chown, utime and setxattr are not restricted: what the user owns can be changed in these, " +
		"anywhere", namespaces, 0},
	{"stat", "stat, access, readlink, chdir and O_PATH are not restricted: which names exist, their sizes and link " +
		"texts show, anywhere", namespaces, 0},
	{"processes", "the host's processes show in /proc, with their command lines", namespaces, 0},
	{"process settings", "nice values, resource limits and processor affinity of the user's other processes can be changed",
		namespaces, 0},
	{"ipc", "System V IPC, POSIX message queues and the host's keyrings are shared", namespaces, 0},
	{"private", "there are no private directories: nothing is granted in /tmp and the like", namespaces, 0},
	{"later names", "a hidden or protected name that appears during the run is not held",
		"what appears there is checked after the run", 0},
	{"exec", "what may be read can be mapped as code by a program that may be executed, ld.so for one",
		"grant no read where nothing may run", 0},
	{"hard links", "a rule on a file holds for its other names, too", namespaces, 0},
	{"other protocols", "sockets that are neither TCP nor UDP (MPTCP, SCTP, raw, netlink, vsock) are not restricted",
		"the system call filter refuses them", 0},
	{"truncate", "truncate and O_TRUNC are not restricted: what the user may write can be emptied, anywhere", "Linux 6.2",
		3},
	{"tcp", "TCP is not restricted", "Linux 6.7, or the system call filter", 4},
	{"ioctl", "ioctl on devices that may be opened is not restricted", "Linux 6.10", 5},
	{"abstract sockets", "abstract Unix sockets of the host can be connected to", "Linux 6.12", 6},
	{"signals", "every process of the user can be signalled", "Linux 6.12", 6},
	{"unix sockets", "pathname Unix sockets can be connected to, anywhere", "Landlock ABI 9", 9},
	{"udp", "UDP is not restricted", "Landlock ABI 10, or the system call filter", 10},
}

// AloneGaps is the published table of the gaps of a ruleset of that ABI without other mechanisms.
// Outside of it a ruleset for [Alone] grants nothing beyond the profile. Each Gap's Protection is
// its stable name.
func AloneGaps(version int) []profile.Gap {
	var gaps []profile.Gap
	for _, row := range aloneRows {
		if row.until == 0 || version < row.until {
			gaps = append(gaps, profile.Gap{Mechanism: "landlock", Protection: row.protection, Why: row.why,
				Remedy: row.remedy})
		}
	}
	return gaps
}

// open returns the gaps of the ruleset.
func (c *compiler) open(version int, h Host) []profile.Gap {
	var gaps []profile.Gap
	n := c.profile.Network()
	for _, g := range AloneGaps(version) {
		switch g.Protection {
		case "tcp":
			if n.Mode == profile.NetFull && n.ListenAny {
				continue
			}
		case "udp", "other protocols":
			if n.Mode == profile.NetFull {
				continue
			}
		case "signals":
			if c.profile.Processes() == profile.ProcessesHost {
				continue
			}
		case "later names":
			if len(c.profile.NameRules()) == 0 {
				continue
			}
		}
		if h.Place == Alone || c.openInside(g.Protection) {
			gaps = append(gaps, g)
		}
	}
	if version < 2 {
		gaps = append(gaps, profile.Gap{
			Mechanism: "landlock", Protection: "narrowed",
			Why: "renaming and linking into another directory is refused everywhere", Remedy: "Linux 5.19",
		})
	}
	if h.Errata&lsm.DisconnectedHandled == 0 {
		gaps = append(gaps, profile.Gap{
			Mechanism: "landlock", Protection: "disconnected directories",
			Why:    "a directory that somebody outside moves out of a mount while it is open may get other rights",
			Remedy: "a kernel with the fix of Landlock erratum 3",
		})
	}
	return gaps
}

// openInside reports whether mounts and namespaces leave this open, too.
func (c *compiler) openInside(protection string) bool {
	n := c.profile.Network()
	switch protection {
	case "exec", "unix sockets":
		return true
	case "abstract sockets":
		return n.Mode == profile.NetFull
	case "tcp": // the namespace has no way out, but a loopback
		return n.Mode == profile.NetNone || !n.ListenAny
	case "udp":
		return n.Mode == profile.NetNone
	}
	return false
}
