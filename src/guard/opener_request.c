/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fnmatch.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "guard/opener.h"

enum descriptor { DESCRIPTOR_NO, DESCRIPTOR_MAY, DESCRIPTOR_MUST };
enum payload { PAYLOAD_NONE, PAYLOAD_PATH, PAYLOAD_ATTR };

static const struct {
	enum descriptor descriptor;
	enum payload payload;
} kinds[N_OPENER_KINDS] = {
#define X(id, descriptor, payload) { DESCRIPTOR_##descriptor, PAYLOAD_##payload },
	OPENER_KINDS(X)
#undef X
};

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* `start`, a number, `end`. */
static bool is_numbered(const char *name, const char *start, const char *end)
{
	size_t n = strlen(start), digits;

	if (strncmp(name, start, n) != 0)
		return false;
	digits = strspn(name + n, "0123456789");
	return digits && !strcmp(name + n + digits, end);
}

static bool has_dots(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")); at += 2)
		if ((at == path || at[-1] == '/') && (at[2] == '/' || !at[2]))
			return true;
	return false;
}

/* Takes `text` off the front. */
static bool skip_text(const char **at, const char *text)
{
	size_t n = strlen(text);

	if (strncmp(*at, text, n) != 0)
		return false;
	*at += n;
	return true;
}

/* Takes a part of a path off the front: "NAME/", or "NAME" at the end. */
static bool skip_part(const char **at)
{
	size_t n = strcspn(*at, "/");

	if (!n || **at == '.')
		return false;
	*at += n;
	*at += **at == '/';
	return true;
}

static bool is_of_docker(const char *path)
{
	return skip_text(&path, "/var/lib/docker/containers/") && skip_part(&path) &&
	       !strcmp(path, "config.v2.json");
}

static bool is_of_containerd(const char *path)
{
	return skip_text(&path, "/run/containerd/io.containerd.runtime.v2.task/") &&
	       skip_part(&path) && skip_part(&path) && !strcmp(path, "config.json");
}

/* A storage may be anywhere; its files have names of their own. */
static bool is_of_storage(const char *path)
{
	static const char *const ends[] = {
		"/overlay-containers/containers.json",
		"/overlay-containers/volatile-containers.json",
		"/vfs-containers/containers.json",
		"/vfs-containers/volatile-containers.json",
		"/btrfs-containers/containers.json",
		"/btrfs-containers/volatile-containers.json",
		"/libpod/bolt_state.db",
		"/storage/db.sql",
		"/libpod/db.sql",
		"/containers/storage.conf",
	};
	size_t n = strlen(path);

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (n > strlen(ends[i]) && !strcmp(path + n - strlen(ends[i]), ends[i]))
			return true;
	return false;
}

static bool is_engine_file(const char *path)
{
	return *path == '/' && !has_dots(path) &&
	       (is_of_docker(path) || is_of_containerd(path) || is_of_storage(path));
}

/* "SYSTEM/NAME/id" */
static bool is_tracepoint(const char *path)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_-";
	size_t system = strspn(path, letters), name;

	if (!system || path[system] != '/')
		return false;
	path += system + 1;
	name = strspn(path, letters);
	return name && (!strcmp(path + name, "/id") || !strcmp(path + name, "/format"));
}

bool opener_is_path_of(enum opener_kind kind, const char *path)
{
	switch (kind) {
	case OPENER_FACTS:
	case OPENER_IMAGE:
		return *path;
	case OPENER_JIT_MAP:
		return is_numbered(name_of(path), "perf-", ".map");
	case OPENER_JIT_DUMP:
		return is_numbered(name_of(path), "jit-", ".dump");
	case OPENER_ENGINE_FILE:
		return is_engine_file(path);
	case OPENER_TRACEPOINT:
		return is_tracepoint(path);
	default:
		return false;
	}
}

bool opener_is_runtime(const char *line)
{
	static const char *const globs[] = { "libjvm.so*", "libnode.so*", "node", "nodejs" };
	static const char deleted[] = " (deleted)";
	char name[64] = "";
	size_t n;
	char permissions[5];
	int path = 0;

	if (sscanf(line, "%*x-%*x %4s %*x %*x:%*x %*u %n", permissions, &path) != 1 || !path ||
	    permissions[2] != 'x' || line[path] != '/')
		return false;
	snprintf(name, sizeof(name), "%s", name_of(line));
	n = strcspn(name, "\n");
	name[n] = '\0';
	if (n > strlen(deleted) && !strcmp(name + n - strlen(deleted), deleted))
		name[n - strlen(deleted)] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(globs); i++)
		if (!fnmatch(globs[i], name, 0))
			return true;
	return false;
}

static bool is_attr(const struct opener_request *r)
{
	uint32_t size;

	if (r->size < PERF_ATTR_SIZE_VER0 || r->head.last ||
	    (r->head.first & ~(uint64_t)(PERF_FLAG_FD_CLOEXEC | PERF_FLAG_FD_NO_GROUP)))
		return false;
	memcpy(&size, r->attr + offsetof(struct perf_event_attr, size), sizeof(size));
	return size == r->size && size <= sizeof(struct perf_event_attr);
}

static bool is_payload_right(const struct opener_request *r)
{
	switch (kinds[r->head.kind].payload) {
	case PAYLOAD_PATH:
		return r->size && memchr(r->path, '\0', r->size) == r->path + r->size - 1 &&
		       opener_is_path_of((enum opener_kind)r->head.kind, r->path);
	case PAYLOAD_ATTR:
		return is_attr(r);
	default:
		return r->size == 0;
	}
}

static bool is_head_right(const struct opener_head *h, bool has_descriptor)
{
	enum descriptor descriptor;

	if (h->kind >= N_OPENER_KINDS || h->is_link_refused > 1)
		return false;
	descriptor = kinds[h->kind].descriptor;
	if (descriptor != DESCRIPTOR_MAY && has_descriptor != (descriptor == DESCRIPTOR_MUST))
		return false;
	if (h->kind >= OPENER_PROC_MAPS && h->kind <= OPENER_PROC_MEMORY && h->pid <= 0)
		return false;
	return h->kind != OPENER_PROC_MAPPING || h->first < h->last;
}

int opener_parse(const void *bytes, size_t size, bool has_descriptor, struct opener_request *out)
{
	if (size < sizeof(out->head) || size - sizeof(out->head) > sizeof(out->path))
		return -EINVAL;
	memcpy(&out->head, bytes, sizeof(out->head));
	out->size = size - sizeof(out->head);
	memcpy(out->path, (const char *)bytes + sizeof(out->head), out->size);
	return is_head_right(&out->head, has_descriptor) && is_payload_right(out) ? 0 : -EINVAL;
}
