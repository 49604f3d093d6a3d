/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/clickhouse_rows.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/build_id.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/path.h"
#include "fleet/row_binary.h"
#include "profile/profile.h"
#include "profile/query.h"
#include "store/history/history.h"
#include "store/session.h"

#define HOUR_S 3600u
#define DAY_S  86400u

/* ---- keys ---- */

uint32_t fleet_block_part(const char *name)
{
	const char *number = strrchr(name, '-');
	uint64_t time_ns;
	char *end;
	unsigned long n;

	if (history_part_time(name, &time_ns) && number && number[1]) {
		n = strtoul(number + 1, &end, 10);
		if (!*end && n <= UINT32_MAX)
			return (uint32_t)n;
	}
	return (uint32_t)XXH3_64bits(name, strlen(name));
}

uint64_t fleet_block_id(const struct fleet_block *block)
{
	struct buf key = { 0 };
	uint64_t id;

	buf_cstr0(&key, block->host);
	buf_u32(&key, block->part);
	buf_u64(&key, block->bucket);
	id = XXH3_64bits(key.data, key.len);
	buf_fini(&key);
	return id;
}

void block_rows_fini(struct block_rows *rows)
{
	for (size_t i = 0; i < N_CLICKHOUSE_TABLES; i++)
		buf_fini(&rows->bytes[i]);
	vec_fini(&rows->new_stacks);
	vec_fini(&rows->new_functions);
	vec_fini(&rows->new_images);
}

/* ---- what the block has ---- */

/* A function in one build. */
struct row_function {
	uint64_t id, start;
	uint32_t function; /* of the profile */
	uint32_t same_id;  /* the first one of this id: index */
	bool is_named;
};

/* The samples of one stack in a service. */
struct row_fact {
	uint32_t service, lane; /* service: index of services, which are sorted */
	uint32_t node;          /* of the profile */
	uint64_t stack, samples;
};

struct row_maker {
	const struct fleet_block *block;
	const struct known_rows *known;
	struct block_rows *out;
	uint32_t time_s, seen_s;
	uint64_t id; /* of the block */

	struct profile *p;
	VEC(struct row_function) functions;
	struct intmap function_by_key;     /* hash of (id, image) to index + 1 … */
	struct intmap function_by_id;      /* … and id to the first index + 1 */
	uint32_t *node_function;           /* by node: index of functions */
	uint64_t *node_stack;              /* by node: number of the stack */
	char (*builds)[BUILD_ID_HEX_SIZE]; /* by image; "": none */
	VEC(const char *) services;        /* sorted */
	uint32_t *service_of_group;
	VEC(struct row_fact) facts; /* sorted by service, event, stack */
	VEC(uint32_t) lanes;        /* sorted by the event's name */
	struct intmap stacks_put;   /* keys of stacks that have a row */
};

static const char *rows_event(const struct row_maker *m, uint32_t lane)
{
	return rows_event_name(m->p, lane);
}

static const char *rows_image_name(const struct row_maker *m, uint32_t image)
{
	return path_file_name(m->p->images.data[image].image->path);
}

/* A name that is more than bounds of a stripped function. */
static bool rows_symbol_is_named(const struct profile_function *f, const struct profile *p)
{
	const struct symbol_table *table = p->images.data[f->image].table;
	struct symbol symbol;

	if (f->symbol == NO_SYMBOL || !table)
		return f->inlined != NULL;
	symbol = symbol_get(table, f->symbol);
	return symbol.name[0] && !symbol.name_end;
}

static uint64_t rows_hash_function(const struct row_maker *m, const struct row_function *f)
{
	const struct profile_function *function = &m->p->functions.data[f->function];
	const struct image *image = m->p->images.data[function->image].image;
	char scratch[KEY_TEXT_SIZE];
	struct buf key = { 0 };
	uint64_t id;

	buf_cstr0(&key, rows_image_name(m, function->image));
	if (f->is_named) {
		buf_str(&key, profile_key_text(m->p, PROFILE_SYMBOL, f->function, scratch));
	} else {
		buf_bytes(&key, image->build_id.bytes, image->build_id.len);
		buf_u64(&key, f->start);
	}
	id = XXH3_64bits(key.data, key.len);
	buf_fini(&key);
	return id + !id;
}

static uint32_t rows_add_function(struct row_maker *m, struct row_function *f)
{
	uint64_t key[2] = { 0, m->p->functions.data[f->function].image };
	uint32_t *known, *first;
	bool is_new;

	f->id = key[0] = rows_hash_function(m, f);
	known = intmap_put(&m->function_by_key, XXH3_64bits(key, sizeof(key)), &is_new);
	if (!is_new)
		return *known - 1;
	*known = (uint32_t)m->functions.n + 1;
	first = intmap_put(&m->function_by_id, f->id, &is_new);
	if (is_new)
		*first = *known;
	f->same_id = *first - 1;
	vec_push(&m->functions, *f);
	return *known - 1;
}

