// Where orders come from: the status socket.
#include "launch.h"

i64 receive(void *at, u64 size, int *fds, u32 most, u32 *count) {
	static struct control control;
	struct span part = {at, size};
	struct message m = {.parts = &part, .count = 1, .control = &control, .control_size = sizeof control};
	control.size = 0;
	i64 n;
	do
		n = SYS(recvmsg, FD_STATUS, &m, MSG_CMSG_CLOEXEC);
	while (n == -EINTR);
	*count = 0;
	u32 came = 0;
	if (n >= 0 && m.control_size > 0 && control.level == SOL_SOCKET && control.kind == SCM_RIGHTS)
		came = (u32)((control.size - offsetof(struct control, fds)) / 4);
	int whole = n >= 0 && !(m.flags & (MSG_TRUNC | MSG_CTRUNC)) && came <= most;
	for (u32 i = 0; i < came; i++)
		if (whole)
			fds[(*count)++] = control.fds[i];
		else
			SYS(close, control.fds[i]);
	return n >= 0 && !whole ? -EMSGSIZE : n;
}

// collect receives the whole order, whose first message has the head and the descriptors.
static enum step collect(struct order_head *head, u8 **bytes, int *fds, u32 descriptors) {
	static u8 first[MAX_PIECE];
	u32 count;
	i64 n = receive(first, sizeof first, fds, 3, &count);
	if (n <= 0)
		return failed(STEP_ORDER, n, n ? "receive order" : "the daemon is gone", "");
	const char *why = check_head(first, (u64)n, head);
	int network = !descriptors && head->descriptors == CARRIES_NETWORK;
	if (!why && (head->size < (u64)n || (head->descriptors != descriptors && !network) ||
		count != (descriptors ? 3 : (u32)network)))
		why = "the order came without its descriptors, or with others than this sandbox takes";
	if (why)
		return failed(STEP_ORDER, 0, why, "");
	u64 room = ((head->size + 7) & ~7UL) + string_room(head); // never given back: there is no heap
	i64 at = SYS(mmap, 0, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at < 0)
		return failed(STEP_ORDER, at, "memory for the order", "");
	*bytes = (u8 *)at;
	__builtin_memcpy(*bytes, first, (u64)n);
	for (u64 have = (u64)n; have < head->size; have += (u64)n) {
		n = receive(*bytes + have, head->size - have, fds, 0, &count);
		if (n <= 0)
			return failed(STEP_ORDER, n, "the order broke off", "");
	}
	return STEP_NONE;
}

enum step receive_order(struct order *o, u32 descriptors) {
	struct order_head head;
	u8 *bytes = 0;
	int fds[3];
	enum step step = collect(&head, &bytes, fds, descriptors);
	if (step)
		return step;
	const char *why = decode_order(&head, bytes, (char **)(bytes + ((head.size + 7) & ~7UL)), o);
	if (why)
		return failed(STEP_ORDER, 0, why, "");
	for (int i = 0; i < 3 && descriptors; i++) {
		i64 e = SYS(dup3, fds[i], i, 0);
		if (e < 0)
			return failed(STEP_ORDER, e, "receive descriptors", "");
		SYS(close, fds[i]);
	}
	if (head.descriptors & CARRIES_NETWORK)
		o->network = fds[0];
	return STEP_NONE;
}
