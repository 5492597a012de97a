package worker

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"sandboxd/files"
	"sandboxd/files/tree"
)

// laterPut is a put of which nothing is staged before its turn: its folder may be made by an earlier step of the same
// change, and there may be many.
type laterPut struct {
	landing *landing
	path    string
	server  *server
}

// putLater adds a put whose attributes are given.
func (c *change) putLater(at spot, l *landing, lost func() (*os.File, error)) {
	l.name, l.temp = at.name(), tree.TempName()
	step := files.Step{Kind: files.PutStep, Path: at.fact.Real, Before: l.old.State, After: l.wanted(), Temp: l.temp}
	c.addLater(step, lost, l)
}

func (c *change) addLater(step files.Step, lost func() (*os.File, error), l *landing) {
	p := &laterPut{landing: l, path: step.Path, server: c.server}
	c.atEnd(p.close)
	c.parts = append(c.parts, changePart{step: step, lost: lost, act: p.land, later: p})
}

// stage opens the folder and writes the file without a name, as far as the file system can. It is not on disk yet.
func (p *laterPut) stage() error {
	dir, _, err := p.server.dirOf(p.path)
	if err != nil {
		return err
	}
	l := p.landing
	l.dir = dir
	fresh, ok, err := dir.Unnamed(l.temp, l.perm)
	if l.inPlace && errors.Is(err, cantMake) {
		err = nil // land writes it where it is
	}
	if l.fresh = fresh; err == nil && ok && l.keepsOwner() {
		l.close()
	} else if err == nil && ok {
		err = l.fill()
	}
	if err != nil {
		p.close()
	}
	return err
}

// land gives the staged file its name.
func (p *laterPut) land() error {
	defer p.close()
	return p.landing.land()
}

func (p *laterPut) close() {
	p.landing.close()
	if dir := p.landing.dir; dir != nil {
		dir.Close()
		p.landing.dir = nil
	}
}

// Bounds of what is staged at once.
const (
	mostAhead      = 64
	mostAheadBytes = 16 << 20
)

// stageAhead stages the put of step i, unless an earlier call did, and those that follow it: to bring many files to
// disk at once takes a fraction of the time that it takes one by one. Each is on disk before it gets its name.
func (c *change) stageAhead(i int) error {
	if p := c.parts[i].later; p == nil || p.landing.dir != nil {
		return nil
	}
	var staged []*tree.Fresh
	var size int64
	for k, part := range c.parts[i:min(i+c.server.ahead(), len(c.parts))] {
		if part.later == nil || k > 0 && size+part.later.landing.size > mostAheadBytes {
			break
		}
		if err := part.later.stage(); err != nil {
			if k == 0 {
				return err
			}
			break // at its turn it is tried again
		}
		if size += part.later.landing.size; part.later.landing.fresh != nil {
			staged = append(staged, part.later.landing.fresh)
		}
	}
	return tree.SyncTogether(staged)
}

// ahead is how many puts are staged at once: each has two descriptors.
func (s *server) ahead() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 1
	}
	return int(max(1, min(mostAhead, limit.Cur/8)))
}

// syncAll brings a change in bulk to disk.
func (s *server) syncAll() (err error) {
	if s.bulk {
		for _, t := range s.trees {
			err = errors.Join(err, t.SyncAll())
		}
	}
	return err
}
