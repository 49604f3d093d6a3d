/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/jit_code.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/intmap.h"
#include "base/mem.h"

struct jit_code {
	char *path;
	bool has_other_clock, is_lent, is_given_up, is_loss_taken;
	struct jit_reader *reader; /* NULL: it is away */
	struct intmap found;       /* by place in the dump: codes hit by samples */
	VEC(uint32_t) unvisited;   /* indexes of codes hit since the last visit */
};

/* Opening. */

bool jit_code_is_dump(const char *path)
{
	const char *slash = strrchr(path, '/'), *digits;
	size_t n;

	if (!slash || strncmp(slash, "/jit-", 5) != 0)
		return false;
	digits = slash + 5;
	n = strspn(digits, "0123456789");
	return n && !strcmp(digits + n, ".dump");
}

struct jit_code *jit_code_open(const struct jit_code_config *config)
{
	struct jit_reader *reader = jit_reader_new(&config->reader);
	struct jit_code *j;

	if (!config->is_lent && !jit_reader_open(reader)) {
		jit_reader_free(reader);
		return NULL;
	}
	j = xcalloc(1, sizeof(*j));
	j->path = xstrdup(config->reader.path);
	j->reader = reader;
	j->has_other_clock = config->has_other_clock;
	j->is_lent = config->is_lent;
	return j;
}

void jit_code_free(struct jit_code *j)
{
	if (!j)
		return;
	jit_reader_free(j->reader);
	intmap_fini(&j->found);
	vec_fini(&j->unvisited);
	free(j->path);
	free(j);
}

const char *jit_code_path(const struct jit_code *j)
{
	return j->path;
}

/* Reading. */

/* Times of the future have no samples; a dump that was read once has all that can be known. */
bool jit_code_is_unread(const struct jit_code *j, uint64_t time_ns)
{
	const struct jit_reader *r = j->reader;

	if (!r)
		return !j->is_given_up;
	if (r->is_over || time_ns < r->read_until_ns)
		return false;
	return !r->read_until_ns || !j->is_lent || time_ns <= clock_monotonic_ns();
}

struct jit_reader *jit_code_lend(struct jit_code *j)
{
	struct jit_reader *reader = j->reader;

	assert(reader);
	j->reader = NULL;
	return reader;
}

/* A dump that was refused has forgotten its codes. */
static void forget_refused_hits(struct jit_code *j)
{
	if (j->reader->loss != N_LOSS_REASONS)
		j->unvisited.n = 0;
}

void jit_code_take_back(struct jit_code *j, struct jit_reader *reader)
{
	assert(!j->reader);
	j->reader = reader;
	forget_refused_hits(j);
}

bool jit_code_is_away(const struct jit_code *j)
{
	return !j->reader && !j->is_given_up;
}

uint32_t jit_code_give_up(struct jit_code *j)
{
	j->is_given_up = true;
	return (uint32_t)j->unvisited.n;
}

enum loss_reason jit_code_take_loss(struct jit_code *j)
{
	if (!j->reader || j->reader->loss == N_LOSS_REASONS || j->is_loss_taken)
		return N_LOSS_REASONS;
	j->is_loss_taken = true;
	return j->reader->loss;
}

/* Finding. */

bool jit_code_find(struct jit_code *j, uint64_t addr, uint64_t time_ns, uint64_t *file_off)
{
	const struct jitdump_code *code;
	struct jit_reader *r = j->reader;
	bool is_new;

	if (!r)
		return false;
	if (!j->is_lent && jit_code_is_unread(j, time_ns)) {
		jit_reader_read(r);
		forget_refused_hits(j);
	}
	if (j->has_other_clock || r->dump.is_arch_clock)
		time_ns = UINT64_MAX;
	code = jit_index_find(&r->index, &r->dump, addr, time_ns);
	if (!code)
		return false;
	*file_off = code->file_off + (addr - code->addr);
	intmap_put(&j->found, code->file_off, &is_new);
	if (is_new)
		vec_push(&j->unvisited, (uint32_t)(code - r->dump.codes.data));
	return true;
}

bool jit_code_only(const struct jit_code *j, uint64_t addr, struct jit_function *out)
{
	const struct jit_reader *r = j->reader;
	const struct jitdump_code *newest =
		r ? jit_index_find(&r->index, &r->dump, addr, UINT64_MAX) : NULL;

	/* That of the earliest time is the oldest. */
	if (!newest || newest != jit_index_find(&r->index, &r->dump, addr, 0))
		return false;
	*out = (struct jit_function){ newest->addr, newest->size,
				      strings_get(&r->dump.strings, newest->name) };
	return true;
}

void jit_code_names(struct jit_code *j, jit_code_visit visit, void *context)
{
	if (!j->reader)
		return;
	vec_foreach (&j->unvisited, i) {
		const struct jitdump_code *c = &j->reader->dump.codes.data[*i];

		visit(context, c->file_off, c->size,
		      strings_get(&j->reader->dump.strings, c->name));
	}
	j->unvisited.n = 0;
}
