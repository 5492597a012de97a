// Decoding: pure, and fuzzed with sanitizers (sandbox/stage, FuzzOrder).
#include "order.h"

const u8 *take(struct reader *r, u64 n) {
	if (r->bad || n > (u64)(r->end - r->at)) {
		r->bad = 1;
		return 0;
	}
	const u8 *at = r->at;
	r->at += n;
	return at;
}

u64 number(struct reader *r, u64 size) {
	const u8 *at = take(r, size);
	u64 v = 0;
	for (u64 i = 0; at && i < size; i++)
		v |= (u64)at[i] << (8 * i);
	return v;
}

// string reads text of this length with its NUL, the only one in it.
static const char *string(struct reader *r, u64 length) {
	const u8 *at = take(r, length + 1);
	for (u64 i = 0; at && i < length; i++)
		r->bad |= at[i] == 0;
	if (at)
		r->bad |= at[length] != 0;
	return r->bad ? 0 : (const char *)at;
}

static const char *counted_string(struct reader *r) { return string(r, number(r, 4)); }

void read_ruleset(struct reader *r, struct ruleset *set) {
	const u8 *magic = take(r, 4);
	r->bad |= magic && !starts((const char *)magic, "LLR2");
	set->fs = number(r, 8);
	set->net = number(r, 8);
	set->scoped = number(r, 8);
	set->flags = (u32)number(r, 4);
	set->paths = (u32)number(r, 4);
	set->ports = (u32)number(r, 4);
	if (r->bad || set->paths > MAX_PATH_RULES || set->ports > MAX_PORT_RULES) {
		set->paths = set->ports = 0;
		r->bad = 1;
	}
}

void read_path_rule(struct reader *r, struct path_rule *rule) {
	rule->access = number(r, 8);
	rule->optional = (u8)number(r, 1);
	u64 length = number(r, 2);
	rule->path = string(r, length);
	if (rule->optional > 1 || length >= PATH_LENGTH || !rule->path || rule->path[0] != '/')
		r->bad = 1;
}

void read_port_rule(struct reader *r, struct port_rule *rule) {
	rule->port = (u16)number(r, 2);
	rule->access = number(r, 8);
}

// clean reports whether a path is absolute and has no element that is empty, "." or "..".
static int clean(const char *path) {
	const char *p = path;
	for (; *p == '/'; p++) {
		const char *element = p + 1;
		u64 n = 0;
		while (element[n] && element[n] != '/')
			n++;
		if (n == 0)
			return p == path && !element[0]; // "/" alone
		if (element[0] == '.' && (n == 1 || (n == 2 && element[1] == '.')))
			return 0;
		p += n;
	}
	return p != path && !*p;
}

void read_operation(struct reader *r, struct operation *op) {
	op->kind = (u8)number(r, 1);
	op->flags = (u8)number(r, 1);
	u64 zero = number(r, 2);
	op->mode = (u32)number(r, 4);
	op->size = number(r, 8);
	u64 size = number(r, 4);
	op->path = string(r, size);
	op->length = (u32)number(r, 4);
	op->text = (const char *)take(r, (u64)op->length + 1);
	if (zero || op->kind >= OP_KINDS || op->flags & ~OP_FLAGS || op->mode > 0777 || size >= PATH_LENGTH ||
		!op->path || !clean(op->path) || !op->text || op->text[op->length])
		r->bad = 1;
	u64 n = r->bad ? 0 : length(op->text); // up to the first NUL
	if (!r->bad && (op->kind == OP_LINK || op->kind == OP_BIND))
		r->bad = n != op->length || (op->kind == OP_BIND && n && !clean(op->text));
	u32 paths = 0;
	for (const char *p = op->text; !r->bad && op->kind == OP_OVERLAY && p <= op->text + op->length; p += length(p) + 1)
		r->bad |= !clean(p) || ++paths > MAX_OVERLAY;
	r->bad |= !r->bad && op->kind == OP_OVERLAY && paths < (op->flags & OP_READ_ONLY ? 2 : 3);
}

static void check_layer(struct reader *r) {
	u64 size = number(r, 4);
	struct reader inner = {take(r, size), 0, r->bad};
	if (r->bad)
		return;
	inner.end = inner.at + size;
	struct ruleset set;
	struct path_rule path;
	struct port_rule port;
	read_ruleset(&inner, &set);
	for (u32 i = 0; i < set.paths && !inner.bad; i++)
		read_path_rule(&inner, &path);
	for (u32 i = 0; i < set.ports && !inner.bad; i++)
		read_port_rule(&inner, &port);
	r->bad |= inner.bad || inner.at != inner.end;
}

