/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "script/script_interleave.h"

#include <stdlib.h>

#include "base/mem.h"

enum { MAX_BYTES = 1 << 20 /* of text that waits: a trace may have no time */ };

/* The lines of a CPU: text, and where each line ends. */
struct cpu_lines {
	uint32_t cpu;
	struct buf text;
	VEC(size_t) ends;
	size_t n_given, given; /* lines, and bytes, that were given out */
};

struct script_interleave {
	uint32_t n;
	uint64_t time_ns;
	size_t bytes;
	VEC(struct cpu_lines) cpus; /* in the order of their first lines */
};

struct script_interleave *script_interleave_new(uint32_t n)
{
	struct script_interleave *i = xcalloc(1, sizeof(*i));

	i->n = n;
	return i;
}

void script_interleave_free(struct script_interleave *i)
{
	if (!i)
		return;
	vec_foreach (&i->cpus, c) {
		buf_fini(&c->text);
		vec_fini(&c->ends);
	}
	vec_fini(&i->cpus);
	free(i);
}

static struct cpu_lines *lines_of(struct script_interleave *i, uint32_t cpu)
{
	struct cpu_lines *added;

	vec_foreach (&i->cpus, c)
		if (c->cpu == cpu)
			return c;
	added = vec_add(&i->cpus);
	added->cpu = cpu;
	return added;
}

/* Some lines of a CPU. False: it has no more. */
static bool give_some(struct cpu_lines *c, uint32_t n, struct buf *out)
{
	size_t end;

	if (c->n_given == c->ends.n)
		return false;
	c->n_given = MIN(c->n_given + n, c->ends.n);
	end = c->ends.data[c->n_given - 1];
	buf_bytes(out, c->text.data + c->given, end - c->given);
	c->given = end;
	return true;
}

void script_interleave_flush(struct script_interleave *i, struct buf *out)
{
	for (bool has_more = true; has_more;) {
		has_more = false;
		vec_foreach (&i->cpus, c)
			has_more |= give_some(c, i->n, out);
	}
	/* Their order is anew at each time. */
	vec_foreach (&i->cpus, c) {
		buf_fini(&c->text);
		vec_fini(&c->ends);
	}
	i->cpus.n = i->bytes = 0;
}

void script_interleave_take(struct script_interleave *i, struct buf *out, size_t from, uint32_t cpu,
			    uint64_t time_ns)
{
	struct buf line = { 0 };
	struct cpu_lines *c;

	buf_bytes(&line, out->data + from, out->len - from);
	out->len = from;
	if (time_ns != i->time_ns || i->bytes > MAX_BYTES)
		script_interleave_flush(i, out);
	i->time_ns = time_ns;
	i->bytes += line.len;
	c = lines_of(i, cpu);
	buf_bytes(&c->text, line.data, line.len);
	vec_push(&c->ends, c->text.len);
	buf_fini(&line);
}
