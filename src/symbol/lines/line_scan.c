/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/path.h"
#include "symbol/lines/line_draft.h"
#include "symbol/split_files.h"

/* Entries nest a few dozen deep. References lead from an inlined copy to its declaration. */
#define MAX_DEPTH      256
#define MAX_REFERENCES 16

void line_scan_init(struct line_scan *s, const struct line_source *source)
{
	const struct dwarf_file *f = source->dwarf;

	*s = (struct line_scan){ .source = source };
	strings_init(&s->names);
	strings_init(&s->files);
	s->known_names = xcalloc(MAX_KNOWN_NAMES, sizeof(*s->known_names));
	s->places.recent = xcalloc(MAX_RECENT_PLACES, sizeof(*s->places.recent));
	vec_push(&s->places.list, (struct line_place){ 0 });
	s->base = UINT64_MAX;
	for (size_t i = 0; i < source->code.n; i++)
		s->base = MIN(s->base, source->code.data[i].offset);
	/*
	 * Everything is read once, some things twice. Hostile units could share one long list, with
	 * work that grows as the square of their size.
	 */
	s->abbrev_budget = 4 * reader_left(&f->section[DWARF_ABBREV]) + (1 << 20);
	s->range_budget = 4 * (reader_left(&f->section[DWARF_RANGES]) +
			       reader_left(&f->section[DWARF_RNGLISTS]) +
			       reader_left(&f->section[DWARF_INFO])) +
			  (1 << 20);
	s->line_budget = 2 * reader_left(&f->section[DWARF_LINE]) + (1 << 20);
}

void line_scan_fini(struct line_scan *s)
{
	vec_fini(&s->rows.list);
	vec_fini(&s->rows.runs);
	vec_fini(&s->scopes.list);
	vec_fini(&s->scopes.runs);
	vec_fini(&s->nodes);
	vec_fini(&s->places.list);
	free(s->places.recent);
	strings_fini(&s->names);
	strings_fini(&s->files);
	free(s->known_names);
	intmap_fini(&s->abbrev_index);
	vec_foreach (&s->abbrevs, a) {
		dwarf_abbrevs_free(*a);
	}
	vec_fini(&s->abbrevs);
	dwarf_lines_fini(&s->lines);
	vec_fini(&s->file_ids);
	vec_fini(&s->intervals);
	vec_fini(&s->merged);
	vec_fini(&s->nest);
	vec_fini(&s->covered);
	buf_fini(&s->path);
	free(s->losses.missing_split);
}

/* ---- addresses ---- */

const struct code_segment *line_scan_code_of(const struct line_scan *s, uint64_t link_addr)
{
	const struct code_segments *code = &s->source->code;
	size_t low = 0, high = code->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (code->data[middle].link_addr <= link_addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || link_addr - code->data[low - 1].link_addr >= code->data[low - 1].size)
		return NULL;
	return &code->data[low - 1];
}

/* [low, high) as offsets from base, cut to the code around low. */
static bool place_range(const struct line_scan *s, uint64_t low, uint64_t high, uint32_t *start,
			uint32_t *end)
{
	const struct code_segment *code = line_scan_code_of(s, low);
	uint64_t from, to;

	if (!code || high <= low)
		return false;
	from = code->offset + (low - code->link_addr) - s->base;
	to = from + MIN(high - low, code->size - (low - code->link_addr));
	if (to > UINT32_MAX)
		return false;
	*start = (uint32_t)from;
	*end = (uint32_t)to;
	return true;
}

/* ---- units and shapes ---- */

static const struct dwarf_abbrevs *abbrevs_of(struct line_scan *s, const struct dwarf_unit *u,
					      bool is_alt)
{
	uint64_t key = u->abbrev_off << 4 | (uint64_t)u->is_64 << 3 |
		       (uint64_t)(u->addr_size == 8) << 2 | (uint64_t)(u->version > 2) << 1 |
		       (uint64_t)is_alt;
	bool is_new;
	uint32_t *index;
	struct dwarf_abbrevs *a;

	if (!s->abbrev_budget)
		return NULL;
	index = intmap_put(&s->abbrev_index, key, &is_new);
	if (!is_new)
		return s->abbrevs.data[*index];
	*index = (uint32_t)s->abbrevs.n;
	a = dwarf_abbrevs_new(u);
	s->abbrev_budget -= MIN(s->abbrev_budget, dwarf_abbrevs_bytes(a));
	vec_push(&s->abbrevs, a);
	return a;
}

