// The mounts of a sandbox, made from a list of operations in a mount namespace of this process's
// own (mount_namespaces(7)). Every path of the host is opened without following a link, and every
// mount is attached to a descriptor that was opened below the new root in the same way.
#include "launch.h"

enum { // include/uapi/linux/mount.h, fcntl.h, openat2.h
	MS_REC = 0x4000, MS_SLAVE = 1 << 19, MNT_DETACH = 2,
	OPEN_TREE_CLONE = 1, AT_RECURSIVE = 0x8000, AT_SYMLINK_NOFOLLOW = 0x100,
	MOVE_MOUNT_F_EMPTY_PATH = 4, MOVE_MOUNT_T_EMPTY_PATH = 0x40,
	FSOPEN_CLOEXEC = 1, FSMOUNT_CLOEXEC = 1, FSCONFIG_SET_STRING = 1, FSCONFIG_CMD_CREATE = 6,
	ATTR_RDONLY = 1, ATTR_NOSUID = 2, ATTR_NODEV = 4, ATTR_NOEXEC = 8,
	O_CREAT = 0100, O_EXCL = 0200, FSCONFIG_SET_FLAG = 0,
};

enum { // prctl(2), capabilities(7), netdevice(7)
	PR_CAPBSET_DROP = 24, PR_CAP_AMBIENT = 47, PR_CAP_AMBIENT_CLEAR_ALL = 4,
	AF_INET = 2, SOCK_DGRAM = 2, SOCK_CLOEXEC = 02000000, SIOCSIFFLAGS = 0x8914, IFF_UP = 1, IFF_RUNNING = 0x40,
};

// Old and new are the roots of the host and of the sandbox, and base what both are mounted in; network is the order's.
struct roots { int base, old, new, network; };

#define refuse(error, what, path) failed(STEP_MOUNTS, error, what, path)

// open_below opens a file or directory below root.
static i64 open_below(int root, const char *path) {
	struct { u64 flags, mode, resolve; } how = {O_PATH | O_CLOEXEC, 0,
		RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH};
	while (*path == '/')
		path++;
	return SYS(openat2, root, *path ? path : ".", &how, sizeof how);
}

static int is_directory(i64 fd) {
	struct statx_result st;
	return SYS(statx, fd, "", AT_EMPTY_PATH, STATX_TYPE, &st) == 0 && (st.mode & S_IFMT) == S_IFDIR;
}

// create makes every element of a path that is missing; the last is a file where that is asked for.
static i64 create(int root, const char *path, int directory) {
	char element[PATH_LENGTH];
	i64 at = open_below(root, "/");
	for (const char *p = path; *p == '/' && p[1] && at >= 0;) {
		u64 n = 0;
		for (p++; p[n] && p[n] != '/'; n++)
			element[n] = p[n];
		element[n] = 0;
		p += n;
		i64 next = open_below((int)at, element);
		if (next == -ENOENT) {
			if (*p || directory)
				next = SYS(mkdirat, at, element, 0755);
			else if ((next = SYS(openat, at, element, O_CREAT | O_EXCL | O_CLOEXEC, 0444)) >= 0)
				next = SYS(close, next);
			next = next < 0 ? next : open_below((int)at, element);
		}
		SYS(close, at);
		at = next;
	}
	return at;
}

