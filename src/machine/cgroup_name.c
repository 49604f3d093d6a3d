/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/cgroup_name.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define SHORT_ID 12 /* as in docker ps */

/* A piece of the path. */
struct piece {
	const char *at;
	size_t len;
};

static bool is_piece_text(struct piece p, const char *text)
{
	return p.len == strlen(text) && !memcmp(p.at, text, p.len);
}

static bool cut_head(struct piece *p, const char *head)
{
	size_t len = strlen(head);

	if (p->len < len || memcmp(p->at, head, len) != 0)
		return false;
	p->at += len;
	p->len -= len;
	return true;
}

static bool cut_tail(struct piece *p, const char *tail)
{
	size_t len = strlen(tail);

	if (p->len < len || memcmp(p->at + p->len - len, tail, len) != 0)
		return false;
	p->len -= len;
	return true;
}

static bool is_hex_digit(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool is_hex(struct piece p, size_t min, size_t max)
{
	for (size_t i = 0; i < p.len; i++)
		if (!is_hex_digit(p.at[i]))
			return false;
	return p.len >= min && p.len <= max;
}

/* \x2d and the like, as systemd escapes names in units. */
static void put_unescaped(char *out, size_t size, struct piece p)
{
	size_t n = 0;

	for (size_t i = 0; i < p.len && n + 1 < size; i++) {
		unsigned int code;
		char digits[3] = { 0 };

		if (p.len - i >= 4 && p.at[i] == '\\' && p.at[i + 1] == 'x' &&
		    is_hex_digit(p.at[i + 2]) && is_hex_digit(p.at[i + 3])) {
			memcpy(digits, p.at + i + 2, 2);
			sscanf(digits, "%x", &code);
			out[n++] = code ? (char)code : '?';
			i += 3;
		} else {
			out[n++] = p.at[i];
		}
	}
	out[n] = '\0';
}

static void copy_piece(char *out, size_t size, struct piece p)
{
	size_t len = MIN(p.len, size - 1);

	memcpy(out, p.at, len);
	out[len] = '\0';
}

/* ---- units ---- */

static const char *const unit_types[] = { ".service", ".scope", ".socket", ".mount", ".swap" };

/* systemd puts an underscore before a name that could be a file of the kernel's. */
static struct piece without_mark(struct piece p)
{
	cut_head(&p, "_");
	return p;
}

static bool is_unit(struct piece p)
{
	for (size_t i = 0; i < ARRAY_SIZE(unit_types); i++) {
		struct piece name = p;

		if (cut_tail(&name, unit_types[i]) && name.len)
			return true;
	}
	return false;
}

static bool is_slice(struct piece p)
{
	return cut_tail(&p, ".slice") && p.len;
}

/* ---- containers ---- */

enum id_kind { ID_HEX, ID_NAME, ID_ESCAPED };

/* A component that alone names a container: HEAD id TAIL. The first row that fits counts. */
static const struct {
	const char *head, *tail, *runtime;
	enum id_kind id;
} named[] = {
	{ "docker-", ".scope", "docker", ID_HEX },
	{ "cri-containerd-", ".scope", "containerd", ID_HEX },
	{ "cri-containerd-", "", "containerd", ID_HEX },
	{ "nerdctl-", ".scope", "containerd", ID_HEX },
	{ "containerd-", ".scope", "containerd", ID_HEX },
	{ "crio-", ".scope", "crio", ID_HEX },
	{ "crio-", "", "crio", ID_HEX },
	{ "libpod-", ".scope", "podman", ID_HEX },
	{ "libpod-", "", "podman", ID_HEX },
	{ "lxc.payload.", "", "lxc", ID_NAME },
	{ "systemd-nspawn@", ".service", "nspawn", ID_ESCAPED },
	{ "machine-qemu\\x2d", ".scope", "qemu", ID_ESCAPED },
	{ "machine-lxc\\x2d", ".scope", "libvirt-lxc", ID_ESCAPED },
	{ "machine-", ".scope", "nspawn", ID_ESCAPED },
};

/* An id that names a container below a component of this name. */
static const struct {
	const char *parent, *runtime;
	enum id_kind id;
} below[] = {
	{ "docker", "docker", ID_HEX },
	{ "lxc", "lxc", ID_NAME },
	{ "lxc.payload", "lxc", ID_NAME },
	{ "garden", "garden", ID_NAME },
};

/* The middle of "SLICE:RUNTIME:ID": with the cgroupfs driver, runc writes systemd's form so. */
static const struct {
	const char *word, *runtime;
} words[] = {
	{ "cri-containerd", "containerd" },
	{ "docker", "docker" },
	{ "crio", "crio" },
	{ "libpod", "podman" },
};

/* Runtimes make 64 digits; people shorten ids. */
static bool is_container_id(struct piece p, enum id_kind kind)
{
	return kind == ID_HEX ? is_hex(p, SHORT_ID, 64) : p.len > 0;
}

static void set_container(struct cgroup_names *out, const char *runtime, struct piece id,
			  enum id_kind kind)
{
	out->runtime = runtime;
	if (kind == ID_ESCAPED)
		put_unescaped(out->container, sizeof(out->container), id);
	else
		copy_piece(out->container, sizeof(out->container), id);
}

static bool parse_named(struct piece p, struct cgroup_names *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(named); i++) {
		struct piece id = p;

		if (cut_head(&id, named[i].head) && cut_tail(&id, named[i].tail) &&
		    is_container_id(id, named[i].id)) {
			set_container(out, named[i].runtime, id, named[i].id);
			return true;
		}
	}
	return false;
}

