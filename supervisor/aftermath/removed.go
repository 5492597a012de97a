package aftermath

import (
	"errors"
	"io/fs"
	"path"
	"slices"

	"sandboxd/files"
	"sandboxd/profile/abspath"
)

// removed restores an entry that the run removed and no mount held. Whole folders may go:
// the entries of a removed package go with it.
func (c *check) removed(at string, was entry) {
	named := c.was.names(at, was)
	if _, part := c.repository(at); unfinished(part) || c.replaced(at, was) ||
		named && was.directory() && !c.ledToFile(at) {
		return // git runs nothing that is gone
	}
	if was.deep || c.granted(at) || c.run.holds(at) || inDependencies(at, c.was.roots) {
		return
	}
	if c.ahead {
		if c.now.folder(path.Dir(at)) {
			why := "the command removed it, and its name is protected"
			if named {
				why = "the command removed it, and " + leadsTo
			}
			c.items = append(c.items, c.item(at, was, why, "", false))
		}
		return
	}
	if !was.directory() && was.content == nil {
		return
	}
	why := "the command removed it, or a part of it; that is back"
	if was.doubtful {
		why = "it is gone, or a part of it; it may have been another command's doing, and is not put back"
	} else if c.run.Late && c.removedLater(at) && !c.took(at) {
		why = "it is gone, or a part of it; that may have been so after the command had ended"
	} else if err := c.putBack(at, was); left(err) {
		return
	} else if err != nil {
		why = "the command removed it, or a part of it; that could not be put back: " + err.Error()
	}
	reported := slices.ContainsFunc(
		c.items,
		func(i Item) bool { return abspath.Contains(i.Path, at) || i.Path == was.anchor },
	)
	if !reported {
		c.items = append(c.items, c.item(was.anchor, was, why, "", true))
	}
}

// ledToFile reports whether something other than folders was noted below a folder.
func (c *check) ledToFile(dir string) bool {
	for at, e := range c.was.entries {
		if !e.directory() && abspath.Contains(dir, at) {
			return true
		}
	}
	return false
}

// left: nothing need be put back. Its folder is gone, too, or is another, or somebody was faster.
func left(err error) bool {
	var c *files.Conflict
	return errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) || errors.As(err, &c) &&
		slices.Contains(
			[]files.Reason{files.NotThere, files.NotAFolder, files.Changed, files.Exists, files.Outside},
			c.Reason,
		)
}

// took reports whether the interrupted check moved the entry away and did not restore the
// earlier one.
func (c *check) took(at string) bool {
	return slices.ContainsFunc(c.items, func(i Item) bool { return i.Trash != "" && abspath.Contains(i.Path, at) })
}
