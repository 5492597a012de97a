// The namespaces of a sandbox, for a daemon that has no capabilities: a user namespace first, in
// which this process is root, then the others with the first process in them. This process stays
// outside, as bwrap's does: it reports the first process and ends with it.
#include "launch.h"

enum { // clone(2)
	CLONE_NEWNS = 0x20000, CLONE_NEWCGROUP = 0x2000000, CLONE_NEWUTS = 0x4000000, CLONE_NEWIPC = 0x8000000,
	CLONE_NEWUSER = 0x10000000, CLONE_NEWPID = 0x20000000, CLONE_NEWNET = 0x40000000,
};

char *join_text(char *at, const char *text) {
	while (*text)
		*at++ = *text++;
	*at = 0;
	return at;
}

static i64 write_file(int at, const char *path, const char *text) {
	i64 fd = SYS(openat, at, path, O_WRONLY | O_CLOEXEC);
	i64 e = fd < 0 ? fd : SYS(write, fd, text, length(text));
	SYS(close, fd);
	return e < 0 ? e : 0;
}

const char *numeral(char *end, u64 n, u64 base) {
	*--end = 0;
	do
		*--end = (char)('0' + n % base);
	while (n /= base);
	return end;
}

i64 map_ids(int proc, u64 inner_uid, u64 uid, u64 inner_gid, u64 gid) {
	static const char *const files[] = {"self/setgroups", "self/uid_map", "self/gid_map"};
	const u64 ids[3][2] = {{0, 0}, {inner_uid, uid}, {inner_gid, gid}};
	char text[64], digits[24];
	i64 e = 0;
	for (int i = 0; i < 3 && !e; i++) {
		char *at = join_text(text, i ? numeral(digits + sizeof digits, ids[i][0], 10) : "deny");
		if (i)
			join_text(join_text(join_text(at, " "), numeral(digits + sizeof digits, ids[i][1], 10)), " 1");
		e = write_file(proc, files[i], text);
	}
	SYS(close, proc);
	return e;
}

// inner reports itself, waits for leave where that is wanted, and becomes the first process. The
// daemon learns its number from the kernel (unix(7), SO_PASSCRED).
__attribute__((noreturn)) static void inner(int waits) {
	u8 word;
	SYS(prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (send_report(&(struct report){.step = STEP_BORN}, 0, 0, 0) < 0)
		leave(STATUS_OURS);
	if (waits && SYS(read, FD_STATUS, &word, 1) != 1)
		leave(STATUS_OURS);
	leave(stage(NATIVE));
}

static int refuse(i64 error, const char *what) {
	failed(STEP_MOUNTS, error, what, "");
	return report_failure();
}

int native(int own_network, int waits) {
	u64 uid = (u64)SYS(geteuid), gid = (u64)SYS(getegid);
	u64 flags = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID;
	i64 e = SYS(unshare, CLONE_NEWUSER);
	if (e < 0)
		return refuse(e, "make a user namespace");
	if ((e = map_ids((int)SYS(openat, AT_FDCWD, "/proc", O_PATH | O_CLOEXEC), 0, uid, 0, gid)) < 0)
		return refuse(e, "set up the uid map");
	i64 pid = SYS(clone, flags | (own_network ? CLONE_NEWNET : 0) | SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		inner(waits);
	if (pid < 0)
		return refuse(pid, "make namespaces");
	SYS(close_range, 3, ~0U, 0); // the daemon is to see the first process's end
	int status = 0;
	for (i64 p = 0; p != pid;)
		if ((p = SYS(wait4, -1, &status, WALL, 0)) < 0 && p != -EINTR)
			return STATUS_OURS;
	return exit_code(status);
}

// The pid_max of a pid namespace, which only a process inside can write (Linux 6.14).
static const char pid_max[] = "/proc/sys/kernel/pid_max";

static i64 read_file(const char *path, char *text, u64 size) {
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
	static const char field[] = "\nNSpid:";
	int count = 0;
	if (read_file("/proc/self/status", text, sizeof text) <= 0)
		return 0;
	const char *p = text;
	for (u64 i = 0; *p && field[i]; p++)
		i = *p == field[i] ? i + 1 : (u64)(*p == field[0]);
	for (; *p && *p != '\n'; p++)
		count += *p != '\t' && (p[1] == '\t' || p[1] == '\n');
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
