/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "explain/facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/reserve.h"
#include "explain/gather.h"
#include "explain/rules.h"
#include "profile/query.h"
#include "store/cpu_times.h"
#include "store/session.h"

void explain_set_text(struct explain_facts *f, enum explain_rule_id id, enum explain_text which,
		      const char *text)
{
	f->fact[id].text[which] = strings_add(&f->texts, text ? text : "");
}

static const char *keep_text(struct explain_facts *f, const char *text)
{
	return strings_get(&f->texts, strings_add(&f->texts, text));
}

/* ---- functions ---- */

const char *gather_symbol(const struct gather *g, uint32_t function)
{
	char scratch[KEY_TEXT_SIZE];

	if (function == NO_INDEX || g->p->functions.data[function].symbol == NO_SYMBOL)
		return NULL;
	return profile_key_text(g->p, PROFILE_SYMBOL, function, scratch);
}

const char *gather_image(const struct gather *g, uint32_t function)
{
	return function == NO_INDEX ? NULL
				    : g->p->images.data[g->p->functions.data[function].image].name;
}

void gather_put_symbol(struct gather *g, enum explain_rule_id id, enum explain_text which,
		       uint32_t function)
{
	explain_set_text(g->out, id, which, gather_symbol(g, function));
}

void gather_put_top(struct gather *g, enum explain_rule_id id, uint32_t function, double weight)
{
	struct explain_fact *fact = &g->out->fact[id];

	gather_put_symbol(g, id, EXPLAIN_TEXT_symbol, function);
	explain_set_text(g->out, id, EXPLAIN_TEXT_image, gather_image(g, function));
	fact->of_symbol = fact->part > 0 ? weight / fact->part : 0;
}

uint32_t gather_largest(const double *numbers, size_t n)
{
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		if (numbers[i] > numbers[best])
			best = i;
	return n && numbers[best] > 0 ? (uint32_t)best : NO_INDEX;
}

static void classify_functions(struct gather *g)
{
	size_t n = g->p->functions.n;

	g->is_kernel = xcalloc(n + 1, sizeof(*g->is_kernel));
	g->is_c_library = xcalloc(n + 1, sizeof(*g->is_c_library));
	g->code = xcalloc(n + 1, sizeof(*g->code));
	g->wait = xcalloc(n + 1, sizeof(*g->wait));
	g->wait_words = xcalloc(n + 1, sizeof(*g->wait_words));
	for (uint32_t f = 0; f < n; f++) {
		const struct image *image = g->p->images.data[g->p->functions.data[f].image].image;
		const char *name = gather_symbol(g, f);

		g->has_language |= image->kind == IMAGE_LANGUAGE;
		g->is_kernel[f] = image_code_mode(image) == CODE_KERNEL;
		g->is_c_library[f] = image_is_c_library(image);
		if (!name)
			continue;
		g->code[f] = known_code_of(name, g->is_kernel[f]);
		if (!g->is_kernel[f])
			g->wait[f] = known_wait_of(name, &g->wait_words[f]);
	}
}

uint32_t gather_caller(const struct gather *g, uint32_t node)
{
	uint32_t caller = g->p->nodes.data[node].parent;
	uint32_t f = g->p->nodes.data[caller].function;

	if (!g->p->nodes.data[caller].depth ||
	    image_is_cut_mark(g->p->images.data[g->p->functions.data[f].image].image))
		return 0;
	return caller;
}

void gather_look(const struct gather *g, uint32_t node, struct gather_stack *out)
{
	*out = (struct gather_stack){ .leaf = g->p->nodes.data[node].function,
				      .user = NO_INDEX,
				      .own = NO_INDEX };
	for (int i = 0; i < N_KNOWN_CODES; i++)
		out->outer[i] = NO_INDEX;
	for (; g->p->nodes.data[node].depth; node = gather_caller(g, node)) {
		uint32_t f = g->p->nodes.data[node].function;
		uint32_t image = g->p->functions.data[f].image;

		out->outer[g->code[f]] = f;
		out->has_language |= g->p->images.data[image].image->kind == IMAGE_LANGUAGE;
		if (g->is_kernel[f])
			continue;
		if (out->user == NO_INDEX)
			out->user = f;
		if (out->own == NO_INDEX && !g->is_c_library[f] && g->code[f] == KNOWN_NONE)
			out->own = f;
	}
}

