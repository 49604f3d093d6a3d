/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "demangle/swift_names.h"

#include <string.h>
#include <xxhash.h>

#include "base/arena.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "demangle/clone_names.h"
#include "demangle/swift_program.h"

#define MAX_NAME     16384
#define MAX_FAILURES 8  /* of the program: each may take its whole time */
#define N_ALONE      64 /* names whose text can be in the program's buffer when it fails */

struct swift_name {
	const char *mangled, *readable; /* readable NULL: not read */
};

struct swift_names {
	char *program;
	struct arena *texts;
	VEC(struct swift_name) names;
	struct intmap by_hash; /* of the mangled name to the index */
	unsigned int n_failures;
};

struct batch {
	const char **data;
	size_t n, cap;
};

struct swift_names *swift_names_new(void)
{
	struct swift_names *s = xcalloc(1, sizeof(*s));

	s->program = swift_program_find();
	s->texts = arena_new();
	return s;
}

void swift_names_free(struct swift_names *s)
{
	if (!s)
		return;
	free(s->program);
	arena_free(s->texts);
	vec_fini(&s->names);
	intmap_fini(&s->by_hash);
	free(s);
}

bool is_swift_name(const char *name)
{
	static const char *const starts[] = { "$s", "$S", "$e", "_$s", "_$S", "_$e", "_T0" };

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (!strncmp(name, starts[i], strlen(starts[i])))
			return name[strlen(starts[i])] != '\0';
	return false;
}

/* The length of the name without clones and "@plt"; 0 if the program can't be given it. */
static size_t swift_names_plain_len(const char *name)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789_$.";
	size_t len = strspn(name, letters);

	if (!is_swift_name(name) || len > MAX_NAME || (name[len] && name[len] != '@'))
		return 0;
	return MIN(len, (size_t)(clones_find(name) - name));
}

static struct swift_name *find_swift_name(const struct swift_names *s, const char *name, size_t len)
{
	uint32_t *at = intmap_find(&s->by_hash, XXH3_64bits(name, len));
	struct swift_name *found = at ? &s->names.data[*at] : NULL;

	return found && !strncmp(found->mangled, name, len) && !found->mangled[len] ? found : NULL;
}

/* Adds the name to the batch for the program. */
static void swift_names_add_name(struct swift_names *s, struct batch *batch, const char *name,
				 size_t len)
{
	struct swift_name added = { 0 };
	bool is_new;
	uint32_t *at = intmap_put(&s->by_hash, XXH3_64bits(name, len), &is_new);

	if (!is_new)
		return;
	*at = (uint32_t)s->names.n;
	added.mangled = arena_strndup(s->texts, name, len);
	vec_push(&s->names, added);
	vec_push(batch, added.mangled);
}

/*
 * Gives the program's lines to the names; a line that equals its name means that it was not read.
 */
static void swift_names_add_lines(struct swift_names *s, const char *const *names, size_t n,
				  const struct buf *text)
{
	const char *at = (const char *)text->data;

	for (size_t i = 0; i < n; i++) {
		const char *end = memchr(at, '\n', text->len - (size_t)(at - (char *)text->data));
		size_t name_len = strlen(names[i]), len = (size_t)(end - at);

		if (len && (len != name_len || memcmp(at, names[i], len) != 0))
			find_swift_name(s, names[i], name_len)->readable =
				arena_strndup(s->texts, at, len);
		at = end + 1;
	}
}

/* Returns the number of names that the program completed. */
static size_t swift_names_ask(struct swift_names *s, const char *const *names, size_t n)
{
	struct buf text = { 0 };
	size_t n_read = swift_program_run(s->program, names, n, &text);

	swift_names_add_lines(s, names, n_read, &text);
	s->n_failures += n_read < n;
	buf_fini(&text);
	return n_read;
}

/* A failed program stopped at a name near its first missing line. */
static void swift_names_ask_all(struct swift_names *s, const struct batch *batch)
{
	size_t at = 0;

	while (at < batch->n && s->n_failures < MAX_FAILURES) {
		size_t end;

		at += swift_names_ask(s, batch->data + at, batch->n - at);
		end = MIN(at + N_ALONE, batch->n);
		for (bool ok = true; ok && at < end && s->n_failures < MAX_FAILURES; at++)
			ok = swift_names_ask(s, batch->data + at, 1) == 1;
	}
}

void swift_names_read(struct swift_names *s, const char *const *names, size_t n)
{
	struct batch batch = { 0 };

	for (size_t i = 0; i < n; i++) {
		size_t len = swift_names_plain_len(names[i]);

		if (len)
			swift_names_add_name(s, &batch, names[i], len);
	}
	if (s->program)
		swift_names_ask_all(s, &batch);
	vec_fini(&batch);
}

bool swift_names_has(const struct swift_names *s, const char *name)
{
	size_t len = swift_names_plain_len(name);

	return len && find_swift_name(s, name, len);
}

/* Behind the name's end: clones, and text behind an '@'. */
static bool put_clones_and_version(const char *rest, struct buf *out)
{
	const char *at = strchr(rest, '@');
	cleanup(free_at_exit) char *clones =
		xstrndup(rest, at ? (size_t)(at - rest) : strlen(rest));
	bool ok = clones_put(clones, out);

	if (at)
		buf_str(out, at);
	return ok;
}

bool swift_names_find(const struct swift_names *s, const char *name, struct buf *out)
{
	size_t len = swift_names_plain_len(name);
	const struct swift_name *found = len ? find_swift_name(s, name, len) : NULL;

	out->len = 0;
	if (!found || !found->readable)
		return false;
	buf_str(out, found->readable);
	return put_clones_and_version(name + len, out);
}

bool swift_names_has_program(const struct swift_names *s)
{
	return s->program != NULL;
}
