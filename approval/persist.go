package approval

import (
	"errors"
	"slices"
)

// persist writes the persistent grants with plus added and without removed,
// and commits the change in memory only when that worked. c.mu is not held.
func (c *Controller) persist(commit func(), plus, minus []*Grant) error {
	c.saving.Lock()
	defer c.saving.Unlock()
	if c.store == nil {
		return errors.New("no store for persistent grants")
	}
	c.mu.Lock()
	list := c.persistent(plus, minus)
	c.mu.Unlock()
	if err := guard(func() error { return c.store.Save(list) }); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.withdrawn {
		if !slices.ContainsFunc(list, func(g Grant) bool { return g.ID == id }) {
			delete(c.withdrawn, id)
		}
	}
	commit()
	return nil
}

// persistent lists the grants for the store, in order of creation. Expired
// grants are left out.
func (c *Controller) persistent(plus, minus []*Grant) []Grant {
	now := c.now()
	var out []Grant
	for _, g := range plus {
		c.tenant(g.Principal) // may be its first
	}
	for p, t := range c.tenants {
		set := grantSet{}
		for _, g := range t.grants.all() {
			set.add(g)
		}
		for _, g := range plus {
			if g.Principal == p {
				set.add(g)
			}
		}
		for _, g := range set.all() {
			over := !g.Expires.IsZero() && !now.Round(0).Before(g.Expires.Round(0)) && !now.Before(g.Expires)
			if !slices.Contains(minus, g) && !over {
				out = append(out, *g)
			}
		}
	}
	slices.SortFunc(out, byAge)
	return out
}

// tidy rewrites the store after withdraw. The lock is not held.
func (c *Controller) tidy() {
	c.mu.Lock()
	unsaved := len(c.withdrawn)
	c.mu.Unlock()
	if unsaved == 0 {
		return
	}
	if err := c.Flush(); err != nil {
		c.mu.Lock()
		c.notice(nil, "a withdrawn grant would come back with a restart: "+err.Error())
		c.mu.Unlock()
	}
}

// Flush writes the persistent grants with their use counts, if there is a
// store and anything to write. Close does it; a program that wants the counts
// to survive a crash does it now and then.
func (c *Controller) Flush() error {
	if c.store == nil {
		return nil
	}
	c.mu.Lock()
	dirty := len(c.withdrawn) > 0
	for _, t := range c.tenants {
		for _, g := range t.grants.all() {
			dirty = dirty || g.Uses != g.saved
		}
	}
	c.mu.Unlock()
	if !dirty {
		return nil
	}
	return c.persist(func() {
		for _, t := range c.tenants {
			for _, g := range t.grants.all() {
				g.saved = g.Uses
			}
		}
	}, nil, nil)
}

// StoreErr is the fault of the store at its last reading, by New or
// Reload; nil where nothing was.
func (c *Controller) StoreErr() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.storeErr
}

// Reload reads the store again. Where it is broken, the last good grants stay
// in force, and the error and a notice say so.
func (c *Controller) Reload() (err error) {
	if c.store == nil {
		return nil
	}
	c.saving.Lock()
	defer c.saving.Unlock()
	var list []Grant
	err = guard(func() (err error) {
		list, err = c.store.Load()
		return err
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.storeErr = err }()
	if err != nil {
		c.notice(nil, err.Error())
		if len(list) == 0 {
			return err
		}
	}
	used := map[string]*Grant{}
	for _, t := range c.tenants {
		for _, g := range t.grants.drop(func(*Grant) bool { return true }) {
			used[g.ID] = g
		}
	}
	for _, g := range list {
		if c.withdrawn[g.ID] {
			continue // the store has not heard of it yet
		}
		if bad := g.validate(); bad != nil {
			c.notice(nil, "grant not taken: "+bad.Error())
			err = errors.Join(err, bad)
			continue
		}
		g.saved = g.Uses
		if o := used[g.ID]; o != nil && o.Uses > g.Uses {
			g.Uses, g.LastUsed = o.Uses, o.LastUsed
		}
		c.tenant(g.Principal).grants.add((&g).label())
	}
	c.reconsider(func(*question) bool { return true })
	return err
}