/* ---- the session ---- */

static bool is_wait_event(const char *name)
{
	return !strncmp(name, "off-cpu:", strlen("off-cpu:")) || !strcmp(name, KERNEL_LOCK_EVENT);
}

static bool is_cpu_event(const struct counter_info *c)
{
	return (!strcmp(c->unit, "ns") || !strncmp(c->name, "cycles", 6) ||
		!strncmp(c->name, "cpu-cycles", 10) || !strncmp(c->name, "CPU_CLK", 7));
}

static void find_lanes(struct gather *g)
{
	const struct session_info *info = &g->session->info;

	g->cpu_lane = g->fault_lane = NO_INDEX;
	for (uint32_t lane = 0; lane < g->p->n_lanes; lane++) {
		const struct counter_info *c = &info->counters[g->p->lanes[lane].counter];

		g->has_waits |= is_wait_event(c->name) && g->p->lanes[lane].total.samples;
		if (is_wait_event(c->name) || !g->p->lanes[lane].total.samples)
			continue;
		if (g->cpu_lane == NO_INDEX || (is_cpu_event(c) && !g->counts_cpu))
			g->cpu_lane = lane;
		g->counts_cpu |= is_cpu_event(c);
		if (g->fault_lane == NO_INDEX && !strncmp(c->name, "page-faults", 11))
			g->fault_lane = lane;
	}
}

static void describe_cpu(struct gather *g)
{
	const struct counter_info *c;

	if (g->cpu_lane == NO_INDEX)
		return;
	c = &g->session->info.counters[g->p->lanes[g->cpu_lane].counter];
	g->out->cpu_unit = strcmp(c->unit, "ns") ? EXPLAIN_EVENTS : EXPLAIN_NS;
	g->out->cpu = g->out->cpu_unit == EXPLAIN_NS ? "CPU time" : keep_text(g->out, c->name);
	g->out->cpu_sum = (double)g->p->lanes[g->cpu_lane].total.period;
	g->out->n_samples = g->p->lanes[g->cpu_lane].total.samples;
	for (uint32_t lane = 0; lane < g->p->n_lanes; lane++)
		g->out->n_of_all += g->p->lanes[lane].total.samples;
}

static void describe_time(struct gather *g)
{
	const struct session *s = g->session;
	uint64_t end = s->has_end ? s->end.end_ns : g->p->last_ns;

	if (end > s->info.start_ns)
		g->out->elapsed_s = (double)(end - s->info.start_ns) / (double)NS_PER_SECOND;
}

/* The samples that the kernel did not deliver or did not take, of any event. */
static void describe_losses(struct gather *g)
{
	uint64_t most = 0;

	for (int i = 0; i < N_LOSS_REASONS; i++) {
		uint64_t n = g->p->losses[i];

		if (loss_texts[i].kind != LOSS_LOST && i != LOSS_THROTTLED_SAMPLES &&
		    i != LOSS_UNSAMPLED)
			continue;
		g->out->n_lost += n;
		if (n > most)
			g->out->loss = loss_texts[i].text;
		most = MAX(most, n);
	}
}

static void gather_cut_stacks(struct gather *g)
{
	struct explain_fact *fact = &g->out->fact[EXPLAIN_CUT_STACKS];
	uint64_t most = 0;

	fact->unit = EXPLAIN_SAMPLES;
	fact->whole = (double)g->p->n_stored;
	for (int i = 0; i < N_LOSS_REASONS; i++) {
		uint64_t n = g->p->losses[i];

		if (strncmp(loss_texts[i].key, "stack-", 6) != 0 && i != LOSS_CHAIN_CUT)
			continue;
		fact->part += (double)n;
		if (n > most)
			explain_set_text(g->out, EXPLAIN_CUT_STACKS, EXPLAIN_TEXT_text,
					 loss_texts[i].text);
		most = MAX(most, n);
	}
	fact->part = MIN(fact->part, fact->whole); /* a chain may be cut at two places */
}

