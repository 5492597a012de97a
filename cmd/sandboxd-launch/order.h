// The order: what the daemon has this program do. sandbox/stage/order.go encodes it.
//
// All numbers are little-endian, as both architectures are. After the head follow, without
// gaps:
//
//	limits × { resource:u32 zero:u32 value:u64 }
//	instructions × struct sock_filter
//	ports × port:u16
//	layers × { size:u32 ruleset }            (landlock/lsm, "The binary form")
//	operations × { kind:u8 flags:u8 zero:u16 mode:u32 size:u64 path text }
//	path dir argv… env…                      each { length:u32 bytes NUL }
//
// An order is accepted whole or refused whole.
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t i64;

enum { ORDER_VERSION = 13 };

// Flags of an order.
enum {
	ORDER_TELLS = 1 << 0,    // the filter has a listener
	ORDER_TERMINAL = 1 << 1, // descriptor 0 becomes the controlling terminal
	ORDER_AWAIT = 1 << 2,    // the order that counts comes over the status socket
	ORDER_EARLY = 1 << 3,    // layers and filter are in force before that
	ORDER_HOLD = 1 << 4,     // wait for leave before the command executes
	ORDER_PROBE = 1 << 5,    // stop before the command executes
	ORDER_FLAGS = (1 << 6) - 1,
};

// Descriptors that come with the first message of an order, in this order.
enum {
	CARRIES_STDIN = 1 << 0,
	CARRIES_STDOUT = 1 << 1,
	CARRIES_STDERR = 1 << 2,
	CARRIES_STANDARD = CARRIES_STDIN | CARRIES_STDOUT | CARRIES_STDERR,
	CARRIES_NETWORK = 1 << 3, // the network namespace that OP_NETWORK joins
};

// Launch is a message to the launch server. With it come the sandbox's socket, files of control groups in which the
// writer's number becomes a member, the directory of the one to be born in, and the program to execute, where there are.
struct launch {
	char magic[8]; // "sbxlaunc"
	u32 version, groups, born, program;
};

enum {
	MAX_LAUNCH = 4,         // descriptors of a launch
	MAX_ORDER = 16 << 20,   // of a command line and its environment execve(2) takes 6 MiB
	MAX_PIECE = 64 << 10,   // most of an order in one message
	MAX_LIMITS = 16,        // RLIM_NLIMITS: of one resource each
	MAX_LAYERS = 16,        // LANDLOCK_MAX_NUM_LAYERS
	MAX_INSTRUCTIONS = 4096, // BPF_MAXINSNS
	MAX_SOCKETS = 253,        // SCM_MAX_FD: ports and dialers go out in one message
	MAX_PATH_RULES = 1 << 14,
	MAX_PORT_RULES = 1 << 16,
	PATH_LENGTH = 4096,     // PATH_MAX, with the NUL
	MAX_OPERATIONS = 4096,
	MAX_OVERLAY = 35,       // paths: fsconfig(2) takes 255 bytes for the lower ones
};

struct order_head {
	char magic[8]; // "sbxorder"
	u32 version;
	u32 size; // of the whole order
	u32 flags, descriptors, umask;
	u32 limits, instructions, ports, dialers, layers, argc, envc, operations;
};

// Order points into the bytes that it was decoded from.
struct order {
	u32 flags, umask;
	u32 limits, instructions, ports, dialers, layers, operations;
	int network; // carried, or negative
	const u8 *limit_at, *filter_at, *port_at, *layer_at, *operation_at;
	const char *path, *dir;
	char **argv, **env;
};

// Ruleset is one Landlock layer; its rules are read one after the other with path_rule and port_rule.
struct ruleset {
	u64 fs, net, scoped;
	u32 flags, paths, ports;
};

struct path_rule {
	u64 access;
	u8 optional;
	const char *path;
};

struct port_rule {
	u16 port;
	u64 access;
};

// Operation is one step by which a sandbox's mounts are made (mounts.c). Path is absolute and clean.
struct operation {
	u8 kind, flags;
	u32 mode;
	u64 size;
	const char *path;
	const char *text;
	u32 length; // of text, which may have any bytes
};

enum {
	OP_DIRECTORY, // a directory of the sandbox's own
	OP_LINK,      // a symbolic link to text
	OP_BIND,      // the host's file or directory, at text if that is not empty, with all that is mounted below
	OP_DEVICE,    // one device of the host
	OP_TMPFS,     // an empty directory in memory, of size bytes at most, 0: the kernel's default
	OP_FILE,      // a read-only file that reads as text
	OP_PROC,      // a procfs of the sandbox's own
	OP_SEAL,      // make a mount read-only that was made before
	OP_MODE,      // set the mode of a directory of the sandbox's own
	OP_NETWORK,   // the network namespace that was carried, else one of the sandbox's own
	OP_DEVPTS,    // pseudo-terminals of the sandbox's own
	OP_OVERLAY,   // text: with NULs between, an upper and a work directory, unless read-only, and lower ones
	OP_USER,      // continue as user and group, whose numbers are in size, of a user namespace below
	OP_KINDS,
};

enum {
	OP_READ_ONLY = 1 << 0,
	OP_CREATES = 1 << 1, // what is around it is the sandbox's own: make the mount point
	OP_INNER = 1 << 2,   // of OP_BIND: what the sandbox has at the path so far, not the host
	OP_FLAGS = (1 << 3) - 1,
};

static inline u64 length(const char *s) {
	u64 n = 0;
	while (s[n])
		n++;
	return n;
}

// starts reports whether a string, or as many bytes as begin has, starts with begin.
static inline int starts(const char *s, const char *begin) {
	for (; *begin && *s == *begin; s++, begin++)
		;
	return !*begin;
}

// Reader reads from at to end. After a fault bad is set, and every read is zero.
struct reader {
	const u8 *at, *end;
	int bad;
};

// take returns the next n bytes, 0 where they are not there.
const u8 *take(struct reader *r, u64 n);
u64 number(struct reader *r, u64 size);

// read_ruleset, read_path_rule and read_port_rule read one ruleset in this sequence.
void read_ruleset(struct reader *r, struct ruleset *set);
void read_path_rule(struct reader *r, struct path_rule *rule);
void read_port_rule(struct reader *r, struct port_rule *rule);

void read_operation(struct reader *r, struct operation *op);

// check_head returns why an order with this head is refused, 0 where it is not.
const char *check_head(const u8 *bytes, u64 size, struct order_head *head);

// check_launch returns why a launch of this size and with so many descriptors is refused, 0 where it is not.
const char *check_launch(const struct launch *l, u64 size, u32 descriptors);

// string_room is how many bytes decode_order needs for the pointers of argv and env.
u64 string_room(const struct order_head *head);

// decode_order decodes an order of head->size bytes. It returns why the order is refused, or
// 0. room is for string_room bytes.
const char *decode_order(const struct order_head *head, const u8 *bytes, char **room, struct order *o);
