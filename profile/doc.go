// Package profile says what a command may touch: files, network, sockets,
// environment, system calls, processes, and how much of each. A [Profile] is
// an immutable value; mechanisms (bwrap, Landlock, seccomp, Seatbelt) compile
// it, and none of them may let through what [Profile.Allows] forbids.
//
// The promise: [Profile.Intersect] grants what both profiles grant and
// nothing else, at every path and in every setting; [Profile.Within] is
// decided, not sampled; [Profile.With] adds exactly the one thing that a
// person saw; [Profile.Digest] is the same exactly for equal profiles.
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
// Walk from "/" to the path, one directory at a time, with nothing in hand:
//
//   - Where Allow or Private rules name exactly this directory, take what they
//     give instead of what you have; of several, what all of them give.
//   - Where none does, but a rule by name begins to match here (its elements
//     match the last elements of the path, all of them below the rule's own
//     path), apply it to what you have.
//   - Where Protect or Hide rules name exactly this directory, apply them, too.
//
// Protect takes the write away, Hide takes everything. So the most specific
// rule holds, at the same path the stricter, and a grant of exactly the path
// beats a name, which is how one file of a hidden or protected kind is let
// out. Write and exec come with read or not at all.
//
// # Two profiles at one path
//
// What a path has is an [Access], whether it is the sandbox's own (private),
// and whether it is protected. Intersect takes the common access, and private
// or protected if either is: where one profile shows the host's file and the
// other an empty directory, neither grants the host's file to the result. A
// normal form of flat rules holds this exactly, because names only ever take
// away: at each path that either profile has a rule for, the result has a rule
// with the meet of both, and the names of both go on working below.
//
// Equal and Digest compare normal forms. For rules by path the form is unique:
// what a rule says that the directory above it and the names say already is
// dropped. Two names count as the same if they are spelled the same, so [Profile.Equal]
// may tell apart profiles that allow the same; never the other way round.
//
// # Grants and guards
//
// Hide and Protect rules, and [Spec].Guards, outlive the place they were
// written for: when a grant opens a directory around them, they come into
// force inside it. A grant lifts one only by naming exactly its path, or a
// path inside. Guards without a rule hold nothing back today: a private home
// directory may have its own .ssh.
//
// # For mechanisms
//
// [Profile.PathRules] lists every path at which something changes, parents
// before children, each with the access it finally has; [Profile.NameRules]
// the names. A mechanism that needs to know where names match walks the real
// tree with a [Cursor]: it is [Cursor.Turned] where something changes, and
// [Cursor.Settled] where nothing can change any more. What a mechanism cannot
// enforce it reports as a [Gap].
//
// # Limitations
//
// A profile speaks of real paths: whoever asks resolves symbolic links first.
// Names match byte for byte; on a file system that ignores case a mechanism
// has to match more. OpRemove is about one file or an empty directory; moving
// a tree is [Profile.AllowsRename], which has to be told what is in the tree.
// Intersect of renames is no exact meet in the kernel: a mount that some
// profile asks for makes a rename across it fail. A name that comes into force
// by a grant also holds in private directories below that grant.
package profile
