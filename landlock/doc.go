// Package landlock compiles a [profile.Profile] into a Landlock ruleset, a value
// of package lsm, which puts it in force.
//
// The promise: alone ([Alone]), a ruleset grants nothing that the profile does
// not, outside of a published table ([AloneGaps]). Inside a mount namespace
// that already shows only the paths of the profile ([Inside]) it is the second
// wall: it grants what the profile grants anywhere below a path, and refuses
// everything else once more.
//
// Landlock can only add rights on the way down a path: what a directory has
// cannot be taken back below it. Where a profile denies something inside what
// it grants, [Compile] gives the neighbours of the denied path the rights one
// by one instead of giving them to the directory. What is there at that moment
// keeps working; what is made in that very directory later has fewer rights
// than the profile says, and a gap "narrowed" says so.
//
// [Compile] is pure and works for every ABI on every system; it looks at the
// host through an [io/fs.ReadLinkFS]. The result is plain data with a compact
// binary form, which cmd/sandboxd-launch reads in place and puts in force:
//
//	abi, err := lsm.ABI()
//	ruleset, gaps, err := landlock.Compile(p, abi, landlock.Host{FS: files, Euid: os.Geteuid()})
//	data, err := ruleset.MarshalBinary()
//
// Rulesets stack: each that is applied restricts further. Two profiles laid
// one after the other let through what both allow, whatever was computed.
//
// # Gaps
//
// A [profile.Gap] with Protection "narrowed" grants less than the profile. The
// others are the rows of [AloneGaps] that matter here, and "disconnected
// directories" on kernels that do not say they have fixed erratum 3.
//
// # Limitations
//
// A rule holds for a file, not for its path: another name of a granted file is
// granted, too. Landlock does not restrict stat, chmod, chown, setxattr,
// chdir, descriptors that are open already, or memfd_create(2), whose files
// can always be executed. Moving a file to a directory that grants it more
// fails with EXDEV. A profile's private directories exist only where mounts
// make them: alone nothing is granted there, but reading in /proc.
package landlock
