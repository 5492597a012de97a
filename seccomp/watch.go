package seccomp

import "slices"

// Telling returns p with a listener: its refusals go to the owner of the listener of
// install.Listening, which refuses itself ([Listener.Serve]), and so do the calls of watchedCalls,
// which continue to the kernel afterwards. The same calls pass. Without a listener, or after its
// end, the kernel answers all of these with ENOSYS (seccomp_unotify(2)): a listener that dies lets
// nothing through.
func (p Policy) Telling() Policy {
	p.tells = true
	return p
}

// watched are calls that the policy lets through and that other mechanisms (mounts, Landlock, the
// network namespace) may refuse. Those never report, so the listener inspects the arguments.
// Opening for reading is not among them: programs do it thousands of times a second, and every
// inspection costs some microseconds.
var watched = []rule{
	{Calls: []string{"open"}, When: []test{{1, 3, 1}}, Why: "for writing"},
	{Calls: []string{"open"}, When: []test{{1, 3, 2}}, Why: "for reading and writing"},
	{Calls: []string{"open"}, When: []test{{1, 0o100, 0o100}}, Why: "created"},
	{Calls: []string{"openat"}, When: []test{{2, 3, 1}}, Why: "for writing"},
	{Calls: []string{"openat"}, When: []test{{2, 3, 2}}, Why: "for reading and writing"},
	{Calls: []string{"openat"}, When: []test{{2, 0o100, 0o100}}, Why: "created"},
	{Calls: names(`
		creat openat2 truncate mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 symlink symlinkat link linkat
	`), Why: "changes files"},
	{Calls: []string{"connect"}, Why: "addresses"},
}

// watchedAfter is the stage of the policy after which calls are watched: its refusals were reported
// already.
const watchedAfter = "refuse when"

// watchedCalls names the calls that a telling filter lets through by its listener, sorted. The policy
// refuses none of them but by their arguments, which filter and listener read alike.
func watchedCalls() []string {
	var list []string
	for _, r := range watched {
		list = append(list, r.Calls...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// reported reports whether a telling filter sends a refusal to its listener. Not ENOSYS and multipath
// TCP, which programs probe for and do without, nor what is so without a sandbox, too.
func (r rule) reported() bool { return (r.Answer == EPERM || r.Answer == EAFNOSUPPORT) && !r.Usual }
