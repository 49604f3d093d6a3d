/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counter/spec/probe_spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "counter/uprobe.h"

enum uprobe_kind { UPROBE_CALL, UPROBE_RETURN, UPROBE_STATIC, N_UPROBE_KINDS };

static const char *const kind_words[N_UPROBE_KINDS] = { "uprobe:", "uretprobe:", "usdt:" };

static int kind_of_spec(const char *text)
{
	for (int i = 0; i < N_UPROBE_KINDS; i++)
		if (!strncmp(text, kind_words[i], strlen(kind_words[i])))
			return i;
	return -1;
}

bool probe_is_spec(const char *text)
{
	return kind_of_spec(text) >= 0;
}

static int find_static(const struct parse *p, const char *path, char *provider,
		       struct uprobe_places *out)
{
	char *name = strchr(provider, ':');

	if (!name || !name[1] || name == provider)
		return error_set(p->err, -EINVAL, "event '%s': the form is usdt:PATH:PROVIDER:NAME",
				 p->spec);
	*name++ = '\0';
	return uprobe_finder.usdt(path, provider, name, out, p->err);
}

/* "+8" or "+0x10" at the end of a name; operator+ has no number. */
static int cut_offset(const struct parse *p, char *name, uint64_t *out)
{
	char *plus = strrchr(name, '+'), *end;

	*out = 0;
	if (!plus || !isdigit((unsigned char)plus[1]))
		return 0;
	errno = 0;
	*out = strtoull(plus + 1, &end, 0);
	if (*end || errno)
		return error_set(p->err, -EINVAL, "event '%s': '%s' is no offset", p->spec,
				 plus + 1);
	*plus = '\0';
	return 0;
}

static int find_code(const struct parse *p, enum uprobe_kind kind, const char *path, char *name,
		     struct uprobe_places *out)
{
	uint64_t offset;
	int r = cut_offset(p, name, &offset);

	if (r < 0)
		return r;
	if (offset && kind == UPROBE_RETURN)
		return error_set(p->err, -EINVAL,
				 "event '%s': a return has no offset in its function", p->spec);
	if (!strncmp(name, "0x", 2)) {
		char *end;
		struct uprobe_place place = { .file_off = strtoull(name, &end, 16) };

		if (*end)
			return error_set(p->err, -EINVAL, "event '%s': '%s' is no offset", p->spec,
					 name);
		vec_push(out, place);
	} else {
		r = uprobe_finder.function(path, name, out, p->err);
	}
	for (size_t i = 0; i < out->n; i++)
		out->data[i].file_off += offset;
	return r;
}

/* A file chooses the number of its static probes of one name. */
#define PLACES_MAX 64

/* A probe at several places is several counters, "…#1" and so on. */
static int add_places(const struct parse *p, const char *path, enum uprobe_kind kind,
		      const struct uprobe_places *places)
{
	int r = 0;

	if (places->n > PLACES_MAX)
		return error_set(p->err, -E2BIG, "event '%s' has %zu places, and %d are possible",
				 p->spec, places->n, PLACES_MAX);
	for (size_t i = 0; i < places->n && r == 0; i++) {
		struct draft d = { .probed = path };
		cleanup(free_at_exit) char *name =
			places->n > 1 ? xasprintf("%s#%zu", p->spec, i + 1) : xstrdup(p->spec);

		r = uprobe_fill(p->sources, path, &places->data[i], kind == UPROBE_RETURN, &d.attr,
				p->err);
		if (r == 0)
			r = parse_finish(p, &d, name, "");
	}
	return r;
}

int probe_parse(const struct parse *p, char *text)
{
	enum uprobe_kind kind = (enum uprobe_kind)kind_of_spec(text);
	char *path = text + strlen(kind_words[kind]), *rest = strchr(path, ':');
	cleanup(free_at_exit) char *what = xasprintf("event '%s'", p->spec);
	cleanup(free_at_exit) char *real = NULL;
	struct uprobe_places places = { 0 };
	int r;

	if (!rest || !rest[1] || rest == path)
		return error_set(p->err, -EINVAL, "event '%s': the form is %sPATH:%s", p->spec,
				 kind_words[kind],
				 kind == UPROBE_STATIC ? "PROVIDER:NAME" : "FUNCTION");
	*rest++ = '\0';
	r = uprobe_check(p->sources, what, p->err);
	if (r < 0)
		return r;
	real = realpath(path, NULL);
	if (!real)
		return error_errno(p->err, -errno, "event '%s': %s", p->spec, path);
	r = kind == UPROBE_STATIC ? find_static(p, real, rest, &places)
				  : find_code(p, kind, real, rest, &places);
	r = r < 0 ? error_wrap(p->err, r, "%s", what) : add_places(p, real, kind, &places);
	vec_fini(&places);
	return r;
}
