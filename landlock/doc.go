// Package landlock compiles a [profile.Profile] into a Landlock ruleset, a value of package lsm,
// which puts it in force.
//
// The promise: alone ([Alone]), a ruleset grants nothing beyond the profile, outside of a published
// table ([AloneGaps]). Inside a mount namespace that already shows only the paths of the profile
// ([Inside]) it is the second wall: it grants the union of the profile's grants below a path, and
// refuses everything else once more. There "/" can be listed: the namespace's own directories hold
// nothing but the way to the profile's paths.
//
// Landlock can only add rights on the way down a path: a directory's right cannot be revoked below
// it. Where a profile denies something inside a grant, [Compile] gives the neighbours of the denied
// path the rights one by one instead of giving them to the directory. Entries that exist at that
// moment work; entries made in that very directory later have fewer rights than in the profile, and
// a gap "narrowed" reports that.
//
// [Compile] is pure and works for every ABI on every system; it reads the host through an
// [io/fs.ReadLinkFS]. The result is plain data with a compact binary form, which
// cmd/sandboxd-launch reads in place and puts in force:
//
//	abi, err := lsm.ABI()
//	ruleset, gaps, err := landlock.Compile(p, abi, landlock.Host{FS: files, Euid: os.Geteuid()})
//	data, err := ruleset.MarshalBinary()
//
// Rulesets stack: each one restricts further, so two of them permit only the accesses that both
// profiles allow.
//
// # Gaps
//
// A [profile.Gap] with Protection "narrowed" grants less than the profile. The others are the rows
// of [AloneGaps] that matter here, and "disconnected directories" on kernels that do not report the
// fix of erratum 3.
//
// # Limitations
//
// A rule applies to a file, not to its path: another name of a granted file is granted, too.
// Landlock does not restrict stat, chmod, chown, setxattr, chdir, descriptors that are open
// already, or memfd_create(2), whose files can always be executed. Moving a file to a directory
// that grants it more fails with EXDEV. A profile's private directories exist only where mounts
// make them: alone nothing is granted there, except reading in /proc.
package landlock
