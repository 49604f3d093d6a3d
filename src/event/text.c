/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "event/loss.h"

#define MAX_CALLERS 1024
#define MAX_BYTES   1024

static const char *const mode_names[] = {
	[MODE_USER] = "user",
	[MODE_KERNEL] = "kernel",
	[MODE_GUEST_KERNEL] = "guest-kernel",
	[MODE_GUEST_USER] = "guest-user",
	[MODE_HYPERVISOR] = "hypervisor",
	[MODE_UNKNOWN] = "unknown",
};

/* Control characters and bytes that are not UTF-8 are \xNN, byte by byte. */
static void format_string(struct buf *out, const char *key, const char *s)
{
	buf_printf(out, " %s=\"", key);
	while (*s) {
		uint32_t code_point;
		size_t len = utf8_len(s);
		bool is_hidden =
			(uint8_t)*s < 0x20 || *s == 0x7f || !len || utf8_control(s, &code_point);

		if (*s == '"' || *s == '\\')
			buf_u8(out, '\\');
		for (size_t i = 0; i < MAX(len, (size_t)1); i++, s++)
			if (*s == '\n')
				buf_str(out, "\\n");
			else if (is_hidden)
				buf_printf(out, "\\x%02x", (uint8_t)*s);
			else
				buf_u8(out, (uint8_t)*s);
	}
	buf_u8(out, '"');
}

static void format_hex(struct buf *out, const char *key, const uint8_t *bytes, size_t n)
{
	buf_printf(out, " %s=", key);
	for (size_t i = 0; i < n; i++)
		buf_printf(out, "%02x", bytes[i]);
}

static void format_addresses(struct buf *out, const char *key, const uint64_t *addrs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		buf_printf(out, "%s%s0x%" PRIx64, i ? "," : " ", i ? "" : key, addrs[i]);
}

static void format_sample(struct buf *out, const struct sample_event *s)
{
	buf_printf(out, " counter=%u mode=%s period=%" PRIu64 " ip=0x%" PRIx64, s->counter,
		   mode_names[s->mode], s->period, s->ip);
	if (s->chain_cut)
		buf_str(out, " cut");
	if (!s->n_callers)
		return;
	format_addresses(out, "kernel=", s->callers, s->n_kernel);
	format_addresses(out, "user=", s->callers + s->n_kernel, s->n_callers - s->n_kernel);
}

static void format_mapping(struct buf *out, const struct mapping_event *m)
{
	char hex[BUILD_ID_HEX_SIZE];

	buf_printf(out, " start=0x%" PRIx64 " size=0x%" PRIx64 " off=0x%" PRIx64, m->start, m->size,
		   m->file_off);
	if (m->build_id.len) {
		build_id_hex(&m->build_id, hex);
		buf_printf(out, " build-id=%s", hex);
	}
	if (m->dev || m->ino)
		buf_printf(out, " dev=%" PRIu64 " ino=%" PRIu64, m->dev, m->ino);
	if (!m->is_executable)
		buf_str(out, " data");
	format_string(out, "path", m->path);
}