static const char *rows_build_of(const struct row_maker *m, const struct row_function *f)
{
	return m->builds[m->p->functions.data[f->function].image];
}

/* A stack of the same functions in other builds is another stack. */
static uint64_t rows_hash_frame(const struct row_maker *m, uint64_t callers,
				const struct row_function *f)
{
	const uint64_t path[2] = { callers, f->id };
	const char *build = rows_build_of(m, f);
	uint64_t number = XXH3_64bits(path, sizeof(path));

	return *build ? XXH3_64bits_withSeed(build, strlen(build), number) : number;
}

/* The functions of nodes. A named function of the profile is looked up once. */
static void rows_find_functions(struct row_maker *m)
{
	const struct profile *p = m->p;
	cleanup(free_at_exit) uint32_t *named = xcalloc(p->functions.n + 1, sizeof(*named));

	m->node_function = xcalloc(p->nodes.n + 1, sizeof(*m->node_function));
	m->node_stack = xcalloc(p->nodes.n + 1, sizeof(*m->node_stack));
	for (uint32_t i = 1; i < p->nodes.n; i++) {
		uint32_t function = p->nodes.data[i].function;
		const struct profile_function *f = &p->functions.data[function];
		struct row_function row = { .function = function };

		if (!named[function]) {
			row.is_named = rows_symbol_is_named(f, p);
			row.start = p->places.data[p->node_places.data[i]].offset;
			if (f->symbol != NO_SYMBOL && p->images.data[f->image].table)
				row.start = symbol_get(p->images.data[f->image].table, f->symbol)
						    .offset;
			m->node_function[i] = rows_add_function(m, &row);
			named[function] = row.is_named ? m->node_function[i] + 1 : 0;
		} else {
			m->node_function[i] = named[function] - 1;
		}
		m->node_stack[i] = rows_hash_frame(m, m->node_stack[p->nodes.data[i].parent],
						   &m->functions.data[m->node_function[i]]);
	}
}

static void rows_find_builds(struct row_maker *m)
{
	m->builds = xcalloc(m->p->images.n + 1, sizeof(*m->builds));
	for (uint32_t i = 0; i < m->p->images.n; i++)
		if (m->p->images.data[i].image->build_id.len)
			build_id_hex(&m->p->images.data[i].image->build_id, m->builds[i]);
}

static int rows_by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void rows_find_services(struct row_maker *m)
{
	const struct profile *p = m->p;
	size_t n = 0;

	m->service_of_group = xcalloc(p->n_groups + 1, sizeof(*m->service_of_group));
	for (uint32_t g = 0; g < p->n_groups; g++)
		vec_push(&m->services, rows_service_name(p, g));
	if (m->services.n)
		qsort(m->services.data, m->services.n, sizeof(*m->services.data), rows_by_text);
	for (size_t i = 0; i < m->services.n; i++)
		if (!n || strcmp(m->services.data[n - 1], m->services.data[i]) != 0)
			m->services.data[n++] = m->services.data[i];
	m->services.n = n;
	for (uint32_t g = 0; g < p->n_groups; g++) {
		const char *text = rows_service_name(p, g);
		const char **at = bsearch(&text, m->services.data, n, sizeof(*at), rows_by_text);

		m->service_of_group[g] = (uint32_t)(at - m->services.data);
	}
}

static int rows_by_event(const void *a, const void *b, void *context)
{
	const struct row_maker *m = context;
	const uint32_t *x = a, *y = b;

	return strcmp(rows_event(m, *x), rows_event(m, *y));
}