// attach moves a detached mount to its place and closes it.
static enum step attach(const struct roots *r, const struct operation *op, i64 mount) {
	if (mount < 0)
		return refuse(mount, "make a mount for", op->path);
	i64 at = open_below(r->new, op->path);
	if (at == -ENOENT && op->flags & OP_CREATES)
		at = create(r->new, op->path, is_directory(mount));
	i64 e = at < 0 ? at : SYS(move_mount, mount, "", at, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
	SYS(close, at);
	SYS(close, mount);
	return e < 0 ? refuse(e, "mount", op->path) : STEP_NONE;
}

static i64 set_attributes(i64 mount, u64 attributes, u64 flags) {
	struct { u64 set, clear, propagation, userns; } attr = {attributes, 0, 0, 0}; // struct mount_attr
	return SYS(mount_setattr, mount, "", AT_EMPTY_PATH | flags, &attr, sizeof attr);
}

struct option { const char *key, *value; }; // value 0: a flag

// file_system returns a detached mount of a new file system, or a negative error.
static i64 file_system(const char *kind, const struct option *options, u64 attributes) {
	i64 fs = SYS(fsopen, kind, FSOPEN_CLOEXEC), e = fs < 0 ? fs : 0;
	for (; !e && options->key; options++)
		e = SYS(fsconfig, fs, options->value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, options->key, options->value, 0);
	if (!e)
		e = SYS(fsconfig, fs, FSCONFIG_CMD_CREATE, 0, 0, 0);
	if (!e)
		e = SYS(fsmount, fs, FSMOUNT_CLOEXEC, attributes);
	SYS(close, fs);
	return e;
}

// tmpfs returns a detached mount of an empty directory in memory.
static i64 tmpfs(const struct operation *op) {
	char mode[24], size[24];
	struct option options[] = {{"mode", numeral(mode + sizeof mode, op->mode, 8)},
		{op->size ? "size" : 0, numeral(size + sizeof size, op->size, 10)}, {0, 0}};
	return file_system("tmpfs", options, ATTR_NOSUID | ATTR_NODEV);
}

// devpts returns a detached mount of pseudo-terminals, for which the kernel asks that uid 0 has a
// meaning in the user namespace (fs/devpts/inode.c).
static i64 devpts(void) {
	static const struct option options[] = {{"newinstance", 0}, {"ptmxmode", "0666"}, {"mode", "620"}, {0, 0}};
	return file_system("devpts", options, ATTR_NOSUID | ATTR_NOEXEC);
}

// copy returns a detached copy of what is at a path below root, or a negative error.
static i64 copy(int root, const char *path, u64 recursive, u64 attributes) {
	i64 at = open_below(root, path);
	if (at < 0)
		return at;
	i64 mount = SYS(open_tree, at, "", OPEN_TREE_CLONE | O_CLOEXEC | AT_EMPTY_PATH | recursive);
	SYS(close, at);
	i64 e = mount < 0 ? 0 : set_attributes(mount, attributes, recursive);
	return e < 0 ? e : mount;
}

// overlay returns a detached mount of directories of the host (overlayfs.rst, "userxattr"; "volatile": landings sync).
static i64 overlay(const struct roots *r, const struct operation *op) {
	char upper[24], work[24], lower[MAX_OVERLAY * 12], digits[24], *end = lower;
	i64 fds[MAX_OVERLAY], e = 0, n = 0, layered = !(op->flags & OP_READ_ONLY);
	for (const char *p = op->text; p < op->text + op->length; p += length(p) + 1, n++) {
		fds[n] = open_below(r->old, p);
		e = fds[n] < 0 ? fds[n] : e;
		const char *name = numeral(digits + sizeof digits, (u32)fds[n], 10);
		end = layered && n < 2 ? (join_text(n ? work : upper, name), end)
				       : join_text(join_text(end, end == lower ? "" : ":"), name);
	}
	struct option o[] = {{"lowerdir", lower}, {"userxattr", 0}, {layered ? "upperdir" : 0, upper}, {"workdir", work}, {"volatile", 0}, {0}};
	e = e ? e : SYS(chdir, "/old/proc/self/fd");
	e = e ? e : file_system("overlay", o, ATTR_NOSUID | ATTR_NODEV | (layered ? 0 : ATTR_RDONLY));
	for (; n > 0; n--)
		SYS(close, fds[n - 1]);
	return e;
}

// file returns a detached mount of a file that reads as the operation's text.
static i64 file(const struct roots *r, const struct operation *op) {
	static u64 count;
	char digits[24];
	const char *name = numeral(digits + sizeof digits, count++, 10);
	i64 fd = SYS(openat, r->base, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600), e = fd;
	for (u32 done = 0; e >= 0 && done < op->length; done += (u32)e)
		e = SYS(write, fd, op->text + done, op->length - done);
	if (e >= 0)
		e = SYS(fchmod, fd, op->mode);
	if (e >= 0)
		e = SYS(open_tree, r->base, name, OPEN_TREE_CLONE | O_CLOEXEC);
	i64 failed_to = e < 0 ? e : set_attributes(e, ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV, 0);
	SYS(close, fd);
	return failed_to < 0 ? failed_to : e;
}

// in_parent calls mkdirat or symlinkat in the directory around a path of the sandbox's own.
static enum step in_parent(const struct roots *r, const struct operation *op) {
	char parent[PATH_LENGTH];
	u64 n = length(op->path), cut = 0;
	for (u64 i = 0; i < n; i++)
		if ((parent[i] = op->path[i]) == '/')
			cut = i;
	parent[cut] = 0;
	i64 at = create(r->new, parent, 1), e = at;
	const char *name = op->path + cut + 1;
	if (e >= 0)
		e = op->kind == OP_LINK ? SYS(symlinkat, op->text, at, name) : SYS(mkdirat, at, name, 0700);
	if (op->kind == OP_DIRECTORY && (e == 0 || e == -EEXIST))
		e = SYS(fchmodat, at, name, op->mode);
	SYS(close, at);
	return e < 0 ? refuse(e, "make", op->path) : STEP_NONE;
}

// on_mount seals a mount, or sets the mode of the directory that it shows.
static enum step on_mount(const struct roots *r, const struct operation *op) {
	i64 at = open_below(r->new, op->path), e = at;
	if (e >= 0 && op->kind == OP_SEAL)
		e = set_attributes(at, ATTR_RDONLY, 0);
	else if (e >= 0)
		e = SYS(fchmodat, at, ".", op->mode);
	SYS(close, at);
	return e < 0 ? refuse(e, "seal", op->path) : STEP_NONE;
}

static enum step make_network(int network) {
	struct { char name[16]; u16 flags; u8 rest[22]; } request = {"lo", IFF_UP | IFF_RUNNING, {0}}; // struct ifreq
	i64 e = network < 0 ? SYS(unshare, CLONE_NEWNET) : SYS(setns, network, CLONE_NEWNET);
	i64 fd = e < 0 ? e : SYS(socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	e = fd < 0 ? fd : SYS(ioctl, fd, SIOCSIFFLAGS, &request);
	SYS(close, fd);
	return e < 0 ? refuse(e, "make or join a network namespace", "") : STEP_NONE;
}

i64 map_ids(i64 proc, const u64 *inner, const u64 *outer) {
	static const char *const files[] = {"self/setgroups", "self/uid_map", "self/gid_map"};
	char text[64], digits[24];
	i64 e = 0;
	for (int i = 0; i < 3 && e >= 0; i++) {
		char *end = join_text(text, i ? numeral(digits + sizeof digits, inner[i - 1], 10) : "deny");
		if (i)
			end = join_text(join_text(join_text(end, " "), numeral(digits + sizeof digits, outer[i - 1], 10)), " 1");
		i64 fd = SYS(openat, proc, files[i], O_WRONLY | O_CLOEXEC);
		e = fd < 0 ? fd : SYS(write, fd, text, end - text);
		SYS(close, fd);
	}
	SYS(close, proc);
	return e < 0 ? e : 0;
}

// become_user makes a user namespace below this one, in which this process has the user's own
// number, and no power over the mounts (user_namespaces(7)).
static enum step become_user(int old, const struct operation *op) {
	i64 e = SYS(prctl, PR_SET_DUMPABLE, 1, 0, 0, 0); // else the maps belong to root
	if (!e)
		e = SYS(unshare, CLONE_NEWUSER);
	if (!e)
		e = map_ids(SYS(openat, old, "proc", O_PATH | O_CLOEXEC), (u64[]){op->size >> 32, op->size & 0xffffffff}, (u64[]){0, 0});
	if (!e)
		e = SYS(prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
	return e < 0 ? refuse(e, "become the user", "") : STEP_NONE;
}

static enum step carry_out(const struct roots *r, const struct operation *op) {
	u64 quiet = ATTR_NOSUID | ATTR_NODEV, read_only = op->flags & OP_READ_ONLY ? ATTR_RDONLY : 0;
	switch (op->kind) {
	case OP_DIRECTORY:
	case OP_LINK:
		return in_parent(r, op);
	case OP_BIND:
		return attach(r, op, copy(op->flags & OP_INNER ? r->new : r->old, op->length ? op->text : op->path, AT_RECURSIVE,
			quiet | read_only));
	case OP_DEVICE: // programs can use it, but not change its mode, owner or times
		return attach(r, op, copy(r->old, op->path, 0, ATTR_RDONLY | ATTR_NOSUID | ATTR_NOEXEC));
	case OP_OVERLAY:
		return attach(r, op, overlay(r, op));
	case OP_TMPFS:
		return attach(r, op, tmpfs(op));
	case OP_FILE:
		return attach(r, op, file(r, op));
	case OP_PROC:
		return attach(r, op, file_system("proc", &(struct option){0, 0}, ATTR_NOSUID | ATTR_NODEV | ATTR_NOEXEC));
	case OP_SEAL:
	case OP_MODE:
		return on_mount(r, op);
	case OP_DEVPTS:
		return attach(r, op, devpts());
	case OP_NETWORK:
		return make_network(r->network);
	}
	return refuse(0, "unknown operation", op->path);
}

// begin puts this process into an empty root of its own, with the host's below it.
static enum step begin(struct roots *r) {
	struct operation base = {.mode = 0755};
	i64 e = SYS(unshare, CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC), mount = -1;
	if (!e)
		e = SYS(mount, 0, "/", 0, MS_REC | MS_SLAVE, 0);
	if (!e)
		e = mount = tmpfs(&base);
	if (e >= 0)
		e = SYS(move_mount, mount, "", AT_FDCWD, "/tmp", MOVE_MOUNT_F_EMPTY_PATH);
	if (e >= 0)
		e = SYS(fchdir, mount);
	if (e >= 0)
		e = SYS(mkdirat, mount, "old", 0755);
	if (e >= 0)
		e = SYS(mkdirat, mount, "new", 0755);
	if (e >= 0)
		e = SYS(pivot_root, ".", "old");
	if (e >= 0)
		e = SYS(chdir, "/");
	r->base = (int)mount;
	if (e >= 0)
		e = r->old = (int)SYS(openat, AT_FDCWD, "/old", O_PATH | O_CLOEXEC);
	return e < 0 ? refuse(e, "make a place for the mounts", "") : STEP_NONE;
}

// take_root makes the root of the sandbox, which the first operation describes.
static enum step take_root(struct roots *r, const struct operation *op) {
	i64 root = op->kind == OP_BIND ? copy(r->old, "/", AT_RECURSIVE, ATTR_NOSUID | ATTR_NODEV | (op->flags & OP_READ_ONLY))
				       : tmpfs(op);
	i64 e = root < 0 ? root : SYS(move_mount, root, "", AT_FDCWD, "/new", MOVE_MOUNT_F_EMPTY_PATH);
	if (op->path[1] || (op->kind != OP_BIND && op->kind != OP_TMPFS))
		return refuse(0, "the first operation is no root", op->path);
	r->new = (int)root;
	return e < 0 ? refuse(e, "make the root", "") : STEP_NONE;
}

// turn makes the new root the only one.
static enum step turn(const struct roots *r) {
	i64 e = SYS(fchdir, r->new);
	if (!e)
		e = SYS(pivot_root, ".", ".");
	if (!e)
		e = SYS(umount2, ".", MNT_DETACH);
	if (!e)
		e = SYS(chdir, "/");
	return e < 0 ? refuse(e, "turn to the new root", "") : STEP_NONE;
}

// drop_capabilities empties every set, the bounding set too (capabilities(7)).
static enum step drop_capabilities(void) {
	struct { u32 version; int pid; } head = {CAPABILITY_VERSION_3, 0};
	struct { u32 effective, permitted, inheritable; } sets[2] = {{0}};
	for (int cap = 0; cap < 64; cap++) {
		i64 e = SYS(prctl, PR_CAPBSET_DROP, cap, 0, 0, 0);
		if (e == -EINVAL && cap > 30)
			break; // the kernel knows no more
		if (e < 0)
			return failed(STEP_PRIVILEGES, e, "empty the bounding set", "");
	}
	i64 e = SYS(prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (!e)
		e = SYS(capset, &head, sets);
	return e < 0 ? failed(STEP_PRIVILEGES, e, "capset", "") : STEP_NONE;
}

enum step make_mounts(const struct order *o, int *handles) {
	struct roots r = {.network = o->network};
	struct operation op, user = {0};
	struct reader reader = {o->operation_at, o->operation_at + MAX_ORDER, 0};
	SYS(umask, 0);
	enum step step = begin(&r);
	for (u32 i = 0; i < o->operations && !step; i++) {
		read_operation(&reader, &op);
		if (op.kind == OP_USER)
			user = op; // the last of all
		else
			step = i == 0 ? take_root(&r, &op) : carry_out(&r, &op);
	}
	if (!step)
		step = turn(&r);
	if (!step && user.kind)
		step = become_user(r.old, &user);
	handles[ROOT_HANDLE] = r.new;
	handles[MOUNTS_HANDLE] = (int)SYS(openat, r.old, "proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	handles[NETWORK_HANDLE] = (int)SYS(openat, r.old, "proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (!step && (handles[MOUNTS_HANDLE] < 0 || handles[NETWORK_HANDLE] < 0))
		step = refuse(handles[MOUNTS_HANDLE], "open the namespaces", "");
	SYS(close, r.base);
	SYS(close, r.old);
	return step ? step : drop_capabilities();
}
