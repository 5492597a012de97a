// Package profile describes a command's access: files, network, sockets, environment, system calls,
// processes, and how much of each. A [Profile] is an immutable value; mechanisms (bwrap, Landlock,
// seccomp, Seatbelt) compile it, and none of them may let an access through that [Profile.Allows]
// forbids.
//
// The promise: [Profile.Intersect] grants exactly the accesses that both profiles grant, at every
// path and in every setting; [Profile.Within] is decided, not sampled; [Profile.With] adds exactly
// the one thing that a person saw; [Profile.Digest] is the same exactly for equal profiles.
//
//	session, err := profile.New(profile.Spec{
//		Rules: []profile.Rule{
//			{Kind: profile.Allow, Access: profile.Read | profile.Exec, Path: "/usr"},
//			{Kind: profile.Allow, Access: profile.Read | profile.Write | profile.Exec, Path: "/home/ann/app"},
//			{Kind: profile.Protect, Path: "/home/ann/app", Name: ".git/hooks"},
//			{Kind: profile.Hide, Path: "/home/ann/app/secrets"},
//			{Kind: profile.Private, Path: "/tmp"},
//		},
//		Limits: profile.DefaultLimits(),
//	})
//	...
//	inForce := session.Intersect(operator)
//	inForce.Allows(profile.OpWrite, "/home/ann/app/sub/.git/hooks/pre-commit") // no
//
// # Which rule holds
//
// Walk from "/" to the path, one directory at a time, with no access at first:
//
//   - Where Allow or Private rules name exactly this directory, their access replaces the present
//     one; of several, the common access.
//   - Where none does, but a rule by name begins to match here (its elements match the last
//     elements of the path, all of them below the rule's own path), apply it to the present access.
//   - Where Protect or Hide rules name exactly this directory, apply them, too.
//
// Protect removes write, Hide removes everything. So the most specific rule holds, at the same path
// the stricter, and a grant of exactly the path beats a name, which is the way to permit one file
// of a hidden or protected kind. Write and exec come with read or not at all.
//
// # Two profiles at one path
//
// The state of a path is an [Access], whether it is the sandbox's own (private), and whether it is
// protected. Intersect has the common access, and private or protected if either is: where one
// profile shows the host's file and the other an empty directory, neither grants the host's file to
// the result. A normal form of flat rules represents this exactly, because names only ever remove
// access: at each path that either profile has a rule for, the result has a rule with the meet of
// both, and the names of both apply below.
//
// Equal and Digest compare normal forms. For rules by path the form is unique: a rule that follows
// from the directory above it and the names is dropped. Two names count as the same if they are
// spelled the same, so [Profile.Equal] may distinguish profiles that allow the same; never the
// other way round.
//
// # Grants and guards
//
// Hide and Protect rules, and [Spec].Guards, outlive the place they were written for: when a grant
// opens a directory around them, they come into force inside it. A grant lifts one only by naming
// exactly its path, or a path inside. Guards without a rule have no effect at first: a private home
// directory may have its own .ssh.
//
// # For mechanisms
//
// [Profile.PathRules] lists every path at which something changes, parents before children, each
// with the access it finally has; [Profile.NameRules] the names. A mechanism that needs to know
// where names match walks the real tree with a [Cursor]: it is [Cursor.Turned] where something
// changes, and [Cursor.Settled] where nothing below can change. A mechanism reports the rules that
// it cannot enforce as [Gap]s.
//
// # Limitations
//
// A profile has real paths: the caller resolves symbolic links first. Names match byte for byte; on
// a file system that ignores case a mechanism has to match more. OpRemove is about one file or an
// empty directory; moving a tree is [Profile.AllowsRename], which needs the tree's entries.
// Intersect of renames is no exact meet in the kernel: a mount that some profile asks for makes a
// rename across it fail. A name that comes into force by a grant also holds in private directories
// below that grant.
package profile
