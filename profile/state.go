package profile

// state is the state of one path. States form a semilattice under meet with the zero value,
// nothing, at the bottom; every law of the algebra of profiles comes from that.
type state struct {
	access Access
	// private: the path shows the sandbox's own directory, not the host's.
	private bool
	// protected: a Protect rule removed Write. It allows and forbids nothing by itself; it marks
	// the paths that are checked after a run.
	protected bool
}

func (s state) normal() state {
	if s.access == 0 {
		return state{}
	}
	if s.private {
		s.protected = false
	}
	return s
}

func (s state) meet(t state) state {
	return state{
		access:    s.access & t.access,
		private:   s.private || t.private,
		protected: s.protected || t.protected,
	}.normal()
}

// within reports whether s allows nothing that t does not.
func (s state) within(t state) bool {
	return s.access == 0 || t.access.Has(s.access) && (s.private || !t.private)
}

func (s state) protect() state {
	return state{access: s.access &^ Write, private: s.private, protected: true}.normal()
}

func (s state) restrict(k Kind) state {
	switch k {
	case Hide:
		return state{}
	case Protect:
		return s.protect()
	}
	return s
}

func (s state) kind() Kind {
	switch {
	case s.access == 0:
		return Hide
	case s.private:
		return Private
	case s.protected:
		return Protect
	}
	return Allow
}
