// Sockets of the command's own network namespace that the daemon holds. A socket belongs to the
// namespace in which it was made, whichever process holds it (network_namespaces(7)): through
// these the daemon is at both ends of the command's loopback.
#include "launch.h"

enum { // socket(2), ip(7), ipv6(7)
	AF_INET = 2, AF_INET6 = 10, SOCK_STREAM = 1, SOCK_CLOEXEC = 02000000, SOCK_NONBLOCK = 04000,
	SO_REUSEPORT = 15, IPPROTO_IPV6 = 41, IPV6_V6ONLY = 26, BACKLOG = 1024,
};

struct address { u16 family; u8 port[2], host[4], unused[8]; }; // struct sockaddr_in

// listener returns a socket that listens on a port of 127.0.0.1, beside other commands', or a negative error.
static i64 listener(u16 port) {
	i64 fd = SYS(socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	int on = 1;
	struct address at = {AF_INET, {(u8)(port >> 8), (u8)port}, {127, 0, 0, 1}, {0}};
	i64 e = SYS(setsockopt, fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
	if (!e)
		e = SYS(bind, fd, &at, sizeof at);
	if (!e)
		e = SYS(listen, fd, BACKLOG);
	return e ? e : fd;
}

// dialer returns an unconnected socket, or a negative error. One of IPv6 reaches 127.0.0.1 too.
static i64 dialer(void) {
	i64 fd = SYS(socket, AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fd;
	int off = 0;
	i64 e = SYS(setsockopt, fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
	return e ? e : fd;
}

enum step open_sockets(const struct order *o) {
	int fds[MAX_SOCKETS];
	u32 count = 0;
	struct reader r = {o->port_at, o->port_at + MAX_ORDER, 0};
	for (u32 i = 0; i < o->ports + o->dialers; i++) {
		i64 fd = i < o->ports ? listener((u16)number(&r, 2)) : dialer();
		if (fd < 0)
			return failed(STEP_NETWORK, fd, i < o->ports ? "listen on a port of 127.0.0.1" : "socket", "");
		fds[count++] = (int)fd;
	}
	if (count == 0)
		return STEP_NONE;
	i64 e = send_report(&(struct report){.step = STEP_NETWORK}, 0, fds, count);
	if (e < 0)
		return failed(STEP_NETWORK, e, "hand out sockets", "");
	for (u32 i = 0; i < count; i++)
		SYS(close, fds[i]);
	return STEP_NONE;
}