void event_format(struct buf *out, const struct event *e)
{
	buf_printf(out, "%" PRIu64 ".%09" PRIu64 " cpu%u %d/%d %s", e->time_ns / NS_PER_SECOND,
		   e->time_ns % NS_PER_SECOND, e->cpu, e->pid, e->tid, event_type_names[e->type]);
	switch (e->type) {
	case EVENT_SAMPLE:
		format_sample(out, &e->sample);
		break;
	case EVENT_MAPPING:
		format_mapping(out, &e->mapping);
		break;
	case EVENT_COMM:
		buf_str(out, e->comm.is_exec ? " exec" : "");
		format_string(out, "name", e->comm.name);
		break;
	case EVENT_FORK:
		buf_printf(out, " parent=%d/%d", e->fork.ppid, e->fork.ptid);
		break;
	case EVENT_KSYMBOL:
		buf_printf(out, " start=0x%" PRIx64 " size=0x%x%s%s", e->ksymbol.addr,
			   e->ksymbol.size, e->ksymbol.is_bpf ? " bpf" : "",
			   e->ksymbol.is_unregister ? " gone" : "");
		format_string(out, "name", e->ksymbol.name);
		break;
	case EVENT_LOST:
	case EVENT_LOST_SAMPLES:
		buf_printf(out, " counter=%u n=%" PRIu64, e->lost.counter, e->lost.n);
		break;
	case EVENT_THROTTLE:
		buf_printf(out, " counter=%u%s", e->throttle.counter,
			   e->throttle.is_end ? " end" : "");
		break;
	case EVENT_SWITCH:
		buf_printf(out, " other=%d/%d%s%s", e->context_switch.other_pid,
			   e->context_switch.other_tid, e->context_switch.is_out ? " out" : "",
			   e->context_switch.is_preempted ? " preempted" : "");
		break;
	case EVENT_AUX:
	case EVENT_AUX_ID:
		buf_printf(out, " counter=%u off=0x%" PRIx64 " size=0x%" PRIx64 " flags=0x%" PRIx64,
			   e->aux.counter, e->aux.offset, e->aux.size, e->aux.flags);
		break;
	case EVENT_NAMESPACES:
		for (uint32_t i = 0; i < e->namespaces.n; i++)
			buf_printf(out, "%s0x%" PRIx64 ",0x%" PRIx64,
				   i ? "," : " links=", e->namespaces.links[i].dev,
				   e->namespaces.links[i].ino);
		break;
	case EVENT_CGROUP:
		buf_printf(out, " n=%" PRIu64, e->cgroup.id);
		format_string(out, "path", e->cgroup.path);
		break;
	case EVENT_BPF_PROGRAM:
		buf_printf(out, " n=%u%s", e->bpf.id, e->bpf.is_unload ? " gone" : "");
		format_hex(out, "tag", e->bpf.tag, 8);
		break;
	case EVENT_TEXT_POKE:
		buf_printf(out, " start=0x%" PRIx64, e->text_poke.addr);
		format_hex(out, "old", e->text_poke.bytes, e->text_poke.n_old);
		format_hex(out, "new", e->text_poke.bytes + e->text_poke.n_old, e->text_poke.n_new);
		break;
	case EVENT_TRACE_ERROR:
		buf_printf(out, " n=%u start=0x%" PRIx64 " off=0x%" PRIx64, e->trace_error.reason,
			   e->trace_error.addr, e->trace_error.offset);
		break;
	case EVENT_TRACE_UNVERIFIED:
		buf_printf(out, " n=%" PRIu64 " start=0x%" PRIx64 " off=0x%" PRIx64 "%s",
			   e->trace_unverified.insns, e->trace_unverified.from_ns,
			   e->trace_unverified.offset,
			   e->trace_unverified.is_confirmed ? " end" : "");
		break;
	case EVENT_ITRACE_START:
	case EVENT_EXIT:
	case N_EVENT_TYPES:
		break;
	}
	buf_u8(out, '\n');
}

/*
 * All that a line can say; an event takes what its type has. One set of keys
 * for all types keeps the parser a table.
 */
struct line {
	uint64_t start, size, off, dev, ino, ip, period, counter, n, flags;
	uint64_t callers[MAX_CALLERS];
	uint32_t n_callers, n_kernel;
	int32_t ppid, ptid; /* or the other thread of a switch */
	enum cpu_mode mode;
	struct build_id build_id;
	char *name;
	uint8_t bytes[MAX_BYTES]; /* `old` and `new`, or a tag */
	uint32_t n_bytes, n_old;
	bool is_exec, is_data, is_cut, is_bpf, is_gone, is_end, is_out, is_preempted;
};

struct key {
	const char *name;
	bool (*parse)(struct line *l, char *value, size_t field);
	size_t field;
};

static bool event_parse_number(struct line *l, char *value, size_t field)
{
	char *end;

	errno = 0;
	*(uint64_t *)((char *)l + field) = strtoull(value, &end, 0);
	return end != value && !*end && !errno;
}

static bool parse_string(struct line *l, char *value, size_t field)
{
	(void)field;
	l->name = value;
	return true;
}

static bool parse_mode(struct line *l, char *value, size_t field)
{
	(void)field;
	for (size_t i = 0; i < ARRAY_SIZE(mode_names); i++) {
		if (!strcmp(mode_names[i], value)) {
			l->mode = (enum cpu_mode)i;
			return true;
		}
	}
	return false;
}

static bool parse_callers(struct line *l, char *value, size_t field)
{
	char *rest = value;

	for (char *word; (word = strsep(&rest, ","));) {
		char *end;

		if (l->n_callers == MAX_CALLERS)
			return false;
		l->callers[l->n_callers++] = strtoull(word, &end, 0);
		if (end == word || *end)
			return false;
	}
	if (field)
		l->n_kernel = l->n_callers;
	return true;
}

static bool parse_parent(struct line *l, char *value, size_t field)
{
	char *slash;

	(void)field;
	l->ppid = (int32_t)strtol(value, &slash, 10);
	l->ptid = *slash == '/' ? (int32_t)strtol(slash + 1, &slash, 10) : 0;
	return !*slash;
}

static bool parse_build_id(struct line *l, char *value, size_t field)
{
	(void)field;
	return build_id_parse(value, &l->build_id);
}

