package seccomp

import (
	"strings"

	"sandboxd/profile"
)

// base is the policy that every profile has. It began from the published ones of moby, flatpak and
// systemd (moby profiles/seccomp/default.json, flatpak common/flatpak-run.c, systemd
// src/shared/seccomp-util.c), without the calls that need capabilities, which no program inside a
// sandbox has.
//
// Which errno: EPERM where the kernel itself would return it to a program without privileges, so
// that the caller understands it. ENOSYS where programs probe for a call and know another way:
// clone3 (its flags are in memory, where no filter can see them; glibc then uses clone), and every
// unlisted call, as newer ones are probed for by design (moby#42681, containers/common#573: EPERM
// for an unknown call broke glibc's fallbacks).
var base = []rule{
	{Calls: names(`
		read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek close close_range
		open openat openat2 creat dup dup2 dup3 fcntl flock pipe pipe2 splice tee vmsplice sendfile copy_file_range
		fsync fdatasync sync syncfs sync_file_range fadvise64 readahead fallocate truncate ftruncate cachestat
		stat fstat lstat newfstatat statx statfs fstatfs access faccessat faccessat2 readlink readlinkat
		getdents getdents64 getcwd chdir fchdir mkdir mkdirat rmdir link linkat unlink unlinkat symlink symlinkat
		rename renameat renameat2 chown fchown lchown fchownat umask utime utimes futimesat utimensat
		setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr
		removexattr lremovexattr fremovexattr setxattrat getxattrat listxattrat removexattrat
		chmod fchmod fchmodat fchmodat2 ioctl
		inotify_init inotify_init1 inotify_add_watch inotify_rm_watch
		poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2
		eventfd eventfd2 signalfd signalfd4 io_setup io_destroy io_getevents io_pgetevents io_submit io_cancel
		timerfd_create timerfd_settime timerfd_gettime memfd_create
	`), Why: "files and waiting"},

	{Calls: names(`
		mmap mprotect munmap brk mremap msync mincore madvise mlock mlock2 munlock mlockall munlockall
		remap_file_pages membarrier mseal pkey_mprotect pkey_alloc pkey_free map_shadow_stack
		get_mempolicy set_mempolicy set_mempolicy_home_node mbind
	`), Why: "memory"},

	// uretprobe and uprobe are called by the kernel's own trampolines in a traced program.
	{Calls: names(`
		fork vfork execve execveat exit exit_group wait4 waitid kill tkill tgkill pidfd_open pidfd_send_signal
		process_mrelease rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigqueueinfo
		rt_tgsigqueueinfo rt_sigsuspend sigaltstack pause restart_syscall
		getpid getppid gettid getpgid getpgrp setpgid getsid setsid set_tid_address set_robust_list get_robust_list
		rseq futex futex_waitv futex_wait futex_wake futex_requeue arch_prctl prctl uname sysinfo getcpu
		sched_yield sched_setparam sched_getparam sched_setscheduler sched_getscheduler sched_setattr sched_getattr
		sched_get_priority_max sched_get_priority_min sched_rr_get_interval sched_setaffinity sched_getaffinity
		getpriority setpriority ioprio_set ioprio_get getrlimit setrlimit prlimit64 getrusage times
		getuid geteuid getgid getegid getresuid getresgid getgroups setuid setgid setreuid setregid setresuid
		setresgid setfsuid setfsgid setgroups capget capset getrandom uretprobe uprobe
	`), Why: "processes"},

	{Calls: names(`
		time gettimeofday clock_gettime clock_getres clock_nanosleep nanosleep alarm getitimer setitimer
		timer_create timer_settime timer_gettime timer_getoverrun timer_delete
	`), Why: "time"},

	{Calls: names(`
		connect accept accept4 bind listen shutdown getsockname getpeername setsockopt getsockopt
		sendto sendmsg sendmmsg recvfrom recvmsg recvmmsg
	`), Why: "sockets that exist"},

	{Calls: names(`
		seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self lsm_get_self_attr lsm_list_modules
	`), Why: "a program may narrow itself further"},

	// A listener of its own would decide for its children, within this filter; but the kernel has
	// one per chain of filters, and no build tool asks for it.
	{Calls: []string{"seccomp"}, Answer: EPERM, When: []test{is(0, 1), {1, 8, 8}}, Why: "no user-space listener"},

	// ioctl(2) takes its command as unsigned int.
	{Calls: []string{"ioctl"}, Answer: EPERM, When: []test{is(1, 0x5412)},
		Why: "TIOCSTI types for the person at the terminal"},
	{Calls: []string{"ioctl"}, Answer: EPERM, When: []test{is(1, 0x541C)},
		Why: "TIOCLINUX pastes for the person at the console"},
	{Calls: []string{"ioctl"}, Answer: EPERM, When: []test{is(1, 0x541D)}, Why: "TIOCCONS takes the console's output"},
	{Calls: []string{"ioctl"}, Answer: EPERM, When: []test{is(1, 0x5423)}, Why: "TIOCSETD loads line disciplines"},

	// F_SETLEASE(2const), F_SETDELEG(2const, Linux 6.19). A reader of his own file could otherwise
	// make everybody else's open of it wait, for 45 s each (/proc/sys/fs/lease-break-time), and
	// changes of a directory as well.
	{Calls: []string{"fcntl"}, Answer: EPERM, When: []test{is(1, 0x400)}, Why: "F_SETLEASE has programs outside wait",
		Unless: profile.SyscallsLeases},
	{Calls: []string{"fcntl"}, Answer: EPERM, When: []test{is(1, 0x410)}, Why: "F_SETDELEG has programs outside wait"},

	// clone(2): CLONE_NEWTIME has no bit of its own there. The kernel looks at the low 32 bits.
	{Calls: []string{"clone"}, When: []test{{0, newNamespaces, 0}}, Why: "no new namespace"},
	{Calls: []string{"clone"}, Answer: EPERM, Why: "a new namespace"},
	{Calls: []string{"unshare"}, When: []test{{0, low32 &^ (0x200 | 0x400 | 0x40000), 0}},
		Why: "CLONE_FS, CLONE_FILES, CLONE_SYSVSEM only"},
	{Calls: names(`unshare setns chroot`), Answer: EPERM, Why: "namespaces and roots"},
	{Calls: []string{"clone3"}, Answer: ENOSYS, Why: "its flags cannot be seen; libc falls back to clone"},

	// personality(2): the values of setarch, gdb and the thread sanitizer; not READ_IMPLIES_EXEC,
	// MMAP_PAGE_ZERO.
	{Calls: []string{"personality"}, When: []test{is(0, 0)}, Why: "PER_LINUX"},
	{Calls: []string{"personality"}, When: []test{is(0, 0x8)}, Why: "PER_LINUX32"},
	{Calls: []string{"personality"}, When: []test{is(0, 0x20000)}, Why: "UNAME26"},
	{Calls: []string{"personality"}, When: []test{is(0, 0x20008)}, Why: "PER_LINUX32, UNAME26"},
	{Calls: []string{"personality"}, When: []test{is(0, 0x40000)}, Why: "ADDR_NO_RANDOMIZE"},
	{Calls: []string{"personality"}, When: []test{is(0, low32)}, Why: "asks what it is"},
	{Calls: []string{"personality"}, Answer: EPERM},

	// mknod(2): a type of 0 is a regular file. A character device 0:0 needs no privilege, so devices are refused here.
	{Calls: []string{"mknod"}, Answer: EPERM, When: []test{{1, 0o4000, 0o4000}}, Why: "set-user-ID"},
	{Calls: []string{"mknod"}, Answer: EPERM, When: []test{{1, 0o2000, 0o2000}}, Why: "set-group-ID"},
	{Calls: []string{"mknodat"}, Answer: EPERM, When: []test{{2, 0o4000, 0o4000}}, Why: "set-user-ID"},
	{Calls: []string{"mknodat"}, Answer: EPERM, When: []test{{2, 0o2000, 0o2000}}, Why: "set-group-ID"},
	{Calls: []string{"mknod"}, When: []test{{1, 0xF000, 0}}, Why: "regular file"},
	{Calls: []string{"mknod"}, When: []test{{1, 0xF000, 0x8000}}, Why: "regular file"},
	{Calls: []string{"mknod"}, When: []test{{1, 0xF000, 0x1000}}, Why: "FIFO"},
	{Calls: []string{"mknod"}, When: []test{{1, 0xF000, 0xC000}}, Why: "socket"},
	{Calls: []string{"mknodat"}, When: []test{{2, 0xF000, 0}}, Why: "regular file"},
	{Calls: []string{"mknodat"}, When: []test{{2, 0xF000, 0x8000}}, Why: "regular file"},
	{Calls: []string{"mknodat"}, When: []test{{2, 0xF000, 0x1000}}, Why: "FIFO"},
	{Calls: []string{"mknodat"}, When: []test{{2, 0xF000, 0xC000}}, Why: "socket"},
	{Calls: names(`mknod mknodat`), Answer: EPERM, Why: "devices"},

	// The set-user-ID and set-group-ID bits would hand the caller's identity to other users of the machine, and are
	// asked for when a file is made, too (open with O_CREAT or O_TMPFILE). mkdir takes no such bit, a directory inherits
	// it. openat2 has its mode in memory: where another thread changes that after the listener's look, a file gets the
	// bit until its first byte, as nobody in a sandbox has CAP_FSETID.
	{Calls: names(`chmod fchmod`), Answer: EPERM, When: []test{{1, 0o4000, 0o4000}}, Why: "set-user-ID"},
	{Calls: names(`fchmodat fchmodat2`), Answer: EPERM, When: []test{{2, 0o4000, 0o4000}}, Why: "set-user-ID"},
	{Calls: []string{"creat"}, Answer: EPERM, When: []test{{1, 0o4000, 0o4000}}, Why: "set-user-ID"},
	{Calls: []string{"creat"}, Answer: EPERM, When: []test{{1, 0o2000, 0o2000}}, Why: "set-group-ID"},
	{Calls: []string{"open"}, Answer: EPERM, When: []test{{1, oCreat, oCreat}, {2, 0o4000, 0o4000}}, Why: "set-user-ID"},
	{Calls: []string{"open"}, Answer: EPERM, When: []test{{1, oCreat, oCreat}, {2, 0o2000, 0o2000}}, Why: "set-group-ID"},
	{Calls: []string{"open"}, Answer: EPERM, When: []test{{1, oTemp, oTemp}, {2, 0o4000, 0o4000}}, Why: "set-user-ID"},
	{Calls: []string{"open"}, Answer: EPERM, When: []test{{1, oTemp, oTemp}, {2, 0o2000, 0o2000}}, Why: "set-group-ID"},
	{Calls: []string{"openat"}, Answer: EPERM, When: []test{{2, oCreat, oCreat}, {3, 0o4000, 0o4000}},
		Why: "set-user-ID"},
	{Calls: []string{"openat"}, Answer: EPERM, When: []test{{2, oCreat, oCreat}, {3, 0o2000, 0o2000}},
		Why: "set-group-ID"},
	{Calls: []string{"openat"}, Answer: EPERM, When: []test{{2, oTemp, oTemp}, {3, 0o4000, 0o4000}}, Why: "set-user-ID"},
	{Calls: []string{"openat"}, Answer: EPERM, When: []test{{2, oTemp, oTemp}, {3, 0o2000, 0o2000}}, Why: "set-group-ID"},

	// On a directory the bit only hands on its group. A filter can't see what a path leads to, so the listener's owner
	// makes this call, on the object that it opened.
	{Calls: names(`chmod fchmod`), Answer: EPERM, When: []test{{1, 0o2000, 0o2000}}, Why: "set-group-ID", Lent: true},
	{Calls: names(`fchmodat fchmodat2`), Answer: EPERM, When: []test{{2, 0o2000, 0o2000}}, Why: "set-group-ID",
		Lent: true},

	{Calls: names(`io_uring_setup io_uring_enter io_uring_register`), Answer: EPERM,
		Why: "a second way into the kernel, past this filter"},
	{Calls: names(`ptrace process_vm_readv process_vm_writev process_madvise pidfd_getfd kcmp`), Answer: EPERM,
		Why: "other processes' memory and descriptors"},
	{Calls: names(`
		mount umount2 pivot_root move_mount open_tree open_tree_attr fsopen fsconfig fsmount fspick mount_setattr
	`), Answer: EPERM, Why: "mounts"},
	{Calls: names(`open_by_handle_at name_to_handle_at fanotify_init fanotify_mark lookup_dcookie`), Answer: EPERM,
		Why: "files past the path's permissions"},
	{Calls: names(`bpf perf_event_open userfaultfd`), Answer: EPERM, Why: "kernel surface"},
	{Calls: names(`add_key request_key keyctl`), Answer: EPERM, Why: "keyrings have no namespace"},
	{Calls: names(`
		kexec_load kexec_file_load init_module finit_module delete_module reboot swapon swapoff acct quotactl quotactl_fd
		syslog vhangup iopl ioperm sethostname setdomainname settimeofday clock_settime adjtimex clock_adjtime
		migrate_pages move_pages
	`), Answer: EPERM, Why: "the machine"},
	{Calls: names(`
		memfd_secret modify_ldt set_thread_area get_thread_area statmount listmount listns lsm_set_self_attr
		file_getattr file_setattr rseq_slice_yield
	`), Answer: ENOSYS, Why: "not offered; programs do without"},
	{Calls: names(`
		_sysctl afs_syscall create_module epoll_ctl_old epoll_wait_old get_kernel_syms getpmsg nfsservctl putpmsg
		query_module security sysfs tuxcall uselib ustat vserver
	`), Answer: ENOSYS, Why: "gone from the kernel, or going"},
}

// oCreat and oTemp are O_CREAT and the bit of O_TMPFILE of include/uapi/asm-generic/fcntl.h.
const (
	oCreat = 0o100
	oTemp  = 0o20000000
)

// newNamespaces is CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET} of include/uapi/linux/sched.h.
const newNamespaces = 0x7E020000

// ipc answers calls on System V objects and message queues: the sandbox's own, or, with the wall
// missing, none.
func ipc(missing bool) []rule {
	r := rule{Why: "System V IPC and message queues", Calls: names(`
		shmget shmat shmctl shmdt semget semop semctl semtimedop msgget msgsnd msgrcv msgctl
		mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr
	`)}
	if missing {
		r.Answer, r.Why = EPERM, "System V IPC and message queues of the host"
	}
	return []rule{r}
}

func names(s string) []string { return strings.Fields(s) }
