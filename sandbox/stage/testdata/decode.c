// decode: the decoder of cmd/sandboxd-launch with the sanitizers of a hosted program. It reads
// { size:u32 bytes } from standard input, decodes each as an order, and answers with
// { size:u32 text }: every field of the order, or "refused".
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "order.h"

static char *text;
static size_t used;

#define put(...) (used += (size_t)snprintf(text ? text + used : 0, text ? (64 << 20) - used : 0, __VA_ARGS__))

static void hex(const char *name, const void *bytes, size_t n) {
	put("%s ", name);
	for (size_t i = 0; i < n; i++)
		put("%02x", ((const u8 *)bytes)[i]);
	put("\n");
}

static void layer(struct reader *r) {
	struct ruleset set;
	struct path_rule path;
	struct port_rule port;
	number(r, 4);
	read_ruleset(r, &set);
	put("layer %llu %llu ", (unsigned long long)set.fs, (unsigned long long)set.net);
	put("%llu %u\n", (unsigned long long)set.scoped, set.flags);
	for (u32 i = 0; i < set.paths; i++) {
		read_path_rule(r, &path);
		put("%llu %d ", (unsigned long long)path.access, path.optional);
		hex("path", path.path, strlen(path.path));
	}
	for (u32 i = 0; i < set.ports; i++) {
		read_port_rule(r, &port);
		put("port %d %llu\n", port.port, (unsigned long long)port.access);
	}
}

static void show(const struct order_head *h, const struct order *o) {
	struct reader limits = {o->limit_at, o->limit_at + MAX_ORDER, 0}, ports = {o->port_at, o->port_at + MAX_ORDER, 0};
	struct reader layers = {o->layer_at, o->layer_at + MAX_ORDER, 0};
	put("flags %u descriptors %u umask %o dialers %u\n", o->flags, h->descriptors, o->umask, o->dialers);
	for (u32 i = 0; i < o->limits; i++) {
		unsigned long long resource = number(&limits, 8), value = number(&limits, 8);
		put("limit %llu %llu\n", resource, value);
	}
	hex("filter", o->filter_at, 8 * (size_t)o->instructions);
	for (u32 i = 0; i < o->ports; i++)
		put("port %d\n", (int)number(&ports, 2));
	for (u32 i = 0; i < o->layers; i++)
		layer(&layers);
	struct reader operations = {o->operation_at, o->operation_at + MAX_ORDER, 0};
	struct operation op;
	for (u32 i = 0; i < o->operations; i++) {
		read_operation(&operations, &op);
		put("operation %d %d %o %llu ", op.kind, op.flags, op.mode, (unsigned long long)op.size);
		hex("path", op.path, strlen(op.path));
		hex("text", op.text, op.length);
	}
	hex("path", o->path, strlen(o->path));
	hex("dir", o->dir, strlen(o->dir));
	for (char **s = o->argv; *s; s++)
		hex("argument", *s, strlen(*s));
	for (char **s = o->env; *s; s++)
		hex("variable", *s, strlen(*s));
}

int main(void) {
	u32 size;
	text = malloc(64 << 20);
	while (fread(&size, 4, 1, stdin) == 1) {
		u8 *bytes = malloc(size); // exactly, so that the sanitizer sees a byte too far
		if (size > 0 && fread(bytes, size, 1, stdin) != 1)
			return 1;
		struct order_head head;
		struct order o;
		used = 0;
		const char *why = check_head(bytes, size, &head);
		if (!why && head.size != size)
			why = "another size";
		char **room = why ? 0 : malloc(string_room(&head));
		if (!why)
			why = decode_order(&head, bytes, room, &o);
		if (why)
			put("refused");
		else
			show(&head, &o);
		free(room);
		free(bytes);
		size = (u32)used;
		if (fwrite(&size, 4, 1, stdout) != 1 || fwrite(text, used, 1, stdout) != 1 || fflush(stdout))
			return 1;
	}
	return 0;
}
