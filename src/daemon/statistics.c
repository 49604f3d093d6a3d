/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/statistics.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "daemon/request.h"

enum kind {
	KIND_FLAG,
	KIND_U32,
	KIND_U64,
	KIND_NS,      /* a duration: seconds */
	KIND_SECONDS, /* as a double */
	KIND_TIME,    /* CLOCK_REALTIME: seconds since 1970, in JSON also text; 0: not known */
	KIND_PERCENT, /* a ratio as a metric */
};

struct row {
	size_t offset;
	enum kind kind;
	const char *key, *metric, *type, *help;
};

static const struct row rows[] = {
#define STATISTIC(field, kind, key, metric, type, help) \
	{ offsetof(struct statistics, field), KIND_##kind, key, metric, type, help },
#include "daemon/statistics.def"
#undef STATISTIC
};

/* The losses by kind, one metric for each kind. statistics.def has the sums of some kinds. */
static const struct {
	enum loss_kind kind;
	const char *key, *metric, *help;
} families[] = {
	{ LOSS_LOST, "lost_by_reason", "assay_lost_samples_by_reason_total",
	  "Samples that are not in the profile, by reason." },
	{ LOSS_UNATTRIBUTED, "unattributed_by_reason", "assay_unattributed_samples_by_reason_total",
	  "Samples whose image is not known, by reason." },
	{ LOSS_NOTE, "notes", "assay_notes_total",
	  "Other facts that make the profile worse, by kind." },
};

/* ---- JSON ---- */

static json_t *time_text(uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / NS_PER_SECOND);
	char text[40];
	struct tm tm;

	if (!wall_ns || !gmtime_r(&seconds, &tm) ||
	    !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return json_null();
	return json_string(text);
}

static json_t *value_json(const struct row *row, const struct statistics *s)
{
	const char *at = (const char *)s + row->offset;

	switch (row->kind) {
	case KIND_FLAG:
		return json_boolean(*(const bool *)at);
	case KIND_U32:
		return json_integer(*(const uint32_t *)at);
	case KIND_U64:
		return json_integer((json_int_t) * (const uint64_t *)at);
	case KIND_NS:
		return json_real((double)*(const uint64_t *)at / (double)NS_PER_SECOND);
	case KIND_TIME:
		return time_text(*(const uint64_t *)at);
	case KIND_SECONDS:
	case KIND_PERCENT:
		return json_real(*(const double *)at);
	}
	return json_null();
}

static json_t *losses_json(const struct daemon_status *status, enum loss_kind kind)
{
	json_t *out = json_object();

	for (int i = 0; i < N_LOSS_REASONS; i++)
		if (loss_texts[i].kind == kind && status->losses[i])
			json_object_set_new(out, loss_texts[i].key,
					    json_integer((json_int_t)status->losses[i]));
	return out;
}

static json_t *texts_json(const char *const *texts, size_t n)
{
	json_t *out = json_array();

	for (size_t i = 0; i < n; i++) {
		json_t *holder = json_object();

		request_put_text(holder, "", texts[i]);
		json_array_append(out, json_object_get(holder, ""));
		json_decref(holder);
	}
	return out;
}

static json_t *cpus_json(const struct daemon_status *status)
{
	json_t *out = json_array();

	for (size_t i = 0; i < status->n_cpus; i++)
		json_array_append_new(out, json_integer((json_int_t)status->cpu_samples[i]));
	return out;
}

static json_t *helper_json(const struct helper *h)
{
	return json_pack("{s:i, s:f, s:I}", "pid", (int)h->pid, "cpu_s",
			 (double)h->cpu_ns / (double)NS_PER_SECOND, "memory_bytes",
			 (json_int_t)h->bytes);
}

static json_t *helpers_json(const struct daemon_helpers *h)
{
	json_t *out = json_object();
	const struct parser_cost *p = &h->parsers;

	json_object_set_new(out, "keeper", helper_json(&h->keeper));
	json_object_set_new(out, "opener", helper_json(&h->opener));
	json_object_set_new(out, "starter", helper_json(&h->starter));
	json_object_set_new(out, "openers_died", json_integer(h->n_openers_died));
	json_object_set_new(out, "parsers",
			    json_pack("{s:i, s:i, s:i, s:i, s:f, s:I, s:I}", "running",
				      (int)p->n_running, "started", (int)p->n_started, "died",
				      (int)p->n_died, "questions", (int)p->n_questions, "cpu_s",
				      (double)p->cpu_ns / (double)NS_PER_SECOND, "memory_bytes",
				      (json_int_t)p->bytes, "peak_memory_bytes",
				      (json_int_t)p->peak_bytes));
	json_object_set_new(out, "upkeep_pid", json_integer(h->upkeep));
	return out;
}

/* The rights of the daemon, as they are. */
static json_t *rights_json(const struct daemon_status *status)
{
	json_t *out = json_pack("{s:i, s:b, s:i}", "uid", (int)status->user, "seccomp",
				status->is_filtered, "landlock", (int)status->fence_version);

	request_put_text(out, "user", status->user_name ? status->user_name : "");
	return out;
}

void statistics_json(const struct statistics *s, json_t *reply)
{
	const struct daemon_status *status = &s->status;
	const struct {
		const char *key, *text;
	} texts[] = {
		{ "version", status->version },
		{ "session_dir", status->session_dir },
		{ "part", status->part },
		{ "collector", status->collector },
		{ "stacks", status->stacks },
		{ "note", status->note },
		{ "write_error", status->write_error },
	};

	json_object_set_new(reply, "pid", json_integer(status->pid));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		request_put_text(reply, texts[i].key, texts[i].text ? texts[i].text : "");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		json_object_set_new(reply, rows[i].key, value_json(&rows[i], s));
	json_object_set_new(reply, "events", texts_json(status->events, status->n_events));
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		json_object_set_new(reply, families[i].key, losses_json(status, families[i].kind));
	json_object_set_new(reply, "cpu_samples", cpus_json(status));
	json_object_set_new(reply, "rights", rights_json(status));
	json_object_set_new(reply, "helpers", helpers_json(&status->helpers));
}

/* ---- Prometheus ---- */

static void put_head(struct buf *out, const char *metric, const char *type, const char *help)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", metric, help, metric, type);
}

