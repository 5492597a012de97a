package landlock

import (
	"sandboxd/landlock/lsm"
	"sandboxd/profile"
)

// network handles ports. Landlock knows ports, not hosts: alone it cannot distinguish the loopback
// or a named host from the rest and refuses all of them.
func (c *compiler) network(r *lsm.Ruleset) {
	n := c.profile.Network()
	handled := lsm.BindTCP
	switch {
	case n.Mode == profile.NetNone:
		handled |= lsm.ConnectTCP | lsm.BindUDP | lsm.ConnectSendUDP
	case n.Mode != profile.NetFull && c.place == Alone:
		handled |= lsm.ConnectTCP | lsm.BindUDP | lsm.ConnectSendUDP
		c.narrowed("", "ports are distinguished, hosts are not: there is no network "+n.Mode.String())
	}
	if n.ListenAny && n.Mode == profile.NetFull || n.ListenAny && c.place == Inside {
		handled &^= lsm.BindTCP
	}
	r.HandledNet = handled & c.abi.Net
	if r.HandledNet&lsm.BindTCP == 0 || n.Mode == profile.NetNone {
		return
	}
	for _, port := range n.Listen {
		r.Ports = append(r.Ports, lsm.PortRule{Port: port, Access: lsm.BindTCP})
	}
}
