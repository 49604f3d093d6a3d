/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/load_log.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define LOG_BEGIN   "-- BEGIN PROG LOAD LOG --\n"
#define LOG_END     "-- END PROG LOAD LOG --"
#define CORE_FAILED "failed to resolve CO-RE relocation <"

/* a longer line is cut */
#define REASON_MAX 160
#define SOURCE_MAX 80

struct line {
	const char *text;
	size_t len;
};

static bool line_starts(struct line l, const char *with)
{
	size_t n = strlen(with);

	return l.len >= n && !memcmp(l.text, with, n);
}

static struct line line_trimmed(struct line l)
{
	for (; l.len && isspace((unsigned char)*l.text); l.len--)
		l.text++;
	while (l.len && isspace((unsigned char)l.text[l.len - 1]))
		l.len--;
	return l;
}

/* The line that ends before `end`, in a text that begins at `start`. False: there is none. */
static bool line_before(const char *start, const char *end, struct line *out)
{
	const char *at = end;

	if (end <= start)
		return false;
	at -= end[-1] == '\n';
	*out = (struct line){ at, 0 };
	while (out->text > start && out->text[-1] != '\n')
		out->text--;
	out->len = (size_t)(at - out->text);
	return true;
}

/* "12: (85) call bpf_loop#181", or "12: R0=0 R1=ctx()" */
static bool is_instruction(struct line l)
{
	size_t n = 0;

	while (n < l.len && isdigit((unsigned char)l.text[n]))
		n++;
	return n && n < l.len && l.text[n] == ':';
}

/* "R0_w=1 R10=fp0", " frame1: R1=…" */
static bool is_registers(struct line l)
{
	size_t n = 1;

	if (line_starts(l, "frame"))
		return true;
	if (l.len < 3 || l.text[0] != 'R' || !isdigit((unsigned char)l.text[1]))
		return false;
	while (n < l.len && (isalnum((unsigned char)l.text[n]) || l.text[n] == '_'))
		n++;
	return n < l.len && l.text[n] == '=';
}

/* The verifier's reports of its work, which are not the reason. */
static bool is_progress(struct line l)
{
	static const char *const beginnings[] = {
		"processed ",
		"verification time ",
		"stack depth ",
		"from ",
		"func#",
		"Func#",
		"Validating ",
		"last_idx ",
		"regs=",
		"mark_precise:",
		"parent ",
		"propagating ",
		"caller:",
		"callee:",
		"returning from ",
		"to caller at ",
		"max_states",
		"safe",
		"The global function",
		"Global function",
	};

	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
		if (line_starts(l, beginnings[i]))
			return true;
	return false;
}

static bool is_source(struct line l)
{
	return l.len > 2 && l.text[0] == ';' && l.text[1] == ' ' &&
	       !is_registers((struct line){ l.text + 2, l.len - 2 });
}

static bool is_reason(struct line l)
{
	return l.len && l.text[0] != ';' && !is_instruction(l) && !is_registers(l) &&
	       !is_progress(l);
}

struct verdict {
	struct line before, last; /* a line about a register often follows the reason */
	struct line source;       /* the program's line in question */
};

static struct verdict find_verdict(const char *log, const char *end)
{
	struct verdict v = { 0 };
	bool is_whole = false;
	struct line l;

	while (line_before(log, end, &l)) {
		end = l.text;
		l = line_trimmed(l);
		if (is_source(l)) {
			v.source = (struct line){ l.text + 2, l.len - 2 };
			break;
		}
		if (!is_reason(l))
			is_whole = v.last.len > 0;
		else if (!v.last.len)
			v.last = l;
		else if (!is_whole && !v.before.len)
			v.before = l;
	}
	return v;
}

static int shorten_line(struct line l, size_t most)
{
	return (int)MIN(l.len, most);
}

/* "CODE @ FILE:LINE" since Linux 6.9, "CODE" before. */
static struct line source_place(struct line *source)
{
	for (size_t i = source->len; i > 3; i--) {
		struct line place = { source->text + i, source->len - i };

		if (memcmp(place.text - 3, " @ ", 3))
			continue;
		source->len = i - 3;
		return place;
	}
	return (struct line){ 0 };
}

static void print_source(struct line source, char *out, size_t size)
{
	struct line place = source_place(&source);

	snprintf(out, size, ", at \"%.*s\"%s%.*s%s", shorten_line(source, SOURCE_MAX), source.text,
		 place.len ? " (" : "", shorten_line(place, SOURCE_MAX),
		 place.len ? place.text : "", place.len ? ")" : "");
}

/* libbpf: "prog 'NAME': -- BEGIN PROG LOAD LOG --" */
static struct line program_of_log(const char *messages, const char *begin)
{
	static const char before[] = "prog '";
	struct line l = { 0 };

	for (const char *at = messages; (at = strstr(at, before)) && at < begin; at++)
		l = (struct line){ at + strlen(before), strcspn(at + strlen(before), "'") };
	return l;
}

static void print_log_verdict(const char *messages, const char *begin, char *out, size_t size)
{
	const char *log = begin + strlen(LOG_BEGIN), *end = strstr(log, LOG_END);
	struct verdict v = find_verdict(log, end ? end : log + strlen(log));
	struct line program = program_of_log(messages, begin);
	size_t n;

	*out = '\0';
	if (!v.last.len)
		return;
	n = (size_t)snprintf(out, size, "its verifier says of program '%.*s': \"%.*s%s%.*s\"",
			     shorten_line(program, 32), program.text,
			     shorten_line(v.before, REASON_MAX), v.before.len ? v.before.text : "",
			     v.before.len ? "; " : "", shorten_line(v.last, REASON_MAX),
			     v.last.text);
	if (v.source.len && n < size)
		print_source(v.source, out + n, size - n);
}

/* "<byte_off> [26] struct mm_struct.exe_file (0:1 @ offset 24)": libbpf found no such field. */
static bool print_missing_type(const char *messages, char *out, size_t size)
{
	const char *at = strstr(messages, CORE_FAILED), *name, *end;

	name = at ? strstr(at, "] ") : NULL;
	if (!name)
		return false;
	name += 2;
	end = name + strcspn(name, "(\n");
	snprintf(out, size, "the kernel's types (BTF) have no '%.*s'",
		 shorten_line(line_trimmed((struct line){ name, (size_t)(end - name) }),
			      REASON_MAX),
		 name);
	return true;
}

static void print_first_message(const char *messages, char *out, size_t size)
{
	static const char prefix[] = "libbpf: ";
	const char *at = messages;

	if (!strncmp(at, prefix, strlen(prefix)))
		at += strlen(prefix);
	snprintf(out, size, "%.*s", (int)MIN(strcspn(at, "\n"), (size_t)REASON_MAX), at);
}

void load_log_reason(const char *messages, char *out, size_t size)
{
	const char *begin = strstr(messages, LOG_BEGIN);

	if (print_missing_type(messages, out, size))
		return;
	if (begin)
		print_log_verdict(messages, begin, out, size);
	else
		print_first_message(messages, out, size);
}