/* A value of a label: backslash, quote and newline are escaped. */
static void put_metric_label(struct buf *out, const char *text)
{
	struct buf clean = { 0 };

	utf8_append(&clean, text);
	for (size_t i = 0; i < clean.len; i++) {
		char c = (char)clean.data[i];

		if (c == '\\' || c == '"' || c == '\n')
			buf_u8(out, '\\');
		buf_u8(out, (uint8_t)(c == '\n' ? 'n' : c));
	}
	buf_fini(&clean);
}

static void put_labelled(struct buf *out, const char *metric, const char *label, const char *value,
			 uint64_t n)
{
	buf_printf(out, "%s{%s=\"", metric, label);
	put_metric_label(out, value);
	buf_printf(out, "\"} %" PRIu64 "\n", n);
}

static void put_value(struct buf *out, const struct row *row, const struct statistics *s)
{
	const char *at = (const char *)s + row->offset;

	switch (row->kind) {
	case KIND_FLAG:
		buf_printf(out, "%s %d\n", row->metric, *(const bool *)at);
		return;
	case KIND_U32:
		buf_printf(out, "%s %" PRIu32 "\n", row->metric, *(const uint32_t *)at);
		return;
	case KIND_U64:
		buf_printf(out, "%s %" PRIu64 "\n", row->metric, *(const uint64_t *)at);
		return;
	case KIND_NS:
	case KIND_TIME:
		buf_printf(out, "%s %.3f\n", row->metric,
			   (double)*(const uint64_t *)at / (double)NS_PER_SECOND);
		return;
	case KIND_SECONDS:
		buf_printf(out, "%s %.3f\n", row->metric, *(const double *)at);
		return;
	case KIND_PERCENT:
		buf_printf(out, "%s %.6g\n", row->metric, *(const double *)at / 100);
		return;
	}
}

static void put_loss_metrics(struct buf *out, const struct daemon_status *status, size_t family)
{
	put_head(out, families[family].metric, "counter", families[family].help);
	for (int i = 0; i < N_LOSS_REASONS; i++)
		if (loss_texts[i].kind == families[family].kind)
			put_labelled(out, families[family].metric, "reason", loss_texts[i].key,
				     status->losses[i]);
}

void statistics_metrics(const struct statistics *s, struct buf *out)
{
	const struct daemon_status *status = &s->status;
	char cpu[24];

	put_head(out, "assay_build_info", "gauge", "The version that runs.");
	put_labelled(out, "assay_build_info", "version", status->version, 1);
	put_head(out, "assay_event_info", "gauge", "What is counted.");
	for (size_t i = 0; i < status->n_events; i++) {
		buf_printf(out, "assay_event_info{counter=\"%zu\",event=\"", i);
		put_metric_label(out, status->events[i]);
		buf_str(out, "\"} 1\n");
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!rows[i].metric)
			continue;
		put_head(out, rows[i].metric, rows[i].type, rows[i].help);
		put_value(out, &rows[i], s);
	}
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		put_loss_metrics(out, status, i);
	put_head(out, "assay_cpu_samples_total", "counter", "Samples counted, by CPU.");
	for (size_t i = 0; i < status->n_cpus; i++) {
		snprintf(cpu, sizeof(cpu), "%zu", i);
		put_labelled(out, "assay_cpu_samples_total", "cpu", cpu, status->cpu_samples[i]);
	}
	put_head(out, "assay_write_failing", "gauge", "1 if nothing can be written at present.");
	buf_printf(out, "assay_write_failing %d\n", status->write_error && *status->write_error);
}

/* ---- the log ---- */

void statistics_lines(const struct statistics *s, void (*line)(const char *text))
{
	const struct daemon_status *status = &s->status;
	struct buf text = { 0 };

	buf_printf(&text,
		   "statistics: %.0f s: %" PRIu64 " samples, %" PRIu64 " lost, %" PRIu64
		   " not attributed; %" PRIu64 " bytes written",
		   (double)status->uptime_ns / (double)NS_PER_SECOND, status->samples, status->lost,
		   status->unattributed, status->written_bytes);
	line(buf_cstr(&text));
	text.len = 0;
	buf_printf(&text,
		   "statistics: own use: %.1f s of CPU time (%.2f %% of a CPU), %.1f MiB; its "
		   "helpers: %.1f s, %.1f MiB",
		   (double)status->own_cpu_ns / (double)NS_PER_SECOND, status->cpu_percent,
		   (double)status->own_bytes / 1048576,
		   (double)status->helpers.cpu_ns / (double)NS_PER_SECOND,
		   (double)status->helpers.bytes / 1048576);
	line(buf_cstr(&text));
	for (int i = 0; i < N_LOSS_REASONS; i++) {
		if (!status->losses[i])
			continue;
		text.len = 0;
		buf_printf(&text, "statistics: %s: %" PRIu64 " %s", loss_texts[i].key,
			   status->losses[i], loss_texts[i].text);
		line(buf_cstr(&text));
	}
	for (size_t i = 0; i < status->n_cpus; i++) {
		text.len = 0;
		buf_printf(&text, "statistics: cpu %zu: %" PRIu64 " samples", i,
			   status->cpu_samples[i]);
		line(buf_cstr(&text));
	}
	buf_fini(&text);
}
