/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/store/facts.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"

/* X(field): the numbers, and the fields of a counter. */
#define INFO_NUMBERS(X)  \
	X(n_cpus)        \
	X(start_wall_ns) \
	X(start_ns)      \
	X(merged)
#define END_NUMBERS(X)    \
	X(end_ns)         \
	X(own_cpu_ns)     \
	X(own_peak_bytes) \
	X(exit_status)
#define COUNTER_TEXTS(X) \
	X(name)          \
	X(spec)          \
	X(unit)
#define COUNTER_NUMBERS(X) \
	X(freq_hz)         \
	X(count)           \
	X(unit_mask)       \
	X(in_user)         \
	X(in_kernel)

/* Text that is not UTF-8 (a command's arguments) becomes text that JSON can hold. */
static json_t *text_json(const char *text)
{
	json_t *s = json_string(text ? text : "");

	if (!s) {
		cleanup(free_at_exit) char *plain = xstrdup(text);

		for (char *c = plain; *c; c++)
			if (*c & 0x80)
				*c = '?';
		s = json_string(plain);
	}
	return s;
}

static json_t *counter_json(const struct counter_info *c)
{
	json_t *o = json_object();

#define X(field) json_object_set_new(o, #field, text_json(c->field));
	COUNTER_TEXTS(X)
#undef X
#define X(field) json_object_set_new(o, #field, json_integer((json_int_t)c->field));
	COUNTER_NUMBERS(X)
#undef X
	return o;
}

static json_t *image_json(const struct image *image)
{
	json_t *o = json_object();
	char hex[BUILD_ID_HEX_SIZE];

	build_id_hex(&image->build_id, hex);
	json_object_set_new(o, "kind", json_string(image_kind_keys[image->kind]));
	json_object_set_new(o, "path", text_json(image->path));
	json_object_set_new(o, "build_id", json_string(hex));
	return o;
}

static json_t *symbol_json(const struct facts_symbol *symbol)
{
	json_t *o = json_object();

	json_object_set_new(o, "kind", json_string(image_kind_keys[symbol->kind]));
	json_object_set_new(o, "pid", json_integer(symbol->pid));
	json_object_set_new(o, "path", text_json(symbol->path));
	json_object_set_new(o, "offset", json_integer((json_int_t)symbol->offset));
	json_object_set_new(o, "size", json_integer((json_int_t)symbol->size));
	json_object_set_new(o, "name", text_json(symbol->name));
	return o;
}

static json_t *facts_json(const struct session_facts *facts)
{
	json_t *o = json_object(), *counters = json_array(), *lost = json_object();
	json_t *images = json_array(), *symbols = json_array(), *end;

#define X(field) json_object_set_new(o, #field, text_json(facts->info.field));
	SESSION_INFO_TEXTS(X)
#undef X
#define X(field) json_object_set_new(o, #field, json_integer((json_int_t)facts->info.field));
	INFO_NUMBERS(X)
#undef X
	json_object_set_new(o, "samples", json_integer((json_int_t)facts->samples));
	for (uint32_t i = 0; i < facts->info.n_counters; i++)
		json_array_append_new(counters, counter_json(&facts->info.counters[i]));
	json_object_set_new(o, "counters", counters);
	for (int i = 0; i < N_LOSS_REASONS; i++)
		if (facts->lost[i])
			json_object_set_new(lost, loss_texts[i].key,
					    json_integer((json_int_t)facts->lost[i]));
	json_object_set_new(o, "losses", lost);
	for (uint32_t i = 0; i < facts->n_images; i++)
		json_array_append_new(images, image_json(&facts->images[i]));
	json_object_set_new(o, "images", images);
	vec_foreach (&facts->symbols, symbol)
		if (symbol->kind != IMAGE_JIT)
			json_array_append_new(symbols, symbol_json(symbol));
	json_object_set_new(o, "symbols", symbols);
	json_object_set_new(o, "lost_arcs", json_integer((json_int_t)facts->lost_arcs));
	if (facts->has_end) {
		end = json_object();
#define X(field) json_object_set_new(end, #field, json_integer((json_int_t)facts->end.field));
		END_NUMBERS(X)
#undef X
		json_object_set_new(o, "end", end);
	}
	return o;
}

int session_facts_write(const char *path, const struct session_facts *facts, struct error *err)
{
	json_t *o = facts_json(facts);
	cleanup(free_at_exit) char *text = json_dumps(o, JSON_INDENT(1) | JSON_PRESERVE_ORDER);

	json_decref(o);
	if (!text)
		return error_set(err, -EINVAL, "cannot describe the session in %s", path);
	return file_replace(path, text, strlen(text), err);
}

