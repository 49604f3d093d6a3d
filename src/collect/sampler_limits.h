/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sizes of the in-kernel sampler's maps, by the machine's memory and CPUs.
 *
 * Tests make them tiny through the environment, to fill them:
 * ASSAY_SAMPLER_LIMITS="counts=64,messages=4096,chunks=1,seen=64,stacks=64,loop=0". "refuse=1"
 * makes the kernel's verifier refuse the program.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sampler_limits {
	uint32_t counts;      /* entries of each of the two; 0: by the rate */
	uint32_t seen;        /* stacks that are remembered as sent */
	uint32_t stacks;      /* frames that the reader remembers in a generation; 0: by the rate */
	uint32_t messages;    /* bytes of the ring: a power of two, and of pages */
	uint32_t times;       /* bytes of the ring of times, likewise; 0: by the rate */
	uint32_t chunks;      /* of unwind tables, CHUNK_WORDS each; made when needed */
	uint32_t loop;        /* 0: as if the kernel had no bpf_loop() */
	uint32_t refuse;      /* 1: the program has a fault */
	uint32_t load_ms;     /* loading takes this much longer */
	uint32_t files;       /* that it can distinguish; 0: MAX_FILES */
	uint32_t blocks;      /* --alloc by uprobes: sampled blocks that live; 0: its default */
	uint32_t allocations; /* likewise: bytes of the ring, a power of two */
	uint32_t waits;       /* threads whose waits are followed */
	uint32_t locks;       /* waits for the kernel's locks at once */
	uint32_t languages;   /* 0: native frames alone, to measure what the others cost */
	uint32_t compare;     /* 1: stacks with known frames of Java are copied, too */
};

struct sampler_limits sampler_limits(size_t n_cpus);

/* The same for a given machine and a given setting (may be NULL). */
struct sampler_limits sampler_limits_for(uint64_t memory_bytes, size_t n_cpus, const char *setting);
