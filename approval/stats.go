package approval

// Stats counts decisions (R-AP-17). Total = Approved + AutoApproved + Denied.
type Stats struct {
	Total uint64 `json:"total"`
	// Approved by a person, AutoApproved without one.
	Approved     uint64 `json:"approved"`
	AutoApproved uint64 `json:"auto_approved"`
	// Denied counts every refusal; TimedOut and Quit are among them.
	Denied   uint64 `json:"denied"`
	TimedOut uint64 `json:"timed_out"`
	Quit     uint64 `json:"quit"`
	// DoubleConfirmed are those of Approved that took a second yes.
	DoubleConfirmed uint64 `json:"double_confirmed"`
}

func (s *Stats) count(d *Decision) {
	s.Total++
	switch {
	case d.Approved && d.How == HowPerson:
		s.Approved++
	case d.Approved:
		s.AutoApproved++
	default:
		s.Denied++
	}
	if d.Approved && d.Confirmed {
		s.DoubleConfirmed++
	}
	switch d.Reason {
	case ReasonTimeout:
		s.TimedOut++
	case ReasonQuit:
		s.Quit++
	}
}

// Stats returns viewer's overall figures: those of its principal, or of all
// where it is an operator.
func (c *Controller) Stats(viewer Identity) Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *c.overall(viewer)
}

func (c *Controller) overall(viewer Identity) *Stats {
	if viewer.Operator {
		return &c.stats
	}
	return &c.tenant(viewer.Principal).stats
}

// SessionStats returns the figures of an open session; zero for any other.
func (c *Controller) SessionStats(s SessionRef) Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x := c.sessions[s]; x != nil {
		return x.stats
	}
	return Stats{}
}

// AgentStats returns the figures of one verified agent of a principal.
// Unverified agents share the figures under "".
func (c *Controller) AgentStats(p Principal, agent string) Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.tenant(p).agents[agent]; s != nil {
		return *s
	}
	return Stats{}
}

// ResetStats sets viewer's overall figures, and with them those of its
// sessions and agents, to zero.
func (c *Controller) ResetStats(viewer Identity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*c.overall(viewer) = Stats{}
	for ref, s := range c.sessions {
		if viewer.sees(ref.Principal) {
			s.stats = Stats{}
		}
	}
	for p, t := range c.tenants {
		if viewer.sees(p) {
			t.stats = Stats{}
			clear(t.agents)
		}
	}
}
