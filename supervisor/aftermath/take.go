package aftermath

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"sandboxd/profile/abspath"

	"golang.org/x/sys/unix"
)

func (c *check) rootOf(at string) string {
	for _, root := range c.now.roots {
		if abspath.Contains(root, at) {
			return root
		}
	}
	return path.Dir(at)
}

func (c *check) keep(at string, e entry, why string) {
	c.items = append(c.items, c.item(at, e, why, "", true))
}

// take moves something to the trash and reports it.
func (c *check) take(at string, e entry, why string) bool {
	c.dealt = append(c.dealt, at)
	if c.ahead {
		c.items = append(c.items, c.item(at, e, why, "", false))
		return false
	}
	if !c.before.cache.othersWrite(c.before, at) && !c.unchanged(at, e) {
		c.keep(at, e, why+"; somebody changed it after the command had ended, and it is left to them")
		return false
	}
	for {
		item, err := c.trash.take(c.rootOf(at), c.item(at, e, why, "", false))
		if err == nil {
			c.items = append(c.items, item)
			break
		}
		if _, there := os.Lstat(item.Trash); there == nil {
			item.Why += "; it could not all be moved away: " + err.Error()
			c.items = append(c.items, item)
		}
		if c.trash.giveRoom(err) {
			continue
		}
		if !slices.ContainsFunc(c.items, func(i Item) bool { return i.Path == at }) {
			c.keep(at, e, why+"; it could not be moved away: "+err.Error())
		}
		return false
	}
	c.before.cache.tell(c.before, at, nil)
	return true
}

// restore puts back an entry in the place of the one that was taken last, and says so in its report: done, if given.
func (c *check) restore(at string, was entry, done string) {
	last := &c.items[len(c.items)-1]
	if last.Kept {
		return
	}
	switch {
	case was.doubtful:
		last.Why += "; what was there before may have been another command's doing, and is not put back"
	case was.content == nil && !was.directory():
		last.Why += "; its earlier content is not known"
	default:
		err := c.putBack(at, was)
		if err != nil {
			last.Why += "; what was there before could not be put back: " + err.Error()
		} else if done != "" {
			last.Why += "; " + done
		}
	}
}

// putBack restores the earlier entry, which active runs then count as their own earlier one.
func (c *check) putBack(at string, was entry) error {
	err := c.trash.restore(c.rootOf(at), at, was)
	if c.trash.giveRoom(err) {
		err = c.trash.restore(c.rootOf(at), at, was)
	}
	if err == nil {
		c.before.cache.tell(c.before, at, &was)
	}
	return err
}

func (c *check) item(at string, e entry, why, to string, kept bool) Item {
	return Item{Path: at, Why: why, Trash: to, Kept: kept, Mode: uint32(e.mode &^ unix.S_IFMT), Exec: c.run.ID,
		Project: c.run.Project, Time: c.run.End}
}

// some lists at most five keys.
func some(keys []string) string {
	const most = 5
	if len(keys) <= most {
		return strings.Join(keys, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(keys[:most], ", "), len(keys)-most)
}
