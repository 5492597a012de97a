// sandboxd-launch is the first process inside a sandbox: it closes what was inherited, puts
// Landlock and the system call filter in force, starts the command with its limits and waits for
// its end. sandboxd starts it. All that it does follows from orders (order.h) over a socket
// whose other end only the daemon has, and it reports over that.
//
//	sandboxd-launch first      as the first process of a pid namespace
//	sandboxd-launch serve      as the parent of first processes that make their mounts, as server.c says
//	sandboxd-launch reap       outside of a sandbox that has no namespaces, as the command's parent
//	sandboxd-launch pids N     in a pid namespace: write its pid_max
//
// It is freestanding: no C library, no heap, one thread.
#include "launch.h"

// wait_for_order reports that the sandbox exists, with these descriptors and the filter's listener
// where the layers are in force already, and reads the order that counts into o.
static enum step wait_for_order(struct order *o, int *fds, u32 count) {
	int early = (o->flags & ORDER_EARLY) != 0, listener = NO_LISTENER;
	enum step step = early ? enforce(o, &listener) : STEP_NONE;
	if (step)
		return step;
	if (listener != NO_LISTENER)
		fds[count++] = listener;
	i64 e = send_report(&(struct report){.step = STEP_WAITING}, 0, fds, count);
	if (e < 0)
		return failed(STEP_ORDER, e, "report", "");
	while (count > 0)
		SYS(close, fds[--count]);
	step = receive_order(o, CARRIES_STANDARD);
	if (!step && o->flags & ORDER_AWAIT)
		step = failed(STEP_ORDER, 0, "the order says to wait once more", "");
	if (!step && ((o->flags & ORDER_EARLY) != 0) != early)
		step = failed(STEP_ORDER, 0, "the order counts on layers that are not in force", "");
	return step;
}

// obtain gets the order that counts, and the command's descriptors to 0, 1 and 2.
static enum step obtain(enum place place, struct order *o) {
	int fds[HANDLES + 1];
	enum step step = receive_order(o, 0);
	if (step)
		return step;
	if ((place == NATIVE) != (o->operations > 0) || (place == ALONE) == !!(o->flags & ORDER_AWAIT))
		return failed(STEP_ORDER, 0, "the order is for another kind of sandbox", "");
	if (place == NATIVE && (step = make_mounts(o, fds)))
		return step;
	if (o->flags & ORDER_AWAIT)
		return wait_for_order(o, fds, place == NATIVE ? HANDLES : 0);
	if (o->flags & ORDER_EARLY)
		return failed(STEP_ORDER, 0, "the order counts on layers that are not in force", "");
	i64 e = SYS(dup3, FD_STDERR, 2, 0);
	return e < 0 ? failed(STEP_DESCRIPTORS, e, "standard error", "") : STEP_NONE;
}

// prepare makes everything ready and puts it in force.
static enum step prepare(enum place place, struct command *c, struct order *o) {
	// All that was inherited closes at execve (close_range(2), Linux 5.11).
	i64 e = SYS(close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC);
	if (e < 0)
		return failed(STEP_DESCRIPTORS, e, "close_range", "");
	enum step step = place != ALONE ? settle() : STEP_NONE;
	if (!step)
		step = obtain(place, o);
	if (step)
		return step;
	SYS(umask, o->umask);
	if ((e = SYS(chdir, o->dir)) < 0)
		return failed(STEP_DIR, e, "chdir", o->dir);
	step = open_sockets(o);
	if (!step)
		step = make_command(c, o, place != ALONE);
	if (!step && !(o->flags & ORDER_EARLY))
		step = enforce(o, &c->listener);
	return step;
}

int stage(enum place place) {
	static struct order order;
	static struct command command;
	i64 pid = 0;
	enum step step = prepare(place, &command, &order);
	if (step)
		return report_failure();
	if (place == ALONE || order.flags & ORDER_PROBE)
		step = become(&command);
	else
		step = spawn(&command, &pid);
	if (step)
		return report_failure();
	if (pid == 0)
		return 0; // a probe
	for (int fd = 0; fd <= 2; fd++)
		SYS(close, fd); // they end with the command
	SYS(close, FD_STDERR);
	send_report(&(struct report){.step = STEP_STARTED}, 0, 0, 0); // a daemon that is gone ends this process
	return follow(pid);
}

int launch(int argc, char **argv) {
	if (argc == 3 && equal(argv[1], "pids"))
		return limit_pids(argv[2]);
	struct statx_result st;
	if (argc != 2 || SYS(statx, FD_STATUS, "", AT_EMPTY_PATH, STATX_TYPE, &st) < 0 || (st.mode & S_IFMT) != S_IFSOCK) {
		say("sandboxd-launch: started by hand; it is started by sandboxd only (use: sbx run -- COMMAND)\n");
		return 2;
	}
	if (equal(argv[1], "serve"))
		return serve();
	if (equal(argv[1], "reap"))
		return reap();
	return equal(argv[1], "first") ? stage(FIRST) : 2;
}
