/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * OpenTelemetry profiles: one ProfilesData message (v1development of opentelemetry-proto v1.10.0
 * and v1.11.0).
 *
 * A sample has one value, so an event makes two profiles: one of samples, one of the events they
 * stand for. All tables of the dictionary begin with an empty row, because 0 means "none".
 */
#include <ctype.h>
#include <string.h>

#include "base/build_id.h"
#include "config.h"
#include "export/cgroup_texts.h"
#include "export/code_lines.h"
#include "export/export.h"
#include "export/label_texts.h"
#include "export/mappings.h"
#include "export/names.h"
#include "export/otlp.pb-c.h"
#include "export/protobuf.h"
#include "lang/language.h"
#include "profile/wakers.h"
#include "store/session.h"
#include "symbol/lines/lines.h"

/* Fields written piece by piece: of ProfilesData, ResourceProfiles, ScopeProfiles, Profile. */
enum { FIELD_RESOURCE_PROFILES = 1, FIELD_DICTIONARY = 2 };
enum { FIELD_RESOURCE = 1, FIELD_SCOPE_PROFILES = 2 };
enum { FIELD_SCOPE = 1, FIELD_PROFILES = 2 };
enum { FIELD_SAMPLES = 2 };
enum { FIELD_TRACE_ID = 1, FIELD_SPAN_ID = 2 }; /* of Link */

/* Of ProfilesDictionary. */
enum {
	TABLE_MAPPING = 1,
	TABLE_LOCATION,
	TABLE_FUNCTION,
	TABLE_LINK,
	TABLE_STRING,
	TABLE_ATTRIBUTE,
	TABLE_STACK,
};

struct otlp {
	const struct export *x;
	struct sink *out;
	struct strings strings;
	struct mappings mappings;
	struct buf attributes; /* the table so far */
	int32_t n_attributes;
	struct strings attribute_keys; /* string i is the source of attribute i */
	struct group_attributes {
		VEC(int32_t) index;
	} * of_group;
	int32_t *stack_of;         /* by node; 0: no sample ended there */
	struct buf links;          /* the table so far */
	int32_t *link_of;          /* by group; 0: the samples belong to no trace */
	struct strings link_texts; /* string i is the trace and span of link i */
};

static int32_t otlp_intern(struct otlp *w, const char *text)
{
	return (int32_t)strings_add(&w->strings, text).n;
}

/* A text (if not NULL) or a number under a key: its index in the attribute table. */
static int32_t attribute_index(struct otlp *w, const char *key, const char *text, int64_t number)
{
	struct buf unique = { 0 };
	string_id id;
	Otlp__AnyValue value = OTLP__ANY_VALUE__INIT;
	Otlp__KeyValueAndUnit row = OTLP__KEY_VALUE_AND_UNIT__INIT;

	/* Keys and texts are those of programs, and can have any character but a NUL. */
	buf_bytes(&unique, key, strlen(key) + 1);
	if (text)
		buf_printf(&unique, "=%s", text);
	else
		buf_printf(&unique, ":%lld", (long long)number);
	id = strings_add_n(&w->attribute_keys, (const char *)unique.data, unique.len);
	buf_fini(&unique);
	if ((int32_t)id.n <= w->n_attributes)
		return (int32_t)id.n;
	value.value_case =
		text ? OTLP__ANY_VALUE__VALUE_STRING_VALUE : OTLP__ANY_VALUE__VALUE_INT_VALUE;
	if (text)
		value.string_value = (char *)text;
	else
		value.int_value = number;
	row.key_strindex = otlp_intern(w, key);
	row.value = &value;
	protobuf_message(&w->attributes, TABLE_ATTRIBUTE, &row.base);
	return ++w->n_attributes;
}

/* The known attributes of the cgroup. */
static void add_cgroup_attributes(struct otlp *w, uint32_t group, const struct cgroup_texts *all)
{
	static const char *const keys[N_CGROUP_TEXTS] = {
#define X(id, label, attribute, column, help) attribute,
		CGROUP_TEXTS(X)
#undef X
	};
	const struct cgroup_texts *cgroup =
		&all[profile_class_value(w->x->profile, PROFILE_CGROUP, group)];
	struct group_attributes *out = &w->of_group[group];

	for (int i = 0; i < N_CGROUP_TEXTS; i++)
		if (*cgroup->text[i])
			vec_push(&out->index, attribute_index(w, keys[i], cgroup->text[i], 0));
}

