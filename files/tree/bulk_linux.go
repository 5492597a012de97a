package tree

import "golang.org/x/sys/unix"

// InBulk is the tree for a change of many steps: its folders are brought to disk by SyncAll at the end, and not after
// each step. Only the first tree is closed.
func (t *Tree) InBulk() *Tree {
	c := *t
	c.bulk = true
	return &c
}

// SyncAll makes everything last that was changed InBulk (syncfs(2)).
func (t *Tree) SyncAll() error { return conflict(t.path, unix.Syncfs(int(t.root.Fd()))) }