/* More bytes, behind those that are there. */
static bool parse_hex(struct line *l, char *value, size_t field)
{
	for (; value[0] && value[1] && l->n_bytes < MAX_BYTES; value += 2) {
		unsigned int byte;

		if (sscanf(value, "%2x", &byte) != 1)
			return false;
		l->bytes[l->n_bytes++] = (uint8_t)byte;
	}
	if (field)
		l->n_old = l->n_bytes;
	return !*value;
}

static bool parse_flag(struct line *l, char *value, size_t field)
{
	*(bool *)((char *)l + field) = true;
	return !value;
}

#define FIELD(f) offsetof(struct line, f)
static const struct key keys[] = {
	{ "start", event_parse_number, FIELD(start) },
	{ "size", event_parse_number, FIELD(size) },
	{ "off", event_parse_number, FIELD(off) },
	{ "dev", event_parse_number, FIELD(dev) },
	{ "ino", event_parse_number, FIELD(ino) },
	{ "ip", event_parse_number, FIELD(ip) },
	{ "period", event_parse_number, FIELD(period) },
	{ "counter", event_parse_number, FIELD(counter) },
	{ "n", event_parse_number, FIELD(n) },
	{ "flags", event_parse_number, FIELD(flags) },
	{ "mode", parse_mode, 0 },
	{ "kernel", parse_callers, 1 },
	{ "user", parse_callers, 0 },
	{ "links", parse_callers, 0 },
	{ "parent", parse_parent, 0 },
	{ "other", parse_parent, 0 },
	{ "old", parse_hex, 1 },
	{ "new", parse_hex, 0 },
	{ "tag", parse_hex, 0 },
	{ "build-id", parse_build_id, 0 },
	{ "path", parse_string, 0 },
	{ "name", parse_string, 0 },
	{ "exec", parse_flag, FIELD(is_exec) },
	{ "data", parse_flag, FIELD(is_data) },
	{ "cut", parse_flag, FIELD(is_cut) },
	{ "bpf", parse_flag, FIELD(is_bpf) },
	{ "gone", parse_flag, FIELD(is_gone) },
	{ "end", parse_flag, FIELD(is_end) },
	{ "out", parse_flag, FIELD(is_out) },
	{ "preempted", parse_flag, FIELD(is_preempted) },
};

/* The character behind a backslash; `at` moves to its last byte. */
static char event_unescape(char **at)
{
	unsigned int byte;
	int n = 0;

	if (**at == 'n')
		return '\n';
	if (sscanf(*at, "x%2x%n", &byte, &n) != 1 || n != 3 || !byte)
		return **at;
	*at += 2;
	return (char)byte;
}

/* Cuts the next word off the line; quotes hold blanks together and are taken out. */
static char *next_word(char **at)
{
	char *word, *out;
	bool quoted = false;

	*at += strspn(*at, " \t");
	if (!**at || **at == '#')
		return NULL;
	word = out = *at;
	for (; **at && (quoted || (**at != ' ' && **at != '\t')); ++*at) {
		if (**at == '"') {
			quoted = !quoted;
			continue;
		}
		if (**at == '\\' && (*at)[1]) {
			++*at;
			*out++ = event_unescape(at);
			continue;
		}
		*out++ = **at;
	}
	if (**at)
		++*at;
	*out = '\0';
	return word;
}

static bool parse_key(struct line *l, char *word)
{
	char *value = strchr(word, '=');

	if (value)
		*value++ = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (!strcmp(keys[i].name, word))
			return (value || keys[i].parse == parse_flag) &&
			       keys[i].parse(l, value, keys[i].field);
	return false;
}

static bool event_parse_time(const char *word, uint64_t *out)
{
	char *end;
	uint64_t seconds = strtoull(word, &end, 10), scale = 100000000;

	if (end == word)
		return false;
	*out = seconds * NS_PER_SECOND;
	if (*end == '.')
		for (end++; *end >= '0' && *end <= '9'; end++, scale /= 10)
			*out += (uint64_t)(*end - '0') * scale;
	return !*end;
}

/* TIME, cpuN, PID/TID and TYPE: the four words that every line has, by their place. */
static bool parse_place(struct event *e, int place, const char *word)
{
	switch (place) {
	case 0:
		return event_parse_time(word, &e->time_ns);
	case 1:
		return sscanf(word, "cpu%u", &e->cpu) == 1;
	case 2:
		return sscanf(word, "%d/%d", &e->pid, &e->tid) == 2;
	default:
		for (int t = 0; t < N_EVENT_TYPES; t++) {
			if (!strcmp(event_type_names[t], word)) {
				e->type = (enum event_type)t;
				return true;
			}
		}
		return false;
	}
}