/* A trace and a span that are the sample's link are no attributes. */
static void add_label_attributes(struct otlp *w, uint32_t group, const struct label_texts *all)
{
	uint32_t own = profile_class_value(w->x->profile, PROFILE_LABEL, group);

	for (uint32_t i = all->first[own]; i < all->first[own + 1]; i++) {
		const struct label_text *label = &all->list.data[i];
		bool is_linked = w->link_of[group] &&
				 (!strcmp(label->name, "trace") || !strcmp(label->name, "span"));

		if (!is_linked)
			vec_push(&w->of_group[group].index,
				 attribute_index(w, label->name, label->value, 0));
	}
}

static void make_attributes(struct otlp *w)
{
	const struct profile *p = w->x->profile;
	cleanup(free_at_exit) struct cgroup_texts *cgroups = cgroup_texts_new(p, w->x->frames);
	struct label_texts labels;

	label_texts_init(&labels, p, w->x->frames);
	protobuf_bytes(&w->attributes, TABLE_ATTRIBUTE, NULL, 0);
	w->of_group = xcalloc((size_t)p->n_groups + 1, sizeof(*w->of_group));
	for (uint32_t g = 0; g < p->n_groups; g++) {
		const struct profile_process *thread =
			&p->threads.data[profile_class_value(p, PROFILE_THREAD, g)];
		const string_id comm = { profile_class_value(p, PROFILE_COMM, g) };
		const char *name = frame_text(w->x->frames, strings_get(&p->comms, comm));

		vec_push(&w->of_group[g].index,
			 attribute_index(w, "process.pid", NULL, thread->pid));
		vec_push(&w->of_group[g].index, attribute_index(w, "thread.id", NULL, thread->tid));
		vec_push(&w->of_group[g].index, attribute_index(w, "thread.name", name, 0));
		vec_push(&w->of_group[g].index,
			 attribute_index(w, "cpu.logical_number", NULL, profile_cpu(p, g)));
		add_cgroup_attributes(w, g, cgroups);
		add_label_attributes(w, g, &labels);
	}
	label_texts_fini(&labels);
}

#define TRACE_BYTES 16
#define SPAN_BYTES  8

/* Hexadecimal digits of exactly so many bytes. False: the text is no such id. */
static bool parse_id(const char *text, uint8_t *id, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	if (strlen(text) != 2 * n)
		return false;
	for (size_t i = 0; i < 2 * n; i++) {
		const char *digit = strchr(digits, tolower((unsigned char)text[i]));

		if (!digit || !*digit)
			return false;
		id[i / 2] = (uint8_t)(id[i / 2] << 4 | (digit - digits));
	}
	return true;
}

static void otlp_put_link(struct otlp *w, const uint8_t *trace, const uint8_t *span)
{
	struct buf link = { 0 };

	protobuf_bytes(&link, FIELD_TRACE_ID, trace, TRACE_BYTES);
	protobuf_bytes(&link, FIELD_SPAN_ID, span, SPAN_BYTES);
	protobuf_bytes(&w->links, TABLE_LINK, link.data, link.len);
	buf_fini(&link);
}

/* A link needs a trace; a span that is none is all zeros. */
static int32_t link_of_group(struct otlp *w, uint32_t group)
{
	const struct profile *p = w->x->profile;
	const char *trace = profile_waker_text(p, profile_class_value(p, PROFILE_TRACE, group));
	const char *span = profile_waker_text(p, profile_class_value(p, PROFILE_SPAN, group));
	uint8_t trace_id[TRACE_BYTES] = { 0 }, span_id[SPAN_BYTES] = { 0 };
	cleanup(free_at_exit) char *both = xasprintf("%s %s", trace, span);
	uint32_t known = w->link_texts.n;
	string_id id;

	if (!parse_id(trace, trace_id, TRACE_BYTES))
		return 0;
	if (!parse_id(span, span_id, SPAN_BYTES))
		memset(span_id, 0, sizeof(span_id));
	id = strings_add(&w->link_texts, both);
	if (w->link_texts.n > known)
		otlp_put_link(w, trace_id, span_id);
	return (int32_t)id.n;
}

