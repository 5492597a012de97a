// What the command can't take back: no_new_privs, Landlock, the system call filter.
#include "launch.h"

enum {
	LANDLOCK_RULE_PATH_BENEATH = 1, LANDLOCK_RULE_NET_PORT = 2,
	// What a rule on a file that is no directory may grant: ACCESS_FILE of security/landlock/fs.c
	// (EXECUTE, WRITE_FILE, READ_FILE, TRUNCATE, IOCTL_DEV, RESOLVE_UNIX).
	LANDLOCK_FILE = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15 | 1 << 16,
	SECCOMP_SET_MODE_FILTER = 1, SECCOMP_NEW_LISTENER = 1 << 3, SECCOMP_WAIT_KILLABLE_RECV = 1 << 5, // seccomp(2)
};

// check_capabilities refuses to continue with a capability, and empties the inheritable set, which
// managers of containers leave full and setuid(2) leaves alone (capabilities(7)).
static enum step check_capabilities(void) {
	struct { u32 version; int pid; } head = {CAPABILITY_VERSION_3, 0};
	struct { u32 effective, permitted, inheritable; } sets[2];
	i64 e = SYS(capget, &head, sets);
	for (int i = 0; !e && i < 2; sets[i++].inheritable = 0)
		if (sets[i].effective | sets[i].permitted)
			return failed(STEP_PRIVILEGES, 0, "capabilities are left that should have been dropped", "");
	e = e ? e : SYS(capset, &head, sets);
	return e < 0 ? failed(STEP_PRIVILEGES, e, "empty the inheritable set", "") : STEP_NONE;
}

// add_path adds a rule for the file or directory at exactly this path: no link is followed, so
// that the rule is about the object that the daemon saw. A rule that is optional is left out
// where there is none.
static enum step add_path(int ruleset, const struct path_rule *rule) {
	struct { u64 flags, mode, resolve; } how = {O_PATH | O_CLOEXEC, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	i64 fd = SYS(openat2, AT_FDCWD, rule->path, &how, sizeof how);
	if (rule->optional && (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP || fd == -EACCES))
		return STEP_NONE;
	if (fd < 0)
		return failed(STEP_LANDLOCK, fd, "landlock rule", rule->path);
	struct statx_result st;
	struct { u64 access; int parent; } __attribute__((packed)) attr = {rule->access, (int)fd};
	i64 e = SYS(statx, fd, "", AT_EMPTY_PATH, STATX_TYPE, &st);
	if (!e && (st.mode & S_IFMT) != S_IFDIR)
		attr.access &= LANDLOCK_FILE;
	if (!e && attr.access) // the kernel answers ENOMSG to a rule that grants nothing
		e = SYS(landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attr, 0);
	SYS(close, fd);
	return e ? failed(STEP_LANDLOCK, e, "landlock rule", rule->path) : STEP_NONE;
}

// add_rules adds all rules of the ruleset that r is read from.
static enum step add_rules(int fd, struct reader *r, const struct ruleset *set) {
	enum step step = STEP_NONE;
	struct path_rule path;
	struct port_rule port;
	for (u32 i = 0; i < set->paths && !step; i++) {
		read_path_rule(r, &path);
		step = add_path(fd, &path);
	}
	for (u32 i = 0; i < set->ports && !step; i++) {
		read_port_rule(r, &port);
		struct { u64 access, port; } attr = {port.access, port.port};
		i64 e = SYS(landlock_add_rule, fd, LANDLOCK_RULE_NET_PORT, &attr, 0);
		if (e < 0)
			step = failed(STEP_LANDLOCK, e, "landlock rule for a port", "");
	}
	return step;
}

// restrict_layer puts one layer in force. decode_order has checked its form.
static enum step restrict_layer(struct reader *r) {
	struct ruleset set;
	number(r, 4);
	read_ruleset(r, &set);
	// A kernel that knows fewer fields accepts the whole structure while those are zero (landlock.h).
	struct { u64 fs, net, scoped; } attr = {set.fs, set.net, set.scoped};
	i64 fd = SYS(landlock_create_ruleset, &attr, sizeof attr, 0);
	if (fd < 0)
		return failed(STEP_LANDLOCK, fd, "landlock_create_ruleset", "");
	enum step step = add_rules((int)fd, r, &set);
	i64 e = step ? 0 : SYS(landlock_restrict_self, fd, set.flags);
	SYS(close, fd);
	return e < 0 ? failed(STEP_LANDLOCK, e, "landlock_restrict_self", "") : step;
}

// install_filter installs the filter. A call that it reports is interrupted by fatal signals only
// (SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, Linux 5.19).
static enum step install_filter(const struct order *o, int *listener) {
	struct { u16 count; const u8 *filter; } program = {(u16)o->instructions, o->filter_at};
	int listens = (o->flags & ORDER_TELLS) != 0;
	u64 flags = listens ? SECCOMP_NEW_LISTENER | SECCOMP_WAIT_KILLABLE_RECV : 0;
	i64 fd = SYS(seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	if (fd < 0)
		return failed(listens ? STEP_LISTENER : STEP_SECCOMP, fd, "seccomp load", "");
	if (listens)
		*listener = (int)fd;
	return STEP_NONE;
}

enum step enforce(const struct order *o, int *listener) {
	*listener = NO_LISTENER;
	enum step step = check_capabilities();
	if (step)
		return step;
	i64 e = SYS(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (e < 0)
		return failed(STEP_PRIVILEGES, e, "no_new_privs", "");
	struct reader r = {o->layer_at, o->layer_at + MAX_ORDER, 0};
	for (u32 i = 0; i < o->layers && !step; i++)
		step = restrict_layer(&r);
	if (!step && o->instructions)
		step = install_filter(o, listener);
	return step;
}
