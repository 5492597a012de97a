// Package bwrap compiles a [profile.Profile] into options for bubblewrap.
//
// The promise: inside, a path of the host shows and can be written only as far
// as the profile says, and as every further layer says; rights that bwrap cannot
// express is granted less or reported as a gap, never more. And nothing is
// made on the host, not even a mount point: [Compile] lets bwrap make
// destinations only in the sandbox's own trees, and everywhere else mounts
// over entries that it has checked component by component.
//
// [Compile] is pure. It looks at the host through an [io/fs.ReadLinkFS], for
// which [HostFS] is the real one:
//
//	version, err := bwrap.ParseVersion(output) // of bwrap --version
//	result, err := bwrap.Compile(p, []profile.Profile{operator, derived}, bwrap.Host{
//		Version: version, FS: bwrap.HostFS(), Euid: os.Geteuid(), Descriptor: 5,
//	})
//	// descriptor 4 gives bwrap.Encode(result.Args); 5 and up are /dev/null
//	exec.Command("bwrap", "--args", "4", "--", "/bin/sh")
//
// # Mounts
//
// The root is the host's, read-only or writable, where the profile grants "/",
// else an empty one in which granted trees are bound and links such as
// /bin → usr/bin are made again. Directories above a granted path can be
// walked through, and listed only where the profile lists them.
//
//   - Private is an empty tmpfs with the size of the profile's limits.
//   - Hide is a directory or file that nobody may read, mounted read-only, so
//     that its owner can neither chmod nor unlink it; a grant below it shows
//     just itself. The target of a hidden symbolic link is hidden, too.
//   - Protect, and a read-only path inside a writable one, is bound
//     on itself read-only, and every directory above it, up to the writable
//     mount, is bound on itself: a mount point cannot be renamed (EBUSY).
//   - Names at any depth are searched in the mounted trees, in at most
//     [MaxEntries] entries and not below [profile.Dependencies]. At most
//     [MaxProtective] mounts protect: the project's own repositories first,
//     then the names at the top, then the rest.
//   - Sockets that are there already belong to programs outside and are
//     hidden, in readable and in writable trees; listed ones
//     are shown. FIFOs in readable trees are hidden, too.
//   - Run by root, a directory that only another user may enter is hidden whole
//     where something in it would need a mount: neither bwrap nor the command
//     can go in.
//   - /proc is the sandbox's own; run by root, entries that would let uid 0 write to
//     the kernel through it is read-only. /dev has the granted nodes, or is
//     bwrap's own with a devpts where the profile has a private /dev/pts
//     (which costs more than a millisecond).
//
// # Gaps
//
// A [profile.Gap] with Protection "narrowed" grants less than the profile. So
// does none of these:
//
//   - "hide", "protect", "private": this path is not held: it does not exist
//     in a writable tree, it is a link there, or there were too many.
//   - "names": names below Object were not looked for: dependencies, a folder
//     that cannot be listed, or the bound was reached.
//   - "later names": names below Object are not held where they appear during
//     the run. It is so for every rule by name where something may be written.
//   - "vacant": granted paths in private directories which the host does not
//     have; the command may make its own there, nothing of the host.
//   - "exec", "device write": bwrap has no such mounts; Landlock holds it.
//   - "listen": ports; Landlock holds it from ABI 4.
//   - "loopback": there is one in the mode without a network.
//   - "unix sockets": sockets that appear later, or in system trees.
//   - "tmp size": bwrap before 0.7.0 cannot bound a tmpfs.
//   - "kernel tables": root only; some of /proc can be read.
//
// # Limitations
//
// The host may change between Compile and the mount; [Result.Depends] names
// the directories to watch; there remains a race with a process that
// may write to them. Environment, limits other than the size of private
// directories, and system calls are other mechanisms' work. When bwrap's own
// standard streams are a terminal of the host, bwrap's /dev shows it as
// /dev/console: give it pipes or a terminal of your own.
package bwrap
