/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "counter/counter.h"
#include "counter/spec/parse.h"
#include "counter/reason.h"
#include "counter/sources.h"

static void default_add_note(char *note, size_t size, const char *text)
{
	size_t len = strlen(note);

	if (len < size)
		snprintf(note + len, size - len, "%s%s", len ? "; " : "", text);
}

/* Opens all from `first` on for this process, as that takes the least permission. */
static int default_try_open(const struct counter_sources *sources, const struct counters *c,
			    size_t first, struct error *err)
{
	for (size_t i = first; i < c->n; i++) {
		int fd = sources_open(sources, &c->data[i].attr, 0, -1);

		if (fd < 0)
			return counter_explain(sources, &c->data[i], fd, err);
		close(fd);
	}
	return 0;
}

/*
 * Adds the event in all modes, or else in user mode only: a security module may refuse modes that
 * the paranoid level allows. Reports the first refusal.
 */
static int try_event(const struct counter_sources *sources, const char *name,
		     const struct counter_rate *rate, struct counters *out, bool *is_rate_error,
		     struct error *err)
{
	static const char *const modes[] = { "", ":u" };
	size_t first = out->n;
	int code = 0;

	*is_rate_error = false;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		char spec[32];
		int r;

		snprintf(spec, sizeof(spec), "%s%s", name, modes[i]);
		r = counter_parse(sources, spec, rate, out, err);
		*is_rate_error = r < 0;
		if (r == 0)
			r = default_try_open(sources, out, first, code ? NULL : err);
		if (r == 0)
			return 0;
		counters_drop(out, first);
		code = code ? code : r;
		if (*is_rate_error || (r != -EACCES && r != -EPERM))
			break;
	}
	return code;
}

/* A short reason why cycles are not available. */
static const char *why_no_cycles(int code)
{
	switch (-code) {
	case EACCES:
	case EPERM:
		return "hardware counters are not permitted; sampling by the cpu-clock timer";
	case EBUSY:
		return "the hardware counters are taken; sampling by the cpu-clock timer";
	default:
		return "no hardware counters here; sampling by the cpu-clock timer";
	}
}

static void note_rate(const struct counter_sources *sources, const struct counter_rate *rate,
		      char *note, size_t note_size)
{
	uint64_t max = sources_max_rate(sources);
	char text[128];

	if (rate->freq_hz || rate->count || !max || max >= DEFAULT_FREQ_HZ)
		return;
	snprintf(text, sizeof(text),
		 "%" PRIu64 " Hz, as kernel.perf_event_max_sample_rate allows no more", max);
	default_add_note(note, note_size, text);
}

static void note_level(const struct counter_sources *sources, char *text, size_t size)
{
	char setting[96];

	reason_put_setting(sources, "perf_event_paranoid", setting, sizeof(setting));
	snprintf(text, size, "user mode only, as %s", setting);
}

static void note_modes(const struct counter_sources *sources, const struct counter *c, char *note,
		       size_t note_size)
{
	char text[128];

	if (!c->attr.exclude_kernel)
		return;
	if (sources_may_kernel(sources))
		snprintf(text, sizeof(text), "user mode only, as the kernel refuses the rest");
	else
		note_level(sources, text, sizeof(text));
	default_add_note(note, note_size, text);
}

int counter_default(const struct counter_sources *sources, const struct counter_rate *rate,
		    struct counters *out, char *note, size_t note_size, struct error *err)
{
	bool is_rate_error;
	int cycles, r;

	note[0] = '\0';
	r = cycles = try_event(sources, "cycles", rate, out, &is_rate_error, err);
	if (r < 0 && !is_rate_error) {
		default_add_note(note, note_size, why_no_cycles(cycles));
		r = try_event(sources, "cpu-clock", rate, out, &is_rate_error, err);
		if (r == 0 && rate->count)
			default_add_note(note, note_size, "the count is in nanoseconds");
	}
	if (r < 0) {
		note[0] = '\0';
		return r;
	}
	note_modes(sources, &out->data[out->n - 1], note, note_size);
	note_rate(sources, rate, note, note_size);
	return 0;
}