/*
 * The first link means none: ids of full length, which are all zeros. The proto file recommends
 * this form.
 */
static void make_links(struct otlp *w)
{
	static const uint8_t none[TRACE_BYTES];

	otlp_put_link(w, none, none);
	w->link_of = xcalloc((size_t)w->x->profile->n_groups + 1, sizeof(*w->link_of));
	for (uint32_t g = 0; g < w->x->profile->n_groups; g++)
		w->link_of[g] = link_of_group(w, g);
}

/* Stacks in the order of their innermost nodes; 0 is the empty one. */
static void otlp_number_stacks(struct otlp *w)
{
	const struct profile *p = w->x->profile;
	int32_t n = 0;

	w->stack_of = xcalloc(p->nodes.n, sizeof(*w->stack_of));
	vec_foreach (&p->entries, entry)
		w->stack_of[entry->node] = 1;
	for (size_t i = 1; i < p->nodes.n; i++)
		if (w->stack_of[i])
			w->stack_of[i] = ++n;
}

static void otlp_put_samples(struct otlp *w, struct buf *out, uint32_t lane, bool by_period)
{
	const struct profile *p = w->x->profile;

	for (size_t i = 0; i < p->entries.n; i++) {
		const struct profile_entry *e = &p->entries.data[i];
		int64_t value = (int64_t)weight_value(&profile_weights(p, i)[lane], by_period);
		Otlp__Sample sample = OTLP__SAMPLE__INIT;

		if (!value)
			continue;
		sample.stack_index = w->stack_of[e->node];
		sample.link_index = w->link_of[e->group];
		sample.values = &value;
		sample.n_values = 1;
		sample.attribute_indices = w->of_group[e->group].index.data;
		sample.n_attribute_indices = w->of_group[e->group].index.n;
		protobuf_message(out, FIELD_SAMPLES, &sample.base);
	}
}

static void put_profile(struct otlp *w, struct buf *out, uint32_t lane, bool by_period)
{
	const struct profile *p = w->x->profile;
	const struct session *s = p->session;
	uint32_t counter = p->lanes[lane].counter;
	const struct counter_info *c = counter == NO_INDEX ? NULL : &s->info.counters[counter];
	const char *event = c ? frame_text(w->x->frames, c->name) : "events";
	cleanup(free_at_exit) char *samples = xasprintf("%s samples", event);
	Otlp__ValueType type = OTLP__VALUE_TYPE__INIT, period = OTLP__VALUE_TYPE__INIT;
	Otlp__Profile profile = OTLP__PROFILE__INIT;
	uint64_t end = s->has_end ? s->end.end_ns : p->last_ns;

	period.type_strindex = otlp_intern(w, event);
	period.unit_strindex = otlp_intern(w, counter_unit(c));
	type = period;
	if (!by_period) {
		type.type_strindex = otlp_intern(w, p->n_lanes > 1 ? samples : "samples");
		type.unit_strindex = otlp_intern(w, "count");
	}
	profile.sample_type = &type;
	profile.time_unix_nano = s->info.start_wall_ns;
	profile.duration_nano = end > s->info.start_ns ? end - s->info.start_ns : 0;
	profile.period_type = &period;
	profile.period = (int64_t)counter_period(c);
	protobuf_fields(out, &profile.base);
	otlp_put_samples(w, out, lane, by_period);
}

static void put_resource(struct otlp *w, struct buf *out)
{
	const struct session_info *info = &w->x->profile->session->info;
	const char *const pairs[][2] = {
		{ "host.name", info->hostname },
		{ "host.arch", info->arch },
		{ "os.type", "linux" },
		{ "os.version", info->os_release },
		{ "process.command_line", info->command },
	};
	Otlp__KeyValue rows[ARRAY_SIZE(pairs)], *pointers[ARRAY_SIZE(pairs)];
	Otlp__AnyValue values[ARRAY_SIZE(pairs)];
	Otlp__Resource resource = OTLP__RESOURCE__INIT;

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		otlp__key_value__init(&rows[i]);
		otlp__any_value__init(&values[i]);
		values[i].value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
		values[i].string_value = (char *)frame_text(w->x->frames, pairs[i][1]);
		rows[i].key = (char *)pairs[i][0];
		rows[i].value = &values[i];
		pointers[i] = &rows[i];
	}
	resource.attributes = pointers;
	resource.n_attributes = ARRAY_SIZE(pairs);
	protobuf_message(out, FIELD_RESOURCE, &resource.base);
}

