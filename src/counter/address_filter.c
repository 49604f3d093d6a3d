/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counter/address_filter.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "counter/pmu.h"

#define SPACE  " \t\n"
#define WORD   24 /* of a wrong text, for the message */
#define N_MOST 256

static const char *const address_action_words[N_ADDRESS_ACTIONS] = {
#define X(id, word, kernel, is_region) [ADDRESS_##id] = word,
	ADDRESS_ACTIONS(X)
#undef X
};

const bool address_action_is_region[N_ADDRESS_ACTIONS] = {
#define X(id, word, kernel, is_region) [ADDRESS_##id] = is_region,
	ADDRESS_ACTIONS(X)
#undef X
};

static const char *const kernel_words[N_ADDRESS_ACTIONS] = {
#define X(id, word, kernel, is_region) [ADDRESS_##id] = kernel,
	ADDRESS_ACTIONS(X)
#undef X
};

struct filter_parse {
	const char *text, *at;
	struct error *err;
};

static int address_filter_refuse(const struct filter_parse *p, const char *wanted)
{
	size_t n = strcspn(p->at, SPACE ",");

	if (!*p->at)
		return error_set(p->err, -EINVAL, "filter '%.200s': %s is missing at its end",
				 p->text, wanted);
	return error_set(p->err, -EINVAL, "filter '%.200s': %s was expected where '%.*s%s' is",
			 p->text, wanted, (int)MIN(MAX(n, 1), WORD), p->at, n > WORD ? "…" : "");
}

static void skip_space(struct filter_parse *p, const char *more)
{
	while (*p->at && (strchr(SPACE, *p->at) || strchr(more, *p->at)))
		p->at++;
}

static bool address_filter_is_word(const char *at, size_t len, const char *word)
{
	return strlen(word) == len && !strncmp(at, word, len);
}

static int find_action(const char *at, size_t len)
{
	for (int i = 0; i < N_ADDRESS_ACTIONS; i++)
		if (address_filter_is_word(at, len, address_action_words[i]))
			return i;
	return -1;
}

bool address_filter_is_one(const char *text)
{
	text += strspn(text, SPACE ",");
	return find_action(text, strcspn(text, SPACE)) >= 0;
}

static int parse_action(struct filter_parse *p, struct address_filter *f)
{
	size_t len = strcspn(p->at, SPACE);
	int action = find_action(p->at, len);

	if (action < 0)
		return address_filter_refuse(p, "one of filter, start, stop, tracestop");
	f->action = (enum address_action)action;
	p->at += len;
	return 0;
}

/* A number may have its neighbours right behind it; a symbol ends at white space. */
static int address_filter_parse_number(struct filter_parse *p, const char *what, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(p->at, &end, 0);
	if (errno || (*end && !strchr(SPACE "/@,", *end)))
		return address_filter_refuse(p, what);
	p->at = end;
	return 0;
}

static int parse_pick(struct filter_parse *p, int32_t *pick)
{
	unsigned long n;
	char *end;

	*pick = PICK_ONLY;
	skip_space(p, "");
	if (*p->at != '#')
		return 0;
	p->at++;
	*pick = PICK_GLOBAL;
	if (*p->at == 'g' || *p->at == 'G') {
		p->at++;
		return 0;
	}
	errno = 0;
	n = strtoul(p->at, &end, 0);
	if (!isdigit((unsigned char)*p->at) || errno || n > INT32_MAX)
		return address_filter_refuse(p, "a number or g behind '#'");
	*pick = (int32_t)n;
	p->at = end;
	return 0;
}

static int parse_point(struct filter_parse *p, const char *what, struct address_point *point)
{
	size_t len;

	skip_space(p, "");
	len = strcspn(p->at, SPACE);
	if (!len || strchr("/@,#", *p->at))
		return address_filter_refuse(p, what);
	if (isdigit((unsigned char)*p->at))
		return address_filter_parse_number(p, what, &point->number);
	while (len > 1 && p->at[len - 1] == ',') /* no name ends so: it is behind the filter */
		len--;
	point->symbol = xstrndup(p->at, len);
	p->at += len;
	return parse_pick(p, &point->pick);
}

static int parse_file(struct filter_parse *p, struct address_filter *f)
{
	size_t len;

	skip_space(p, "");
	if (*p->at != '@')
		return 0;
	p->at++;
	len = strcspn(p->at, SPACE ",");
	if (!len)
		return address_filter_refuse(p, "the name of a file behind '@'");
	f->file = xstrndup(p->at, len);
	p->at += len;
	return 0;
}

