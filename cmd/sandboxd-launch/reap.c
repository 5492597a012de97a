// The reaper: the parent of a command that has Landlock but no namespaces. It kills every
// process that would outlive the command. Orphans below a subreaper become its children (prctl(2),
// PR_SET_CHILD_SUBREAPER), so that every descendant is found by its parents.
#include "launch.h"

struct entry { // struct linux_dirent64, getdents64(2)
	u64 inode, offset;
	u16 size;
	u8 kind;
	char name[];
} __attribute__((packed));

struct process { i64 parent; char state; };

// digits reads a decimal number and returns its end.
static const char *digits(const char *p, i64 *n) {
	for (*n = 0; *p >= '0' && *p <= '9' && *n < 1L << 40; p++)
		*n = *n * 10 + (*p - '0');
	return p;
}

// look reads the state and the parent of a process (proc_pid_stat(5)), and reports whether it
// exists.
static int look(i64 pid, struct process *p) {
	char text[512], number[24];
	join_text(join_text(join_text(text, "/proc/"), numeral(number + sizeof number, (u64)pid, 10)), "/stat");
	i64 n = read_file(text, text, sizeof text);
	for (; n > 0 && text[n - 1] != ')'; n--) // the name may have any bytes
		;
	if (n <= 0 || text[n] != ' ' || !text[n + 1])
		return 0;
	p->state = text[n + 1];
	digits(text + n + 3, &p->parent);
	return 1;
}

// descends reports whether pid is below self. A parent that exits meanwhile, so that its number
// could be another process's, makes the child's parent another one.
static int descends(i64 pid, i64 self, char *state) {
	struct process p, again, above;
	if (!look(pid, &p))
		return 0;
	*state = p.state;
	for (int depth = 0; p.parent > 1 && depth < 1 << 16; depth++) {
		if (p.parent == self)
			return 1;
		if (!look(p.parent, &above) || !look(pid, &again) || again.parent != p.parent)
			return 0; // seen again by the next scan
		pid = p.parent;
		p = above;
	}
	return 0;
}

// signal_one signals a descendant and reports whether it still runs. The pidfd comes before the
// question, so that the answer is about the process that gets the signal. A process whose first
// thread has ended looks like a zombie while its other threads run, so that zombies are signalled.
static int signal_one(i64 pid, i64 self, int sig) {
	i64 fd = SYS(pidfd_open, pid, 0);
	if (fd < 0)
		return 0;
	char state = 0;
	int found = descends(pid, self, &state);
	if (found)
		SYS(pidfd_send_signal, fd, sig, 0, 0);
	SYS(close, fd);
	return found && state != 'Z' && state != 'X' && state != 'T' && state != 't';
}

// signal_all signals every descendant and returns how many still ran.
static int signal_all(int sig) {
	static char list[8 << 10];
	i64 self = SYS(getpid), fd = SYS(openat, AT_FDCWD, "/proc", O_RDONLY | O_CLOEXEC), n;
	int hits = 0;
	if (fd < 0)
		return 0;
	while ((n = SYS(getdents64, fd, list, sizeof list)) > 0)
		for (char *at = list; at < list + n; at += ((struct entry *)at)->size) {
			i64 pid;
			const char *end = digits(((struct entry *)at)->name, &pid);
			if (!*end && pid > 0 && pid != self)
				hits += signal_one(pid, self, sig);
		}
	SYS(close, fd);
	return hits;
}

// end_descendants stops every descendant first, as a stopped one can't fork away from the kill.
static void end_descendants(void) {
	for (int scan = 0; scan < 100 && signal_all(SIGSTOP) > 0; scan++)
		;
	signal_all(SIGKILL);
}

// release gives up every descriptor of the command, so that its readers see its end, and lets no
// process of the user look into this one.
static i64 release(void) {
	i64 null = SYS(openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		if (SYS(dup3, null, fd, O_CLOEXEC) < 0)
			return -EBADF;
	SYS(close_range, 3, ~0U, 0);
	return null < 0 ? null : SYS(prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
}

// inner becomes the command; it ends with the reaper.
__attribute__((noreturn)) static void inner(i64 reaper, const u64 *mask) {
	i64 e = SYS(prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (e < 0 || SYS(getppid) != reaper)
		leave(STATUS_OURS);
	SYS(rt_sigprocmask, SIG_SETMASK, mask, 0, sizeof *mask);
	leave(stage(ALONE));
}

// await_end returns the command's exit status once no descendant is left. SIGTERM, which the
// daemon's death sends too, ends everything at once.
static int await_end(i64 pid, const u64 *signals) {
	struct pair moment = {0, 1000000};
	int code = 128 + SIGKILL, ending = 0;
	for (;;) {
		if (SYS(rt_sigtimedwait, signals, 0, ending ? &moment : 0, sizeof *signals) == SIGTERM)
			ending = 1;
		int status;
		i64 p;
		while ((p = SYS(wait4, -1, &status, WALL | WNOHANG, 0)) > 0)
			if (p == pid) {
				code = ending ? code : exit_code(status);
				ending = 1;
			}
		if (p == -ECHILD)
			return code;
		if (ending)
			end_descendants();
	}
}

int reap(void) {
	u64 signals = 1UL << (SIGTERM - 1) | 1UL << (SIGCHLD - 1), mask = 0;
	i64 reaper = SYS(getpid), e = SYS(rt_sigprocmask, SIG_SETMASK, &signals, &mask, sizeof signals);
	if (!e)
		e = SYS(prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	i64 pid = e ? e : SYS(clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		inner(reaper, &mask);
	if (pid < 0) {
		failed(STEP_SESSION, pid, "start the stage", "");
		return report_failure();
	}
	if (release() < 0) {
		end_descendants();
		return STATUS_OURS;
	}
	return await_end(pid, &signals);
}
