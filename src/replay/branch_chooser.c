/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "replay/branch_chooser.h"

#include "base/buf.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "event/event.h"
#include "machine/machine.h"
#include "symbol/symbols.h"
#include "trace/branch_filter.h"
#include "trace/pt_trace.h"

enum { N_KNOWN = 1 << 14 };

struct known_end {
	uint64_t addr, bits;
	uint32_t generation; /* 0: nothing is known */
	enum cpu_mode mode;
};

struct branch_chooser {
	const struct branch_filter *filter;
	struct machine *machine;
	struct symbolizer *symbols; /* NULL: the filter has no names */
	VEC(struct given_symbol) given;
	struct buf short_name;
	struct known_end known[N_KNOWN];
};

struct branch_chooser *branch_chooser_new(const struct branch_filter *filter,
					  struct machine *machine,
					  const struct symbolizer_config *places)
{
	struct branch_chooser *c = xcalloc(1, sizeof(*c));
	static const struct symbolizer_config here;

	c->filter = filter;
	c->machine = machine;
	if (filter->needs_places)
		c->symbols = symbolizer_new(places ? places : &here);
	return c;
}

void branch_chooser_free(struct branch_chooser *c)
{
	if (!c)
		return;
	symbolizer_free(c->symbols);
	vec_fini(&c->given);
	buf_fini(&c->short_name);
	free(c);
}

struct name_search {
	struct branch_chooser *chooser;
	image_id image;
};

static void take_kernel_name(void *context, image_id image, uint64_t size, const char *name)
{
	struct name_search *search = context;

	if (image.n == search->image.n)
		vec_push(&search->chooser->given,
			 ((struct given_symbol){ .size = size, .name = name }));
}

static const struct symbol_table *table_of(struct branch_chooser *c, image_id id)
{
	const struct image *image = image_get(machine_images(c->machine), id);
	struct name_search search = { c, id };

	c->given.n = 0;
	if (image->kind == IMAGE_BPF)
		machine_kernel_names(c->machine, take_kernel_name, &search);
	return symbolizer_table(c->symbols, image, c->given.data, c->given.n);
}

/* The function's name in the file, and demangled with and without parameters. */
static void name_place(struct branch_chooser *c, struct code_addr code, struct branch_place *out)
{
	const struct symbol_table *table = table_of(c, code.image);
	uint32_t index = symbol_find(table, code.offset);
	struct symbol symbol;

	out->image = image_get(machine_images(c->machine), code.image)->path;
	if (index == NO_SYMBOL)
		return;
	symbol = symbol_get(table, index);
	out->names[0] = symbol.name;
	out->names[1] = symbol_name(c->symbols, table, index);
	if (symbol.name_end || !*symbol.name ||
	    !symbol_short_name(c->symbols, table, index, &c->short_name))
		return;
	buf_u8(&c->short_name, 0);
	out->names[2] = (const char *)c->short_name.data;
}

/* Code that is made while the program runs may become other code, without a change of mappings. */
static bool is_lasting(const struct branch_chooser *c, struct code_addr code)
{
	enum image_kind kind = image_get(machine_images(c->machine), code.image)->kind;

	return kind != IMAGE_JIT && kind != IMAGE_UNKNOWN;
}

static uint64_t match_end(struct branch_chooser *c, const struct event *e,
			  const struct thread_view *thread, uint64_t addr, bool *lasts)
{
	enum cpu_mode mode = pt_mode_of(mode_is_guest(e->sample.mode), addr);
	struct branch_place place = { .addr = addr };
	struct code_addr code;

	*lasts = true;
	if (c->symbols && addr) {
		machine_resolve(c->machine, thread, mode, addr, e->time_ns, &code);
		name_place(c, code, &place);
		*lasts = is_lasting(c, code);
	}
	return branch_filter_match(c->filter, &place);
}

static uint64_t known_bits(struct branch_chooser *c, const struct event *e,
			   const struct thread_view *thread, uint64_t addr, uint32_t generation)
{
	struct known_end *known = &c->known[hash_u64(addr) % N_KNOWN];

	uint64_t bits;
	bool lasts;

	if (known->addr == addr && known->generation == generation && known->mode == e->sample.mode)
		return known->bits;
	bits = match_end(c, e, thread, addr, &lasts);
	*known = (struct known_end){ addr, bits, lasts ? generation : 0, e->sample.mode };
	return bits;
}

bool branch_chooser_takes(struct branch_chooser *c, const struct event *branch,
			  const struct thread_view *thread, const char *comm, uint32_t generation)
{
	const struct sample_extra *x = branch->sample.extra;
	struct branch_facts facts = {
		.flags = x->flags,
		.pid = branch->pid,
		.tid = branch->tid,
		.cpu = branch->cpu,
		.comm = comm,
		.from = known_bits(c, branch, thread, branch->sample.ip, generation),
		.to = known_bits(c, branch, thread, x->addr, generation),
	};

	return branch_filter_takes(c->filter, &facts);
}
