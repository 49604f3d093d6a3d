/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decodes raw packets, without a recording around them (tests/pt/vectors.py):
 *
 *   pt_raw packets FILE [CPU [--no-sync]]   a packet a line: offset, type, count, flag, payload
 *   pt_raw flow FILE CODE ADDRESS CPU [FILTER_BEGIN FILTER_END]
 *                                           the address of each instruction, and events in brackets
 *
 * CODE is loaded at ADDRESS. CPU is "FAMILY,MODEL,0" in decimal. Numbers are hexadecimal.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "pt/errata.h"
#include "pt/flow.h"
#include "pt/insn.h"
#include "pt/packet.h"

struct raw {
	struct file_mapping code;
	uint64_t addr;
	uint64_t filter_begin, filter_end;
	uint64_t insns; /* printed, or not known */
	uint64_t ip;    /* the next instruction; 0: not known */
	unsigned int width;
};

static uint32_t errata_of_cpu(const char *cpu)
{
	cleanup(free_at_exit) char *id = xasprintf("GenuineIntel,%s", cpu);

	return pt_errata_of(id);
}

static int print_packets(const struct file_mapping *map, bool is_synced, uint32_t errata)
{
	const uint8_t *at = map->base, *end = at + map->size;
	enum pt_block block = PT_NO_BLOCK;
	struct pt_packet p;

	if (is_synced)
		at = pt_find_psb(at, end);
	while (at < end) {
		uint64_t offset = (uint64_t)(at - (const uint8_t *)map->base);
		int n = pt_packet_read(at, end, &block, &p);

		if (n < 0) {
			printf("%016" PRIx64 " error\n", offset);
			at = pt_find_psb(at + 1, end);
			continue;
		}
		if (p.type == PT_CYC && errata & PT_ERRATUM_OVF_IN_CYC && pt_cyc_has_ovf(at, end)) {
			p = (struct pt_packet){ .type = PT_OVF };
			n = 3;
		}
		printf("%016" PRIx64 " %s %x %d %" PRIx64 "\n", offset, pt_type_names[p.type],
		       p.count, p.flag, p.payload);
		at += n;
	}
	return 0;
}

static size_t raw_read_code(void *context, uint32_t space, uint64_t addr, uint8_t *out, size_t size)
{
	const struct raw *r = context;
	uint64_t off = addr - r->addr;

	(void)space;
	if (off >= r->code.size)
		return 0;
	size = MIN(size, r->code.size - off);
	memcpy(out, (const uint8_t *)r->code.base + off, size);
	return size;
}

static bool raw_is_filtered_out(void *context, uint64_t ip)
{
	const struct raw *r = context;

	return r->filter_end && (ip < r->filter_begin || ip > r->filter_end);
}

/* On to where so many instructions were run: branches that were taken are events. */
static uint64_t raw_walk(struct raw *r, uint64_t insns)
{
	uint64_t at = 0;

	for (; r->ip && r->insns < insns; r->insns++) {
		uint8_t bytes[PT_INSN_MAX];
		size_t n = raw_read_code(r, 0, r->ip, bytes, sizeof(bytes));
		struct pt_insn insn;

		if (!pt_insn_read(r->width, bytes, n, &insn))
			break;
		at = r->ip;
		r->ip += insn.size;
		printf("%016" PRIx64 "\n", at);
	}
	r->insns = insns;
	return at;
}

static void raw_print_branch(struct raw *r, const struct pt_event *e)
{
	const struct pt_branch *b = &e->branch;
	uint64_t last = raw_walk(r, e->insns);

	if (b->from && b->insn_size && last != b->from)
		printf("[a branch at %" PRIx64 "]\n", b->from);
	if (!b->from)
		puts("[enabled]");
	else if (!b->to || b->flags & PT_F_END)
		puts("[disabled]");
	r->ip = b->flags & PT_F_END ? 0 : b->to;
}

static void raw_print_events(void *context, const struct pt_event *events, size_t n)
{
	struct raw *r = context;

	for (const struct pt_event *e = events; e < events + n; e++) {
		if (e->kind == PT_EV_BRANCH)
			raw_print_branch(r, e);
		else if (e->kind == PT_EV_WIDTH)
			r->width = e->width.bits;
		else if (e->kind == PT_EV_PSB && !r->ip)
			r->ip = e->psb.ip;
		else if (e->kind == PT_EV_ERROR) {
			raw_walk(r, e->insns);
			r->ip = 0;
			printf("[%s]\n", e->error.reason == PT_ERR_OVERFLOW
						 ? "overflow"
						 : pt_error_texts[e->error.reason]);
		}
	}
}

static int print_flow(struct raw *r, const struct file_mapping *map, const char *cpu)
{
	struct pt_memory memory = { .read = raw_read_code, .context = r };
	struct pt_flow_config config = { .events = raw_print_events,
					 .is_filtered_out = raw_is_filtered_out,
					 .has_event_trace = true,
					 .context = r };
	struct pt_code *code = pt_code_new(&memory, 0, 64, true);
	struct pt_flow *flow;

	config.errata = errata_of_cpu(cpu);
	flow = pt_flow_new(&config, code);
	r->width = 64;
	pt_flow_feed(flow, map->base, map->size);
	pt_flow_end(flow);
	raw_walk(r, pt_flow_stats(flow)->insns);
	pt_flow_free(flow);
	pt_code_free(code);
	return 0;
}

int main(int argc, char **argv)
{
	struct file_mapping map = { 0 };
	struct error err = { 0 };
	struct raw raw = { 0 };
	int status = 2;

	if (argc < 3 || file_map(argv[2], &map, &err) < 0) {
		fprintf(stderr, "pt_raw: %s\n", argc < 3 ? "see raw.c" : err.text);
		return 2;
	}
	if (!strcmp(argv[1], "packets")) {
		status = print_packets(&map, argc < 5, errata_of_cpu(argc > 3 ? argv[3] : ""));
	} else if (argc >= 6 && file_map(argv[3], &raw.code, &err) == 0) {
		raw.addr = strtoull(argv[4], NULL, 16);
		raw.filter_begin = argc > 7 ? strtoull(argv[6], NULL, 16) : 0;
		raw.filter_end = argc > 7 ? strtoull(argv[7], NULL, 16) : 0;
		status = print_flow(&raw, &map, argv[5]);
		file_unmap(&raw.code);
	}
	file_unmap(&map);
	return status;
}
