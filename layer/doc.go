// Package layer reads the upper directory of an overlay as a change set, lands it in the root below, and takes it out
// again.
//
//	l, err := layer.New(dir, root)  // just before the overlay is mounted on l.Upper() and l.Work()
//	err = l.Take(root)              // after the command ended: private copies, and the change set
//	err = l.Land(root)              // all of it, or none
//	err = l.Undo(root)              // what the landing replaced is there again
//
// Take copies each object of the layer into a numbered slot. A landing renames each topmost changed name between the
// root and its slot, so that the slot afterwards holds the object that was replaced, with its inode. The slots alone say
// which names have moved: [Layer.Recover] needs no other record of the steps, and an undo is the same move backwards. No
// inode that a sandbox could write becomes one of the root.
//
// # Limitations
//
// The package is unfinished and no test of it has passed; nothing imports it. Root and layer must be on one mount. There
// is no judge, no stack of held layers and no example.
package layer
