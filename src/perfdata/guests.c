/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of guests in a recording of their host (perf inject --guest-data). */
#include <string.h>

#include "event/guest_task.h"
#include "perfdata/state.h"

const struct perfdata_guest *perfdata_guest(const struct perfdata *p)
{
	return p->guest_now;
}

const struct perfdata_guest *perfdata_guests(const struct perfdata *p, size_t *n)
{
	*n = p->guests.n;
	return p->guests.data;
}

const struct perfdata_guest *guests_find(const struct perfdata *p, const uint8_t *bytes,
					 uint32_t type, size_t size)
{
	size_t header = sizeof(struct perf_event_header), off = 8 * (size_t)p->id_word_from_end;
	const uint32_t *index;

	if (!p->guests.n)
		return NULL;
	if (type == PERF_RECORD_SAMPLE) {
		off = header + 8 * (size_t)p->guest_id_word;
		if (p->guest_id_word < 0 || off + 8 > size)
			return NULL;
	} else {
		if (!off || header + off > size)
			return NULL;
		off = size - off;
	}
	index = intmap_find(&p->guest_by_id, perfdata_word_at(p, bytes, off));
	return index ? &p->guests.data[*index] : NULL;
}

void guests_add_to_sample(struct perfdata *p, const struct perfdata_guest *guest, struct event *e)
{
	if (!guest)
		return;
	p->guest_extra = e->sample.extra ? *e->sample.extra : (struct sample_extra){ 0 };
	p->guest_extra.machine_pid = guest->machine_pid;
	p->guest_extra.vcpu = guest->vcpu;
	e->sample.extra = &p->guest_extra;
}

enum { MAX_GUEST_TEXTS = 1024 };

void guests_note_kernel(struct perfdata *p, const struct perfdata_guest *guest,
			const struct event *e)
{
	const struct mapping_event *m = &e->mapping;
	int32_t pid = guest ? (int32_t)guest->machine_pid : MAX(e->pid, 0);

	/* "[guest.kernel.kallsyms]_text", "[guest.kernel.kallsyms.77]_text", or as a host's. */
	if (strncmp(m->path, "[guest.kernel.kallsyms", 22) &&
	    (!guest || strncmp(m->path, "[kernel.kallsyms]", 17)))
		return;
	if (m->file_off >> 63 && strstr(m->path, "]_text") && p->guest_texts.n < MAX_GUEST_TEXTS)
		vec_push(&p->guest_texts, ((struct perfdata_guest_text){ pid, m->file_off }));
}

const struct perfdata_guest_text *perfdata_guest_texts(const struct perfdata *p, size_t *n)
{
	*n = p->guest_texts.n;
	return p->guest_texts.data;
}

int32_t guests_number(const struct perfdata_guest *guest, int32_t id)
{
	return guest ? guest_task(guest->machine_pid, id) : id;
}

static void number(const struct perfdata_guest *guest, int32_t *id)
{
	*id = guests_number(guest, *id);
}

bool guests_translate(const struct perfdata_guest *guest, struct event *e)
{
	switch (e->type) {
	case EVENT_MAPPING:
		if (e->mapping.start >> 63)
			return false; /* its kernel is in none of our tables */
		e->mapping.is_kernel = false;
		e->mapping.generation = guest_file(guest->machine_pid);
		break;
	case EVENT_FORK:
	case EVENT_EXIT:
		number(guest, &e->fork.ppid);
		number(guest, &e->fork.ptid);
		break;
	case EVENT_SWITCH:
		number(guest, &e->context_switch.other_pid);
		number(guest, &e->context_switch.other_tid);
		break;
	case EVENT_COMM:
	case EVENT_LOST: /* what its kernel dropped is missing here, too */
	case EVENT_LOST_SAMPLES:
	case EVENT_THROTTLE:
		break;
	default:
		return false; /* its kernel's symbols, control groups and the like */
	}
	number(guest, &e->pid);
	number(guest, &e->tid);
	return true;
}
