// Where orders come from: a sealed memfd, and the status socket.
#include "launch.h"

// memory returns size zeroed bytes that are never given back, or a negative error. Each order
// has one piece of it: there is no heap.
static i64 memory(u64 size) { return SYS(mmap, 0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

static enum step refuse(const char *why) { return failed(STEP_ORDER, 0, why, ""); }

enum step read_order(int fd, struct order *o) {
	i64 seals = SYS(fcntl, fd, F_GET_SEALS, 0);
	if (seals < 0 || (seals & F_ALL_SEALS) != F_ALL_SEALS)
		return failed(STEP_ORDER, seals < 0 ? seals : 0, "the order's memfd is not sealed", "");
	struct statx_result st;
	i64 e = SYS(statx, fd, "", AT_EMPTY_PATH, STATX_SIZE, &st);
	if (e < 0)
		return failed(STEP_ORDER, e, "read order", "");
	i64 at = -EINVAL;
	if (st.size > 0 && st.size <= MAX_ORDER)
		at = SYS(mmap, 0, st.size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at < 0)
		return failed(STEP_ORDER, at, "map order", "");
	struct order_head head;
	const char *why = check_head((const u8 *)at, st.size, &head);
	if (!why && head.size != st.size)
		why = "the order has another size than its file";
	if (!why && head.descriptors)
		why = "the order names descriptors, which a file can't carry";
	if (why)
		return refuse(why);
	i64 room = memory(string_room(&head));
	if (room < 0)
		return failed(STEP_ORDER, room, "memory for the order", "");
	why = decode_order(&head, (const u8 *)at, (char **)room, o);
	return why ? refuse(why) : STEP_NONE;
}

// next receives one message into at, and into fds the descriptors that it carries. The result is
// its size, or negative.
static i64 next(void *at, u64 size, int *fds, u32 *count) {
	static struct control control;
	struct span part = {at, size};
	struct message m = {.parts = &part, .count = 1, .control = &control, .control_size = sizeof control};
	control.size = 0;
	i64 n;
	do
		n = SYS(recvmsg, FD_STATUS, &m, MSG_CMSG_CLOEXEC);
	while (n == -EINTR);
	*count = 0;
	if (n < 0 || m.flags & (MSG_TRUNC | MSG_CTRUNC))
		return n < 0 ? n : -EMSGSIZE;
	if (m.control_size > 0 && control.level == SOL_SOCKET && control.kind == SCM_RIGHTS)
		*count = (u32)((control.size - offsetof(struct control, fds)) / 4);
	for (u32 i = 0; i < *count && i < 3; i++)
		fds[i] = control.fds[i];
	return n;
}

// collect receives the whole order, whose first message has the head and the descriptors.
static enum step collect(struct order_head *head, u8 **bytes, int *fds) {
	static u8 first[MAX_PIECE];
	u32 count;
	i64 n = next(first, sizeof first, fds, &count);
	if (n <= 0)
		return failed(STEP_ORDER, n, n ? "receive order" : "the daemon is gone", "");
	const char *why = check_head(first, (u64)n, head);
	if (!why && (head->size < (u64)n || head->descriptors != CARRIES_STANDARD || count != 3))
		why = "the order came without its descriptors, or with others than a laid sandbox takes";
	if (why)
		return refuse(why);
	u64 strings = (head->size + 7) & ~7UL;
	i64 at = memory(strings + string_room(head));
	if (at < 0)
		return failed(STEP_ORDER, at, "memory for the order", "");
	*bytes = (u8 *)at;
	__builtin_memcpy(*bytes, first, (u64)n);
	for (u64 have = (u64)n; have < head->size; have += (u64)n) {
		n = next(*bytes + have, head->size - have, fds, &count);
		if (n <= 0 || count > 0)
			return failed(STEP_ORDER, n < 0 ? n : 0, "the order broke off", "");
	}
	return STEP_NONE;
}

enum step receive_order(struct order *o) {
	struct order_head head;
	u8 *bytes = 0;
	int fds[3];
	enum step step = collect(&head, &bytes, fds);
	if (step)
		return step;
	const char *why = decode_order(&head, bytes, (char **)(bytes + ((head.size + 7) & ~7UL)), o);
	if (why || o->flags & ORDER_AWAIT)
		return refuse(why ? why : "the order says to wait once more");
	for (int i = 0; i < 3; i++) {
		i64 e = SYS(dup3, fds[i], i, 0);
		if (e < 0)
			return failed(STEP_ORDER, e, "receive descriptors", "");
		SYS(close, fds[i]);
	}
	return STEP_NONE;
}
