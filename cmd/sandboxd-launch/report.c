// Reports to the daemon over the status socket.
#include "launch.h"

struct failure failure;
int report_to = FD_STATUS;

enum step failed(enum step step, i64 error, const char *what, const char *object) {
	failure = (struct failure){step, error, what, object};
	return step;
}

// append copies text up to the end of room, and returns where the next text goes.
static char *append(char *at, const char *end, const char *text) {
	for (; text && *text && at < end; text++)
		*at++ = *text;
	return at;
}

i64 send_report(const struct report *r, const struct failure *f, const int *fds, u32 count) {
	static char bytes[sizeof *r + 4096]; // one datagram
	static struct control control;
	char *end = bytes + sizeof bytes, *at = bytes + sizeof *r;
	__builtin_memcpy(bytes, r, sizeof *r);
	if (f) {
		at = append(at, end - 1, f->what);
		*at++ = 0;
		at = append(at, end, f->object);
	}
	struct span part = {bytes, (u64)(at - bytes)};
	struct message m = {.parts = &part, .count = 1};
	if (count > 0) {
		u64 rights = 4 * (u64)count; // CMSG_LEN and CMSG_SPACE of cmsg(3)
		control.size = offsetof(struct control, fds) + rights;
		control.level = SOL_SOCKET;
		control.kind = SCM_RIGHTS;
		for (u32 i = 0; i < count; i++)
			control.fds[i] = fds[i];
		m.control = &control;
		m.control_size = (control.size + 7) & ~7UL;
	}
	return SYS(sendmsg, report_to, &m, MSG_NOSIGNAL);
}

int report_failure(void) {
	struct report r = {.step = (u8)failure.step, .code = STATUS_OURS, .error = (u32)-failure.error};
	if (failure.step == STEP_EXEC)
		r.code = failure.error == -ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
	send_report(&r, &failure, 0, 0); // where nobody reads it, the exit status remains
	return r.code;
}

void say(const char *text) { SYS(write, 2, text, length(text)); }
