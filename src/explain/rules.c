/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "explain/rules.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

const struct explain_rule explain_rules[N_EXPLAIN_RULES] = {
#define RULE(id, key, share, rank, sentence, evidence, next) \
	[EXPLAIN_##id] = { key, share, rank, sentence, evidence, next },
#include "explain/rules.def"
#undef RULE
};

/* ---- importance ---- */

double explain_share(const struct explain_fact *fact)
{
	return fact->whole > 0 ? fact->part / fact->whole : 0;
}

double explain_lost_share(const struct explain_facts *f)
{
	uint64_t all = MAX(f->n_samples, f->n_of_all) + f->n_lost;

	return all ? (double)f->n_lost / (double)all : 0;
}

static bool is_finding(const struct explain_facts *f, enum explain_rule_id id)
{
	const struct explain_fact *fact = &f->fact[id];
	double share = explain_share(fact);

	return share > 0 && share >= explain_rules[id].least &&
	       (fact->is_measured || share * (double)f->n_samples >= EXPLAIN_MIN_SAMPLES);
}

static double importance(const struct explain_facts *f, enum explain_rule_id id)
{
	return explain_share(&f->fact[id]) * explain_rules[id].rank;
}

/* Of equal findings, the one that comes first in the table comes first. */
size_t explain_choose(const struct explain_facts *f, enum explain_rule_id out[EXPLAIN_MAX_FINDINGS])
{
	size_t n = 0;

	for (int id = 0; id < N_EXPLAIN_RULES; id++) {
		size_t at = n;

		if (!is_finding(f, (enum explain_rule_id)id))
			continue;
		while (at > 0 &&
		       importance(f, out[at - 1]) < importance(f, (enum explain_rule_id)id))
			at--;
		if (at == EXPLAIN_MAX_FINDINGS)
			continue;
		n = MIN(n + 1, (size_t)EXPLAIN_MAX_FINDINGS);
		memmove(&out[at + 1], &out[at], (n - 1 - at) * sizeof(*out));
		out[at] = (enum explain_rule_id)id;
	}
	return n;
}

/* ---- values in words ---- */

void explain_put_share(struct buf *out, double share)
{
	buf_printf(out, share < 0.0995 ? "%.1f %%" : "%.0f %%", share * 100);
}

static void put_scaled(struct buf *out, double n)
{
	static const char *const suffixes[] = { "", " k", " M", " G", " T" };
	size_t i = 0;

	for (; n >= 10000 && i + 1 < ARRAY_SIZE(suffixes); i++)
		n /= 1000;
	buf_printf(out, n < 10 && i ? "%.2f%s" : "%.0f%s", n, suffixes[i]);
}

void explain_put_amount(struct buf *out, double amount, enum explain_unit unit)
{
	double s = amount / 1e9;

	if (unit != EXPLAIN_NS)
		put_scaled(out, amount);
	else if (s < 0.1)
		buf_printf(out, "%.1f ms", s * 1e3);
	else
		buf_printf(out, s < 100 ? "%.2f s" : "%.0f s", s);
	if (unit == EXPLAIN_SAMPLES)
		buf_str(out, " samples");
}

/* ---- names in commands ---- */

/* The length of a character that stays as it is in single quotes and in a filter; 0: none does. */
static size_t plain_length(const char *at)
{
	size_t n = utf8_len(at);
	uint32_t code_point;

	if ((unsigned char)*at < ' ' || *at == 0x7f || *at == '\'' || *at == '\\' || !n ||
	    utf8_control(at, &code_point))
		return 0;
	return n;
}

static bool is_plain_name(const char *name)
{
	for (size_t n; *name; name += n)
		if (!(n = plain_length(name)))
			return false;
	return true;
}

/* A plain name is equal to itself, also with brackets and stars in it. */
void explain_put_glob(struct buf *out, const char *name)
{
	bool is_plain = is_plain_name(name), after_star = false;

	if (*name == '-') { /* no option */
		buf_u8(out, '?');
		is_plain = false;
		name++;
	}
	while (*name) {
		size_t n = plain_length(name);

		if (!n && !after_star)
			buf_u8(out, '*');
		else if (n && !is_plain && strchr("*?[", *name))
			buf_u8(out, '?');
		else if (n)
			buf_printf(out, "%s%.*s", *name == ',' ? "\\" : "", (int)n, name);
		after_star = !n;
		name += n ? n : 1;
	}
}

/* ---- texts with members ---- */

struct writer {
	const struct explain_facts *facts;
	const struct explain_fact *fact;
	const struct explain_commands *commands; /* NULL: the text is no command */
};

static const char *const look_commands[] = {
	[LOOK_STACKS] = "report{-i} --inverted[ 'symbol:{symbol}']",
	[LOOK_ASSEMBLY] = "annotate -a{-i} '{symbol}'",
	[LOOK_SOURCE] = "annotate{-i} '{symbol}'",
	[LOOK_VIA] = "report{-i} --tree[ 'via:{text}']",
	[LOOK_FAULTS] = "report{-i} --tree 'event:page-faults*'",
};

static void write_text(const struct writer *w, const char *text, struct buf *out);

static void write_share(const struct writer *w, struct buf *out)
{
	explain_put_share(out, explain_share(w->fact));
}

static void write_second(const struct writer *w, struct buf *out)
{
	explain_put_share(out, w->fact->of_symbol);
}

static void write_part(const struct writer *w, struct buf *out)
{
	explain_put_amount(out, w->fact->part, w->fact->unit);
}

static void write_whole(const struct writer *w, struct buf *out)
{
	explain_put_amount(out, w->fact->whole, w->fact->unit);
}

static void write_number(const struct writer *w, struct buf *out)
{
	if (w->fact->n)
		buf_printf(out, "%" PRIu64, w->fact->n);
}

static void write_cpu(const struct writer *w, struct buf *out)
{
	buf_str(out, w->facts->cpu ? w->facts->cpu : "");
}

static void write_look(const struct writer *w, struct buf *out)
{
	write_text(w, look_commands[w->fact->look], out);
}

static void write_input(const struct writer *w, struct buf *out)
{
	buf_str(out, w->commands->input);
}

static void write_record(const struct writer *w, struct buf *out)
{
	buf_str(out, w->commands->record);
}

static void write_target(const struct writer *w, struct buf *out)
{
	buf_str(out, w->commands->target);
}

static const struct {
	const char *name;
	void (*write)(const struct writer *w, struct buf *out);
} members[] = {
	{ "share", write_share },   { "second", write_second }, { "part", write_part },
	{ "whole", write_whole },   { "n", write_number },      { "cpu", write_cpu },
	{ "look", write_look },     { "-i", write_input },      { "record", write_record },
	{ "target", write_target },
};

static const char *const text_members[N_EXPLAIN_TEXTS] = {
#define X(member, placeholder) [EXPLAIN_TEXT_##member] = placeholder,
	EXPLAIN_TEXTS(X)
#undef X
};

static void write_name(const struct writer *w, enum explain_text which, struct buf *out)
{
	const char *text = explain_text(w->facts, w->fact, which);

	if (w->commands)
		explain_put_glob(out, text);
	else
		buf_str(out, text);
}

static void write_member(const struct writer *w, const char *name, size_t len, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (strlen(members[i].name) == len && !strncmp(members[i].name, name, len)) {
			members[i].write(w, out);
			return;
		}
	for (int i = 0; i < N_EXPLAIN_TEXTS; i++)
		if (strlen(text_members[i]) == len && !strncmp(text_members[i], name, len)) {
			write_name(w, (enum explain_text)i, out);
			return;
		}
	assert(!"a rule has an unknown member");
}

/* Whether all members of a text up to its end are there, except those that may be empty. */
static bool write_piece(const struct writer *w, const char *text, const char *end, struct buf *out)
{
	bool is_whole = true;

	while (text < end) {
		size_t before = out->len, n = strcspn(text + 1, "}");

		if (*text != '{') {
			buf_u8(out, (uint8_t)*text++);
			continue;
		}
		write_member(w, text + 1, n, out);
		is_whole &= out->len > before;
		text += n + 2;
	}
	return is_whole;
}

/* Names are never read as texts. A piece in brackets that follows nothing loses its "; ". */
static void write_text(const struct writer *w, const char *text, struct buf *out)
{
	size_t start = out->len;

	while (*text) {
		size_t n = *text == '[' ? strcspn(text, "]") : strcspn(text, "[");
		size_t before = out->len;

		if (*text != '[') {
			write_piece(w, text, text + n, out);
			text += n;
			continue;
		}
		if (!write_piece(w, text + 1 + (before == start ? strspn(text + 1, ",; ") : 0),
				 text + n, out))
			out->len = before;
		text += n + 1;
	}
}

void explain_put_sentence(const struct explain_facts *f, enum explain_rule_id id, struct buf *out)
{
	write_text(&(struct writer){ f, &f->fact[id], NULL }, explain_rules[id].sentence, out);
}

void explain_put_evidence(const struct explain_facts *f, enum explain_rule_id id, struct buf *out)
{
	write_text(&(struct writer){ f, &f->fact[id], NULL }, explain_rules[id].evidence, out);
}

void explain_put_next(const struct explain_facts *f, enum explain_rule_id id,
		      const struct explain_commands *commands, struct buf *out)
{
	const char *next = explain_rules[id].next;

	if (strncmp(next, "{record}", strlen("{record}")) != 0)
		buf_str(out, "assay ");
	write_text(&(struct writer){ f, &f->fact[id], commands }, next, out);
}
