// Package layer makes the writes of a command land in a directory after they were judged, all of them or none, and
// takes them out again.
//
// The command runs on an overlay (Documentation/filesystems/overlayfs.rst) whose lower directory is the root, say a
// project, and whose upper directory belongs to a Layer. The root does not change while it runs.
//
//	l, err := layer.New(dir, root)  // just before the mount on l.Upper() and l.Work()
//	err = l.Take(root)              // after the command ended: private copies, and the change set
//	err = l.Land(root, judge)       // judged, and then all of it or nothing
//	err = l.Undo(root)              // the displaced objects are back
//	err = l.Drop()                  // neither landing nor undo is possible any longer
//
// [NewSpare] and [Adopt] make the layer of a mount that was made before its command was known.
//
// Promise: an inode that the command could write never becomes an inode of the root. A landing changes nothing where a
// path of the change set or an entry below it changed since the run began, where another directory is above it, or
// where another program has it open for writing. Landing and undo survive a death at every step: [Layer.Recover]
// finishes them, or restores the state before. An undo restores content, mode, owner, times, attributes and inodes.
//
// [Layer.After] shows the file system as a landing would make it, to judge that before it happens.
//
// # Mechanism
//
// Take reads the upper directory as a hostile tree and copies each topmost new or changed object into a numbered slot.
// A landing renames each topmost changed name between the root and its slot. The slot then holds the displaced object,
// so that an undo is the same move in the other direction. The inodes in the slots alone tell which names have moved:
// recovery needs no further record of the steps.
//
// A conflict is a change of the root at or after the stamp, the time of the root's file system when the layer was made.
// A directory that got or lost other entries is none: where another one is in its place, rename(2) has changed the
// times of change of both it and the directory above. Then a set that replaces an entry in it conflicts, and so does
// one that creates an entry in it, unless the directory's times of birth and modification are those of the earlier
// directory with other entries.
// During a landing, read leases (fcntl(2), F_SETLEASE) keep other programs from opening a changed file for writing
// unnoticed: where one waits for its lease when the journal is closed, the landing goes back first. Git's lock files
// keep git away from the git directories that change. An index that lands gets the identity of the files as they
// landed, where their content, unfiltered, is that of its entries: git need not read them again, and git status does
// not write it.
//
// # Limitations
//
// An entry that the command creates lands in another directory than the one that it saw where that was there before the
// run, was moved into its place, and has got or lost an entry since. Root and layer must be on one mount: nothing lands
// by copying across file systems. [Reason] names this and the other cases that need a direct run. FIFOs, sockets and
// devices do not land, set-ID bits of files and attributes outside user.* and access control lists are lost, a file
// with several hard links lands under the written name only, and a root that is closed to its owner lands with mode
// 0700. A directory that the command renames was copied by it, as overlays without redirect_dir require. A file of
// another owner has no lease. Nothing here lands a layer that is still written to, so that a run lands once: the
// processes that it leaves end before Take, and no job has a layer. Layers on held ones (see [New]) must land after
// those. A program that found a file before a landing and opens it after that writes to the displaced object:
// [Layer.Late] names such files, and the undo store restores their later content. The mount is "volatile": what a
// command has passed to fsync(2) is on the disk only after Take, so that a power cut during a run may take the latest
// of it.
package layer
