/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of errors of a processor trace (perf's struct perf_record_auxtrace_error), which a file
 * has behind `inject --itrace`. All but `type` is as in perf; a format 0 has no time.
 *
 *     header | type code | cpu pid | tid format | ip | time | text, up to 64 bytes
 *     0        8           16        24           32   40     48
 */
#include <string.h>

#include "event/trace_error.h"
#include "perfdata/state.h"

enum {
	ITRACE = 1, /* the type of an instruction trace */
	FIXED = 48, /* bytes of a record up to the text */
	TIME = 40,
};

static uint32_t word32_at(const struct perfdata *p, const uint8_t *bytes, size_t off)
{
	uint32_t word;

	memcpy(&word, bytes + off, sizeof(word));
	return p->is_foreign ? __builtin_bswap32(word) : word;
}

uint64_t trace_error_time(const struct perfdata *p, const uint8_t *bytes, size_t size)
{
	return size >= FIXED && word32_at(p, bytes, 28) ? perfdata_word_at(p, bytes, TIME) : 0;
}

/* The text ends in the record, and is for terminals. */
static const char *copy_text(struct perfdata *p, const uint8_t *bytes, size_t size)
{
	size_t n = MIN(size, sizeof(p->trace_error_text) - 1);

	n = strnlen((const char *)bytes, n);
	for (size_t i = 0; i < n; i++)
		p->trace_error_text[i] =
			(char)(bytes[i] >= ' ' && bytes[i] < 0x7f ? bytes[i] : '?');
	p->trace_error_text[n] = '\0';
	return p->trace_error_text;
}

static bool trace_error_read(struct perfdata *p, const uint8_t *bytes, size_t size, struct event *e)
{
	size_t text = size >= FIXED && word32_at(p, bytes, 28) ? FIXED : TIME;
	uint32_t code;

	if (size < FIXED || word32_at(p, bytes, 8) != ITRACE)
		return false;
	code = word32_at(p, bytes, 12);
	*e = (struct event){ .type = EVENT_TRACE_ERROR,
			     .cpu = word32_at(p, bytes, 16),
			     .pid = (int32_t)word32_at(p, bytes, 20),
			     .tid = (int32_t)word32_at(p, bytes, 24),
			     .time_ns = trace_error_time(p, bytes, size) };
	if (code == TRACE_ERROR_UNVERIFIED) {
		e->type = EVENT_TRACE_UNVERIFIED;
		e->trace_unverified.text = copy_text(p, bytes + text, size - text);
		return true;
	}
	e->trace_error.reason = trace_error_reason(code);
	e->trace_error.code = code;
	e->trace_error.addr = perfdata_word_at(p, bytes, 32);
	e->trace_error.text = copy_text(p, bytes + text, size - text);
	return true;
}

int trace_error_push(struct perfdata *p, const uint8_t *bytes, size_t size, struct event_sink *sink)
{
	struct event e;

	if (trace_error_read(p, bytes, size, &e))
		return event_push(sink, &e);
	p->stats.bad_records++;
	return 0;
}