static bool open_unit(struct line_scan *s, struct dwarf_unit *u, bool is_alt)
{
	const struct dwarf_abbrevs *a = u->version ? abbrevs_of(s, u, is_alt) : NULL;

	return a && dwarf_unit_open(u, a, NULL);
}

/* The unit that holds the entry, opened. */
static bool unit_at(struct line_scan *s, uint64_t offset, bool is_alt, struct dwarf_unit *out)
{
	const struct dwarf_unit *units = is_alt ? s->alt_units : s->units;
	size_t low = 0, high = is_alt ? s->n_alt_units : s->n_units;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (units[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || offset >= units[low - 1].end)
		return false;
	*out = units[low - 1];
	return open_unit(s, out, is_alt);
}

/* ---- names ---- */

static void forget_names(struct line_scan *s)
{
	memset(s->known_names, 0, MAX_KNOWN_NAMES * sizeof(*s->known_names));
}

/* The facts of a function, from its entry or from the entries that it refers to. */
struct function_facts {
	uint32_t name; /* of the scan's; 0: not known */
	uint32_t decl_line;
};

static struct function_facts facts_of(struct line_scan *s, const struct dwarf_unit *u, bool is_alt,
				      const struct dwarf_die *die, int depth);

static struct known_name *known_name(const struct line_scan *s, uint64_t key)
{
	return &s->known_names[(key >> 3) %
			       MAX_KNOWN_NAMES]; /* entries near each other stay near */
}

/* The name is read after the ranges: by then it is in the cache. */
static void expect_name(const struct line_scan *s, const struct dwarf_unit *u,
			const struct dwarf_die *die)
{
	uint64_t offset;
	bool is_alt;

	if (dwarf_reference(u, die, DWARF_AT_ABSTRACT_ORIGIN, &offset, &is_alt))
		__builtin_prefetch(known_name(s, offset << 1 | is_alt));
}

static struct function_facts facts_at(struct line_scan *s, const struct dwarf_unit *from,
				      bool is_alt, uint64_t offset, int depth)
{
	uint64_t key = offset << 1 | is_alt;
	struct known_name *known = known_name(s, key);
	const struct dwarf_unit *u = from;
	struct dwarf_unit other;
	struct dwarf_die die;
	struct function_facts facts = { 0 };
	struct reader r;

	if (key && known->entry == key)
		return (struct function_facts){ known->name, known->decl_line };
	if (depth >= MAX_REFERENCES)
		return facts;
	if (is_alt || !s->is_split) {
		bool is_inside = offset >= from->offset && offset < from->end &&
				 (from->file == s->source->alt) == is_alt;

		if (!is_inside) {
			if (!unit_at(s, offset, is_alt, &other))
				return facts;
			u = &other;
		}
	}
	r = dwarf_unit_dies(u, offset);
	if (!dwarf_die_read(&r, u, &die) || !die.tag)
		return facts;
	facts = facts_of(s, u, is_alt, &die, depth + 1);
	*known = (struct known_name){ key, facts.name, facts.decl_line };
	return facts;
}

/* The linker's name of the function, here or at its declaration; else its plain name. */
static struct function_facts facts_of(struct line_scan *s, const struct dwarf_unit *u, bool is_alt,
				      const struct dwarf_die *die, int depth)
{
	const char *text = dwarf_string(u, s->source->alt, die, DWARF_AT_LINKAGE_NAME);
	uint64_t offset, line = dwarf_number(die, DWARF_AT_DECL_LINE);
	struct function_facts facts = { 0 };
	bool leads_to_alt;

	if (text)
		facts.name = strings_add(&s->names, text).n;
	else if (dwarf_reference(u, die, DWARF_AT_ABSTRACT_ORIGIN, &offset, &leads_to_alt) ||
		 dwarf_reference(u, die, DWARF_AT_SPECIFICATION, &offset, &leads_to_alt))
		facts = facts_at(s, u, is_alt || leads_to_alt, offset, depth);
	if (!facts.name && (text = dwarf_string(u, s->source->alt, die, DWARF_AT_NAME)))
		facts.name = strings_add(&s->names, text).n;
	if (line)
		facts.decl_line = (uint32_t)MIN(line, (uint64_t)UINT32_MAX);
	return facts;
}

/* ---- files ---- */

static uint32_t add_path(struct line_scan *s, uint32_t file)
{
	struct dwarf_path path;

	s->path.len = 0;
	if (!dwarf_lines_file(&s->lines, file, &path))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(path.part); i++) {
		const char *part = path.part[i];

		if (!*part)
			continue;
		if (s->path.len && s->path.data[s->path.len - 1] != '/')
			buf_u8(&s->path, '/');
		buf_str(&s->path, part);
	}
	return strings_add_n(&s->files, (const char *)s->path.data, s->path.len).n;
}

