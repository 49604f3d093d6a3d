/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of V8's functions.
 *
 * A BytecodeArray may have a table of pairs (step of its bytes, step in the source), of numbers
 * with 7 bits a byte, the sign in the lowest bit. V8 makes it when it first needs it, as for an
 * error's stack. Here it becomes another one, for struct lang_code: pairs (step of its bytes, step
 * of lines), each as above.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/reader.h"
#include "lang/v8.h"

/* ---- lines of scripts ---- */

#define SOURCE_MAX  (4u << 20) /* characters; larger scripts have no lines */
#define SOURCE_STEP 65536      /* bytes */
#define LINES_MAX   (1u << 18)

static struct v8_lines *lines_slot(struct v8 *v, uint64_t script, uint64_t source, bool *is_new)
{
	struct v8_lines *lines;

	*is_new = false;
	for (uint32_t i = 0; i < V8_SCRIPTS; i++)
		if (v->scripts[i].script == script && v->scripts[i].source == source)
			return &v->scripts[i];
	lines = &v->scripts[v->next_script];
	v->next_script = (v->next_script + 1) % V8_SCRIPTS;
	free(lines->ends);
	*lines = (struct v8_lines){ .script = script, .source = source };
	*is_new = true;
	return lines;
}

struct line_ends {
	uint32_t *data;
	size_t n, cap;
};

/* False: the source can't be read. One with too many lines has none. */
static bool find_ends(const struct v8 *v, const struct v8_string *source, struct line_ends *out)
{
	static _Thread_local uint8_t bytes[SOURCE_STEP];
	uint32_t step = SOURCE_STEP >> source->is_wide;

	for (uint32_t first = 0; first < source->n; first += step) {
		uint32_t n = MIN(step, source->n - first);

		if (!lang_read(&v->memory, source->at + ((uint64_t)first << source->is_wide), bytes,
			       (size_t)n << source->is_wide))
			return false;
		for (uint32_t i = 0; i < n; i++) {
			bool is_end = source->is_wide ? bytes[2 * i] == '\n' && !bytes[2 * i + 1]
						      : bytes[i] == '\n';

			if (is_end)
				vec_push(out, first + i);
		}
		if (out->n > LINES_MAX) {
			vec_fini(out);
			return true;
		}
	}
	vec_push(out, source->n); /* so that a source of one line is known, too */
	return true;
}

/* False: the source can't be read. */
static bool read_lines(const struct v8 *v, uint64_t string, struct v8_lines *lines)
{
	struct line_ends ends = { 0 };
	struct v8_string source;

	if (!v8_flat_string(v, string, &source) ||
	    (source.n <= SOURCE_MAX && !find_ends(v, &source, &ends))) {
		vec_fini(&ends);
		return false;
	}
	lines->ends = ends.data;
	lines->n = (uint32_t)ends.n;
	return true;
}

#define TRIES 3

/*
 * NULL: its source can't be read; the next function tries it again. The source may be a young
 * object. If the collector has moved it meanwhile, its bytes may be another object's.
 */
static const struct v8_lines *lines_of(struct v8 *v, uint64_t script)
{
	uint64_t string, now;
	bool is_new;

	if (!v8_field(v, script, v->layout.script_source, &string))
		return NULL;
	for (int i = 0; i < TRIES; i++, string = now) {
		struct v8_lines *lines = lines_slot(v, script, string, &is_new);
		bool is_read = !is_new || read_lines(v, string, lines);

		if (!is_new || (is_read && v8_field(v, script, v->layout.script_source, &now) &&
				now == string))
			return lines;
		lines->script = 0;
		if (!v8_field(v, script, v->layout.script_source, &now) || now == string)
			break;
	}
	return NULL;
}

static uint32_t line_of(const struct v8_lines *lines, uint32_t position)
{
	uint32_t first = 0;

	for (uint32_t end = lines->n; first < end;) {
		uint32_t middle = first + (end - first) / 2;

		if (lines->ends[middle] < position)
			first = middle + 1;
		else
			end = middle;
	}
	return lines->n ? first + 1 : 0;
}