static int rows_by_fact(const void *a, const void *b)
{
	const struct row_fact *x = a, *y = b;

	if (x->service != y->service)
		return x->service < y->service ? -1 : 1;
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

/* Facts have the number of a lane in the order of names. Lanes of one name are one event. */
static void rows_find_facts(struct row_maker *m)
{
	const struct profile *p = m->p;
	cleanup(free_at_exit) uint32_t *rank = xcalloc(p->n_lanes + 1, sizeof(*rank));
	size_t n = 0;

	for (uint32_t l = 0; l < p->n_lanes; l++)
		vec_push(&m->lanes, l);
	if (p->n_lanes)
		qsort_r(m->lanes.data, m->lanes.n, sizeof(*m->lanes.data), rows_by_event, m);
	for (uint32_t i = 0; i < p->n_lanes; i++) {
		bool is_same = i && !rows_by_event(&m->lanes.data[i - 1], &m->lanes.data[i], m);

		rank[m->lanes.data[i]] = is_same ? rank[m->lanes.data[i - 1]] : i;
	}
	for (size_t e = 0; e < p->entries.n; e++)
		for (uint32_t l = 0; l < p->n_lanes; l++) {
			const struct profile_entry *entry = &p->entries.data[e];
			uint64_t samples = profile_weights(p, e)[l].samples;

			if (samples)
				vec_push(&m->facts,
					 (struct row_fact){ m->service_of_group[entry->group],
							    rank[l], entry->node,
							    m->node_stack[entry->node], samples });
		}
	if (m->facts.n)
		qsort(m->facts.data, m->facts.n, sizeof(*m->facts.data), rows_by_fact);
	for (size_t i = 0; i < m->facts.n; i++)
		if (n && !rows_by_fact(&m->facts.data[n - 1], &m->facts.data[i]))
			m->facts.data[n - 1].samples += m->facts.data[i].samples;
		else
			m->facts.data[n++] = m->facts.data[i];
	m->facts.n = n;
}

static const char *rows_fact_event(const struct row_maker *m, const struct row_fact *f)
{
	return rows_event(m, m->lanes.data[f->lane]);
}

/* ---- rows of names ---- */

static struct buf *rows_begin(struct row_maker *m, enum clickhouse_table table)
{
	m->out->n[table]++;
	return &m->out->bytes[table];
}

static void rows_put_stack(struct row_maker *m, const struct row_fact *f)
{
	const struct profile_node *nodes = m->p->nodes.data;
	uint64_t key = XXH3_64bits_withSeed(m->services.data[f->service],
					    strlen(m->services.data[f->service]), f->stack);
	struct buf *out;
	bool is_new;

	intmap_put(&m->stacks_put, key, &is_new); /* another event may have had it */
	if (!is_new || intmap_find(&m->known->stacks, key))
		return;
	vec_push(&m->out->new_stacks, key);
	out = rows_begin(m, CLICKHOUSE_STACKS);
	row_binary_put_text(out, m->services.data[f->service]);
	buf_u64(out, f->stack);
	buf_uleb(out, nodes[f->node].depth);
	for (uint32_t n = f->node; n; n = nodes[n].parent)
		buf_u64(out, m->functions.data[m->node_function[n]].id);
	buf_uleb(out, nodes[f->node].depth);
	for (uint32_t n = f->node; n; n = nodes[n].parent)
		row_binary_put_text(out, rows_build_of(m, &m->functions.data[m->node_function[n]]));
	buf_u32(out, m->seen_s);
}

static void rows_put_function(struct row_maker *m, const struct row_function *f)
{
	const struct profile_function *function = &m->p->functions.data[f->function];
	const struct image *image = m->p->images.data[function->image].image;
	char scratch[KEY_TEXT_SIZE];
	struct buf *out;

	if (intmap_find(&m->known->functions, f->id))
		return;
	vec_push(&m->out->new_functions, f->id);
	out = rows_begin(m, CLICKHOUSE_FUNCTIONS);
	buf_u64(out, f->id);
	row_binary_put_text(out,
			    f->is_named || function->symbol != NO_SYMBOL
				    ? profile_key_text(m->p, PROFILE_SYMBOL, f->function, scratch)
				    : "");
	row_binary_put_text(out, rows_image_name(m, function->image));
	row_binary_put_text(out, f->is_named ? "" : m->builds[function->image]);
	buf_u64(out, f->is_named ? 0 : f->start);
	buf_u8(out, (uint8_t)image->kind);
	buf_u8(out, (uint8_t)function->language);
	buf_u32(out, m->seen_s);
}

static void rows_put_image(struct row_maker *m, uint32_t i)
{
	const struct image *image = m->p->images.data[i].image;
	uint64_t key = XXH3_64bits_withSeed(image->path, strlen(image->path),
					    XXH3_64bits(m->builds[i], strlen(m->builds[i])));
	struct buf *out;

	if (!*m->builds[i] || intmap_find(&m->known->images, key))
		return;
	vec_push(&m->out->new_images, key);
	out = rows_begin(m, CLICKHOUSE_IMAGES);
	row_binary_put_text(out, m->builds[i]);
	row_binary_put_text(out, image->path);
	buf_u8(out, (uint8_t)image->kind);
	buf_u32(out, m->seen_s);
}

/* Appends the names or the values of lines NAME=VALUE. */
static void rows_put_labels(struct buf *out, const char *labels, bool values)
{
	struct buf texts = { 0 };
	uint64_t n = 0;

	for (const char *line = labels, *end; *line; line = *end ? end + 1 : end) {
		const char *equals = strchr(line, '=');

		end = strchrnul(line, '\n');
		if (!equals || equals > end)
			continue;
		n++;
		buf_uleb(&texts, (uint64_t)(values ? end - equals - 1 : equals - line));
		buf_bytes(&texts, values ? equals + 1 : line,
			  (size_t)(values ? end - equals - 1 : equals - line));
	}
	buf_uleb(out, n);
	buf_bytes(out, texts.data, texts.len);
	buf_fini(&texts);
}

static void rows_put_names(struct row_maker *m, const char *labels)
{
	struct buf *out = rows_begin(m, CLICKHOUSE_HOSTS);

	row_binary_put_text(out, m->block->host);
	rows_put_labels(out, labels, false);
	rows_put_labels(out, labels, true);
	buf_u32(out, m->seen_s);
	for (uint32_t i = 0; i < m->functions.n; i++)
		if (m->functions.data[i].same_id == i)
			rows_put_function(m, &m->functions.data[i]);
	for (uint32_t i = 0; i < m->p->images.n; i++)
		rows_put_image(m, i);
	for (size_t i = 0; i < m->facts.n; i++)
		rows_put_stack(m, &m->facts.data[i]);
}

/* ---- rows of samples ---- */

/* The beginning of a row: service and event, both "" in a receipt. */
static struct buf *rows_begin_sums(struct row_maker *m, enum clickhouse_table table,
				   const char *service, const char *event)
{
	struct buf *out = rows_begin(m, table);

	row_binary_put_text(out, service);
	row_binary_put_text(out, event);
	return out;
}

static void rows_put_samples(struct row_maker *m, const char *service, const char *event,
			     uint64_t stack, uint64_t samples)
{
	struct buf *out = rows_begin_sums(m, CLICKHOUSE_FACTS, service, event);

	buf_u64(out, stack);
	row_binary_put_text(out, m->block->host);
	buf_u32(out, m->time_s);
	buf_u32(out, m->block->part);
	buf_u64(out, samples);

	out = rows_begin_sums(m, CLICKHOUSE_STACK_HOUR, service, event);
	buf_u64(out, stack);
	buf_u32(out, m->time_s - m->time_s % HOUR_S);
	buf_u64(out, samples);

	out = rows_begin_sums(m, CLICKHOUSE_STACK_DAY, service, event);
	buf_u64(out, stack);
	buf_u32(out, m->time_s - m->time_s % DAY_S);
	buf_u64(out, samples);
}

struct function_sums {
	uint32_t function; /* index of functions */
	uint64_t self, incl;
};

static void rows_put_sums(struct row_maker *m, const char *service, const char *event,
			  uint64_t func, const char *build, const struct function_sums *sums)
{
	static const struct {
		enum clickhouse_table table;
		uint32_t length_s;
		bool by_host;
	} tables[] = { { CLICKHOUSE_FUNC_HOUR, HOUR_S, false },
		       { CLICKHOUSE_FUNC_DAY, DAY_S, false },
		       { CLICKHOUSE_FUNC_HOST_DAY, DAY_S, true } };

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		struct buf *out = rows_begin_sums(m, tables[i].table, service, event);

		buf_u64(out, func);
		row_binary_put_text(out, build);
		if (tables[i].by_host)
			row_binary_put_text(out, m->block->host);
		buf_u32(out, m->time_s - m->time_s % tables[i].length_s);
		buf_u64(out, sums->self);
		buf_u64(out, sums->incl);
	}
}