uint32_t line_scan_file(struct line_scan *s, uint64_t file)
{
	if (!s->has_files || file >= s->lines.files.n + 1)
		return 0;
	while (s->file_ids.n <= file)
		vec_push(&s->file_ids, UINT32_MAX);
	if (s->file_ids.data[file] == UINT32_MAX)
		s->file_ids.data[file] = add_path(s, (uint32_t)file);
	return s->file_ids.data[file];
}

/* ---- functions ---- */

/* The scan's position in the tree of entries. */
struct level {
	uint32_t node;    /* the function around, or NO_NODE */
	bool is_function; /* a function that is not inlined: … */
	uint32_t first;   /* … its intervals begin here */
};

/* A node of a function or an inlined copy that has code. */
static uint32_t line_scan_add_node(struct line_scan *s, const struct dwarf_unit *u,
				   const struct dwarf_die *die, uint32_t parent)
{
	uint32_t node = (uint32_t)s->nodes.n, start, end;
	struct function_facts facts;
	struct dwarf_ranges ranges;
	uint64_t low, high;
	size_t before = s->intervals.n;

	expect_name(s, u, die);
	dwarf_ranges_begin(&ranges, u, die);
	while (dwarf_ranges_next(&ranges, &low, &high)) {
		if (!s->range_budget) {
			s->losses.is_cut = true;
			break;
		}
		s->range_budget--;
		if (place_range(s, low, high, &start, &end))
			vec_push(&s->intervals, (struct scope_interval){ start, end, node });
	}
	if (s->intervals.n == before)
		return NO_NODE;
	facts = facts_of(s, u, false, die, 0);
	vec_push(&s->nodes, (struct line_node){ .parent = parent,
						.name = facts.name,
						.decl_line = facts.decl_line });
	if (parent != NO_NODE) {
		uint64_t line = dwarf_number(die, DWARF_AT_CALL_LINE);
		uint64_t column = dwarf_number(die, DWARF_AT_CALL_COLUMN);
		const struct line_place called = {
			.file = line_scan_file(s, dwarf_number(die, DWARF_AT_CALL_FILE)),
			.line = (uint32_t)MIN(line, (uint64_t)UINT32_MAX),
			.column = (uint16_t)MIN(column, (uint64_t)UINT16_MAX),
			.discriminator =
				line_discriminator(dwarf_number(die, DWARF_AT_GNU_DISCRIMINATOR)),
		};

		s->nodes.data[node].called = line_scan_add_place(&s->places, &called);
	}
	return node;
}

/* Reads an entry, and finds whether its children can be passed over. */
static void line_scan_enter(struct line_scan *s, const struct dwarf_unit *u,
			    const struct dwarf_die *die, const struct level *above,
			    struct level *out, bool *skip)
{
	*out = (struct level){ .node = above->node, .first = (uint32_t)s->intervals.n };
	switch (die->tag) {
	case DW_TAG_subprogram:
		out->is_function = true;
		out->node = line_scan_add_node(s, u, die, NO_NODE);
		break;
	case DW_TAG_inlined_subroutine:
		if (above->node != NO_NODE) {
			uint32_t node = line_scan_add_node(s, u, die, above->node);

			out->node = node != NO_NODE ? node : above->node;
		}
		break;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		*skip = u->is_c_family && above->node == NO_NODE;
		break;
	}
}

/* Reads all entries of a unit. */
static void scan_entries(struct line_scan *s, const struct dwarf_unit *u)
{
	struct level levels[MAX_DEPTH] = { { .node = NO_NODE } }, inner;
	struct reader r = dwarf_unit_dies(u, u->dies);
	struct dwarf_die die;
	int depth = 0;

	while (dwarf_skip_plain(&r, u), dwarf_die_read(&r, u, &die)) {
		bool skip = false;

		if (!die.tag) {
			if (levels[depth].is_function)
				line_scan_flatten(s, levels[depth].first);
			if (depth-- <= 1)
				break;
			continue;
		}
		line_scan_enter(s, u, &die, &levels[depth], &inner, &skip);
		if (die.has_children && skip && dwarf_has(&die, DWARF_AT_SIBLING)) {
			struct reader sibling =
				dwarf_unit_dies(u, u->offset + die.raw[DWARF_AT_SIBLING]);

			if (sibling.at > r.at) {
				r = sibling;
				continue;
			}
		}
		if (!die.has_children) {
			if (inner.is_function)
				line_scan_flatten(s, inner.first);
			continue;
		}
		if (depth + 1 == MAX_DEPTH) {
			s->losses.n_bad_units++;
			break;
		}
		levels[++depth] = inner;
	}
	for (; depth > 0; depth--)
		if (levels[depth].is_function)
			line_scan_flatten(s, levels[depth].first);
}