static int parse_start(struct filter_parse *p, struct address_filter *f)
{
	skip_space(p, "");
	if (*p->at != '*')
		return parse_point(p, "an address or a symbol", &f->start);
	p->at++;
	if (*p->at && !strchr(SPACE "@,", *p->at))
		return address_filter_refuse(p, "white space behind '*'");
	if (!address_action_is_region[f->action])
		return error_set(p->err, -EINVAL,
				 "filter '%.200s': '*' is a whole file, and %s takes one address",
				 p->text, address_action_words[f->action]);
	f->is_all = true;
	return 0;
}

static int address_filter_parse_size(struct filter_parse *p, struct address_filter *f)
{
	int r;

	skip_space(p, "");
	if (*p->at != '/')
		return 0;
	if (f->is_all)
		return address_filter_refuse(p, "no size behind '*'");
	if (!address_action_is_region[f->action])
		return error_set(p->err, -EINVAL,
				 "filter '%.200s': %s is at one address and takes no size%s",
				 p->text, address_action_words[f->action],
				 f->action == ADDRESS_STOP ? "; a region to stop in is a tracestop"
							   : "");
	p->at++;
	f->has_size = true;
	r = parse_point(p, "a size or a symbol", &f->size);
	if (!r && !f->size.symbol && !f->size.number)
		return error_set(p->err, -EINVAL, "filter '%.200s': a region of no size", p->text);
	return r;
}

static int address_filter_parse_one(struct filter_parse *p, struct address_filter *f)
{
	int r;

	if ((r = parse_action(p, f)) < 0 || (r = parse_start(p, f)) < 0 ||
	    (r = address_filter_parse_size(p, f)) < 0 || (r = parse_file(p, f)) < 0)
		return r;
	if (*p->at && !strchr(SPACE ",", *p->at) && !strchr(SPACE, p->at[-1]))
		return address_filter_refuse(p, "white space or a comma");
	if (address_action_is_region[f->action] && !f->is_all && !f->has_size && !f->start.symbol)
		return error_set(p->err, -EINVAL,
				 "filter '%.200s': %s is a region: give its size, as "
				 "'0x%" PRIx64 "/0x40'",
				 p->text, address_action_words[f->action], f->start.number);
	return 0;
}

int address_filters_parse(const char *text, struct address_filters *out, struct error *err)
{
	struct filter_parse p = { .text = text, .at = text, .err = err };
	int r = 0;

	skip_space(&p, ",");
	if (!*p.at)
		r = address_filter_refuse(&p, "one of filter, start, stop, tracestop");
	while (!r && *p.at) {
		if (out->n >= N_MOST)
			r = error_set(err, -EINVAL, "more than %d address filters", N_MOST);
		else
			r = address_filter_parse_one(&p, vec_add(out));
		skip_space(&p, ",");
	}
	if (r < 0)
		address_filters_fini(out);
	return r;
}

void address_filters_fini(struct address_filters *f)
{
	vec_foreach (f, it) {
		free(it->start.symbol);
		free(it->size.symbol);
		free(it->file);
	}
	vec_fini(f);
}

void address_ranges_text(const struct address_ranges *ranges, struct buf *out)
{
	const char *before = "";

	vec_foreach (ranges, r) {
		buf_printf(out, "%s%s 0x%" PRIx64, before, kernel_words[r->action], r->start);
		if (r->size)
			buf_printf(out, "/0x%" PRIx64, r->size);
		if (r->file)
			buf_printf(out, "@%s", r->file);
		before = ",";
	}
}

int address_ranges_check(const struct counter_sources *sources, const char *pmu,
			 const struct address_ranges *ranges, struct error *err)
{
	uint64_t most = 0;

	if (!pmu_file_number(sources, pmu, "nr_addr_filters", 10, &most) || !most)
		return error_set(err, -EOPNOTSUPP,
				 "%s has no address filters on this processor (nr_addr_filters)",
				 pmu);
	vec_foreach (ranges, r)
		if (!strcmp(pmu, "intel_pt") && !r->size)
			return error_set(err, -EOPNOTSUPP,
					 "intel_pt filters by regions: '%s' at one address is not "
					 "possible; use filter "
					 "or tracestop",
					 address_action_words[r->action]);
	if (ranges->n > most)
		return error_set(err, -E2BIG,
				 "%zu address filters, and %s has registers for %" PRIu64
				 " (nr_addr_filters)",
				 ranges->n, pmu, most);
	return 0;
}
