package aftermath

import (
	"os"

	"golang.org/x/sys/unix"
)

// unchanged reports whether the inspected object is still at its path, with all its known
// contents: the inspection may be some time ago. A touch is no change. An object that
// can't be read now counts as unchanged: the command closed it.
func (c *check) unchanged(at string, e entry) bool {
	for _, below := range append(c.below(at), at) {
		was := c.now.entries[below]
		if below == at {
			was.stamp = e.stamp
		}
		var st unix.Stat_t
		switch err := unix.Lstat(below, &st); {
		case err == unix.ENOENT || err == unix.ENOTDIR:
			return false
		case err == nil && !was.still(below, stampOf(&st)):
			return false
		}
	}
	return true
}

// still reports whether the entry at a path with that stamp is unchanged.
func (e entry) still(at string, now stamp) bool {
	switch {
	case now == e.stamp:
		return true
	case now.kind() != e.kind():
		return false
	case e.directory(): // its change time is another when the scan opened it to us
		return now.dev == e.dev && now.ino == e.ino && now.mtime == e.mtime
	case e.content == nil || now.mode != e.mode || now.size != e.size:
		return false
	case e.regular():
		text, err := os.ReadFile(at)
		return err == nil && string(text) == string(e.content)
	}
	text, err := os.Readlink(at)
	return err == nil && text == string(e.content)
}
