/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "explain/explain_print.h"

#include <inttypes.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "report/header.h"
#include "store/session.h"

/* ---- text ---- */

/* Ends a line: control characters of names in it are visible. */
static void explain_end_line(struct buf *line, FILE *out)
{
	struct buf visible = { 0 };

	utf8_append_visible(&visible, buf_cstr(line));
	fprintf(out, "%s\n", buf_cstr(&visible));
	buf_fini(&visible);
	line->len = 0;
}

static void explain_put_target(struct buf *line, const struct session *s)
{
	const struct session_info *info = &s->info;

	buf_str(line, *info->command ? info->command : *info->target ? info->target : s->path);
	if (!s->has_end || s->end.exit_status == -1)
		return;
	if (WIFSIGNALED(s->end.exit_status))
		buf_printf(line, " (killed by signal %d)", WTERMSIG(s->end.exit_status));
	else if (WEXITSTATUS(s->end.exit_status))
		buf_printf(line, " (exit status %d)", WEXITSTATUS(s->end.exit_status));
}

/* "./app: 5.02 s on 2 CPUs; CPU time 4.21 s, in 4198 samples" */
static void print_summary(const struct explain_page *page, FILE *out)
{
	const struct explain_facts *f = page->facts;
	struct buf line = { 0 };

	explain_put_target(&line, page->session);
	buf_str(&line, ": ");
	explain_put_amount(&line, f->elapsed_s * 1e9, EXPLAIN_NS);
	if (page->session->info.n_cpus)
		buf_printf(&line, " on %" PRIu32 " CPU%s", page->session->info.n_cpus,
			   page->session->info.n_cpus == 1 ? "" : "s");
	if (f->cpu) {
		buf_printf(&line, "; %s ", f->cpu);
		explain_put_amount(&line, f->cpu_sum, f->cpu_unit);
		buf_printf(&line, ", in %" PRIu64 " samples", f->n_samples);
	}
	explain_end_line(&line, out);
	buf_fini(&line);
}

static void print_losses(const struct explain_facts *f, FILE *out)
{
	struct buf line = { 0 };

	if (explain_lost_share(f) < EXPLAIN_MAX_LOST)
		return;
	buf_str(&line, "The data is incomplete: ");
	explain_put_share(&line, explain_lost_share(f));
	buf_printf(&line, " of the samples are missing (%" PRIu64 " of %" PRIu64 ")", f->n_lost,
		   f->n_lost + f->n_samples);
	if (f->loss)
		buf_printf(&line, ". Most of them: %s", f->loss);
	fputc('\n', out);
	explain_end_line(&line, out);
	buf_fini(&line);
}

static void print_finding(const struct explain_page *page, size_t number, enum explain_rule_id id,
			  FILE *out)
{
	struct buf line = { 0 };

	buf_printf(&line, "%zu. ", number);
	explain_put_sentence(page->facts, id, &line);
	buf_u8(&line, '.');
	fputc('\n', out);
	explain_end_line(&line, out);
	explain_put_evidence(page->facts, id, &line);
	if (line.len) {
		fputs("   Evidence: ", out);
		explain_end_line(&line, out);
	}
	explain_put_next(page->facts, id, page->commands, &line);
	fputs("   Next: ", out);
	explain_end_line(&line, out);
	buf_fini(&line);
}

static void put_recording(const struct explain_page *page, const struct explain_missing *m,
			  struct buf *out)
{
	buf_printf(out, "%s%s%s", page->commands->record, m->options, page->commands->target);
}

static void print_missing(const struct explain_page *page, FILE *out)
{
	struct buf line = { 0 };

	vec_foreach (&page->facts->missing, m) {
		if (m == page->facts->missing.data)
			fputc('\n', out);
		buf_printf(&line, "Not looked at: %s, because %s.", m->what, m->why);
		explain_end_line(&line, out);
		put_recording(page, m, &line);
		fputs("   Next: ", out);
		explain_end_line(&line, out);
	}
	buf_fini(&line);
}

void explain_print_text(const struct explain_page *page, FILE *out)
{
	enum explain_rule_id ids[EXPLAIN_MAX_FINDINGS];
	size_t n = explain_choose(page->facts, ids);

	print_summary(page, out);
	print_losses(page->facts, out);
	for (size_t i = 0; i < n; i++)
		print_finding(page, i + 1, ids[i], out);
	if (!n)
		fprintf(out,
			"\nNothing stands out: no rule found a share above its limit.\n"
			"   Next: assay report%s -l\n",
			page->commands->input);
	print_missing(page, out);
}

