//go:build !linux

package watch

// Set watches nothing here.
type Set struct{}

// Group watches nothing here.
type Group struct{}

// Dir is never one here.
type Dir struct{}

// News is never any here.
type News struct {
	About                any
	Directories, Removed bool
}

// New returns a Set that watches nothing.
func New() *Set { return nil }

// Group returns nil, which watches nothing.
func (s *Set) Group() *Group { return nil }

// Add returns nil: everything must be asked every time.
func (g *Group) Add(fd int, about any) *Dir { return nil }

// News has none.
func (g *Group) News() (news []News, lost bool) { return nil, false }

// Close does nothing.
func (g *Group) Close() {}

// Drop does nothing.
func (d *Dir) Drop() {}

// Stamped is not known here: every directory is read again.
func Stamped(fd int) bool { return false }

// Watched is 0.
func (s *Set) Watched() int { return 0 }

// Close does nothing.
func (s *Set) Close() {}
