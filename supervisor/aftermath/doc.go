// Package aftermath finds the entries that a sandbox left under protected names, and
// removes them.
//
// The promise: a name that other programs execute or trust (.git/hooks, .vscode,
// AGENTS.md, …) has the same contents after a run as before, also if no mount could
// hold it: because it did not exist, is in a folder of dependencies, or exceeded the
// number of mounts. The run's own entry is in the trash, with a note of its origin,
// and the earlier one is restored.
//
//	before := aftermath.Before(effective, &cache, "")
//	… run …
//	found, err := before.After(aftermath.Run{ID: execID, Start: start, End: end, Held: plan.Mounts(), Trash: dir})
//
// The same rules judge a change before it happens, for a layer's landing. They read the machine as it would be:
//
//	found := cache.Judge(effective, aftermath.Landing{After: host, Names: replaced})
//
// # Git
//
// A directory with the names of a repository counts as one, bare ones and the parts of linked work trees included.
// After each run all of it is judged, whatever the age of its files: a run may complete what an earlier one
// prepared.
//
//   - In a repository that was there before, hooks stay as they were, and a configuration that
//     changed stays only if all that changed is known to be harmless (git.MayChange); otherwise
//     the earlier one comes back.
//   - In a new one, hooks that are no samples and settings that are not known to be harmless are
//     taken out; it stays a working repository.
//   - An operation that has begun (git rebase, am, cherry-pick, revert) can be continued without the
//     lines, strategies and options of a run's that would execute something.
//   - A .git file leads where it led, and so do the files commondir and gitdir of a linked work
//     tree. A new one leads to a repository of the trees, or to one that was used before.
//   - Files of the trees that git's configuration names (includes, core.hooksPath, words of a
//     program's command line), those to which a link under a protected name leads, and the links
//     and folders on the way to them, stay as they were, whether or not there was one: what a
//     name leads to is decided by all of these.
//
// # Dependencies
//
// Folders of dependencies (profile.Dependencies) hold other people's projects with settings of their
// own. There only git's files are looked at, unless a symbolic link outside leads to the folder.
//
// # Who did it
//
// An entry that changed although a mount held it during the run was changed by somebody else, unless the file
// has other names (hard links). So was an entry that changed after the run, before the check removed it. Both are
// reported and left in place. Every other change during the run counts as the run's.
// A copy of a protected file is no news in a new work tree at the same path from its top, as git worktree add makes
// them, and in a folder that was moved as a whole. In any other place the same text means something else.
//
// # Skipped directories
//
// A check skips a directory if nothing in or below it matters and package watch has
// reported no change of it or below. A check stats every directory that it does open, and
// reads it when its times differ, watched or not; the same holds for every file under a
// protected name. Directories that Cache.Watch can't watch are read every time.
//
// # After the daemon's death
//
// Notes keeps the data for such a check on disk, from before a run begins until it was
// checked. The next daemon reads the notes that are left:
//
//	notes, err := aftermath.OpenNotes(dir)
//	cuts, bad, err := notes.Left()
//	found := cut.Before.After(aftermath.Run{ID: cut.Exec, Start: cut.Start, End: death, Held: cut.Held, Late: true, …})
//	err = notes.Done(cut)
//
// Others had time to change entries then. Changes after the death are theirs; a change that
// may have come after it is reported and kept. Programs can't set times of change (st_ctime).
//
// # Full disks
//
// Reserve sets half a megabyte aside in the trash, and releases it when there is no room
// to move an entry there or to restore an earlier one: a command cannot keep an entry in
// place by filling the disk. If the trash is on another file system that is too small for
// an entry, the entry stays and is reported.
//
// # Limitations
//
// A new entry exists from its creation to the end of the run. A
// person who saves a file under a new protected name while a command runs
// finds it in the trash. Earlier content is kept for files up to 256 KiB; a
// larger one that was changed is taken out and not put back. A note survives the
// daemon, not a power cut. A run counts as active for 1.5 s after the last
// sign of life in its note; if a daemon was stopped for longer before it was killed,
// the entries that its command made in that time are reported and stay.
package aftermath
