/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/ship_status.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "guard/open.h"

#define STATUS_FILE "/run/assay-ship/status"
#define STATUS_MAX  4096

static const struct {
	const char *name;
	size_t offset;
} rows[] = {
	{ "round_ns", offsetof(struct ship_status, round_ns) },
	{ "success_ns", offsetof(struct ship_status, success_ns) },
	{ "backlog", offsetof(struct ship_status, backlog) },
	{ "refused", offsetof(struct ship_status, refused) },
	{ "expired", offsetof(struct ship_status, expired) },
	{ "failures", offsetof(struct ship_status, failures) },
	{ "rate_hz", offsetof(struct ship_status, rate_hz) },
};

static bool parse_line(char *line, struct ship_status *out)
{
	char *value = strchr(line, ' '), *end;
	uint64_t number;

	if (!value || value[1] < '0' || value[1] > '9')
		return !*line;
	*value++ = '\0';
	errno = 0;
	number = strtoull(value, &end, 10);
	if (errno || *end)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].name, line))
			*(uint64_t *)(void *)((char *)out + rows[i].offset) = number;
	return true;
}

bool ship_status_parse(const char *text, size_t size, struct ship_status *out)
{
	cleanup(free_at_exit) char *copy = xstrndup(text, size);
	struct ship_status status = { 0 };
	char *rest = copy, *line;
	bool is_right = size > 0;

	while (is_right && (line = strsep(&rest, "\n")))
		is_right = parse_line(line, &status);
	*out = is_right ? status : (struct ship_status){ 0 };
	return is_right;
}

/* `ship` may be taken over: its file may be anything. */
bool ship_status_read(struct ship_status *out)
{
	static const struct guard_rules rules = { .max_bytes = STATUS_MAX,
						  .owner = GUARD_ANY_OWNER,
						  .is_link_refused = true };
	const char *path = getenv("ASSAY_SHIP_STATUS");
	cleanup(close_at_exit) int fd =
		guard_open(GUARD_HERE, path ? path : STATUS_FILE, &rules, NULL);
	cleanup(free_at_exit) char *text = NULL;
	size_t size;

	*out = (struct ship_status){ 0 };
	return fd >= 0 && file_read_fd(fd, STATUS_MAX, &text, &size) == 0 &&
	       ship_status_parse(text, size, out);
}

int ship_status_write(const struct ship_status *status, struct error *err)
{
	const char *own = getenv("ASSAY_SHIP_STATUS"), *dir = getenv("RUNTIME_DIRECTORY");
	cleanup(free_at_exit) char *path =
		own ? xstrdup(own) : xasprintf("%s/status", dir ? dir : "");
	struct buf text = { 0 };
	int r;

	if (!own && (!dir || !*dir))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		buf_printf(&text, "%s %" PRIu64 "\n", rows[i].name,
			   *(const uint64_t *)(const void *)((const char *)status +
							     rows[i].offset));
	r = file_replace_mode(path, 0644, text.data, text.len, err);
	buf_fini(&text);
	return r;
}
