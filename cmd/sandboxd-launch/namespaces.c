// Text, and the limit of a pid namespace.
#include "launch.h"

char *join_text(char *at, const char *text) {
	while (*text)
		*at++ = *text++;
	*at = 0;
	return at;
}

const char *numeral(char *end, u64 n, u64 base) {
	*--end = 0;
	do
		*--end = (char)('0' + n % base);
	while (n /= base);
	return end;
}

// The pid_max of a pid namespace, which only a process inside can write (Linux 6.14).
static const char pid_max[] = "/proc/sys/kernel/pid_max";

i64 read_file(const char *path, char *text, u64 size) {
	i64 fd = SYS(openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fd;
	i64 n = SYS(read, fd, text, size - 1);
	SYS(close, fd);
	text[n > 0 ? n : 0] = 0;
	return n;
}

// namespaces counts the numbers that this process has, one in each pid namespace from that of
// /proc down to its own (proc_pid_status(5), NSpid).
static int namespaces(void) {
	static char text[8 << 10];
	int count = 0;
	if (read_file("/proc/self/status", text, sizeof text) <= 0)
		return 0;
	const char *p = text;
	while (*p && !starts(p, "NSpid:\t"))
		p++;
	for (; *p && *p != '\n'; p++)
		count += *p == '\t'; // one before each
	return count;
}

static int decline(const char *why) {
	say(why);
	return STATUS_OURS;
}

// limit_pids makes sure that it is not the host's: this process has a number in /proc's namespace
// and one in another, whose pid_max is as the kernel made it (PID_MAX_LIMIT, linux/threads.h).
int limit_pids(const char *most) {
	char now[24];
	if (namespaces() < 2)
		return decline("this is no pid namespace of a sandbox\n");
	if (read_file(pid_max, now, sizeof now) <= 0 || !equal(now, "4194304\n"))
		return decline("pid_max is not as a new namespace has it\n");
	i64 fd = SYS(openat, AT_FDCWD, pid_max, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || SYS(write, fd, most, length(most)) < 0)
		return decline("pid_max can't be written\n");
	return 0;
}
