/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "foreign/perf_script.h"

struct script {
	struct foreign_sink *sink;
	struct foreign_facts *facts;
	struct foreign_sample sample;
	struct foreign_frame frames[FOREIGN_MAX_FRAMES];
	bool is_open;  /* a sample has begun and was not pushed yet */
	bool is_cut;   /* it has more frames than are kept */
	bool is_flat;  /* its frame stood on its own line: no chain follows */
	bool has_more; /* it has text that is not kept */
};

/* The first line of a sample. */

/* "12.345678:", seconds with six or nine digits behind the point. */
static bool perf_script_parse_time(struct slice word, uint64_t *out)
{
	const char *point = word.len ? memchr(word.at, '.', word.len) : NULL;
	size_t whole = point ? (size_t)(point - word.at) : 0;
	uint64_t seconds, fraction;
	struct slice digits;

	if (!point || word.at[word.len - 1] != ':')
		return false;
	digits = slice_from(slice_head(word, word.len - 1), whole + 1);
	if ((digits.len != 6 && digits.len != 9) ||
	    !slice_number(slice_head(word, whole), 10, &seconds) ||
	    !slice_number(digits, 10, &fraction) || seconds > UINT64_MAX / NS_PER_SECOND - 1)
		return false;
	*out = seconds * NS_PER_SECOND + (digits.len == 6 ? fraction * 1000 : fraction);
	return true;
}

static bool parse_id(struct slice word, int32_t *out)
{
	uint64_t v;

	if (slice_equal(word, SLICE("-1"))) {
		*out = -1;
		return true;
	}
	if (!slice_number(word, 10, &v) || v > INT32_MAX)
		return false;
	*out = (int32_t)v;
	return true;
}

static bool perf_script_parse_ids(struct slice word, struct foreign_sample *s)
{
	const char *slash = word.len ? memchr(word.at, '/', word.len) : NULL;
	size_t at = slash ? (size_t)(slash - word.at) : word.len;

	if (!parse_id(slice_head(word, at), &s->pid))
		return false;
	s->tid = s->pid;
	return !slash || parse_id(slice_from(word, at + 1), &s->tid);
}

static bool perf_script_parse_cpu(struct slice word, uint32_t *out)
{
	uint64_t v;

	if (word.len < 3 || word.at[0] != '[' || word.at[word.len - 1] != ']' ||
	    !slice_number(slice_from(slice_head(word, word.len - 1), 1), 10, &v) || v > UINT16_MAX)
		return false;
	*out = (uint32_t)v;
	return true;
}

/* The flags of -F misc: letters for the mode, and for kinds of side-band records. */
static bool is_misc(struct slice word)
{
	for (size_t i = 0; i < word.len; i++)
		if (!strchr("UKHGgSETMm", word.at[i]) || !word.at[i])
			return false;
	return word.len && word.len <= 3;
}

/* Unlike a time or a period, an event's name ends in ':' and begins with no digit. */
static bool is_event(struct slice word)
{
	return word.len > 1 && word.at[word.len - 1] == ':' &&
	       !(word.at[0] >= '0' && word.at[0] <= '9') && word.at[0] != '[';
}