static bool parse_below(struct piece parent, struct piece p, struct cgroup_names *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(below); i++)
		if (is_piece_text(parent, below[i].parent) && is_container_id(p, below[i].id) &&
		    !is_unit(p) && !is_slice(p)) {
			set_container(out, below[i].runtime, p, below[i].id);
			return true;
		}
	return false;
}

/* The part behind the last colon, if there are two. */
static bool parse_with_colons(struct piece p, struct cgroup_names *out)
{
	const char *last = memrchr(p.at, ':', p.len);
	const char *first = last ? memrchr(p.at, ':', (size_t)(last - p.at)) : NULL;
	struct piece word, id;

	if (!first)
		return false;
	word = (struct piece){ first + 1, (size_t)(last - first - 1) };
	id = (struct piece){ last + 1, (size_t)(p.at + p.len - last - 1) };
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (is_piece_text(word, words[i].word) && is_container_id(id, ID_HEX)) {
			set_container(out, words[i].runtime, id, ID_HEX);
			return true;
		}
	return false;
}

/* Amazon's Fargate: a task's id and a number. */
static bool is_task(struct piece p)
{
	return p.len > 33 && p.at[32] == '-' && is_hex((struct piece){ p.at, 32 }, 32, 32) &&
	       strspn(p.at + 33, "0123456789") >= p.len - 33;
}

/* A bare id: cgroupfs below a pod, or of a runtime that the path does not name. */
static bool parse_bare(struct piece p, bool is_in_pod, bool is_in_ecs, struct cgroup_names *out)
{
	if (!is_hex(p, 64, 64) && !(is_in_ecs && is_task(p)))
		return false;
	set_container(out, is_in_ecs ? "ecs" : is_in_pod ? "cri" : "oci", p, ID_HEX);
	return true;
}

/* ---- pods ---- */

/* 8-4-4-4-12 digits with dashes (with underscores in a unit's name), or 32 digits (static pods). */
static bool is_uid(struct piece p)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	if (is_hex(p, 32, 32))
		return true;
	if (p.len != strlen(form))
		return false;
	for (size_t i = 0; i < p.len; i++)
		if (form[i] == 'x' ? !is_hex_digit(p.at[i]) : p.at[i] != '-' && p.at[i] != '_')
			return false;
	return true;
}