static void fill_event(struct event *e, const struct line *l)
{
	const char *name = l->name ? l->name : "";

	switch (e->type) {
	case EVENT_SAMPLE:
		e->sample = (struct sample_event){
			.counter = (uint32_t)l->counter,
			.mode = l->mode,
			.ip = l->ip,
			.period = l->period,
			.callers = l->callers,
			.n_callers = l->n_callers,
			.n_kernel = l->n_kernel,
			.chain_cut = l->is_cut,
		};
		break;
	case EVENT_MAPPING:
		e->mapping = (struct mapping_event){
			.start = l->start,
			.size = l->size,
			.file_off = l->off,
			.dev = l->dev,
			.ino = l->ino,
			.build_id = l->build_id,
			.path = name,
			.is_kernel = e->pid < 0,
			.is_executable = !l->is_data,
		};
		break;
	case EVENT_COMM:
		e->comm.name = name;
		e->comm.is_exec = l->is_exec;
		break;
	case EVENT_FORK:
		e->fork.ppid = l->ppid;
		e->fork.ptid = l->ptid;
		break;
	case EVENT_KSYMBOL:
		e->ksymbol.addr = l->start;
		e->ksymbol.size = (uint32_t)l->size;
		e->ksymbol.is_bpf = l->is_bpf;
		e->ksymbol.is_unregister = l->is_gone;
		e->ksymbol.name = name;
		break;
	case EVENT_LOST:
	case EVENT_LOST_SAMPLES:
		e->lost.n = l->n;
		e->lost.counter = (uint32_t)l->counter;
		break;
	case EVENT_THROTTLE:
		e->throttle.counter = (uint32_t)l->counter;
		e->throttle.is_end = l->is_end;
		break;
	case EVENT_SWITCH:
		e->context_switch.is_out = l->is_out;
		e->context_switch.is_preempted = l->is_preempted;
		e->context_switch.other_pid = l->ppid;
		e->context_switch.other_tid = l->ptid;
		break;
	case EVENT_AUX:
	case EVENT_AUX_ID:
		e->aux.offset = l->off;
		e->aux.size = l->size;
		e->aux.flags = l->flags;
		e->aux.counter = (uint32_t)l->counter;
		break;
	case EVENT_NAMESPACES:
		e->namespaces.links = (const struct namespace_link *)l->callers;
		e->namespaces.n = l->n_callers / 2;
		break;
	case EVENT_CGROUP:
		e->cgroup.id = l->n;
		e->cgroup.path = name;
		break;
	case EVENT_BPF_PROGRAM:
		e->bpf.id = (uint32_t)l->n;
		e->bpf.is_unload = l->is_gone;
		e->bpf.tag = l->bytes;
		break;
	case EVENT_TEXT_POKE:
		e->text_poke.addr = l->start;
		e->text_poke.bytes = l->bytes;
		e->text_poke.n_old = (uint16_t)l->n_old;
		e->text_poke.n_new = (uint16_t)(l->n_bytes - l->n_old);
		break;
	case EVENT_TRACE_ERROR:
		e->trace_error.reason = (uint32_t)MIN(l->n, (uint64_t)N_LOSS_REASONS - 1);
		e->trace_error.addr = l->start;
		e->trace_error.offset = l->off;
		break;
	case EVENT_TRACE_UNVERIFIED:
		e->trace_unverified.insns = l->n;
		e->trace_unverified.from_ns = l->start;
		e->trace_unverified.offset = l->off;
		e->trace_unverified.is_confirmed = l->is_end;
		break;
	case EVENT_ITRACE_START:
	case EVENT_EXIT:
	case N_EVENT_TYPES:
		break;
	}
}

/* 1: an event was parsed; 0: the line is empty; negative: error. */
static int event_parse_line(char *text, unsigned int number, struct line *l, struct event *e,
			    struct error *err)
{
	int place = 0;

	*e = (struct event){ 0 };
	*l = (struct line){ 0 };
	for (char *word; (word = next_word(&text)); place++)
		if (place < 4 ? !parse_place(e, place, word) : !parse_key(l, word))
			return error_set(err, -EINVAL, "line %u: '%s' is not understood", number,
					 word);
	if (place > 0 && place < 4)
		return error_set(err, -EINVAL, "line %u: TIME cpuN PID/TID TYPE expected", number);
	fill_event(e, l);
	return place > 0;
}

int event_parse_text(const char *text, struct event_sink *sink, struct error *err)
{
	cleanup(free_at_exit) char *copy = xstrdup(text);
	cleanup(free_at_exit) struct line *l = xmalloc(sizeof(*l));
	char *rest = copy;
	unsigned int number = 0;

	for (char *line; (line = strsep(&rest, "\n"));) {
		struct event e;
		int r = event_parse_line(line, ++number, l, &e, err);

		if (r > 0)
			r = event_push(sink, &e);
		if (r < 0)
			return r;
	}
	return 0;
}