/* ---- split units ---- */

static void scan_split_unit(struct line_scan *s, const struct dwarf_unit *unit)
{
	s->is_split = true;
	forget_names(s);
	scan_entries(s, unit);
	forget_names(s);
	s->is_split = false;
}

static bool scan_packaged(struct line_scan *s, const struct dwarf_unit *skeleton)
{
	const struct dwarf_file *package = s->source->package;
	struct dwarf_file in_package;
	struct dwarf_abbrevs *abbrevs;
	struct dwarf_unit unit;

	if (!package || !dwarf_package_find(package, skeleton->dwo_id, &in_package) ||
	    !split_unit_find(&in_package, skeleton, &unit, &abbrevs))
		return false;
	scan_split_unit(s, &unit);
	dwarf_abbrevs_free(abbrevs);
	return true;
}

/* False: the .dwo can't be read. */
static bool scan_split(struct line_scan *s, const struct dwarf_unit *skeleton)
{
	const char *name = skeleton->dwo_name;
	const char *dir = skeleton->comp_dir ? skeleton->comp_dir : "";
	struct dwarf_abbrevs *abbrevs;
	struct split_file file;
	struct dwarf_unit unit;

	if (scan_packaged(s, skeleton))
		return true;
	if (!split_file_open(s->source->job, skeleton, &file, &unit, &abbrevs)) {
		if (!s->losses.n_missing_split++)
			s->losses.missing_split =
				*name == '/' ? xstrdup(name) : xasprintf("%s/%s", dir, name);
		return false;
	}
	scan_split_unit(s, &unit);
	dwarf_abbrevs_free(abbrevs);
	split_file_close(&file);
	return true;
}

/* ---- a unit ---- */

static int line_scan_by_start(const void *a, const void *b)
{
	const struct scope_interval *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* The pieces of the unit's code, by address; overlapping ones are joined. */
static void find_covered(struct line_scan *s, const struct dwarf_unit *u)
{
	struct reader r = dwarf_unit_dies(u, u->dies);
	struct dwarf_ranges ranges;
	struct dwarf_die die;
	uint64_t low, high;
	size_t n = 0;

	s->covered.n = 0;
	if (!dwarf_die_read(&r, u, &die) || !die.tag)
		return;
	dwarf_ranges_begin(&ranges, u, &die);
	while (s->range_budget && dwarf_ranges_next(&ranges, &low, &high)) {
		struct scope_interval piece = { 0 };

		s->range_budget--;
		if (place_range(s, low, high, &piece.start, &piece.end))
			vec_push(&s->covered, piece);
	}
	if (!s->covered.n)
		return;
	qsort(s->covered.data, s->covered.n, sizeof(*s->covered.data), line_scan_by_start);
	vec_foreach (&s->covered, piece) {
		struct scope_interval *last = &s->covered.data[n];

		if (piece->start <= last->end)
			last->end = MAX(last->end, piece->end);
		else
			s->covered.data[++n] = *piece;
	}
	s->covered.n = n + 1;
}

void line_scan_unit(struct line_scan *s, uint32_t i,
		    bool (*take_lines)(void *data, uint64_t stmt_list), void *data)
{
	struct dwarf_unit u = s->units[i];

	if (!open_unit(s, &u, false)) {
		s->losses.n_bad_units++;
		return;
	}
	s->unit = i;
	s->file_ids.n = 0;
	s->has_files =
		u.has_lines && u.tag != DW_TAG_partial_unit && dwarf_lines_open(&s->lines, &u);
	if (s->has_files && take_lines(data, u.stmt_list)) {
		find_covered(s, &u);
		line_scan_rows(s);
	}
	/*
	 * with clang's -fsplit-dwarf-inlining, a skeleton has the inlined functions and no others
	 */
	if (!u.dwo_name || !u.dwo_id || !scan_split(s, &u))
		scan_entries(s, &u);
}