/* ClickHouse removes rows of zeros from tables of sums, so a receipt has a one. */
static void rows_put_receipts(struct row_maker *m)
{
	const struct function_sums one = { .incl = 1 };

	rows_put_samples(m, "", "", m->id, 1);
	rows_put_sums(m, "", "", m->id, "", &one);
}

struct function_counter {
	VEC(struct function_sums) sums; /* of one service and event */
	uint32_t *sums_of;              /* by function: index + 1 of sums */
	uint64_t *counted;              /* by function id (same_id): the number of the last fact */
};

static struct function_sums *rows_sums_of(struct function_counter *c, uint32_t function)
{
	if (!c->sums_of[function]) {
		vec_push(&c->sums, (struct function_sums){ .function = function });
		c->sums_of[function] = (uint32_t)c->sums.n;
	}
	return &c->sums.data[c->sums_of[function] - 1];
}

static void rows_count_functions(struct row_maker *m, struct function_counter *c, size_t fact)
{
	const struct row_fact *f = &m->facts.data[fact];
	const struct profile_node *nodes = m->p->nodes.data;
	uint32_t path[PROFILE_MAX_DEPTH], depth = 0;

	if (f->node)
		rows_sums_of(c, m->node_function[f->node])->self += f->samples;
	for (uint32_t n = f->node; n && depth < ARRAY_SIZE(path); n = nodes[n].parent)
		path[depth++] = m->node_function[n];
	while (depth--) { /* the outermost first */
		uint64_t *counted = &c->counted[m->functions.data[path[depth]].same_id];

		if (*counted == fact + 1)
			continue;
		*counted = fact + 1;
		rows_sums_of(c, path[depth])->incl += f->samples;
	}
}

