/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/branch_filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/glob.h"
#include "pt/branch.h"

enum { MAX_TERMS = 64 };

static const struct {
	const char *name;
	enum branch_end end;
	enum branch_fact fact;
} tags[N_BRANCH_TAGS] = {
#define X(id, tag, end, fact, value, help) { tag, OF_##end, FACT_##fact },
	BRANCH_TAGS(X)
#undef X
};

#define KIND                                                                               \
	(PT_F_CALL | PT_F_RETURN | PT_F_COND | PT_F_SYSTEM | PT_F_ASYNC | PT_F_INTERRUPT | \
	 PT_F_TX_ABORT | PT_F_VM_ENTRY | PT_F_VM_EXIT)

/*
 * The words of script's flags, with '-' for a blank. `all` are set, and the others of `of` are not.
 * With `of` 0, the word is a set of kinds: "async" has what script prints as "async" and "hw int".
 */
static const struct {
	const char *word;
	uint32_t all, of;
} words[] = {
	{ "call", PT_F_CALL, KIND },
	{ "return", PT_F_RETURN, KIND },
	{ "jcc", PT_F_COND, KIND },
	{ "jmp", PT_F_BRANCH, KIND | PT_F_BEGIN | PT_F_END },
	{ "syscall", PT_F_CALL | PT_F_SYSTEM, KIND },
	{ "sysret", PT_F_RETURN | PT_F_SYSTEM, KIND },
	{ "int", PT_F_CALL | PT_F_INTERRUPT, KIND },
	{ "iret", PT_F_RETURN | PT_F_INTERRUPT, KIND },
	{ "async", PT_F_ASYNC, 0 },
	{ "hw-int", PT_F_CALL | PT_F_ASYNC | PT_F_INTERRUPT, KIND },
	{ "tx-abrt", PT_F_TX_ABORT, 0 },
	{ "tr-strt", PT_F_BEGIN, 0 },
	{ "tr-end", PT_F_END, 0 },
	{ "in-tx", PT_F_IN_TX, 0 },
	{ "vmentry", PT_F_VM_ENTRY, 0 },
	{ "vmexit", PT_F_VM_EXIT, 0 },
};

void branch_filter_fini(struct branch_filter *f)
{
	vec_foreach (&f->terms, term) {
		vec_foreach (&term->values, value)
			free(value->glob);
		vec_fini(&term->values);
	}
	vec_fini(&f->terms);
}

/* ---- the text ---- */

static int parse_flags(const char *text, struct branch_value *out, struct error *err)
{
	struct buf all = { 0 };
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (!strcmp(text, words[i].word)) {
			out->all = words[i].all;
			out->none = words[i].of & ~words[i].all;
			buf_fini(&all);
			return 0;
		}
		buf_printf(&all, "%s%s", i ? ", " : "", words[i].word);
	}
	buf_u8(&all, 0);
	r = error_set(err, -EINVAL, "'%s' is no kind of branch; there are %s", text,
		      (const char *)all.data);
	buf_fini(&all);
	return r;
}

static bool take_number(const char **at, int base, uint64_t *out)
{
	char *end;

	/* No sign and no blank, which strtoull(3) would take. */
	if (!isxdigit((unsigned char)**at))
		return false;
	errno = 0;
	*out = strtoull(*at, &end, base);
	if (errno || end == *at)
		return false;
	*at = end;
	return true;
}

/* FIRST, FIRST-LAST or FIRST+SIZE. */
static int parse_range(const char *text, int base, struct branch_value *out, struct error *err)
{
	const char *at = text;
	bool ok = take_number(&at, base, &out->first);

	out->last = out->first;
	if (ok && *at == '-') {
		at++;
		ok = take_number(&at, base, &out->last);
	} else if (ok && *at == '+') {
		at++;
		ok = take_number(&at, base, &out->last) && out->last &&
		     out->first + (out->last - 1) >= out->first;
		out->last += out->first - 1;
	}
	if (!ok || *at || out->last < out->first)
		return error_set(err, -EINVAL, "'%s' is no %s", text,
				 base == 16 ? "hexadecimal address, FIRST-LAST or FIRST+SIZE"
					    : "number or FIRST-LAST");
	return 0;
}

/* One value up to a comma or a blank that no backslash stands before. */
static char *take_value(const char **at)
{
	struct buf text = { 0 };
	const char *p = *at;

	for (; *p && *p != ',' && *p != ' '; p++) {
		p += p[0] == '\\' && (p[1] == ',' || p[1] == ' ');
		buf_u8(&text, (uint8_t)*p);
	}
	buf_u8(&text, 0);
	*at = p;
	return (char *)text.data;
}

static int parse_value(struct branch_term *term, char *text, struct error *err)
{
	struct branch_value *value = vec_add(&term->values);

	value->glob = text;
	if (!*text)
		return error_set(err, -EINVAL, "%s: has an empty value", tags[term->tag].name);
	switch (tags[term->tag].fact) {
	case FACT_FLAGS:
		return parse_flags(text, value, err);
	case FACT_ADDRESS:
		return parse_range(text, 16, value, err);
	case FACT_NUMBER:
		return parse_range(text, 10, value, err);
	case FACT_SYMBOL:
	case FACT_IMAGE:
	case FACT_COMM:
		break;
	}
	return 0;
}