uint32_t v8_line_in(struct v8 *v, uint64_t script, uint32_t position)
{
	const struct v8_lines *lines = lines_of(v, script);

	return lines ? line_of(lines, position) : 0;
}

/* ---- numbers ---- */

#define NUMBER_BYTES 5

/* Wraps around in bad tables. */
static int32_t read_number(struct reader *r)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < NUMBER_BYTES; i++) {
		uint8_t byte = reader_u8(r);

		sum |= (uint32_t)(byte & 0x7f) << (7 * i);
		if (!(byte & 0x80))
			return (int32_t)(sum >> 1) ^ -(int32_t)(sum & 1);
	}
	r->bad = true;
	return 0;
}

static void add_number(struct lang_code *code, int32_t value)
{
	uint32_t left = (uint32_t)value << 1 ^ (uint32_t)(value >> 31);

	for (; left >= 0x80; left >>= 7)
		code->lines[code->n_lines++] = (uint8_t)(left | 0x80);
	code->lines[code->n_lines++] = (uint8_t)left;
}

/* ---- tables ---- */

#define TABLE_MAX    32768
#define POSITION(p)  (((p) >> 1) & 0x3fffffff) /* the lowest bit tells of something else */
#define IS_STATEMENT 0                         /* steps of bytes below 0 are of expressions */

static int32_t step_of(int32_t number)
{
	return number >= IS_STATEMENT ? number : -(number + 1);
}

/* `at`: before the first entry. */
static void convert_table(const struct v8_lines *lines, struct reader r, uint32_t at,
			  struct lang_code *code)
{
	uint32_t position = 0, known_at = 0, known_line = 0;

	while (reader_left(&r)) {
		uint32_t line, from;

		at += (uint32_t)step_of(read_number(&r));
		position += (uint32_t)read_number(&r);
		if (r.bad || code->n_lines > LANG_LINES_MAX - 2 * NUMBER_BYTES)
			break;
		line = line_of(lines, POSITION(position));
		if (line == known_line)
			continue;
		from = at == UINT32_MAX ? 0 : at; /* the entry */
		add_number(code, (int32_t)(from - known_at));
		add_number(code, (int32_t)(line - known_line));
		known_at = from;
		known_line = line;
	}
	code->lines_size = code->n_lines;
}

void v8_read_table(struct v8 *v, uint64_t bytecode, uint64_t script, struct lang_code *code)
{
	static _Thread_local uint8_t bytes[TABLE_MAX];
	const struct v8_lines *lines;
	uint64_t table, size;

	code->n_lines = code->lines_size = 0;
	if (!v8_field(v, bytecode, v->layout.bytecode_table, &table) ||
	    v8_type(v, table) != v->layout.type_bytes || !v8_field(v, table, V8_ARRAY_COUNT, &size))
		return;
	size >>= V8_SMI_SHIFT;
	lines = lines_of(v, script);
	if (!size || size > TABLE_MAX || !lines || !lines->n ||
	    !lang_read(&v->memory, table - 1 + V8_ARRAY_DATA, bytes, size))
		return;
	convert_table(lines, reader_over(bytes, size), v->forms->has_entry ? UINT32_MAX : 0, code);
}

uint32_t v8_line(const struct lang_code *code, uint32_t position)
{
	struct reader r = reader_over(code->lines, MIN(code->n_lines, (uint32_t)LANG_LINES_MAX));
	uint32_t at = 0, line = 0;

	if (position & V8_IS_LINE)
		return position & ~V8_IS_LINE;
	while (reader_left(&r)) {
		uint32_t step = (uint32_t)read_number(&r);
		int32_t lines = read_number(&r);

		if (r.bad || at + step > position)
			break;
		at += step;
		line += (uint32_t)lines;
	}
	return line;
}