/* Takes the next word if `parse` accepts it. */
#define TAKE(rest, parse, ...)                                             \
	({                                                                 \
		struct slice after_ = (rest), word_ = slice_word(&after_); \
		bool taken_ = parse(word_, ##__VA_ARGS__);                 \
		if (taken_)                                                \
			(rest) = after_;                                   \
		taken_;                                                    \
	})

static bool parse_period(struct slice word, uint64_t *out)
{
	return slice_number(word, 10, out);
}

/* The fields behind the comm, the first word of `at` being the process. */
static bool parse_tail(struct slice at, struct perf_script_head *h)
{
	struct foreign_sample *s = &h->sample;
	struct slice after;

	*h = (struct perf_script_head){ .sample = { .samples = 1, .period = 1 } };
	if (!TAKE(at, perf_script_parse_ids, s))
		return false;
	TAKE(at, perf_script_parse_cpu, &s->cpu);
	TAKE(at, is_misc);
	h->has_time = TAKE(at, perf_script_parse_time, &s->time_ns);
	after = slice_trim(at);
	if (h->has_time && slice_starts(after, SLICE("PERF_RECORD_"))) {
		h->is_side_band = true;
		h->rest = after;
		return true;
	}
	after = at;
	if (!TAKE(after, parse_period, &s->period))
		after = at;
	s->event = slice_word(&after);
	h->has_event = is_event(s->event);
	if (h->has_event) {
		s->event.len--;
		h->rest = slice_trim(after);
		return true;
	}
	s->period = 1;
	s->event = (struct slice){ 0 };
	h->rest = slice_trim(at);
	return h->has_time;
}

/* The comm ends at the first word behind which the rest of the line has the form it must have. */
bool perf_script_parse_head(struct slice line, struct perf_script_head *h)
{
	struct slice at = line, start = slice_trim(line);

	for (unsigned int n_words = 0; n_words < 20; n_words++) {
		struct slice here = slice_trim(at);

		if (!here.len)
			return false;
		if (parse_tail(at, h)) {
			h->sample.comm =
				slice_trim(slice_head(start, (size_t)(here.at - start.at)));
			return true;
		}
		slice_word(&at);
	}
	return false;
}

bool perf_script_is_sample(struct slice line)
{
	struct perf_script_head h;

	return line.len && line.at[0] != '#' && perf_script_parse_head(line, &h) && !h.is_side_band;
}

/* Frames. */

static bool is_kernel_image(struct slice image, uint64_t addr)
{
	static const struct slice user[] = {
		SLICE("[vdso]"), SLICE("[vsyscall]"), SLICE("[heap]"),
		SLICE("[stack"), SLICE("[anon"),      SLICE("[uprobes]"),
	};

	if (slice_ends(image, SLICE(".ko")) || slice_starts(image, SLICE("bpf_prog_")))
		return true;
	if (!image.len)
		return addr >> 63;
	if (image.at[0] != '[')
		return memmem(image.at, image.len, ".ko.", 4) != NULL;
	for (size_t i = 0; i < ARRAY_SIZE(user); i++)
		if (slice_starts(image, user[i]))
			return false;
	return true;
}

/* "…+0x1f" at the end of a name or an image. */
static bool cut_offset(struct slice *s, uint64_t *out)
{
	size_t at = s->len;

	while (at > 0 && s->at[at - 1] != '+')
		at--;
	if (!at || !slice_starts(slice_from(*s, at), SLICE("0x")) ||
	    !slice_number(slice_from(*s, at + 2), 16, out))
		return false;
	s->len = at - 1;
	return true;
}

/*
 * " (dso)" at the end: from the parenthesis that the last one closes, as both a path
 * ("/tmp/a (deleted)") and a C++ name may have some. It stands behind a blank.
 */
static bool cut_image(struct slice *s, struct slice *image)
{
	size_t at = s->len;
	unsigned int depth = 0;

	if (!s->len || s->at[s->len - 1] != ')')
		return false;
	do {
		at--;
		depth += s->at[at] == ')';
		depth -= s->at[at] == '(';
	} while (depth && at);
	if (depth || (at && s->at[at - 1] != ' '))
		return false;
	*image = slice_from(slice_head(*s, s->len - 1), at + 1);
	*s = slice_trim(slice_head(*s, at));
	return true;
}

/* "addr sym+off (dso)", of which addr, or else dso, must be there. */
static bool perf_script_parse_frame(struct slice line, struct foreign_frame *f)
{
	struct slice rest = slice_trim(line), after = rest, next;
	bool has_image, is_inlined = false;
	uint64_t more;

	*f = (struct foreign_frame){ 0 };
	if (slice_ends(rest, SLICE(" (inlined)"))) {
		is_inlined = true;
		after.len = rest.len -= sizeof(" (inlined)") - 1;
	}
	has_image = cut_image(&rest, &f->image);
	after.len = rest.len;
	if (slice_number(slice_word(&after), 16, &f->addr)) {
		/* Fields before the address, as addr of memory events: numbers of 16 places. */
		for (next = after; slice_number(slice_word(&next), 16, &more) && more > UINT32_MAX;
		     after = next)
			f->addr = more;
		rest = slice_trim(after);
	} else if (!has_image) {
		return false;
	}
	f->symbol = rest;
	cut_offset(&f->symbol, &f->symbol_off);
	f->has_file_off = has_image && cut_offset(&f->image, &f->file_off);
	if (slice_equal(f->symbol, SLICE("[unknown]")))
		f->symbol.len = 0;
	if (slice_equal(f->image, SLICE("[unknown]")) || slice_equal(f->image, SLICE("inlined")))
		f->image.len = 0;
	if (!f->symbol.len)
		f->symbol_off = 0;
	f->is_kernel = is_kernel_image(f->image, f->addr);
	return rest.len || has_image || !is_inlined;
}

/* "  file.c:12", "  image[addr]": what -F srcline puts below a frame. */
static bool is_source_line(struct slice line)
{
	struct slice text = slice_trim(line);
	size_t digits = text.len;

	if (!slice_starts(line, SLICE("  ")) || !text.len)
		return false;
	while (digits && text.at[digits - 1] >= '0' && text.at[digits - 1] <= '9')
		digits--;
	return text.at[text.len - 1] == ']' ||
	       (digits && digits < text.len && text.at[digits - 1] == ':');
}

/* "  file.c:12" is of the frame above; "  image[addr]" is not of a line. */
static void take_source_line(struct script *s, struct slice line)
{
	struct foreign_frame *f = s->sample.n_frames ? &s->frames[s->sample.n_frames - 1] : NULL;
	struct slice text = slice_trim(line);
	const char *colon = memrchr(text.at, ':', text.len);
	size_t at = colon ? (size_t)(colon - text.at) : 0;
	uint64_t number;

	if (!at || !slice_number(slice_from(text, at + 1), 10, &number))
		return;
	if (!f || s->is_cut || !f->symbol.len || f->line || number > INT32_MAX) {
		s->facts->n_lines += number != 0;
		return;
	}
	f->file = slice_head(text, at);
	f->line = (uint32_t)number;
}

/* Samples. */

static int finish_sample(struct script *s)
{
	/* An inlined frame has the image of its caller. */
	for (uint32_t i = s->sample.n_frames; s->is_open && i-- > 1;) {
		struct foreign_frame *inner = &s->frames[i - 1], *outer = &s->frames[i];

		if (!inner->image.len && inner->symbol.len && inner->addr == outer->addr) {
			inner->image = outer->image;
			inner->is_kernel = outer->is_kernel;
		}
	}
	if (!s->is_open)
		return 0;
	s->is_open = false;
	s->facts->n_cut += s->is_cut;
	s->facts->n_extra += s->has_more;
	return s->sink->sample(s->sink, &s->sample);
}

static void add_frame(struct script *s, const struct foreign_frame *f)
{
	if (s->sample.n_frames == FOREIGN_MAX_FRAMES)
		s->is_cut = true;
	else
		s->frames[s->sample.n_frames++] = *f;
}

/* "PERF_RECORD_LOST lost 12", "PERF_RECORD_LOST_SAMPLES lost 12". */
static void take_side_band(struct script *s, struct slice text)
{
	struct slice kind = slice_word(&text), word;
	uint64_t n;

	if (!slice_starts(kind, SLICE("PERF_RECORD_LOST")))
		return;
	do
		word = slice_word(&text);
	while (word.len && !slice_number(word, 10, &n));
	if (word.len)
		s->facts->lost += n;
}

static int perf_script_begin_sample(struct script *s, const struct perf_script_head *h)
{
	struct foreign_frame frame;
	int r = finish_sample(s);

	if (r < 0)
		return r;
	if (h->is_side_band) {
		take_side_band(s, h->rest);
		return 0;
	}
	s->sample = h->sample;
	s->sample.frames = s->frames;
	s->is_open = true;
	s->is_cut = s->has_more = s->is_flat = false;
	if (slice_starts(s->sample.event, SLICE("cpu-clock")) ||
	    slice_starts(s->sample.event, SLICE("task-clock")))
		s->sample.unit = SLICE("ns");
	if (!s->sample.event.len)
		s->sample.event = SLICE("samples");
	if (!h->rest.len)
		return 0;
	s->is_flat = perf_script_parse_frame(h->rest, &frame);
	if (s->is_flat)
		add_frame(s, &frame);
	else
		s->has_more = true;
	return 0;
}

/* "# key : value" of --header. */
static void take_fact(struct script *s, struct slice line)
{
	const char *colon = memchr(line.at, ':', line.len);
	size_t at = colon ? (size_t)(colon - line.at) : 0;
	struct foreign_facts *f = s->facts;
	struct {
		struct slice key;
		char **fact;
	} facts[] = {
		{ SLICE("hostname"), &f->hostname }, { SLICE("os release"), &f->release },
		{ SLICE("arch"), &f->arch },         { SLICE("cpudesc"), &f->cpu_model },
		{ SLICE("cmdline"), &f->command },   { SLICE("perf version"), &f->tool },
	};
	struct slice key, value;
	uint64_t n;

	if (!colon)
		return;
	key = slice_trim(slice_from(slice_head(line, at), 1));
	value = slice_trim(slice_from(line, at + 1));
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		if (slice_equal(key, facts[i].key))
			foreign_fact_set(facts[i].fact, value);
	if (slice_equal(key, SLICE("nrcpus online")) && slice_number(value, 10, &n) &&
	    n <= UINT16_MAX)
		f->n_cpus = (uint32_t)n;
}

static int perf_script_take_line(struct script *s, struct slice line, uint64_t number)
{
	struct foreign_frame frame;
	struct perf_script_head head;

	if (!slice_trim(line).len)
		return finish_sample(s);
	if (s->is_open && slice_is_space(line.at[0])) {
		bool is_frame = !s->is_flat && !is_source_line(line) &&
				perf_script_parse_frame(line, &frame);

		/* A comm may look like an address, but no frame like the head of a sample. */
		if (is_frame && (line.at[0] == '\t' || !perf_script_parse_head(line, &head))) {
			add_frame(s, &frame);
			return 0;
		}
		if (is_source_line(line) && !perf_script_parse_head(line, &head)) {
			take_source_line(s, line);
			return 0;
		}
	}
	if (slice_starts(line, SLICE("# ")) || slice_equal(slice_trim(line), SLICE("#"))) {
		take_fact(s, line);
		return 0;
	}
	if (perf_script_parse_head(line, &head))
		return perf_script_begin_sample(s, &head);
	foreign_facts_bad_line(s->facts, number, line);
	return 0;
}

int perf_script_read(struct slice text, struct foreign_sink *sink, struct foreign_facts *facts)
{
	cleanup(free_at_exit) struct script *s = xcalloc(1, sizeof(*s));
	struct slice line;
	int r = 0;

	s->sink = sink;
	s->facts = facts;
	for (uint64_t number = 1; !r && slice_line(&text, &line); number++)
		r = perf_script_take_line(s, line, number);
	return r ? r : finish_sample(s);
}
