/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "foreign/script_branches.h"

#include "foreign/perf_script.h"

/* No path is longer: a bound for lines that are none. */
#define PATH_BYTES 4200

struct reading {
	struct script_branches_sink *sink;
	struct script_sample sample;
	struct script_branch branches[SCRIPT_MAX_BRANCHES];
	uint64_t n_named;
	bool is_open;
};

/* Cuts "0x1f" off *s. */
static bool cut_hex(struct slice *s, uint64_t *out)
{
	struct slice rest = *s;
	size_t n = 0;

	if (!slice_starts(rest, SLICE("0x")))
		return false;
	rest = slice_from(rest, 2);
	while (n < rest.len && memchr("0123456789abcdef", rest.at[n], 16))
		n++;
	if (!slice_number(slice_head(rest, n), 16, out))
		return false;
	*s = slice_from(rest, n);
	return true;
}

/* Cuts the text off *s. */
static bool cut_text(struct slice *s, struct slice text)
{
	if (!slice_starts(*s, text))
		return false;
	*s = slice_from(*s, text.len);
	return true;
}

/*
 * "0x1f(dso)/", as perf 7 has it "0x1f (dso)/", or "0x1f/": an end of a branch. A path may have
 * blanks, slashes and parentheses.
 */
static bool cut_end(struct slice *s, uint64_t *out)
{
	const char *close;

	if (!cut_hex(s, out))
		return false;
	if (cut_text(s, SLICE("/")))
		return true;
	cut_text(s, SLICE(" "));
	close = slice_starts(*s, SLICE("("))
			? memmem(s->at, MIN(s->len, (size_t)PATH_BYTES), ")/", 2)
			: NULL;
	if (!close)
		return false;
	*s = slice_from(*s, (size_t)(close - s->at) + 2);
	return true;
}

static bool cut_branch(struct slice *s, struct script_branch *out)
{
	struct slice rest = *s;

	if (!cut_end(&rest, &out->from) || !cut_end(&rest, &out->to) || !rest.len ||
	    !memchr("PMN-", rest.at[0], 4))
		return false;
	out->is_mispredicted = rest.at[0] == 'M';
	slice_word(&rest);
	*s = rest;
	return true;
}

static bool is_named_branch(struct slice word)
{
	return memmem(word.at, word.len, "/P/", 3) || memmem(word.at, word.len, "/M/", 3);
}

static void take_branches(struct reading *r, struct slice text)
{
	struct script_branch branch;

	while ((text = slice_trim(text)).len) {
		if (!cut_branch(&text, &branch))
			r->n_named += is_named_branch(slice_word(&text));
		else if (r->sample.n_branches < SCRIPT_MAX_BRANCHES)
			r->branches[r->sample.n_branches++] = branch;
	}
}

/* "PERF_RECORD_MMAP2 7/7: [0x1000(0x2000) @ 0x3000 …]: r-xp /bin/x". */
static bool parse_mapping(struct slice text, struct script_mapping *m)
{
	struct slice kind = slice_word(&text), ids = slice_word(&text);
	const char *slash = ids.len ? memchr(ids.at, '/', ids.len) : NULL, *end;
	bool is_kernel = slice_starts(ids, SLICE("-1/"));
	uint64_t pid = 0;

	if (!slice_starts(kind, SLICE("PERF_RECORD_MMAP")) || !slash)
		return false;
	if (!is_kernel &&
	    (!slice_number(slice_head(ids, (size_t)(slash - ids.at)), 10, &pid) || pid > INT32_MAX))
		return false;
	m->pid = m->tid = is_kernel ? -1 : (int32_t)pid;
	text = slice_trim(text);
	if (!cut_text(&text, SLICE("[")) || !cut_hex(&text, &m->start) ||
	    !cut_text(&text, SLICE("(")) || !cut_hex(&text, &m->size) ||
	    !cut_text(&text, SLICE(") @ ")))
		return false;
	/* perf writes 0 without a prefix. */
	if (!cut_hex(&text, &m->file_off) && !cut_text(&text, SLICE("0")))
		return false;
	end = memmem(text.at, text.len, "]: ", 3);
	if (!end)
		return false;
	text = slice_from(text, (size_t)(end - text.at) + 3);
	slice_word(&text);
	m->path = slice_trim(text);
	return m->path.len && m->size && m->size <= UINT64_MAX - m->start;
}

static void script_branches_finish(struct reading *r)
{
	if (r->is_open && r->sample.n_branches)
		r->sink->sample(r->sink, &r->sample);
	r->is_open = false;
}

/* Branches have a separate line below the call chain, whose first line is the sample's place.
 */
static void take_more(struct reading *r, struct slice line)
{
	struct slice rest = line;

	if (!r->sample.ip)
		slice_number(slice_word(&rest), 16, &r->sample.ip);
	take_branches(r, line);
}

static void script_branches_begin(struct reading *r, const struct perf_script_head *h)
{
	struct slice rest = h->rest;
	struct script_mapping mapping = { .time_ns = h->sample.time_ns };

	script_branches_finish(r);
	if (h->is_side_band) {
		if (parse_mapping(rest, &mapping))
			r->sink->mapping(r->sink, &mapping);
		return;
	}
	r->is_open = true;
	r->sample = (struct script_sample){ .pid = h->sample.pid,
					    .tid = h->sample.tid,
					    .time_ns = h->sample.time_ns,
					    .branches = r->branches };
	slice_number(slice_word(&rest), 16, &r->sample.ip);
	take_branches(r, h->rest);
}

uint64_t script_branches_read(struct slice text, struct script_branches_sink *sink)
{
	cleanup(free_at_exit) struct reading *r = xcalloc(1, sizeof(*r));
	struct perf_script_head head;
	struct slice line;

	r->sink = sink;
	while (slice_line(&text, &line)) {
		if (slice_starts(line, SLICE("#")))
			continue;
		if (perf_script_parse_head(line, &head))
			script_branches_begin(r, &head);
		else if (r->is_open)
			take_more(r, line);
	}
	script_branches_finish(r);
	return r->n_named;
}
