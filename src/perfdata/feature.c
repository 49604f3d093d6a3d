/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Feature sections: a recording's data on its machine and on itself. The layouts are those of
 * perf.data-file-format.txt. A section that can't be read counts as missing.
 */
#include <string.h>

#include "base/buf.h"
#include "perfdata/state.h"

/* Set in the header of a build id with a size: tools/perf's build-id.h. */
#define MISC_BUILD_ID_SIZE (1 << 15)

#define MAX_ARGUMENTS 100000
#define MAX_PMUS      1000

static const char *feature_read_text(struct perfdata *p, struct order_reader *o)
{
	const char *text = order_string(o);

	return text ? arena_strndup(p->arena, text, strlen(text)) : "";
}

/* perf's command line, quoted for a shell. */
static void read_command(struct perfdata *p, struct order_reader *o)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-+=./,:@%^";
	uint32_t n = order_u32(o);
	struct buf text = { 0 };

	for (uint32_t i = 0; i < n && i < MAX_ARGUMENTS; i++) {
		const char *word = order_string(o);

		if (!word)
			break;
		if (i)
			buf_u8(&text, ' ');
		if (*word && strspn(word, plain) == strlen(word)) {
			buf_str(&text, word);
			continue;
		}
		buf_u8(&text, '\'');
		for (; *word; word++)
			*word == '\'' ? buf_str(&text, "'\\''") : buf_u8(&text, (uint8_t)*word);
		buf_u8(&text, '\'');
	}
	p->info.command = arena_strndup(p->arena, buf_cstr(&text), text.len);
	buf_fini(&text);
}

/* n, size of an attr; { attr, number of ids, name, ids } n: in the order of the events. */
static void read_event_names(struct perfdata *p, struct order_reader *o)
{
	uint32_t n = order_u32(o), attr_size = order_u32(o);

	for (uint32_t i = 0; i < n && i < p->info.counters.n && !o->r.bad; i++) {
		uint32_t n_ids;
		const char *name;

		reader_bytes(&o->r, attr_size);
		n_ids = order_u32(o);
		name = order_string(o);
		reader_bytes(&o->r, 8 * (size_t)n_ids);
		if (name && *name && !o->r.bad)
			p->info.counters.data[i].name = arena_strndup(p->arena, name, strlen(name));
	}
}

static void read_pmus(struct perfdata *p, struct order_reader *o)
{
	uint32_t n = order_u32(o);

	for (uint32_t i = 0; i < n && p->pmus.n < MAX_PMUS && !o->r.bad; i++) {
		uint32_t type = order_u32(o);

		vec_push(&p->pmus, (struct pmu){ type, feature_read_text(p, o) });
	}
}

static void read_build_ids(struct perfdata *p, struct order_reader *o)
{
	while (reader_left(&o->r) >= 8) {
		struct order_reader header = *o;
		const uint8_t *record = o->r.at;
		uint16_t size;

		order_u32(&header);
		order_u16(&header);
		size = order_u16(&header);
		if (size < 8 || !reader_bytes(&o->r, size))
			break;
		build_id_read(p, record, size);
	}
}

static void read_clock_data(struct perfdata *p, struct order_reader *o)
{
	order_u32(o); /* version */
	order_u32(o); /* clock id */
	p->info.wall_ns = order_u64(o);
	p->info.clock_ns = order_u64(o);
	p->info.has_clock = !o->r.bad;
}

static void read_sample_time(struct perfdata *p, struct order_reader *o)
{
	p->info.first_ns = order_u64(o);
	p->info.last_ns = order_u64(o);
}

static void read_tracing(struct perfdata *p, struct order_reader *o)
{
	tracing_read(p, o->r.at, reader_left(&o->r));
}

static void read_n_cpus(struct perfdata *p, struct order_reader *o)
{
	p->info.n_cpus = order_u32(o);
}

static void read_total_mem(struct perfdata *p, struct order_reader *o)
{
	p->info.total_mem_kib = order_u64(o);
}

static void read_stat(struct perfdata *p, struct order_reader *o)
{
	(void)o;
	p->info.is_stat = true;
}

#define TEXT_FEATURE(name, field)                                           \
	static void read_##name(struct perfdata *p, struct order_reader *o) \
	{                                                                   \
		p->info.field = feature_read_text(p, o);                    \
	}
TEXT_FEATURE(hostname, hostname)
TEXT_FEATURE(os_release, os_release)
TEXT_FEATURE(version, version)
TEXT_FEATURE(arch, arch)
TEXT_FEATURE(cpu_desc, cpu_desc)
TEXT_FEATURE(cpu_id, cpu_id)