static void set_pod(struct cgroup_names *out, struct piece uid, const char *qos)
{
	copy_piece(out->pod, sizeof(out->pod), uid);
	for (char *at = out->pod; *at; at++)
		if (*at == '_')
			*at = '-';
	out->qos = qos;
}

/*
 * [PREFIX-]kubepods[-QOS]-podUID.slice of systemd, possibly followed by :RUNTIME:ID; or podUID of
 * cgroupfs, with the class in a parent.
 */
static bool parse_pod(struct piece parent, struct piece p, bool is_in_kubepods,
		      struct cgroup_names *out)
{
	static const char *const classes[] = { "besteffort", "burstable" };
	const char *colon = memchr(p.at, ':', p.len);
	struct piece name = { p.at, colon ? (size_t)(colon - p.at) : p.len }, head, uid;
	size_t start;

	cut_tail(&name, ".slice");
	for (start = name.len; start >= 3; start--)
		if (!memcmp(name.at + start - 3, "pod", 3) &&
		    is_uid((struct piece){ name.at + start, name.len - start }))
			break;
	if (start < 3)
		return false;
	uid = (struct piece){ name.at + start, name.len - start };
	head = (struct piece){ name.at, start - 3 };
	if (head.len ? !memmem(head.at, head.len, "kubepods", 8) : !is_in_kubepods)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		if (memmem(head.at, head.len, classes[i], strlen(classes[i])) ||
		    (!head.len && is_piece_text(parent, classes[i]))) {
			set_pod(out, uid, classes[i]);
			return true;
		}
	set_pod(out, uid, "guaranteed");
	return true;
}

/* user-UID.slice: systemd makes it, and the user's own cgroups are below it. */
static void parse_user(struct piece p, struct cgroup_names *out)
{
	static const char head[] = "user-", tail[] = ".slice";
	size_t ends = strlen(head) + strlen(tail);
	uint64_t uid = 0;

	if (out->user >= 0 || p.len <= ends || p.len > ends + 10 ||
	    memcmp(p.at, head, strlen(head)) != 0 ||
	    memcmp(p.at + p.len - strlen(tail), tail, strlen(tail)) != 0)
		return;
	for (size_t i = strlen(head); i < p.len - strlen(tail); i++) {
		if (p.at[i] < '0' || p.at[i] > '9')
			return;
		uid = uid * 10 + (uint64_t)(p.at[i] - '0');
	}
	if (uid <= UINT32_MAX)
		out->user = (int64_t)uid;
}

/* machine-libpod_pod_ID.slice, or libpod_pod_ID; with cgroupfs, ID of ID/libpod-CONTAINER. */
static bool parse_podman_pod(struct piece parent, struct piece p, struct cgroup_names *out)
{
	const char *mark = memmem(p.at, p.len, "libpod_pod_", 11);
	struct piece id;

	if (!mark && !*out->pod && p.len > 7 && !memcmp(p.at, "libpod-", 7) &&
	    is_hex(parent, 64, 64))
		id = parent;
	else if (mark)
		id = (struct piece){ mark + 11, (size_t)(p.at + p.len - mark - 11) };
	else
		return false;
	cut_tail(&id, ".slice");
	if (!is_hex(id, SHORT_ID, 64))
		return false;
	id.len = MIN(id.len, sizeof(out->pod) - 1);
	set_pod(out, id, "");
	return true;
}

/* ---- all of it ---- */

static void parse_unit(struct piece p, bool *is_of_slice, struct cgroup_names *out)
{
	struct piece name = without_mark(p);
	bool slice = is_slice(name);

	if (is_unit(name) || (slice && (*is_of_slice || !*out->unit))) {
		copy_piece(out->unit, sizeof(out->unit), name);
		*is_of_slice = slice;
	}
}