/* The length of a message comes first: profiles stay in memory until it is complete. */
static void put_profiles(struct otlp *w)
{
	Otlp__InstrumentationScope scope = OTLP__INSTRUMENTATION_SCOPE__INIT;
	struct buf resource = { 0 }, scope_profiles = { 0 }, profile = { 0 };

	scope.name = "assay";
	scope.version = ASSAY_VERSION;
	protobuf_message(&scope_profiles, FIELD_SCOPE, &scope.base);
	for (uint32_t i = 0; i < w->x->profile->n_lanes * 2; i++) {
		profile.len = 0;
		put_profile(w, &profile, i / 2, i % 2 != 0);
		protobuf_bytes(&scope_profiles, FIELD_PROFILES, profile.data, profile.len);
	}
	put_resource(w, &resource);
	protobuf_bytes(&resource, FIELD_SCOPE_PROFILES, scope_profiles.data, scope_profiles.len);
	protobuf_bytes(&w->out->buf, FIELD_RESOURCE_PROFILES, resource.data, resource.len);
	buf_fini(&profile);
	buf_fini(&scope_profiles);
	buf_fini(&resource);
}

static void otlp_put_mappings(struct otlp *w, struct buf *out)
{
	protobuf_bytes(out, TABLE_MAPPING, NULL, 0);
	vec_foreach (&w->mappings.list, it) {
		const struct image *image = w->x->profile->images.data[it->image].image;
		Otlp__Mapping m = OTLP__MAPPING__INIT;
		char build_id[BUILD_ID_HEX_SIZE];
		int32_t index;

		build_id_hex(&image->build_id, build_id);
		m.memory_start = it->start;
		m.memory_limit = it->end;
		m.file_offset = it->file_off;
		m.filename_strindex = otlp_intern(w, frame_image_path(w->x->frames, it->image));
		if (*build_id) {
			index = attribute_index(w, "process.executable.build_id.gnu", build_id, 0);
			m.attribute_indices = &index;
			m.n_attribute_indices = 1;
		}
		protobuf_message(out, TABLE_MAPPING, &m.base);
	}
}

/* The value of profile.frame.type for code of an image; NULL: none of the well-known ones. */
static const char *frame_type(const struct profile *p, const struct profile_function *f)
{
	static const char *const of_language[N_LANGUAGE_NUMBERS] = {
		[LANGUAGE_NONE] = "native",     [LANGUAGE_PYTHON] = "cpython",
		[LANGUAGE_PHP] = "php",         [LANGUAGE_RUBY] = "ruby",
		[LANGUAGE_PERL] = "perl",       [LANGUAGE_JAVA] = "jvm",
		[LANGUAGE_JAVASCRIPT] = "v8js", [LANGUAGE_GO] = "go",
	};
	const struct image *image = p->images.data[f->image].image;

	if (image_code_mode(image) == CODE_KERNEL)
		return "kernel";
	/* Nobody knows the compiler of JIT code and of code that has only a name. */
	return (image->kind == IMAGE_FILE || image->kind == IMAGE_VDSO ||
		image->kind == IMAGE_LANGUAGE) &&
			       f->language < N_LANGUAGE_NUMBERS
		       ? of_language[f->language]
		       : NULL;
}

