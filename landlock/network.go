package landlock

import "sandboxd/profile"

// network handles ports. Landlock knows ports, not hosts: alone it cannot
// tell the loopback or a named host from the rest and refuses all of them.
func (c *compiler) network(r *Ruleset) {
	n := c.profile.Network()
	handled := BindTCP
	switch {
	case n.Mode == profile.NetNone:
		handled |= ConnectTCP | BindUDP | ConnectSendUDP
	case n.Mode != profile.NetFull && c.place == Alone:
		handled |= ConnectTCP | BindUDP | ConnectSendUDP
		c.narrowed("", "ports are told apart, hosts are not: there is no network "+n.Mode.String())
	}
	if n.ListenAny && n.Mode == profile.NetFull || n.ListenAny && c.place == Inside {
		handled &^= BindTCP
	}
	r.HandledNet = handled & c.abi.net
	if r.HandledNet&BindTCP == 0 || n.Mode == profile.NetNone {
		return
	}
	for _, port := range n.Listen {
		r.Ports = append(r.Ports, PortRule{port, BindTCP})
	}
}
