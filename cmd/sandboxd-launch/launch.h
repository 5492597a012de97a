// sandboxd-launch: the first process of every sandbox. See launch.c.
#pragma once
#include "kernel.h"

// Descriptors that this program inherits (sandbox/stage, FDStatus and following). 0 and 1
// are the command's own; 2 takes diagnostics until the command's standard error is put there.
enum { FD_STATUS = 5, FD_STDERR = 6 };

// Steps, as sandbox/stage/status.go names them.
enum step {
	STEP_NONE, STEP_DESCRIPTORS, STEP_ORDER, STEP_SESSION, STEP_DIR, STEP_NETWORK, STEP_LIMITS, STEP_PRIVILEGES,
	STEP_LANDLOCK, STEP_SECCOMP, STEP_LISTENER, STEP_READY, STEP_EXEC, STEP_WAITING, STEP_STARTED, STEP_ENDED, STEP_FIRST,
	STEP_MOUNTS, STEP_BORN,
};

// Exit statuses for a command that did not start.
enum { STATUS_OURS = 125, STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127 };

// Report is the head of one datagram to the daemon (sandbox/stage, Status). What the step
// was about and its object follow as text, with a NUL between them.
struct report {
	u8 step;
	u8 code;   // exit status
	u8 alone;  // STEP_ENDED: the first process is the last one
	u8 unused; // 0
	u32 error; // errno, 0 for none
	u64 cpu;   // STEP_ENDED: nanoseconds of the command and of all that was waited for
};

// Failure is the step that went wrong. A process made with CLONE_VM writes it for its parent.
struct failure {
	enum step step;
	i64 error; // negative errno, 0 for none
	const char *what, *object;
};
extern struct failure failure;

// failed records a failure and returns its step.
enum step failed(enum step step, i64 error, const char *what, const char *object);

// report_to is the socket of reports, FD_STATUS but where the launch server reports for another process.
extern int report_to;

// send_report sends a report with descriptors. The result is negative for an error.
i64 send_report(const struct report *r, const struct failure *f, const int *fds, u32 count);

// report_failure reports the failure and returns the exit status that goes with it.
int report_failure(void);

// say writes a line for a person who starts this program by hand.
void say(const char *text);

// receive receives one message into at, and into fds the most first of the descriptors that it carries.
// The result is its size, or negative; of more descriptors than fit none is left open.
i64 receive(void *at, u64 size, int *fds, u32 most, u32 *count);

// receive_order waits for an order with these descriptors. Those of the command go to 0 to 2.
enum step receive_order(struct order *o, u32 descriptors);

// enforce puts no_new_privs, Landlock and the filter in force on this process, for good. *listener
// is the filter's, or NO_LISTENER.
enum { NO_LISTENER = -1 };
enum step enforce(const struct order *o, int *listener);

// open_sockets makes the order's sockets and hands them to the daemon.
enum step open_sockets(const struct order *o);

// Command is what the process does that becomes the command.
struct command {
	const struct order *order;
	const char *path;
	int listener;
	struct limit limits[MAX_LIMITS];
};

// make_command finds the file to execute and the limits; own is how many threads of this
// program count beside the command.
enum step make_command(struct command *c, const struct order *o, u64 own);

// become turns this process into the command; it returns only on a failure.
enum step become(const struct command *c);

// spawn starts the command as a child.
enum step spawn(struct command *c, i64 *pid);

// make_mounts makes the other namespaces and in them the order's mounts, turns to those and gives
// up every capability. The descriptors are of the new root, the mount and the network namespace.
enum { ROOT_HANDLE, MOUNTS_HANDLE, NETWORK_HANDLE, HANDLES };
enum step make_mounts(const struct order *o, int *handles);

// map_ids maps a user and a group into this process's user namespace, from the one around it, by a procfs.
i64 map_ids(i64 proc, const u64 *inner, const u64 *outer);

// numeral writes a number that ends before end, and returns its beginning. join_text copies text and returns its end.
// read_file reads a small file as text, and returns its length.
const char *numeral(char *end, u64 n, u64 base);
char *join_text(char *at, const char *text);
i64 read_file(const char *path, char *text, u64 size);

// serve is the launch server. It returns when the daemon is gone.
int serve(void);

// settle makes this process what the first one of a namespace has to be.
enum step settle(void);

// follow waits for the command's end, reports it and returns the exit status; at once when the daemon is gone.
int follow(i64 pid);

// stage carries out the order from FD_STATUS: as the first process of a namespace, or as the
// process that becomes the command. NATIVE is a first process that makes its mounts.
enum place { FIRST, ALONE, NATIVE };
int stage(enum place place);

// reap keeps a command without namespaces together.
int reap(void);

// limit_pids writes the pid_max of the pid namespace that this process was started in.
int limit_pids(const char *most);

// launch is the program.
int launch(int argc, char **argv);

// exit_code is the exit status of a shell for a wait status (wait(2)).
static inline int exit_code(int status) { return (status & 0x7f) ? 128 + (status & 0x7f) : (status >> 8) & 0xff; }

static inline int equal(const char *a, const char *b) {
	for (; *a && *a == *b; a++, b++)
		;
	return *a == *b;
}
