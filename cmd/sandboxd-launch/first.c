// The first process of a pid namespace: with it the kernel ends every other process of the
// sandbox (pid_namespaces(7)).
#include "launch.h"

// default_signals gives every signal its default action. The first process of a namespace ignores
// such a signal from inside the namespace. The command starts with the default actions, too.
static void default_signals(void) {
	struct action action = {0};
	for (int sig = 1; sig <= SIG_LAST; sig++) // SIGKILL and SIGSTOP have no other (EINVAL)
		SYS(rt_sigaction, sig, &action, 0, sizeof action.mask);
}

// children is a descriptor that becomes readable when a child has ended (signalfd(2)).
static int children;

// watch_children blocks SIGCHLD and nothing else.
static enum step watch_children(void) {
	u64 ended = 1UL << (SIGCHLD - 1);
	i64 e = SYS(rt_sigprocmask, SIG_SETMASK, &ended, 0, sizeof ended);
	if (!e)
		e = SYS(signalfd4, -1, &ended, sizeof ended, O_CLOEXEC);
	if (e < 0)
		return failed(STEP_FIRST, e, "watch children", "");
	children = (int)e;
	return STEP_NONE;
}

// settle also keeps every other process from looking into this one, as it holds the way to the
// daemon. The command's own image can be looked into again (prctl(2), PR_SET_DUMPABLE).
enum step settle(void) {
	if (SYS(getpid) != 1)
		return failed(STEP_FIRST, 0, "this is not the first process of a namespace", "");
	i64 e = SYS(prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
	e = e ? e : SYS(prctl, PR_SET_NAME, "sandboxd-launch", 0, 0, 0);
	if (e < 0)
		return failed(STEP_FIRST, e, "keep others out, and take a name", "");
	default_signals();
	return watch_children();
}

// reap_all reaps the processes that have ended, and reports whether no other is left.
static int reap_all(void) {
	i64 pid;
	do
		pid = SYS(wait4, -1, 0, WALL | WNOHANG, 0);
	while (pid > 0 || pid == -EINTR);
	return pid == -ECHILD;
}

// await_close waits, for a second at most, until the daemon has read the end: the kernel takes the
// namespace apart on the processor that the requester would use.
static void await_close(void) {
	struct polled p = {.fd = FD_STATUS};
	struct pair most = {1, 0};
	while (SYS(ppoll, &p, 1, &most, 0, 0) == -EINTR) // Linux writes the rest of the time to most
		;
}

// await_command reaps until the command has ended, and returns 0 where the daemon is gone before
// that. The parent-death signal of bwrap's child does not do for it: where bwrap is killed before
// that child asks for the signal, none comes.
static int await_command(i64 pid, int *status) {
	// POLLHUP is reported in any case (poll(2)).
	struct polled polled[2] = {{.fd = children, .events = POLLIN}, {.fd = FD_STATUS}};
	u8 signal[128]; // struct signalfd_siginfo
	for (;;) {
		i64 p;
		while ((p = SYS(wait4, -1, status, WALL | WNOHANG, 0)) > 0)
			if (p == pid)
				return 1;
		if (p < 0 && p != -EINTR)
			return 0;
		SYS(ppoll, polled, 2, 0, 0, 0);
		if (polled[1].happened)
			return 0;
		if (polled[0].happened)
			SYS(read, children, signal, sizeof signal);
		polled[0].happened = polled[1].happened = 0;
	}
}

int follow(i64 pid) {
	int status = 0;
	if (!await_command(pid, &status))
		return STATUS_OURS;
	struct usage used = {0};
	struct report end = {.step = STEP_ENDED, .code = (u8)exit_code(status), .alone = (u8)reap_all()};
	SYS(getrusage, RUSAGE_CHILDREN, &used);
	end.cpu = (u64)(used.user.first + used.system.first) * 1000000000;
	end.cpu += (u64)(used.user.second + used.system.second) * 1000;
	send_report(&end, 0, 0, 0);
	// The others end with this process: when none is left, or the daemon closes its end.
	end.alone ? await_close() : (void)await_command(0, &status);
	return end.code;
}
