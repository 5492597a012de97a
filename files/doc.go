// Package files is the file tool: it judges what an agent asks to do with a
// file, does it without losing or racing anything, and can take it back.
//
// The promise: no operation touches anything outside the configured roots,
// whatever another process does to the names meanwhile; every file has its old
// or its new content, whole, whatever dies in between; and what was changed or
// removed can be brought back.
//
//	rules, err := files.NewRules(cfg.Files, roots)
//	facts, err := worker.Facts(ctx, req)      // inside the sandbox
//	verdict := rules.Judge(req, facts)        // pure
//	…ask, if verdict.Decision is Ask…
//	change := store.Begin(…)                  // the daemon's, outside
//	result, err := worker.Do(ctx, req, facts, change)
//
// # Who does what
//
// This package decides and describes; it opens nothing. Package files/worker
// carries an operation out, in a process of its own that runs inside the
// session's sandbox, so that a mistake here meets the kernel; package files/tree
// is its hands: one opened folder, and everything below it without following
// anything that leads out. Package files/store is the daemon's: the old content
// arrives there by a read-only descriptor before the change, is on disk before
// the worker goes on, and is what undo brings back. Package files/edit is the
// arithmetic on text.
//
// # Judging
//
// Judge follows the table of operations (see Operation): reading, listing and
// searching run; creating and changing ask unless the path is safe;
// overwriting asks; deleting asks twice; so does every change of a protected
// path, whatever makes it safe. A hidden path, one in no named sandbox, and a
// change in a read-only one are blocked in every mode. What counts is where a
// path really leads, as the facts say, and also how it was spelled.
//
// Paths are compared in pieces between slashes. Protected and hidden patterns
// match at any depth, without regard to case and to characters that some file
// systems ignore, and stand for all below a match. Safe patterns match exactly:
// one without a slash the base name at any depth, one with a slash the path
// below the sandbox's root.
//
// # Hard links
//
// A file with more than one name is refused, since nobody can tell whether its
// other names lie outside the root: reading it could show, and changing it
// could alter, a file elsewhere. The setting hard_links = "read" permits
// reading, for trees that a package manager links from its store.
//
// # Limitations
//
// What another program writes to a file in the moment between the copy to the
// undo store and the exchange of the names is noticed (the exchange is taken
// back, and the operation reports a conflict) on file systems that can exchange
// two names; elsewhere (NFS, some FUSE) that moment is a race that the last
// writer wins.
//
// A change time (ctime) cannot be restored by undo, nor can the identity of a
// file (its inode number): what undo brings back is content, kind, mode, owner,
// extended attributes, names, and modification times.
package files