/* A missing field, or one of another type, is "" or 0: the samples do not depend on it. */
static const char *get_text(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

#define get_number(o, key, type) ((type)json_integer_value(json_object_get(o, key)))

static void read_counter(const json_t *o, struct counter_info *c)
{
#define X(field) c->field = get_text(o, #field);
	COUNTER_TEXTS(X)
#undef X
#define X(field) c->field = get_number(o, #field, __typeof__(c->field));
	COUNTER_NUMBERS(X)
#undef X
}

static enum image_kind read_kind(const json_t *o)
{
	const char *kind = get_text(o, "kind");

	for (int i = 0; i < N_IMAGE_KINDS; i++)
		if (!strcmp(kind, image_kind_keys[i]))
			return (enum image_kind)i;
	return IMAGE_UNKNOWN;
}

static void read_image(const json_t *o, struct image *image)
{
	image->path = get_text(o, "path");
	image->kind = read_kind(o);
	if (!build_id_parse(get_text(o, "build_id"), &image->build_id))
		image->build_id = (struct build_id){ 0 };
}

static void read_tables(struct session_facts *facts)
{
	const json_t *counters = json_object_get(facts->owner, "counters");
	const json_t *images = json_object_get(facts->owner, "images");
	const json_t *symbols = json_object_get(facts->owner, "symbols");

	facts->info.n_counters = (uint32_t)json_array_size(counters);
	facts->info.counters = xcalloc(facts->info.n_counters + 1, sizeof(*facts->info.counters));
	for (uint32_t i = 0; i < facts->info.n_counters; i++)
		read_counter(json_array_get(counters, i), &facts->info.counters[i]);
	facts->n_images = (uint32_t)json_array_size(images);
	facts->images = xcalloc(facts->n_images + 1, sizeof(*facts->images));
	for (uint32_t i = 0; i < facts->n_images; i++)
		read_image(json_array_get(images, i), &facts->images[i]);
	for (size_t i = 0; i < json_array_size(symbols); i++) {
		const json_t *o = json_array_get(symbols, i);

		vec_push(&facts->symbols,
			 (struct facts_symbol){
				 read_kind(o), get_number(o, "pid", int32_t), get_text(o, "path"),
				 get_number(o, "offset", uint64_t), get_number(o, "size", uint64_t),
				 get_text(o, "name") });
	}
}

int session_facts_read(const char *path, struct session_facts *out, struct error *err)
{
	cleanup(free_at_exit) char *text = NULL;
	struct session_facts facts = { 0 };
	json_error_t why;
	size_t size;
	const json_t *lost, *end;
	int r = file_read_all(path, 16 << 20, &text, &size);

	if (r < 0)
		return error_errno(err, r, "%s", path);
	facts.owner = json_loadb(text, size, 0, &why);
	if (!json_is_object((json_t *)facts.owner)) {
		json_decref(facts.owner);
		return error_set(err, -EBADMSG, "%s, line %d: %s", path, why.line, why.text);
	}
#define X(field) facts.info.field = get_text(facts.owner, #field);
	SESSION_INFO_TEXTS(X)
#undef X
#define X(field) facts.info.field = get_number(facts.owner, #field, __typeof__(facts.info.field));
	INFO_NUMBERS(X)
#undef X
	facts.samples = get_number(facts.owner, "samples", uint64_t);
	facts.lost_arcs = get_number(facts.owner, "lost_arcs", uint64_t);
	read_tables(&facts);
	lost = json_object_get(facts.owner, "losses");
	for (int i = 0; i < N_LOSS_REASONS; i++)
		facts.lost[i] = get_number(lost, loss_texts[i].key, uint64_t);
	end = json_object_get(facts.owner, "end");
	facts.has_end = json_is_object(end);
#define X(field) facts.end.field = get_number(end, #field, __typeof__(facts.end.field));
	END_NUMBERS(X)
#undef X
	*out = facts;
	return 0;
}

void session_facts_fini(struct session_facts *facts)
{
	if (!facts->owner)
		return;
	json_decref(facts->owner);
	free(facts->info.counters);
	free(facts->images);
	vec_fini(&facts->symbols);
	*facts = (struct session_facts){ 0 };
}

void session_info_free(struct session_info *info)
{
#define X(field) free((char *)info->field);
	SESSION_INFO_TEXTS(X)
#undef X
	for (uint32_t i = 0; i < info->n_counters; i++) {
		free((char *)info->counters[i].name);
		free((char *)info->counters[i].spec);
		free((char *)info->counters[i].unit);
	}
	free(info->counters);
}

void session_info_copy(struct session_info *to, const struct session_info *from)
{
	*to = *from;
#define X(field) to->field = xstrdup(from->field ? from->field : "");
	SESSION_INFO_TEXTS(X)
#undef X
	to->counters = xcalloc(from->n_counters + 1, sizeof(*to->counters));
	for (uint32_t i = 0; i < from->n_counters; i++) {
		const struct counter_info *c = &from->counters[i];

		to->counters[i] = *c;
		to->counters[i].name = xstrdup(c->name);
		to->counters[i].spec = xstrdup(c->spec ? c->spec : "");
		to->counters[i].unit = xstrdup(c->unit ? c->unit : "");
	}
}
