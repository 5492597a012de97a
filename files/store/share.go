package store

// amount is a share of the store.
type amount struct{ bytes, changes int64 }

func (a *amount) add(r Record, sign int64) {
	a.bytes += sign * r.Bytes
	a.changes += sign
}

// share is the amount of a session, and that of its project. A program can open many sessions, so
// the sessions of one project are summed before they are compared.
type share struct {
	project *amount
	amount
	settled []Record // that may be forgotten, the oldest first
}

// shares are all of them.
type shares struct {
	total    amount
	projects map[string]*amount
	sessions map[owner]*share
	order    []*share // as they came
}

type owner struct{ project, session string }

func (s *shares) of(r Record) *share {
	o := owner{r.Project, r.Session}
	if s.sessions[o] == nil {
		if s.projects == nil {
			s.projects, s.sessions = map[string]*amount{}, map[owner]*share{}
		}
		if s.projects[o.project] == nil {
			s.projects[o.project] = &amount{}
		}
		s.sessions[o] = &share{project: s.projects[o.project]}
		s.order = append(s.order, s.sessions[o])
	}
	return s.sessions[o]
}

// count takes a change in, with sign -1 out again.
func (s *shares) count(r Record, sign int64) {
	one := s.of(r)
	for _, a := range []*amount{&s.total, one.project, &one.amount} {
		a.add(r, sign)
	}
}

// heaviest is the session that has the most, in the project that has the most, among
// those that have something to forget; nil where there is none.
func (s *shares) heaviest(much func(amount) int64) *share {
	var best *share
	for _, one := range s.order {
		if len(one.settled) == 0 {
			continue
		}
		if best == nil || much(*one.project) > much(*best.project) || one.project == best.project &&
			much(one.amount) > much(best.amount) {
			best = one
		}
	}
	return best
}
