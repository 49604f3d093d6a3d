/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf's own records. They are a pipe's only source of events, features and build ids; a file has
 * some of them, too.
 */
#include <string.h>

#include "perfdata/attr.h"
#include "perfdata/state.h"

/* Types of EVENT_UPDATE: unit, scale, name, CPUs. */
#define EVENT_UPDATE_NAME 2

#define MAX_COUNTERS 65536

static void read_attr(struct perfdata *p, struct order_reader *o)
{
	size_t size = reader_left(&o->r), attr_size;
	struct order_reader sizes = *o;
	struct perf_event_attr attr;
	const uint8_t *bytes;

	order_u32(&sizes); /* type */
	attr_size = order_u32(&sizes);
	if (!attr_size)
		attr_size = PERFDATA_FIRST_ATTR;
	bytes = reader_bytes(&o->r, MIN(attr_size, size));
	if (attr_size > size || p->info.counters.n >= MAX_COUNTERS ||
	    !attr_read(bytes, attr_size, p->is_foreign, &attr))
		return;
	counter_add(p, &attr, o->r.at, reader_left(&o->r) / 8);
}

static void read_event_update(struct perfdata *p, struct order_reader *o)
{
	uint64_t type = order_u64(o), id = order_u64(o);
	struct perfdata_counter *c = counter_of_id(p, id);
	const char *name = type == EVENT_UPDATE_NAME ? reader_cstr(&o->r) : NULL;

	if (c && name)
		c->name = arena_strndup(p->arena, name, strlen(name));
}

/* perf ends a pipe's features with an empty one. Its number is that of a newer perf's feature. */
static void read_feature(struct perfdata *p, struct order_reader *o)
{
	uint64_t feature = order_u64(o);

	if (!o->r.bad && feature < N_FEATURE_BITS && reader_left(&o->r))
		feature_read(p, (uint32_t)feature, o->r.at, reader_left(&o->r));
}

static void read_time_conversion(struct perfdata *p, struct order_reader *o)
{
	p->info.time_shift = order_u64(o);
	p->info.time_mult = order_u64(o);
	p->info.time_zero = order_u64(o);
	p->info.has_time_conversion = !o->r.bad;
}

static void read_aux_info(struct perfdata *p, struct order_reader *o)
{
	p->info.aux_type = order_u32(o);
	order_u32(o); /* reserved */
	p->info.aux_private = o->r.at;
	p->info.aux_private_size = reader_left(&o->r);
}

static void read_aux(struct perfdata *p, struct order_reader *o, uint32_t file,
		     const struct raw_record *r)
{
	struct perfdata_aux aux = { .file = file, .file_off = r->file_off + r->size };

	aux.size_bytes = MIN(order_u64(o), r->payload);
	aux.aux_offset = order_u64(o);
	aux.reference = order_u64(o);
	aux.index = order_u32(o);
	aux.tid = (int32_t)order_u32(o);
	aux.cpu = order_u32(o);
	if (p->is_aux_known)
		return;
	p->stats.aux_bytes += aux.size_bytes;
	vec_push(&p->stats.aux, aux);
}

#define ID_INDEX_BYTES       32 /* id, number, CPU and thread, each of 64 bits */
#define ID_INDEX_GUEST_BYTES 16 /* of the second list: the guest's process, and its CPU */

/*
 * perf inject --guest-data: the guest of each sample id is in a second list behind the first.
 */
static void read_id_index(struct perfdata *p, struct order_reader *o)
{
	uint64_t n = order_u64(o);
	struct order_reader guests = *o;

	if (n > reader_left(&o->r) / (ID_INDEX_BYTES + ID_INDEX_GUEST_BYTES))
		return; /* there is no second list */
	reader_bytes(&guests.r, n * ID_INDEX_BYTES);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t id = order_u64(o);
		struct perfdata_guest guest = { 0 };
		uint32_t *index;
		bool is_new;

		reader_bytes(&o->r, ID_INDEX_BYTES - 2 * sizeof(id));
		guest.tid = (int32_t)order_u64(o);
		guest.machine_pid = (uint32_t)order_u64(&guests);
		guest.vcpu = (uint32_t)order_u64(&guests);
		if (!guest.machine_pid)
			continue;
		index = intmap_put(&p->guest_by_id, id, &is_new);
		if (!is_new)
			continue;
		*index = (uint32_t)p->guests.n;
		vec_push(&p->guests, guest);
	}
}

bool meta_read(struct perfdata *p, uint32_t file, const struct raw_record *r)
{
	struct order_reader o = order_reader_over(r->bytes, r->size, p->is_foreign);

	reader_bytes(&o.r, sizeof(struct perf_event_header));
	switch (r->type) {
	case USER_HEADER_ATTR:
		if (p->info.is_pipe)
			read_attr(p, &o);
		return true;
	case USER_EVENT_UPDATE:
		read_event_update(p, &o);
		return true;
	case USER_FEATURE:
		read_feature(p, &o);
		return true;
	case USER_BUILD_ID:
		build_id_read(p, r->bytes, r->size);
		return true;
	case USER_TRACING_DATA:
		tracing_read(p, r->bytes + r->size, r->payload);
		return true;
	case USER_ID_INDEX:
		read_id_index(p, &o);
		return true;
	case USER_TIME_CONV:
		read_time_conversion(p, &o);
		return true;
	case USER_AUXTRACE_INFO:
		read_aux_info(p, &o);
		return true;
	case USER_AUXTRACE:
		read_aux(p, &o, file, r);
		return true;
	default:
		return false;
	}
}
