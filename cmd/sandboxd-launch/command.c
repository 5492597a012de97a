// From a decoded order to a process that executes the command.
#include "launch.h"

// executable returns 0 where path is a file that can be executed.
static i64 executable(const char *path) {
	struct statx_result st;
	i64 e = SYS(statx, AT_FDCWD, path, 0, STATX_TYPE, &st);
	if (e)
		return e;
	if ((st.mode & S_IFMT) == S_IFDIR)
		return -EACCES;
	return SYS(faccessat, AT_FDCWD, path, X_OK);
}

static const char *search_path(char **env) {
	for (; *env; env++)
		if (starts(*env, "PATH="))
			return *env + 5;
	return "";
}

// find_along looks name up along PATH as execvp(3) does. An empty element would be the working
// directory; a command found there by accident is a trap, so that relative elements are skipped.
static i64 find_along(const char *path, const char *name, char *found) {
	i64 error = -ENOENT;
	for (const char *dir = path, *end; *dir || dir == path; dir = *end ? end + 1 : end) {
		for (end = dir; *end && *end != ':'; end++)
			;
		u64 size = (u64)(end - dir);
		if (*dir == '/' && size + length(name) + 2 <= PATH_LENGTH) {
			__builtin_memcpy(found, dir, size);
			join_text(join_text(found + size, "/"), name);
			i64 e = executable(found);
			if (!e)
				return 0;
			if (e == -EACCES)
				error = e;
		}
		if (!*end)
			break;
	}
	return error;
}

static enum step find_program(struct command *c) {
	static char found[PATH_LENGTH];
	const char *name = c->order->path[0] ? c->order->path : c->order->argv[0];
	int has_slash = 0;
	for (const char *p = name; *p; p++)
		has_slash |= *p == '/';
	i64 e = -ENOENT;
	if (has_slash) {
		c->path = name;
		e = executable(name);
	} else if (*name) {
		c->path = found;
		e = find_along(search_path(c->order->env), name, found);
	}
	return e ? failed(STEP_EXEC, e, "execute", name) : STEP_NONE;
}

// find_limits takes the order's limits as far as this process may have them: a tighter one that
// the daemon itself has can't be raised, and holds. own threads count as processes of the command's
// user namespace.
static enum step find_limits(struct command *c, u64 own) {
	struct reader r = {c->order->limit_at, c->order->limit_at + MAX_ORDER, 0};
	for (u32 i = 0; i < c->order->limits; i++) {
		u64 resource = number(&r, 8), value = number(&r, 8);
		struct limit inherited, l = {value, value};
		i64 e = SYS(prlimit64, 0, resource, 0, &inherited);
		if (e < 0)
			return failed(STEP_LIMITS, e, "getrlimit", "");
		if (resource == RLIMIT_CPU && l.hard < ~0UL)
			l.hard++; // with both alike the kernel kills without the SIGXCPU that says why
		if (resource == RLIMIT_NPROC && value < ~0UL - own)
			l.soft = l.hard = value + own;
		if (l.hard > inherited.hard)
			l.hard = inherited.hard;
		if (l.soft > l.hard)
			l.soft = l.hard;
		c->limits[i] = l;
	}
	return STEP_NONE;
}

enum step make_command(struct command *c, const struct order *o, u64 own) {
	*c = (struct command){.order = o, .listener = NO_LISTENER};
	enum step step = find_program(c);
	if (step && !(o->flags & ORDER_PROBE))
		return step;
	return find_limits(c, own);
}

// await_leave waits until the daemon writes that the command may start.
static enum step await_leave(void) {
	u8 word;
	i64 n;
	do
		n = SYS(read, FD_STATUS, &word, 1);
	while (n == -EINTR);
	if (n > 0)
		return STEP_NONE;
	return failed(STEP_READY, n, n ? "wait for leave to start" : "wait for leave to start: the daemon is gone", "");
}

enum step become(const struct command *c) {
	const struct order *o = c->order;
	struct reader r = {o->limit_at, o->limit_at + MAX_ORDER, 0};
	u64 none = 0;
	SYS(rt_sigprocmask, SIG_SETMASK, &none, 0, sizeof none);
	// A session of its own: no terminal of the daemon or of an approver is within reach.
	i64 e = SYS(setsid);
	if (e < 0 && SYS(getsid, 0) != SYS(getpid)) // bwrap has made one for its first process
		return failed(STEP_SESSION, e, "setsid", "");
	if (o->flags & ORDER_TERMINAL && (e = SYS(ioctl, 0, TIOCSCTTY, 0)) < 0)
		return failed(STEP_SESSION, e, "make descriptor 0 the controlling terminal", "");
	for (u32 i = 0; i < o->limits; i++) {
		u64 resource = number(&r, 8);
		number(&r, 8);
		if ((e = SYS(prlimit64, 0, resource, &c->limits[i], 0)) < 0)
			return failed(STEP_LIMITS, e, "setrlimit", "");
	}
	e = send_report(&(struct report){.step = STEP_READY}, 0, &c->listener, c->listener != NO_LISTENER);
	if (e < 0)
		return failed(STEP_READY, e, "report", "");
	if (o->flags & ORDER_PROBE)
		return STEP_NONE;
	if (o->flags & ORDER_HOLD && await_leave())
		return failure.step;
	e = SYS(execve, c->path, o->argv, o->env);
	return failed(STEP_EXEC, e, "execute", c->path);
}

// child is spawn's process, on a stack of its own in this process's memory.
static void child(void *command) {
	become(command);
	leave(STATUS_OURS);
}

// spawn borrows this process's memory to the child until it executes the command (CLONE_VFORK):
// nothing is copied, and failure is what the child left there.
enum step spawn(struct command *c, i64 *pid) {
	static u8 stack[16 << 10] __attribute__((aligned(16)));
	failure = (struct failure){0};
	*pid = clone_on(CLONE_VM | CLONE_VFORK | SIGCHLD, stack + sizeof stack, child, c);
	if (c->listener != NO_LISTENER)
		SYS(close, c->listener); // the daemon's alone: a reported call waits while anybody holds it
	if (*pid < 0)
		return failed(STEP_SESSION, *pid, "fork", "");
	return failure.step;
}
