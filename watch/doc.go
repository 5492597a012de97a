// Package watch reports which directories changed since the last call, so that a repeated scan of a
// tree only rereads those.
//
// The promise: a directory has the entries that it had when it was read, unless [Group.News]
// reports a change. It holds for every change that was complete when News was called, by any
// process, path or mount:
//
//	s := watch.New()
//	g := s.Group()
//	dir := g.Add(fd, about)   // before the directory is read; nil: can't be watched
//	… read the directory …
//	news, lost := g.News()    // about the directories with events
//
// # Why it may be believed
//
// The kernel queues an event for the directory's inode within the system call that changes it
// (fsnotify_create, fsnotify_move, … in fs/namei.c), and so before the call returns or its process
// can end. News empties the queue before it answers. Watching begins before reading, so nothing
// falls in between. In any doubt News reports everything as lost, and everything must be read once
// more: when the queue overflowed (a lack of memory counts as that), when it can't be read, or when
// anything was mounted or unmounted in our namespace.
//
// Only directories of local file systems are watched, whose every change passes this kernel's
// virtual file system. Network file systems, FUSE and 9p are changed elsewhere, overlayfs may be
// changed below, ZFS can be rolled back in place.
//
// # Limitations
//
// Writes into files (mmap(2) raises no event) and changes of their number of links are not
// reported: stat the files.
//
// A watched directory takes some 1 KiB of the kernel's memory and counts among the user's watches.
// A Set uses at most a quarter of those and at most 16,384; directories beyond that are not
// watched. Watches without a call of News for ten minutes are removed.
package watch
