// Package git holds everything that is known of git repositories without running git: which repository git uses in a
// directory, its configuration in force, its attributes and ignore rules, its index's links to submodules and
// identities of files, the types of its objects, and the one list of configuration keys and files by which a repository
// makes git run a program or leads it elsewhere.
//
//	repos, err := git.Find(git.Disk, "/home/u/project/sub")
//	for _, r := range repos {
//		settings, err := git.Reader{Host: git.Disk, Home: home}.Config(r)
//		…
//	}
//
// Everything is read through a [Host], so that it works below another root and in tests.
//
// # Doubt
//
// Git validates a directory before it uses it (setup.c, is_git_directory) and continues with the parent where that
// fails. [Look] follows these rules and reports [Doubtful] where the result depends on the user who runs git, or on
// the version of git. [Find] returns every repository that git could use: the doubtful ones and the first valid one.
//
// # Objects
//
// [Objects.Type] returns the type of the object that a revision means, from loose objects, packs and alternates. It
// reads no contents. It is an error where a file has another form, for example a pack index of version 1.
//
// # Keys
//
// [KindOf] classifies a configuration key. A key that is not in the list is [Unknown] and counts as one that names a
// program. A test compares the list with the keys that the installed git knows.
//
// # Limitations
//
// A result is true at the moment it was read. Conditions of includes are taken for true. Configuration keys that git
// reads from its environment are the caller's. References in the reftable format do not exist to [Objects], and it
// reads no multi-pack-index: each pack needs an index of its own.
package git
