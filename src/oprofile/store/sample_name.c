/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/store/sample_name.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

#define ROOT      "{root}/"
#define KERN      "{kern}/"
#define ANON      "{anon:"
#define DEPENDENT "{dep}/"
#define CALLEE    "{cg}/"

static void image_fini(struct sample_image_name *image)
{
	free(image->text);
	image->text = NULL;
}

void sample_name_fini(struct sample_name *n)
{
	image_fini(&n->main);
	image_fini(&n->dep);
	image_fini(&n->callee);
	free(n->event);
	n->event = NULL;
}

/* Writing. */

/* A dot would end the event's part of a name, a slash the name. */
char *sample_name_event(const char *event)
{
	char *name = xstrdup(event);

	for (char *at = name; *at; at++)
		if (*at == '.' || *at == '/')
			*at = '_';
	return name;
}

/* A path of a recording may be anything: none of its parts leads out of the session. */
static void write_path(const char *path, struct buf *out)
{
	size_t n;

	for (path += *path == '/'; *path; path += n + (path[n] == '/')) {
		bool is_up = !strncmp(path, "../", 3) || !strcmp(path, "..");

		n = strcspn(path, "/");
		buf_printf(out, "%.*s/", (int)MIN(n, (size_t)NAME_MAX), is_up ? "__" : path);
	}
}

static void write_image(const struct sample_image_name *image, struct buf *out)
{
	switch (image->kind) {
	case SAMPLE_IMAGE_ROOT:
		buf_str(out, ROOT);
		write_path(image->text, out);
		break;
	case SAMPLE_IMAGE_KERN:
		buf_str(out, KERN);
		write_path(image->text, out);
		break;
	case SAMPLE_IMAGE_ANON:
		buf_printf(out, ANON "%s}/%" PRId64 ".0x%" PRIx64 ".0x%" PRIx64 "/", image->text,
			   image->tgid, image->start, image->end);
		break;
	}
}

static void write_id(int64_t id, char behind, struct buf *out)
{
	if (id == SAMPLE_NAME_ALL)
		buf_str(out, "all");
	else
		buf_printf(out, "%" PRId64, id);
	if (behind)
		buf_u8(out, (uint8_t)behind);
}

void sample_name_write(const struct sample_name *n, struct buf *out)
{
	write_image(&n->main, out);
	buf_str(out, DEPENDENT);
	write_image(&n->dep, out);
	if (n->is_arc) {
		buf_str(out, CALLEE);
		write_image(&n->callee, out);
	}
	buf_printf(out, "%s.%" PRIu64 ".%" PRIu64 ".", n->event, n->count, n->unit_mask);
	write_id(n->tgid, '.', out);
	write_id(n->tid, '.', out);
	write_id(n->cpu, '\0', out);
}

/* Parsing: a cursor over the name, which may have any number of slashes where one is meant. */

static bool sample_name_skip(const char **at, const char *token)
{
	size_t n = strlen(token);

	if (strncmp(*at, token, n) != 0)
		return false;
	*at += n;
	return true;
}

static void skip_slashes(const char **at)
{
	*at += strspn(*at, "/");
}

/* A number that is all of at[0 .. n). */
static bool sample_name_take_number(const char *at, size_t n, int base, uint64_t *out)
{
	char text[32], *end;

	if (!n || n >= sizeof(text) || at[0] == '-' || at[0] == '+' || at[0] == ' ')
		return false;
	memcpy(text, at, n);
	text[n] = '\0';
	errno = 0;
	*out = strtoull(text, &end, base);
	return !*end && !errno;
}

static bool sample_name_take_id(const char *at, size_t n, int64_t *out)
{
	uint64_t v;

	if (n == 3 && !memcmp(at, "all", 3)) {
		*out = SAMPLE_NAME_ALL;
		return true;
	}
	if (!sample_name_take_number(at, n, 10, &v) || v > INT64_MAX)
		return false;
	*out = (int64_t)v;
	return true;
}

/* "TGID.0xSTART.0xEND" */
static bool take_region(const char *at, size_t n, struct sample_image_name *image)
{
	const char *dot = memchr(at, '.', n);
	const char *second = dot ? memchr(dot + 1, '.', n - (size_t)(dot + 1 - at)) : NULL;
	uint64_t tgid;

	if (!second || !sample_name_take_number(at, (size_t)(dot - at), 10, &tgid) ||
	    tgid > INT32_MAX ||
	    !sample_name_take_number(dot + 1, (size_t)(second - dot - 1), 16, &image->start) ||
	    !sample_name_take_number(second + 1, n - (size_t)(second + 1 - at), 16, &image->end))
		return false;
	image->tgid = (int64_t)tgid;
	return true;
}