void cgroup_names_of(const char *path, struct cgroup_names *out)
{
	struct piece parent = { "", 0 };
	bool is_of_slice = false, is_in_kubepods = false, is_in_ecs = false;

	*out = (struct cgroup_names){ .runtime = "", .qos = "", .user = -1 };
	for (const char *at = path; *at; at += strcspn(at, "/")) {
		struct piece p;

		at += strspn(at, "/");
		p = (struct piece){ at, strcspn(at, "/") };
		if (!p.len)
			break;
		parse_unit(p, &is_of_slice, out);
		is_in_kubepods |= memmem(p.at, p.len, "kubepods", 8) != NULL;
		is_in_ecs |= is_piece_text(p, "ecs");
		parse_user(p, out);
		if (!parse_pod(parent, p, is_in_kubepods, out))
			parse_podman_pod(parent, p, out);
		if (!parse_named(p, out) && !parse_below(parent, p, out) &&
		    !parse_with_colons(p, out))
			parse_bare(p, *out->pod != '\0', is_in_ecs, out);
		parent = p;
	}
}

const char *cgroup_container_text(const struct cgroup_names *names, char out[CGROUP_TEXT_SIZE])
{
	struct piece id = { names->container, strlen(names->container) };
	bool is_long = is_hex(id, SHORT_ID + 1, 64);

	out[0] = '\0';
	if (id.len && names->container_name)
		snprintf(out, CGROUP_TEXT_SIZE, "%s:%s (%.*s)", names->runtime,
			 names->container_name, is_long ? SHORT_ID : (int)id.len, id.at);
	else if (id.len)
		snprintf(out, CGROUP_TEXT_SIZE, "%s:%.*s", names->runtime,
			 is_long ? SHORT_ID : (int)id.len, id.at);
	return out;
}

const char *cgroup_pod_text(const struct cgroup_names *names, char out[CGROUP_TEXT_SIZE])
{
	if (*names->pod && names->pod_name)
		snprintf(out, CGROUP_TEXT_SIZE, "%s (%s%s%s)", names->pod_name, names->pod,
			 *names->qos ? " " : "", names->qos);
	else
		snprintf(out, CGROUP_TEXT_SIZE, *names->qos ? "%s (%s)" : "%s", names->pod,
			 names->qos);
	return out;
}

/* ---- services ---- */

/* The parts that Kubernetes adds to names, by their characters and lengths. */
#define POD_RANDOM "bcdfghjklmnpqrstvwxz2456789"
#define POD_HASH   "456789bcdf" /* SafeEncodeString() of a decimal number */
#define DIGITS     "0123456789"

/* Cuts "-PART" from the end, if PART has only such characters, and least to most of them. */
static bool cut_part(char *name, const char *characters, size_t least, size_t most)
{
	char *dash = strrchr(name, '-');
	size_t len = dash ? strlen(dash + 1) : 0;

	if (!dash || dash == name || len < least || len > most ||
	    strspn(dash + 1, characters) != len)
		return false;
	*dash = '\0';
	return true;
}

static void cut_to_workload(char *pod)
{
	if (!cut_part(pod, POD_RANDOM, 5, 5))
		cut_part(pod, DIGITS, 1, 4);
	else if (!cut_part(pod, POD_HASH, 6, 10))
		cut_part(pod, DIGITS, 8, 8);
}

const char *cgroup_service(const struct cgroup_names *names, char out[CGROUP_TEXT_SIZE])
{
	static const char suffix[] = ".service";
	size_t len = strlen(names->unit), n = sizeof(suffix) - 1;

	out[0] = '\0';
	if (names->pod_name) {
		snprintf(out, CGROUP_TEXT_SIZE, "%s", names->pod_name);
		if (*names->qos)
			cut_to_workload(out);
	} else if (len > n && !strcmp(names->unit + len - n, suffix)) {
		snprintf(out, CGROUP_TEXT_SIZE, "%.*s", (int)(len - n), names->unit);
	} else if (names->container_name) {
		snprintf(out, CGROUP_TEXT_SIZE, "%s", names->container_name);
	}
	return out;
}