/* The sections that we read; the others are kept as they are (perfdata_info.sections). */
static void (*const readers[])(struct perfdata *p, struct order_reader *o) = {
	[FEATURE_TRACING_DATA] = read_tracing,
	[FEATURE_BUILD_ID] = read_build_ids,
	[FEATURE_HOSTNAME] = read_hostname,
	[FEATURE_OSRELEASE] = read_os_release,
	[FEATURE_VERSION] = read_version,
	[FEATURE_ARCH] = read_arch,
	[FEATURE_NRCPUS] = read_n_cpus,
	[FEATURE_CPUDESC] = read_cpu_desc,
	[FEATURE_CPUID] = read_cpu_id,
	[FEATURE_TOTAL_MEM] = read_total_mem,
	[FEATURE_CMDLINE] = read_command,
	[FEATURE_EVENT_DESC] = read_event_names,
	[FEATURE_PMU_MAPPINGS] = read_pmus,
	[FEATURE_STAT] = read_stat,
	[FEATURE_SAMPLE_TIME] = read_sample_time,
	[FEATURE_CLOCK_DATA] = read_clock_data,
};

static const char *const feature_names[] = {
#define X(id, bit, name) [bit] = name,
	FEATURES(X)
#undef X
};

void feature_read(struct perfdata *p, uint32_t feature, const uint8_t *bytes, uint64_t size)
{
	struct order_reader o = order_reader_over(bytes, size, p->is_foreign);
	struct perfdata_section section = { .feature = feature,
					    .bytes = bytes,
					    .size_bytes = size };

	if (feature < ARRAY_SIZE(feature_names))
		section.name = feature_names[feature];
	vec_push(&p->info.sections, section);
	if (feature < ARRAY_SIZE(readers) && readers[feature])
		readers[feature](p, &o);
}

/* Header, pid i32, build id 20 bytes, its size u8, 3 reserved, the file's name. */
void build_id_read(struct perfdata *p, const uint8_t *record, size_t size)
{
	struct order_reader o = order_reader_over(record, size, p->is_foreign);
	const uint8_t *bytes;
	const char *file;
	struct build_id id = { .len = BUILD_ID_MAX };
	uint16_t misc;
	string_id name;

	order_u32(&o);
	misc = order_u16(&o);
	order_u16(&o);
	order_u32(&o); /* pid: the host's, or a guest's */
	bytes = reader_bytes(&o.r, 24);
	file = reader_cstr(&o.r);
	if (!file || !bytes)
		return;
	if (misc & MISC_BUILD_ID_SIZE)
		id.len = MIN(bytes[20], BUILD_ID_MAX);
	memcpy(id.bytes, bytes, id.len);
	name = strings_add(&p->build_id_files, file);
	while (p->build_ids.n <= name.n)
		vec_add(&p->build_ids);
	p->build_ids.data[name.n] = id;
}

void perfdata_each_build_id(const struct perfdata *p,
			    void (*visit)(void *context, const char *path,
					  const struct build_id *id),
			    void *context)
{
	for (uint32_t i = 1; i < p->build_ids.n; i++)
		if (p->build_ids.data[i].len)
			visit(context, strings_get(&p->build_id_files, (string_id){ i }),
			      &p->build_ids.data[i]);
}

/* The kernel's mapping is "[kernel.kallsyms]_text", its build id's file "[kernel.kallsyms]". */
static const struct build_id *build_id_of_file(const struct perfdata *p, const char *path)
{
	const char *bracket = path[0] == '[' ? strchr(path, ']') : NULL;
	char kernel[64];
	string_id name;

	if (bracket && (size_t)(bracket - path) + 2 <= sizeof(kernel)) {
		memcpy(kernel, path, (size_t)(bracket - path) + 1);
		kernel[bracket - path + 1] = '\0';
		path = kernel;
	}
	if (!strings_find(&p->build_id_files, path, &name) || name.n >= p->build_ids.n)
		return NULL;
	return &p->build_ids.data[name.n];
}

/* perf calls the vdso of 32-bit programs, which are below 4 GiB, "[vdso32]". */
const struct build_id *build_id_of_mapping(const struct perfdata *p, const struct mapping_event *m)
{
	bool is_of_32_bit = !strcmp(m->path, "[vdso]") && m->start >> 32 == 0;

	return build_id_of_file(p, is_of_32_bit ? "[vdso32]" : m->path);
}