static bool take_anon(const char **at, struct sample_image_name *out)
{
	const char *brace = strstr(*at, "}/");
	size_t n;

	if (!brace)
		return false;
	out->kind = SAMPLE_IMAGE_ANON;
	out->text = xstrndup(*at, (size_t)(brace - *at));
	*at = brace + 2;
	skip_slashes(at);
	n = strcspn(*at, "/");
	if (!take_region(*at, n, out))
		return false;
	*at += n;
	skip_slashes(at);
	return true;
}

/* Where the path that starts here ends: before the next token, or before the last component. */
static size_t path_length(const char *at, const char *next_token)
{
	const char *end;

	if (next_token)
		end = strstr(at, next_token);
	else
		end = strrchr(at, '/');
	if (!end)
		return 0;
	while (end > at && end[-1] == '/')
		end--;
	return (size_t)(end - at);
}

/*
 * Reads an image. `next_token` follows it, with its leading slash; NULL: the image is the last
 * component.
 */
static bool take_image(const char **at, const char *next_token, struct sample_image_name *out)
{
	size_t n;

	if (sample_name_skip(at, ANON))
		return take_anon(at, out);
	if (sample_name_skip(at, ROOT))
		out->kind = SAMPLE_IMAGE_ROOT;
	else if (sample_name_skip(at, KERN))
		out->kind = SAMPLE_IMAGE_KERN;
	else
		return false;
	skip_slashes(at);
	n = path_length(*at, next_token);
	if (!n)
		return false;
	out->text =
		out->kind == SAMPLE_IMAGE_ROOT ? xasprintf("/%.*s", (int)n, *at) : xstrndup(*at, n);
	*at += n;
	skip_slashes(at);
	return true;
}

/* EVENT.COUNT.UNITMASK.TGID.TID.CPU */
static bool take_class(const char *at, struct sample_name *out)
{
	const char *field[6];
	size_t len[6];

	for (int i = 0; i < 6; i++) {
		field[i] = at;
		len[i] = strcspn(at, ".");
		if (!len[i] || (at[len[i]] == '.') != (i < 5))
			return false;
		at += len[i] + 1;
	}
	out->event = xstrndup(field[0], len[0]);
	return sample_name_take_number(field[1], len[1], 10, &out->count) &&
	       sample_name_take_number(field[2], len[2], 10, &out->unit_mask) &&
	       sample_name_take_id(field[3], len[3], &out->tgid) &&
	       sample_name_take_id(field[4], len[4], &out->tid) &&
	       sample_name_take_id(field[5], len[5], &out->cpu);
}

static int take_all(const char *at, struct sample_name *n, struct error *err)
{
	const char *dep, *arc;

	skip_slashes(&at);
	if (strncmp(at, ANON, strlen(ANON)) == 0 || !take_image(&at, "/" DEPENDENT, &n->main))
		return error_set(err, -EBADMSG,
				 "it does not begin with " ROOT "PATH or " KERN
				 "NAME and then " DEPENDENT);
	if (!sample_name_skip(&at, DEPENDENT))
		return error_set(err, -EBADMSG, DEPENDENT " is missing");
	skip_slashes(&at);
	dep = at;
	arc = strstr(at, "/" CALLEE);
	if (!take_image(&at, arc ? "/" CALLEE : NULL, &n->dep))
		return error_set(err, -EBADMSG, "'%s' does not begin with an image", dep);
	n->is_arc = sample_name_skip(&at, CALLEE);
	skip_slashes(&at);
	if (n->is_arc && !take_image(&at, NULL, &n->callee))
		return error_set(err, -EBADMSG, "'%s' does not begin with an image", at);
	if (!take_class(at, n))
		return error_set(err, -EBADMSG, "'%s' is not EVENT.COUNT.UNITMASK.TGID.TID.CPU",
				 at);
	return 0;
}

int sample_name_parse(const char *text, struct sample_name *out, struct error *err)
{
	struct sample_name n = { 0 };
	int r = take_all(text, &n, err);

	if (r < 0) {
		sample_name_fini(&n);
		return error_wrap(err, r, "the name of sample file '%s'", text);
	}
	*out = n;
	return 0;
}
