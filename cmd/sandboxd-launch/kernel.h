// The kernel's interface: system calls, and those of its structures and numbers that
// this program uses. There is no C library: a start then costs two page faults and no
// CPUID instruction, each of which leaves a virtual machine.
//
// Structures that grow with the kernel are written out here, because the headers of the
// machine that compiles may be older than the kernel that runs this program.
#pragma once
#include <asm/unistd.h>
#include <linux/errno.h>
#include "order.h"

// system_call is one system call with six arguments; its result is negative for an
// error (syscall(2), "Architecture calling conventions").
static inline __attribute__((always_inline)) i64 system_call(i64 number, i64 a, i64 b, i64 c, i64 d, i64 e, i64 f) {
#if defined(__x86_64__)
	register i64 r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	i64 result;
	__asm__ volatile("syscall" : "=a"(result)
		: "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register i64 x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
	register i64 x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
#else
#error "sandboxd-launch knows the system calls of amd64 and arm64"
#endif
}

// SYS(name, …) is the system call of that name, with up to six arguments.
#define SYS(name, ...) SYS_PADDED(name, ##__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define SYS_PADDED(name, a, b, c, d, e, f, ...) \
	system_call(__NR_##name, (i64)(a), (i64)(b), (i64)(c), (i64)(d), (i64)(e), (i64)(f))

enum {
	AT_FDCWD = -100,
	AT_EMPTY_PATH = 0x1000, // include/uapi/linux/fcntl.h
	O_RDONLY = 0, O_WRONLY = 1, O_RDWR = 2,
	O_CLOEXEC = 02000000, // include/uapi/asm-generic/fcntl.h, as is O_PATH
	O_PATH = 010000000,
	X_OK = 1, // access(2)
	CLOSE_RANGE_CLOEXEC = 4,
	PROT_READ = 1, PROT_WRITE = 2, MAP_PRIVATE = 2, MAP_ANONYMOUS = 0x20, // mmap(2)
};

enum { // signal(7), wait(2), clone(2)
	SIGKILL = 9, SIGTERM = 15, SIGCHLD = 17, SIGSTOP = 19, SIG_LAST = 64,
	SIG_SETMASK = 2,
	WNOHANG = 1, WALL = 0x40000000,
	CLONE_VM = 0x100, CLONE_VFORK = 0x4000,
	CLONE_NEWNS = 0x20000, CLONE_NEWCGROUP = 0x2000000, CLONE_NEWUTS = 0x4000000, CLONE_NEWIPC = 0x8000000,
	CLONE_NEWUSER = 0x10000000, CLONE_NEWPID = 0x20000000, CLONE_NEWNET = 0x40000000,
	RUSAGE_CHILDREN = -1,
};

static const u64 CLONE_INTO_CGROUP = 1UL << 33; // Linux 5.7
struct clone_args { u64 flags, pidfd, child, parent, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup; };

enum { POLLIN = 1, CAPABILITY_VERSION_3 = 0x20080522 }; // poll(2), capget(2)

enum { RESOLVE_NO_MAGICLINKS = 2, RESOLVE_NO_SYMLINKS = 4, RESOLVE_BENEATH = 8 }; // openat2(2)

enum { // prctl(2)
	PR_SET_PDEATHSIG = 1, PR_SET_DUMPABLE = 4, PR_SET_NAME = 15, PR_SET_CHILD_SUBREAPER = 36, PR_SET_NO_NEW_PRIVS = 38,
};

enum { RLIMIT_CPU = 0, RLIMIT_NPROC = 6, TIOCSCTTY = 0x540e }; // setrlimit(2), TIOCSCTTY(2const)

struct limit { u64 soft, hard; };        // struct rlimit64
struct action { u64 handler, flags, restorer, mask; };    // struct sigaction, asm-generic/signal.h
struct pair { i64 first, second; };      // struct timespec, struct timeval
struct usage { struct pair user, system; i64 rest[14]; }; // struct rusage
struct polled { int fd; u16 events, happened; };          // struct pollfd
struct span { void *at; u64 size; };     // struct iovec

// struct msghdr and struct cmsghdr of 64-bit systems (recvmsg(2), cmsg(3)).
struct message {
	void *name;
	u32 name_size;
	struct span *parts;
	u64 count;
	void *control;
	u64 control_size;
	u32 flags;
};

enum {
	SOL_SOCKET = 1, SCM_RIGHTS = 1,
	MSG_CTRUNC = 8, MSG_TRUNC = 0x20, MSG_NOSIGNAL = 0x4000, MSG_CMSG_CLOEXEC = 0x40000000,
};

struct control { u64 size; int level, kind; int fds[254]; };

// struct statx of include/uapi/linux/stat.h.
struct statx_result {
	u32 mask, block;
	u64 attributes;
	u32 links, uid, gid;
	u16 mode, spare;
	u64 inode, size;
	u64 rest[26];
};

enum { STATX_TYPE = 1, S_IFMT = 0170000, S_IFDIR = 0040000, S_IFSOCK = 0140000 };

// clone_on starts a process with a stack of its own that calls function(argument), which
// never returns (clone(2)). The result is the process id, or negative for an error.
i64 clone_on(u64 flags, void *stack_end, void (*function)(void *), void *argument);

__attribute__((noreturn)) static inline void leave(int status) {
	for (;;)
		SYS(exit_group, status);
}