const char *check_launch(const struct launch *l, u64 size, u32 descriptors) {
	if (size != sizeof *l || !starts(l->magic, "sbxlaunc") || l->version != ORDER_VERSION)
		return "not a launch of this version";
	if (l->program > 1 || l->born > 1 || l->groups > MAX_LAUNCH || descriptors != 1 + l->groups + l->born + l->program)
		return "the launch contradicts its descriptors";
	return 0;
}

const char *check_head(const u8 *bytes, u64 size, struct order_head *h) {
	if (size < sizeof *h || !starts((const char *)bytes, "sbxorder"))
		return "not an order";
	__builtin_memcpy(h, bytes, sizeof *h);
	if (h->version != ORDER_VERSION)
		return "the order has another version; install sandboxd and sandboxd-launch together";
	if (h->size < sizeof *h || h->size > MAX_ORDER)
		return "the order has an impossible size";
	if (h->argc > h->size / 5 || h->envc > h->size / 5)
		return "the order has more strings than bytes for them";
	return 0;
}

u64 string_room(const struct order_head *h) { return ((u64)h->argc + h->envc + 2) * sizeof(char *); }

// sane reports whether the parts of an order go together.
static int sane(const struct order_head *h, const struct order *o) {
	u32 layers = h->layers + h->instructions;
	if (h->flags & ~(u32)ORDER_FLAGS || h->umask > 0777 || (h->flags & ORDER_TELLS && !h->instructions))
		return 0;
	if (h->flags & ORDER_AWAIT) // only what can be in force before a command is known
		return !(h->flags & (ORDER_TERMINAL | ORDER_HOLD | ORDER_PROBE)) && (h->flags & ORDER_EARLY || !layers) &&
			!(h->descriptors & ~(u32)CARRIES_NETWORK) && !h->umask && !h->limits && !h->ports && !h->dialers &&
			!h->argc && !h->envc && !o->path[0] && !o->dir[0];
	return h->argc > 0 && !h->operations && !(h->descriptors & CARRIES_NETWORK) && o->dir[0] == '/' && (!o->path[0] || o->path[0] == '/') &&
		!(h->flags & ORDER_EARLY && layers);
}

const char *decode_order(const struct order_head *h, const u8 *bytes, char **room, struct order *o) {
	if (h->limits > MAX_LIMITS || h->instructions > MAX_INSTRUCTIONS || h->layers > MAX_LAYERS ||
		h->operations > MAX_OPERATIONS || h->ports > MAX_SOCKETS || h->dialers > MAX_SOCKETS - h->ports)
		return "the order has too much of something";
	struct reader r = {bytes + sizeof *h, bytes + h->size, 0};
	*o = (struct order){.flags = h->flags, .umask = h->umask, .limits = h->limits, .instructions = h->instructions,
		.ports = h->ports, .dialers = h->dialers, .layers = h->layers, .operations = h->operations, .network = -1};
	o->limit_at = r.at;
	u64 resource, seen = 0;
	for (u32 i = 0; i < h->limits; i++, number(&r, 8)) {
		if ((resource = number(&r, 4)) >= MAX_LIMITS || seen >> resource & 1 || number(&r, 4) != 0)
			r.bad = 1;
		seen |= 1ULL << resource % MAX_LIMITS;
	}
	o->filter_at = take(&r, 8 * (u64)h->instructions);
	o->port_at = r.at;
	for (u32 i = 0; i < h->ports; i++)
		r.bad |= number(&r, 2) == 0;
	o->layer_at = r.at;
	for (u32 i = 0; i < h->layers && !r.bad; i++)
		check_layer(&r);
	o->operation_at = r.at;
	struct operation op = {.kind = OP_USER};
	u32 of[OP_KINDS] = {[OP_USER] = !h->operations};
	for (u32 i = 0; i < h->operations && !r.bad; i++) {
		read_operation(&r, &op);
		of[op.kind % OP_KINDS]++;
	}
	r.bad |= op.kind != OP_USER || of[OP_USER] != 1 || of[OP_NETWORK] > 1 ||
		(h->descriptors & CARRIES_NETWORK && !of[OP_NETWORK]);
	o->path = counted_string(&r);
	o->dir = counted_string(&r);
	o->argv = room;
	for (u32 i = 0; i < h->argc && !r.bad; i++)
		*room++ = (char *)counted_string(&r);
	*room++ = 0;
	o->env = room;
	for (u32 i = 0; i < h->envc && !r.bad; i++)
		*room++ = (char *)counted_string(&r);
	*room = 0;
	if (r.bad || r.at != r.end)
		return "the order is malformed";
	return sane(h, o) ? 0 : "the order contradicts itself";
}