static void gather_machine(struct gather *g)
{
	struct explain_fact *steal = &g->out->fact[EXPLAIN_STEAL];
	struct explain_fact *idle = &g->out->fact[EXPLAIN_IDLE];
	struct cpu_times times;
	const char *why;

	cpu_times_init(&times);
	if (cpu_times_of_session(&times, g->session, &why) && times.is_machine) {
		steal->is_measured = idle->is_measured = true;
		if (times.steal_ns != CPU_TIME_UNKNOWN) {
			steal->part = (double)times.steal_ns;
			steal->whole = (double)times.capacity_ns;
		}
		if (times.idle_ns != CPU_TIME_UNKNOWN) {
			idle->part = (double)times.idle_ns;
			idle->whole = (double)times.capacity_ns;
		}
	}
	cpu_times_fini(&times);
}

/* ---- wall time ---- */

static bool is_whole_machine(const struct session *s)
{
	return strstr(s->info.target, "machine") != NULL;
}

struct wall_sums {
	double all, unknown, alone;
	double *alone_in; /* by function */
};

static void add_wall_times(const struct profile *p, uint32_t counter, struct wall_sums *sums)
{
	for (size_t i = 0; i < p->entries.n; i++) {
		const struct profile_entry *e = &p->entries.data[i];
		uint32_t n = profile_class_value(p, PROFILE_PARALLELISM, e->group);

		for (uint32_t lane = 0; lane < p->n_lanes; lane++) {
			double ns = (double)profile_weights(p, i)[lane].period;

			if (p->lanes[lane].counter != counter || !e->node)
				continue;
			sums->all += ns;
			sums->unknown += n ? 0 : ns;
			sums->alone += n == 1 ? ns : 0;
			if (n == 1)
				sums->alone_in[p->nodes.data[e->node].function] += ns;
		}
	}
}

/* A thread's samples are a period apart, so moments of a switch may look like two threads. */
#define ALWAYS_ALONE  0.95
#define EVER_TOGETHER 0.10

static void take_wall_times(struct gather *g, const struct wall_sums *sums)
{
	struct explain_fact *serial = &g->out->fact[EXPLAIN_SERIAL];
	struct explain_fact *one = &g->out->fact[EXPLAIN_ONE_THREAD];
	uint32_t n_cpus = g->session->info.n_cpus;
	double share = sums->all > 0 ? sums->alone / sums->all : 0;

	if (sums->unknown > 0.1 * sums->all || n_cpus < 2 || is_whole_machine(g->session))
		return;
	serial->n = one->n = n_cpus;
	if (share <= 1 - EVER_TOGETHER) {
		uint32_t f = gather_largest(sums->alone_in, g->p->functions.n);

		*serial = (struct explain_fact){ .part = sums->alone,
						 .whole = sums->all,
						 .unit = g->out->cpu_unit,
						 .n = n_cpus };
		gather_put_top(g, EXPLAIN_SERIAL, f, f == NO_INDEX ? 0 : sums->alone_in[f]);
	} else if (share >= ALWAYS_ALONE && g->out->cpu_unit == EXPLAIN_NS) {
		one->part = MIN(g->out->cpu_sum, g->out->elapsed_s * 1e9);
		one->whole = g->out->elapsed_s * 1e9;
	}
}

static void gather_wall(struct gather *g)
{
	const struct query all = { 0 };
	const struct profile_request request = {
		.session = g->session,
		.symbols = g->symbols,
		.query = &all,
		.keys = { .key = { PROFILE_PARALLELISM }, .n = 1 },
		.with_functions = true,
		.wall_weight = true,
	};
	struct profile *kept = g->p;
	struct wall_sums sums = { 0 };

	if (g->cpu_lane == NO_INDEX)
		return;
	g->p = profile_load(&request); /* the names of its functions are needed */
	sums.alone_in = xcalloc(g->p->functions.n + 1, sizeof(*sums.alone_in));
	add_wall_times(g->p, kept->lanes[g->cpu_lane].counter, &sums);
	if (!g->p->lacks_times)
		take_wall_times(g, &sums);
	free(sums.alone_in);
	profile_free(g->p);
	g->p = kept;
}