static int rows_by_function(const void *a, const void *b, void *context)
{
	const struct row_maker *m = context;
	const struct function_sums *x = a, *y = b;
	const struct row_function *f = &m->functions.data[x->function];
	const struct row_function *g = &m->functions.data[y->function];

	if (f->id != g->id)
		return f->id < g->id ? -1 : 1;
	return strcmp(rows_build_of(m, f), rows_build_of(m, g));
}

/* Writes the sums of a service and event, and begins the next. */
static void rows_end_functions(struct row_maker *m, struct function_counter *c,
			       const struct row_fact *f)
{
	if (c->sums.n)
		qsort_r(c->sums.data, c->sums.n, sizeof(*c->sums.data), rows_by_function, m);
	vec_foreach (&c->sums, sums) {
		const struct row_function *function = &m->functions.data[sums->function];

		rows_put_sums(m, m->services.data[f->service], rows_fact_event(m, f), function->id,
			      rows_build_of(m, function), sums);
		c->sums_of[sums->function] = 0;
	}
	c->sums.n = 0;
}

static void rows_put_all_samples(struct row_maker *m)
{
	struct function_counter c = {
		.sums_of = xcalloc(m->functions.n + 1, sizeof(*c.sums_of)),
		.counted = xcalloc(m->functions.n + 1, sizeof(*c.counted)),
	};

	for (size_t i = 0; i < m->facts.n; i++) {
		const struct row_fact *f = &m->facts.data[i];

		if (i && (f[-1].service != f->service || f[-1].lane != f->lane))
			rows_end_functions(m, &c, f - 1);
		rows_put_samples(m, m->services.data[f->service], rows_fact_event(m, f), f->stack,
				 f->samples);
		rows_count_functions(m, &c, i);
	}
	if (m->facts.n)
		rows_end_functions(m, &c, &m->facts.data[m->facts.n - 1]);
	vec_fini(&c.sums);
	free(c.sums_of);
	free(c.counted);
}

static void row_maker_fini(struct row_maker *m)
{
	vec_fini(&m->functions);
	vec_fini(&m->services);
	vec_fini(&m->facts);
	vec_fini(&m->lanes);
	intmap_fini(&m->function_by_key);
	intmap_fini(&m->function_by_id);
	intmap_fini(&m->stacks_put);
	free(m->node_function);
	free(m->node_stack);
	free(m->service_of_group);
	free(m->builds);
	profile_free(m->p);
}

int block_rows_make(const struct fleet_block *block, const struct session *session,
		    struct symbolizer *symbols, const char *labels, uint32_t seen_s,
		    const struct known_rows *known, struct block_rows *out, struct error *err)
{
	const struct query everything = { .with_idle = true };
	struct profile_request request = { .session = session,
					   .symbols = symbols,
					   .query = &everything,
					   .with_functions = true,
					   .with_chains = true,
					   .with_places = true };
	struct row_maker m = { .block = block,
			       .known = known,
			       .out = out,
			       .time_s = (uint32_t)(block->bucket / NS_PER_SECOND),
			       .seen_s = seen_s,
			       .id = fleet_block_id(block) };
	int r;

	assert(*block->host);
	key_list_add(&request.keys, PROFILE_SERVICE);
	m.p = profile_load(&request);
	rows_find_builds(&m);
	rows_find_functions(&m);
	rows_find_services(&m);
	rows_find_facts(&m);
	rows_put_names(&m, labels);
	rows_put_receipts(&m);
	rows_put_all_samples(&m);
	rows_put_coverage(&(struct coverage_rows){ .block = block,
						   .profile = m.p,
						   .lanes = m.lanes.data,
						   .table = CLICKHOUSE_COVERAGE,
						   .n_rows = out->n[CLICKHOUSE_FACTS],
						   .seen_s = seen_s },
			  out);
	r = block_rows_check(out, m.p, err);
	row_maker_fini(&m);
	return r;
}
