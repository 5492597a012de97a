package aftermath

import (
	"path"
	"slices"
	"strings"
	"time"

	"sandboxd/profile/abspath"
	"sandboxd/watch"
)

// look judges one path that is there now.
func (c *check) look(at string, e entry) {
	was, had := c.was.entries[at]
	repo, part := c.repository(at)
	nowNamed, wasNamed := c.now.names(at, e), c.was.names(at, e)
	born := repo != "" && !c.was.repos[repo] // perhaps by another run that has not ended
	switch {
	case had && !(born && was.doubtful) && (was.stamp == e.stamp && !c.young(e) || was.same(e)):
		return
	case gitLink(at, e):
		c.gitLink(at, was, had, e)
		return
	case part == "config" || part == "config.worktree":
		c.config(at, repo, was, had, e)
		return
	case c.granted(at):
		return
	case unfinished(part):
		c.progress(at, part, was, had, e)
		return
	case part == "commondir", part == "gitdir":
		c.layout(at, repo, part, was, had, e)
		return
	case born:
		if !abspath.Contains("hooks", part) || e.directory() || path.Ext(at) == ".sample" && e.regular() {
			return
		}
	case (nowNamed || wasNamed) && !had && e.directory() && !e.deep:
		return // the entries below are judged one by one
	case nowNamed && !wasNamed && !had && !c.newlyUsed(at):
		return // somebody else's configuration names it since, or a link that is judged itself
	case c.now.named[at].config || c.was.named[at].config:
		c.config(at, "", was, had, e)
		return
	}
	if c.copied(at, e) && (part == "" || e.regular()) {
		return
	}
	if e.directory() && !e.deep && (c.empty(at) || c.holdsCopies(at)) {
		return // the entries below are judged one by one
	}
	if c.run.Late && e.directory() && !e.deep && c.changedLater(at) {
		return // others had a hand in it: the entries below are judged one by one
	}
	c.protected(at, was, had, e)
}

const (
	changed     = "the command changed it, and its name is protected"
	made        = "the command made it under a protected name"
	throughLink = "the command changed it through another name of the same file (a hard link)"
	leadsTo     = "git's configuration or a protected link names it, or leads through it"
	isBack      = "what was there before is back"
)

// protected takes out a protected path that the run made or changed.
func (c *check) protected(at string, was entry, had bool, e entry) {
	if why := c.notOurs(at, e, had); why != "" {
		c.dealt = append(c.dealt, at)
		if why != unknown {
			c.keep(at, e, why)
		}
		return
	}
	why := made
	switch named := c.now.names(at, e) || c.was.names(at, e); {
	case e.deep:
		why = "the command made it, and it is too deep to be checked"
	case had && c.run.holds(at):
		why = throughLink + ", and this name is protected"
	case had && named:
		why = "the command changed it, and " + leadsTo
	case had:
		why = changed
	case named:
		why = "the command made it, and " + leadsTo
	}
	if c.take(at, e, why) && had {
		c.restore(at, was, isBack)
	}
}

// young: an equal stamp does not say much yet.
func (c *check) young(e entry) bool {
	return !c.ahead && time.Unix(0, e.ctime).After(c.run.Start.Add(-watch.Settling))
}

func (c *check) granted(at string) bool {
	return slices.ContainsFunc(c.run.Granted, func(dir string) bool { return abspath.Contains(dir, at) })
}

func (c *check) below(dir string) []string {
	var list []string
	for at := range c.now.entries {
		if at != dir && abspath.Contains(dir, at) {
			list = append(list, at)
		}
	}
	return list
}

func (c *check) empty(dir string) bool { return len(c.below(dir)) == 0 }

func (c *check) holdsCopies(dir string) bool {
	return slices.ContainsFunc(c.below(dir), func(at string) bool {
		_, had := c.was.entries[at]
		return had || c.copied(at, c.now.entries[at]) || c.granted(at)
	})
}

// repository finds the repository that a path belongs to and which part of it
// it is: "config", "hooks/…", or "" where it is nothing that git treats apart.
func (c *check) repository(at string) (repo, part string) {
	for dir := path.Dir(at); dir != "/"; dir = path.Dir(dir) {
		if !c.now.repos[dir] {
			continue
		}
		part = strings.ToLower(strings.TrimPrefix(at, dir+"/"))
		first, _, _ := strings.Cut(part, "/")
		if slices.Contains([]string{"hooks", "remotes", "branches"}, first) || unfinished(part) || gitItem(part) ||
			part == "info/attributes" {
			return dir, part
		}
		return "", ""
	}
	return "", ""
}
