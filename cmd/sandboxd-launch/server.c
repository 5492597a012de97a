// The launch server: the first process of a pid namespace and a user namespace, in which it is
// root, with one thread. For each message from the daemon it makes one process in a pid namespace, which
// reports itself, receives its order over a socket of its own, makes the other namespaces and is the first
// process of a sandbox. Every sandbox ends with this server, and this server with the daemon.
#include "launch.h"

enum { SIG_IGNORE = 1, FD_FREE = 7 };

// inner puts this process's socket into the place of the server's, before it reports anything, then the
// program to its own. No number that one gets is that of another, as the lowest free ones came.
__attribute__((noreturn)) static void inner(const struct launch *l, const int *fds, u32 count) {
	if (SYS(dup3, fds[0], FD_STATUS, 0) < 0)
		leave(STATUS_OURS);
	i64 e = 0;
	for (u32 i = 1; i <= l->groups && e >= 0; i++)
		e = SYS(write, fds[i], "0", 1); // this process (cgroups(7))
	if (e >= 0 && l->program && fds[count - 1] != FD_FREE)
		e = SYS(dup3, fds[count - 1], FD_FREE, 0);
	if (e < 0 && failed(STEP_MOUNTS, e, "begin in a control group", ""))
		leave(report_failure());
	for (u32 i = 0; i < count; i++)
		if (fds[i] != FD_FREE || !l->program)
			SYS(close, fds[i]);
	if (send_report(&(struct report){.step = STEP_BORN}, 0, 0, 0) < 0)
		leave(STATUS_OURS);
	leave(stage(NATIVE));
}

// first makes the process: in version 2 in its control group, as the kernel moves a process only once none forks anywhere.
static i64 first(const struct launch *l, const int *fds) {
	struct clone_args a = {.flags = CLONE_NEWPID | CLONE_INTO_CGROUP, .exit_signal = SIGCHLD};
	if (!l->born)
		return SYS(clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
	a.cgroup = (u64)fds[1 + l->groups];
	return SYS(clone3, &a, sizeof a);
}

// answer makes a process for a message. One that is odd in anything makes none: the daemon sees the end of
// the socket that came with it.
static void answer(const struct launch *l, u64 size, const int *fds, u32 count) {
	i64 pid = check_launch(l, size, count) ? 1 : first(l, fds);
	if (pid == 0)
		inner(l, fds, count);
	if (pid < 0) {
		report_to = fds[0];
		failed(STEP_MOUNTS, pid, "make the first process of a sandbox", "");
		report_failure();
		report_to = FD_STATUS;
	}
}

static int answer_all(void) {
	struct action action = {.handler = SIG_IGNORE}; // nothing waits for its children
	i64 e = SYS(rt_sigaction, SIGCHLD, &action, 0, sizeof action.mask), n;
	SYS(close_range, 3, FD_STATUS - 1, 0); // what the daemon inherited goes no further
	SYS(close_range, FD_STATUS + 1, ~0U, 0);
	SYS(prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (e < 0 || send_report(&(struct report){.step = STEP_BORN}, 0, 0, 0) < 0)
		return STATUS_OURS;
	do {
		struct launch l;
		int fds[MAX_LAUNCH];
		u32 count;
		n = receive(&l, sizeof l, fds, MAX_LAUNCH, &count);
		if (n > 0)
			answer(&l, (u64)n, fds, count);
		for (u32 i = 0; i < count; i++)
			SYS(close, fds[i]);
	} while (n > 0 || n == -EMSGSIZE);
	return STATUS_OURS;
}

int serve(void) {
	u64 ids[] = {(u64)SYS(geteuid), (u64)SYS(getegid)};
	i64 e = SYS(unshare, CLONE_NEWUSER | CLONE_NEWPID);
	if (!e)
		e = map_ids(SYS(openat, AT_FDCWD, "/proc", O_PATH | O_CLOEXEC), (u64[]){0, 0}, ids);
	if (!e) // from here on nobody looks into this process or its child (prctl(2), PR_SET_DUMPABLE)
		e = SYS(prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
	i64 pid = e < 0 ? e : SYS(clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		leave(answer_all());
	if (pid < 0 && failed(STEP_MOUNTS, pid, "make a user namespace", ""))
		return report_failure();
	SYS(close_range, 3, ~0U, 0); // the daemon is to see the server's end
	while (SYS(wait4, pid, 0, WALL, 0) == -EINTR)
		;
	return STATUS_OURS;
}
