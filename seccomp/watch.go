package seccomp

import "slices"

// Telling is p with a listener: what it refuses is put to whoever holds the listener of install.Listening, who gives the
// refusal himself ([Listener.Serve]), and so are the calls of [Watched], which go on to the kernel afterwards. What
// passes and what does not stays the same. Without a listener, or when it is gone, the kernel answers all of these
// with ENOSYS (seccomp_unotify(2)): a listener that dies lets nothing through.
func (p Policy) Telling() Policy {
	p.tells = true
	return p
}

// watched are calls that the policy lets through and that other mechanisms (mounts, Landlock, the network namespace)
// may refuse. Those never tell us, so we look at what is asked for. Opening for reading is not among them: programs
// do it thousands of times a second, and every look costs some microseconds.
var watched = []Rule{
	{Calls: []string{"open"}, When: []Test{{1, 3, 1}}, Why: "for writing"},
	{Calls: []string{"open"}, When: []Test{{1, 3, 2}}, Why: "for reading and writing"},
	{Calls: []string{"open"}, When: []Test{{1, 0o100, 0o100}}, Why: "created"},
	{Calls: []string{"openat"}, When: []Test{{2, 3, 1}}, Why: "for writing"},
	{Calls: []string{"openat"}, When: []Test{{2, 3, 2}}, Why: "for reading and writing"},
	{Calls: []string{"openat"}, When: []Test{{2, 0o100, 0o100}}, Why: "created"},
	{Calls: names(`creat openat2 truncate mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 symlink symlinkat link linkat`),
		Why: "changes files"},
	{Calls: []string{"connect"}, Why: "addresses"},
}

// watchedAfter is the stage of the policy after which calls are watched: what it refuses has been told already.
const watchedAfter = "refuse when"

// Watched names the calls that a telling filter lets through under the eyes of its listener, sorted. The policy refuses
// none of them, whatever its arguments.
func Watched() []string {
	var list []string
	for _, r := range watched {
		list = append(list, r.Calls...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// told reports whether a telling filter puts a refusal to its listener. Not ENOSYS and multipath TCP, which programs
// probe for and do without.
func (r Rule) told() bool { return r.Answer == EPERM || r.Answer == EAFNOSUPPORT }
