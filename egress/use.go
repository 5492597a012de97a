package egress

// Use is one command's traffic with one target.
type Use struct {
	// Target is host:port, or the target as the client wrote it.
	Target string
	// Addr is the last address that was connected to.
	Addr string
	// Connections were made; Refused is how often it was refused, Why the last
	// reason.
	Connections, Refused int
	Why                  string
	// Sent and Received are bytes, from the command's point of view.
	Sent, Received int64
}

// maxUses bounds the targets that are counted by themselves.
const maxUses = 256

// others counts for the targets beyond maxUses.
const others = "further targets"

// use finds the books of a target. The gate's lock is held.
func (g *Gate) use(target string) *Use {
	u := g.uses[target]
	if u == nil && len(g.order) >= maxUses {
		target = others
		u = g.uses[target]
	}
	if u == nil {
		u = &Use{Target: target}
		g.uses[target] = u
		g.order = append(g.order, target)
	}
	return u
}

// Uses lists the uses so far, in the order of the first request.
func (g *Gate) Uses() []Use {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := make([]Use, 0, len(g.order))
	for _, name := range g.order {
		list = append(list, *g.uses[name])
	}
	return list
}