static void put_locations(struct otlp *w, struct buf *out)
{
	const struct profile *p = w->x->profile;
	const struct code_lines *c = w->x->lines;

	protobuf_bytes(out, TABLE_LOCATION, NULL, 0);
	for (uint32_t i = 0; i < p->places.n; i++) {
		const struct profile_place *place = &p->places.data[i];
		const struct mapping *mapping =
			mapping_of(&w->mappings, p->functions.data[place->function].image);
		uint32_t n = c->first[i + 1] - c->first[i];
		Otlp__Line lines[LINES_MAX_FRAMES], *pointers[LINES_MAX_FRAMES];
		Otlp__Location location = OTLP__LOCATION__INIT;
		const char *type = frame_type(p, &p->functions.data[place->function]);
		int32_t attribute = type ? attribute_index(w, "profile.frame.type", type, 0) : 0;

		for (uint32_t k = 0; k < n; k++) {
			otlp__line__init(&lines[k]);
			lines[k].function_index =
				(int32_t)c->lines.data[c->first[i] + k].function + 1;
			lines[k].line = c->lines.data[c->first[i] + k].line;
			pointers[k] = &lines[k];
		}
		location.mapping_index =
			mapping ? (int32_t)(mapping - w->mappings.list.data) + 1 : 0;
		location.address = mapping_address(&w->mappings, p, place);
		location.lines = pointers;
		location.n_lines = n;
		location.attribute_indices = &attribute;
		location.n_attribute_indices = type != NULL;
		protobuf_message(out, TABLE_LOCATION, &location.base);
	}
}

static void otlp_put_functions(struct otlp *w, struct buf *out)
{
	protobuf_bytes(out, TABLE_FUNCTION, NULL, 0);
	vec_foreach (&w->x->lines->functions, it) {
		Otlp__Function f = OTLP__FUNCTION__INIT;

		f.name_strindex = otlp_intern(w, it->name);
		f.system_name_strindex = otlp_intern(w, it->system_name);
		f.filename_strindex = otlp_intern(w, it->file);
		protobuf_message(out, TABLE_FUNCTION, &f.base);
	}
}

static void otlp_put_stacks(struct otlp *w, struct buf *out)
{
	const struct profile *p = w->x->profile;
	VEC(int32_t) locations = { 0 };

	protobuf_bytes(out, TABLE_STACK, NULL, 0);
	for (uint32_t n = 1; n < p->nodes.n; n++) {
		Otlp__Stack stack = OTLP__STACK__INIT;

		if (!w->stack_of[n])
			continue;
		locations.n = 0;
		for (uint32_t at = n; at; at = p->nodes.data[at].parent)
			vec_push(&locations, (int32_t)p->node_places.data[at] + 1);
		stack.location_indices = locations.data;
		stack.n_location_indices = locations.n;
		protobuf_message(out, TABLE_STACK, &stack.base);
	}
	vec_fini(&locations);
}

static void put_dictionary(struct otlp *w)
{
	struct buf out = { 0 };

	otlp_put_mappings(w, &out);
	put_locations(w, &out);
	otlp_put_functions(w, &out);
	otlp_put_stacks(w, &out);
	buf_bytes(&out, w->links.data, w->links.len);
	buf_bytes(&out, w->attributes.data, w->attributes.len);
	for (uint32_t i = 0; i < w->strings.n; i++)
		protobuf_bytes(&out, TABLE_STRING, w->strings.text[i], w->strings.len[i]);
	protobuf_bytes(&w->out->buf, FIELD_DICTIONARY, out.data, out.len);
	buf_fini(&out);
}

static int write_otlp(const struct export *x, struct sink *out, struct error *err)
{
	struct otlp w = { .x = x, .out = out };

	(void)err;
	strings_init(&w.strings);
	strings_init(&w.attribute_keys);
	strings_init(&w.link_texts);
	mappings_init(&w.mappings, x->profile);
	make_links(&w);
	make_attributes(&w);
	otlp_number_stacks(&w);
	put_profiles(&w);
	put_dictionary(&w);
	for (uint32_t g = 0; g < x->profile->n_groups; g++)
		vec_fini(&w.of_group[g].index);
	free(w.of_group);
	free(w.stack_of);
	free(w.link_of);
	buf_fini(&w.links);
	strings_fini(&w.link_texts);
	buf_fini(&w.attributes);
	mappings_fini(&w.mappings);
	strings_fini(&w.attribute_keys);
	strings_fini(&w.strings);
	return 0;
}

const struct export_ops export_otlp = {
	.target = EXPORT_STREAM,
	.is_binary = true,
	.keys = { .key = { PROFILE_APP, PROFILE_THREAD, PROFILE_COMM, PROFILE_CPU, PROFILE_CGROUP,
			   PROFILE_TRACE, PROFILE_SPAN, PROFILE_LABEL },
		  .n = 8,
		  .by_label_pairs = true },
	.with_chains = true,
	.with_places = true,
	.with_source = true,
	.write = write_otlp,
};
