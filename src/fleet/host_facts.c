/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/host_facts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "config.h"

#define FACTS_MAX (16u << 10)
#define BOOT_ID   "/proc/sys/kernel/random/boot_id"

/* Without a word for so long, a machine counts as gone. */
#define GONE_S 3600

static const struct fact_row {
	const char *name;
	size_t offset, size; /* size 0: a number */
	bool is_signed;
} fact_rows[] = {
#define TEXT(f)                                                                                \
	{                                                                                      \
#f, offsetof(struct host_facts, f), sizeof(((struct host_facts *)0)->f), false \
	}
#define NUMBER(f)                                            \
	{                                                    \
#f, offsetof(struct host_facts, f), 0, false \
	}
	TEXT(version),
	TEXT(boot),
	NUMBER(boot_s),
	NUMBER(seen_s),
	NUMBER(cpus),
	NUMBER(rate_hz),
	NUMBER(backlog),
	NUMBER(expired),
	NUMBER(refused),
	NUMBER(cloned_s),
	NUMBER(names_day),
	NUMBER(names),
	NUMBER(names_bytes),
	TEXT(refusal),
	{ "skew_ms", offsetof(struct host_facts, skew_ms), 0, true },
#undef TEXT
#undef NUMBER
};

/* False: the value is none. */
static bool set_fact(struct host_facts *f, const struct fact_row *row, const char *value)
{
	void *at = (char *)f + row->offset;
	char *end;

	if (row->size) {
		snprintf(at, row->size, "%s", value);
		return true;
	}
	errno = 0;
	if (row->is_signed)
		*(int64_t *)at = strtoll(value, &end, 10);
	else
		*(uint64_t *)at = strtoull(value, &end, 10);
	return !errno && *value && !*end;
}

static bool parse_line(struct host_facts *f, char *line)
{
	char *value = strchr(line, ' ');

	if (!value)
		return !*line;
	*value++ = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(fact_rows); i++)
		if (!strcmp(fact_rows[i].name, line))
			return set_fact(f, &fact_rows[i], value);
	return true;
}

int host_facts_read(const char *fleet, const char *host, struct host_facts *out, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s/.host", fleet, host);
	cleanup(free_at_exit) char *text = NULL;
	char *rest, *line;
	size_t size;
	int r = file_read_all(path, FACTS_MAX, &text, &size);

	*out = (struct host_facts){ 0 };
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return error_errno(err, r, "cannot read %s", path);
	rest = text;
	while ((line = strsep(&rest, "\n")))
		if (!parse_line(out, line))
			return error_set(err, -EBADMSG, "%s: a line is damaged", path);
	return 0;
}

int host_facts_write(const char *fleet, const char *host, const struct host_facts *facts,
		     struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s/.host", fleet, host);
	struct buf text = { 0 };
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(fact_rows); i++) {
		const struct fact_row *row = &fact_rows[i];
		const void *at = (const char *)facts + row->offset;

		if (row->size) {
			const char *value = at;

			/* A line each, whatever the host sent. */
			buf_printf(&text, "%s %.*s\n", row->name, (int)strcspn(value, "\r\n"),
				   value);
		} else if (row->is_signed) {
			buf_printf(&text, "%s %" PRId64 "\n", row->name, *(const int64_t *)at);
		} else {
			buf_printf(&text, "%s %" PRIu64 "\n", row->name, *(const uint64_t *)at);
		}
	}
	r = file_replace_mode(path, 0640, text.data, text.len, err);
	buf_fini(&text);
	return r;
}

void host_facts_of_this(struct host_facts *out)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	*out = (struct host_facts){ .cpus = cpus > 0 ? (uint64_t)cpus : 0 };
	snprintf(out->version, sizeof(out->version), "%s", ASSAY_VERSION);
	if (!file_read_line(BOOT_ID, out->boot, sizeof(out->boot)))
		*out->boot = '\0';
}

uint64_t host_uptime_s(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec;
}

bool host_boot_is_valid(const char *text)
{
	for (size_t i = 0; i < HOST_BOOT_SIZE - 1; i++) {
		bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (is_dash ? text[i] != '-' : !text[i] || !strchr("0123456789abcdef", text[i]))
			return false;
	}
	return !text[HOST_BOOT_SIZE - 1];
}

bool host_facts_are_cloned(const struct host_facts *known, const struct host_facts *now,
			   uint64_t slack_s)
{
	if (!*known->boot || !strcmp(known->boot, now->boot))
		return false;
	return now->boot_s + slack_s < known->seen_s && now->seen_s < known->seen_s + GONE_S;
}