/* ---- JSON ---- */

static void set_built(json_t *o, const char *key, struct buf *text)
{
	json_object_set_new(o, key, json_text(buf_cstr(text)));
	text->len = 0;
}

static const char *unit_key(enum explain_unit unit)
{
	static const char *const keys[] = {
		[EXPLAIN_NS] = "ns", [EXPLAIN_EVENTS] = "events", [EXPLAIN_SAMPLES] = "samples"
	};

	return keys[unit];
}

static json_t *finding_object(const struct explain_page *page, enum explain_rule_id id)
{
	static const char *const names[N_EXPLAIN_TEXTS] = {
#define X(member, placeholder) [EXPLAIN_TEXT_##member] = #member,
		EXPLAIN_TEXTS(X)
#undef X
	};
	const struct explain_fact *fact = &page->facts->fact[id];
	json_t *o = json_object();
	struct buf text = { 0 };

	json_object_set_new(o, "rule", json_text(explain_rules[id].key));
	json_object_set_new(o, "share", json_real(explain_share(fact)));
	json_object_set_new(o, "part", json_real(fact->part));
	json_object_set_new(o, "whole", json_real(fact->whole));
	json_object_set_new(o, "unit", json_text(unit_key(fact->unit)));
	explain_put_sentence(page->facts, id, &text);
	set_built(o, "sentence", &text);
	explain_put_evidence(page->facts, id, &text);
	set_built(o, "evidence", &text);
	explain_put_next(page->facts, id, page->commands, &text);
	set_built(o, "next", &text);
	for (int i = 0; i < N_EXPLAIN_TEXTS; i++)
		if (*explain_text(page->facts, fact, (enum explain_text)i))
			json_object_set_new(o, names[i],
					    json_text(explain_text(page->facts, fact,
								   (enum explain_text)i)));
	buf_fini(&text);
	return o;
}

static json_t *missing_list(const struct explain_page *page)
{
	json_t *list = json_array();
	struct buf text = { 0 };

	vec_foreach (&page->facts->missing, m) {
		json_t *o = json_object();

		json_object_set_new(o, "facts", json_text(m->what));
		json_object_set_new(o, "reason", json_text(m->why));
		put_recording(page, m, &text);
		set_built(o, "next", &text);
		json_array_append_new(list, o);
	}
	buf_fini(&text);
	return list;
}

static json_t *losses_object(const struct explain_facts *f)
{
	json_t *o = json_object();

	json_object_set_new(o, "samples", json_number(f->n_samples));
	json_object_set_new(o, "missing", json_number(f->n_lost));
	json_object_set_new(o, "is_incomplete",
			    json_boolean(explain_lost_share(f) >= EXPLAIN_MAX_LOST));
	json_object_set_new(o, "reason", f->loss ? json_text(f->loss) : json_null());
	return o;
}

void explain_print_json(const struct explain_page *page, FILE *out)
{
	const struct explain_facts *f = page->facts;
	enum explain_rule_id ids[EXPLAIN_MAX_FINDINGS];
	size_t n = explain_choose(f, ids);
	json_t *o = json_object(), *findings = json_array();

	json_object_set_new(o, "schema", json_integer(1));
	json_object_set_new(o, "session", json_text(page->session->path));
	json_object_set_new(o, "command", json_text(page->session->info.command));
	json_object_set_new(o, "seconds", json_real(f->elapsed_s));
	json_object_set_new(o, "cpus", json_integer(page->session->info.n_cpus));
	json_object_set_new(o, "cpu", f->cpu ? json_text(f->cpu) : json_null());
	json_object_set_new(o, "cpu_sum", json_real(f->cpu_sum));
	json_object_set_new(o, "unit", json_text(unit_key(f->cpu_unit)));
	json_object_set_new(o, "losses", losses_object(f));
	for (size_t i = 0; i < n; i++)
		json_array_append_new(findings, finding_object(page, ids[i]));
	json_object_set_new(o, "findings", findings);
	json_object_set_new(o, "missing", missing_list(page));
	json_dumpf(o, out, JSON_INDENT(1));
	fputc('\n', out);
	json_decref(o);
}
