// Package watch says which directories changed since they were last asked about, so
// that who looks through a tree again and again asks only those.
//
// The promise: what a directory's entries were when it was looked at, they are, unless
// [Group.News] says otherwise. It holds for every change that was complete when News
// was called, whoever made it, by whatever path or mount:
//
//	s := watch.New()
//	g := s.Group()
//	dir := g.Add(fd, about)   // before the directory is read; nil: can't be watched
//	… read the directory …
//	news, lost := g.News()    // about what something came
//
// # Why it may be believed
//
// The kernel queues an event for the directory's inode within the system call that
// changes it (fsnotify_create, fsnotify_move, … in fs/namei.c), and so before the call
// returns or its process can be gone. News empties the queue before it answers.
// Watching begins before reading, so nothing falls in between. Where
// anything is in doubt all is lost, which News says, and everything must be asked
// once more: when the queue overflowed (a lack of memory counts as that), when
// it can't be read, or when anything was mounted or unmounted in our namespace.
//
// Only directories of local file systems are watched, whose every change goes through
// this kernel's virtual file system. Network file systems, FUSE and 9p are changed
// elsewhere, overlayfs may be changed below, ZFS can be rolled back in place.
//
// # What it does not tell
//
// What is written into files (mmap(2) tells nobody) and what becomes of their number
// of links: files must be asked for their state.
//
// A directory that is watched holds some 1 KiB of the kernel's memory and counts among the
// user's watches. A Set takes at most a quarter of those and at most 16,384; what
// is beyond is not watched. What nobody asked about for ten minutes is let go.
package watch