/* A program that waits, in a session without waits. */
static void gather_idle_program(struct gather *g)
{
	struct explain_fact *fact = &g->out->fact[EXPLAIN_NOT_RUNNING];
	double elapsed = g->out->elapsed_s * 1e9;
	struct buf text = { 0 };

	if (g->has_waits || g->out->cpu_unit != EXPLAIN_NS || g->cpu_lane == NO_INDEX ||
	    is_whole_machine(g->session))
		return;
	fact->is_measured = true;
	fact->whole = elapsed;
	fact->part = MAX(elapsed - g->out->cpu_sum, 0);
	explain_put_amount(&text, g->out->cpu_sum, EXPLAIN_NS);
	explain_set_text(g->out, EXPLAIN_NOT_RUNNING, EXPLAIN_TEXT_text, buf_cstr(&text));
	buf_fini(&text);
}

/* ---- what is missing ---- */

static void add_missing(struct gather *g, const char *what, const char *why, const char *options)
{
	vec_push(&g->out->missing, (struct explain_missing){ what, why, options });
}

static void find_missing(struct gather *g, const char *no_waits)
{
	const struct session_info *info = &g->session->info;

	if (!g->counts_cpu)
		add_missing(g, "CPU time", "the session counts other events", "");
	else if (!info->counters[g->p->lanes[g->cpu_lane].counter].in_kernel)
		add_missing(g, "the kernel's time", "the session has code of programs only", "");
	if (!g->has_waits)
		add_missing(g, "waits of threads",
			    no_waits ? keep_text(g->out, no_waits) : "the session has none",
			    " --off-cpu");
	if (!g->p->has_chains)
		add_missing(g, "callers", "the session has no call chains", "");
}

/* ---- the whole ---- */

static void gather_fini(struct gather *g)
{
	free(g->is_kernel);
	free(g->is_c_library);
	free(g->code);
	free(g->wait);
	free(g->wait_words);
	profile_free(g->p);
}

static void gather_quota(struct gather *g, const struct explain_outside *outside)
{
	struct explain_fact *fact = &g->out->fact[EXPLAIN_QUOTA];

	if (!outside->throttled_by)
		return;
	fact->is_measured = true;
	fact->whole = g->out->elapsed_s * 1e9 * g->session->info.n_cpus;
	fact->part = MIN((double)outside->throttled_ns, fact->whole);
	explain_set_text(g->out, EXPLAIN_QUOTA, EXPLAIN_TEXT_text, outside->throttled_by);
}

static void gather_all(struct gather *g, const struct explain_outside *outside)
{
	find_lanes(g);
	classify_functions(g);
	describe_cpu(g);
	describe_time(g);
	describe_losses(g);
	g->out->has_samples = g->p->n_selected > 0;
	gather_cut_stacks(g);
	gather_machine(g);
	gather_quota(g, outside);
	if (g->cpu_lane != NO_INDEX) {
		gather_cpu(g);
		gather_code(g);
	}
	gather_waits(g);
	gather_wall(g);
	gather_idle_program(g);
	find_missing(g, outside->no_waits);
}

int explain_gather(const struct session *session, struct symbolizer *symbols,
		   const struct explain_outside *outside, struct explain_facts *out,
		   struct error *err)
{
	const struct query all = { 0 };
	const struct profile_request request = {
		.session = session,
		.symbols = symbols,
		.query = &all,
		.keys = { .key = { PROFILE_COMM, PROFILE_PROCESS, PROFILE_CONTEXT, PROFILE_WAKER,
				   PROFILE_WAKER_SYMBOL, PROFILE_REASON, PROFILE_OWNER,
				   PROFILE_DEVICE },
			  .n = 8 },
		.with_functions = true,
		.with_chains = true,
	};
	struct gather g = { .session = session, .symbols = symbols, .out = out };
	uint64_t failures = reserve_failures();

	*out = (struct explain_facts){ 0 };
	strings_init(&out->texts);
	g.p = profile_load(&request);
	gather_all(&g, outside);
	gather_fini(&g);
	return reserve_failures() == failures ? 0 : error_set(err, -ENOMEM, "not enough memory");
}

void explain_facts_fini(struct explain_facts *f)
{
	vec_fini(&f->missing);
	strings_fini(&f->texts);
}
