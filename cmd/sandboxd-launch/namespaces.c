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

const char *decimal(char *end, u64 n) {
	*--end = 0;
	do
		*--end = (char)('0' + n % 10);
	while (n /= 10);
	return end;
}

i64 map_ids(int proc, u64 inner_uid, u64 uid, u64 inner_gid, u64 gid) {
	static const char *const files[] = {"self/setgroups", "self/uid_map", "self/gid_map"};
	const u64 ids[3][2] = {{0, 0}, {inner_uid, uid}, {inner_gid, gid}};
	char text[64], digits[24];
	i64 e = 0;
	for (int i = 0; i < 3 && !e; i++) {
		char *at = join_text(text, i ? decimal(digits + sizeof digits, ids[i][0]) : "deny");
		if (i)
			join_text(join_text(join_text(at, " "), decimal(digits + sizeof digits, ids[i][1])), " 1");
		e = write_file(proc, files[i], text);
	}
	return e;
}

// inner waits until it may begin and becomes the first process.
__attribute__((noreturn)) static void inner(int blocked) {
	u8 word;
	SYS(prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (blocked > 0 && SYS(read, blocked, &word, 1) != 1)
		leave(STATUS_OURS);
	leave(stage(NATIVE));
}

static enum step refuse(i64 error, const char *what) { return failed(STEP_MOUNTS, error, what, ""); }

// report_first writes the first process's number as bwrap --info-fd does.
static i64 report_first(int to, i64 pid) {
	char text[64], digits[24];
	join_text(join_text(join_text(text, "{\"child-pid\": "), decimal(digits + sizeof digits, (u64)pid)), "}\n");
	return SYS(write, to, text, length(text));
}

static int small_number(const char *text) {
	i64 n;
	return *digits(text, &n) ? 0 : (int)n;
}

int native(const char *network, const char *info, const char *blocked) {
	u64 uid = (u64)SYS(geteuid), gid = (u64)SYS(getegid);
	u64 flags = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID;
	if (equal(network, "own"))
		flags |= CLONE_NEWNET;
	i64 e = SYS(unshare, CLONE_NEWUSER);
	if (e < 0)
		return refuse(e, "make a user namespace"), report_failure();
	if ((e = map_ids((int)SYS(openat, AT_FDCWD, "/proc", O_PATH | O_CLOEXEC), 0, uid, 0, gid)) < 0)
		return refuse(e, "set up the uid map"), report_failure();
	i64 pid = SYS(clone, flags | SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		inner(small_number(blocked));
	if (pid < 0)
		return refuse(pid, "make namespaces"), report_failure();
	report_first(small_number(info), pid);
	SYS(close_range, 3, ~0U, 0); // the daemon is to see the first process's end
	int status = 0;
	for (i64 p = 0; p != pid;)
		if ((p = SYS(wait4, -1, &status, WALL, 0)) < 0 && p != -EINTR)
			return STATUS_OURS;
	return exit_code(status);
}