/* The tag in front of the first colon. */
static int parse_tag(const char *text, size_t len, struct branch_term *out, struct error *err)
{
	static const char suffix[] = "-exclude";
	size_t n = len;
	struct buf all = { 0 };
	int r;

	out->is_not =
		n > strlen(suffix) && !strncmp(text + n - strlen(suffix), suffix, strlen(suffix));
	n -= out->is_not ? strlen(suffix) : 0;
	for (size_t i = 0; i < N_BRANCH_TAGS; i++) {
		if (strlen(tags[i].name) == n && !strncmp(text, tags[i].name, n)) {
			out->tag = (enum branch_tag)i;
			buf_fini(&all);
			return 0;
		}
		buf_printf(&all, "%s%s", i ? ", " : "", tags[i].name);
	}
	buf_u8(&all, 0);
	r = error_set(err, -EINVAL, "'%.*s' is no tag; there are %s, each also with -exclude",
		      (int)len, text, (const char *)all.data);
	buf_fini(&all);
	return r;
}

static int parse_term(struct branch_filter *f, const char **at, struct error *err)
{
	size_t len = strcspn(*at, ": ");
	struct branch_term *term;
	int r;

	if ((*at)[len] != ':')
		return error_set(err, -EINVAL, "'%.*s' has no tag: write TAG:VALUE", (int)len, *at);
	if (f->terms.n == MAX_TERMS)
		return error_set(err, -EINVAL, "there are more than %d tags", MAX_TERMS);
	term = vec_add(&f->terms);
	r = parse_tag(*at, len, term, err);
	*at += len;
	while (!r && (**at == ':' || **at == ',')) {
		++*at;
		r = parse_value(term, take_value(at), err);
	}
	f->needs_places |=
		tags[term->tag].fact == FACT_SYMBOL || tags[term->tag].fact == FACT_IMAGE;
	return r;
}

int branch_filter_parse(const char *text, struct branch_filter *out, struct error *err)
{
	struct branch_filter f = { 0 };
	const char *at = text + strspn(text, " ");
	int r = *at ? 0 : error_set(err, -EINVAL, "there is no TAG:VALUE");

	for (; *at && !r; at += strspn(at, " "))
		r = parse_term(&f, &at, err);
	if (r < 0)
		branch_filter_fini(&f);
	else
		*out = f;
	return r;
}

/* ---- a branch ---- */

static bool is_name(const char *glob, const char *name)
{
	return name && glob_names(glob, name);
}

static bool value_has_place(const struct branch_value *v, enum branch_fact fact,
			    const struct branch_place *p)
{
	switch (fact) {
	case FACT_SYMBOL:
		return is_name(v->glob, p->names[0]) || is_name(v->glob, p->names[1]) ||
		       is_name(v->glob, p->names[2]);
	case FACT_IMAGE:
		return p->image && glob_names_file(v->glob, p->image);
	case FACT_ADDRESS:
		return p->addr >= v->first && p->addr <= v->last;
	case FACT_FLAGS:
	case FACT_COMM:
	case FACT_NUMBER:
		break;
	}
	return false;
}

uint64_t branch_filter_match(const struct branch_filter *f, const struct branch_place *place)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < f->terms.n; i++)
		vec_foreach (&f->terms.data[i].values, value)
			if (value_has_place(value, tags[f->terms.data[i].tag].fact, place))
				bits |= 1ULL << i;
	return bits;
}

static bool value_has(const struct branch_value *v, enum branch_tag tag,
		      const struct branch_facts *facts)
{
	uint64_t number = tag == BRANCH_TAG_CPU   ? facts->cpu
			  : tag == BRANCH_TAG_PID ? (uint64_t)facts->pid
						  : (uint64_t)facts->tid;

	if (tag == BRANCH_TAG_FLAGS)
		return (facts->flags & v->all) == v->all && !(facts->flags & v->none);
	if (tag == BRANCH_TAG_COMM)
		return is_name(v->glob, facts->comm);
	return number >= v->first && number <= v->last;
}

static bool term_takes(const struct branch_term *term, size_t bit, const struct branch_facts *facts)
{
	bool is_from = facts->from >> bit & 1, is_to = facts->to >> bit & 1, takes = false;

	switch (tags[term->tag].end) {
	case OF_FROM:
		return is_from;
	case OF_TO:
		return is_to;
	case OF_EITHER:
		return is_from || is_to;
	case OF_NONE:
		break;
	}
	vec_foreach (&term->values, value)
		takes |= value_has(value, term->tag, facts);
	return takes;
}

bool branch_filter_takes(const struct branch_filter *f, const struct branch_facts *facts)
{
	for (size_t i = 0; i < f->terms.n; i++)
		if (term_takes(&f->terms.data[i], i, facts) == f->terms.data[i].is_not)
			return false;
	return true;
}
