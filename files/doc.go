// Package files is the file tool: it judges an agent's file operation, performs it without losing
// or racing anything, and can undo it.
//
// The promise: no operation touches anything outside the configured roots, even if another process
// renames entries meanwhile; every file has its old or its new content, whole, whichever process
// dies in between; and changed or removed content can be restored.
//
//	rules, err := files.NewRules(cfg.Files, roots)
//	facts, err := worker.Facts(ctx, req)      // inside the sandbox
//	verdict := rules.Judge(req, facts)        // pure
//	…ask, if verdict.Decision is Ask…
//	change := store.Begin(…)                  // the daemon's, outside
//	result, err := worker.Do(ctx, req, facts, change)
//
// # Packages
//
// This package decides and describes; it opens nothing. Package files/worker performs an operation
// in a process of its own inside the session's sandbox, so that the kernel limits its mistakes;
// package files/tree opens one folder, and accesses everything below it without following a link
// that leads out. Package files/store is the daemon's: it receives the old content by a read-only
// descriptor before the change, syncs it before the worker continues, and undo restores from it.
// Package files/edit computes edits of text.
//
// # Judging
//
// Judge follows the table of operations (see Operation): reading, listing and searching run;
// creating and changing ask unless the path is safe; overwriting asks; deleting asks twice; so does
// every change of a protected path, also of a safe one. A hidden path, one in no named sandbox, and
// a change in a read-only one are blocked in every mode. Both the real path, from the facts, and
// the requested spelling count.
//
// Paths are compared in pieces between slashes. Protected and hidden patterns match at any depth,
// without regard to case and to characters that some file systems ignore, and cover everything
// below a match. Safe patterns match exactly: one without a slash the base name at any depth, one
// with a slash the path below the sandbox's root.
//
// # Hard links
//
// A file with more than one name is refused, since its other names may be outside the root: reading
// could show, and changing could alter, a file elsewhere. The setting hard_links = "read" permits
// reading, for trees that a package manager links from its store.
//
// # Limitations
//
// A write of another program between the copy to the undo store and the exchange of the names is
// detected (the exchange is reverted, and the operation reports a conflict) on file systems that
// can exchange two names; elsewhere (NFS, some FUSE) the last writer wins this race.
//
// Undo cannot restore a change time (ctime), nor the identity of a file (its inode number): it
// restores content, kind, mode, owner, extended attributes, names, and modification times.
package files
