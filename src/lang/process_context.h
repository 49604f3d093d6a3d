/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process context of OpenTelemetry (OTEP 4719): a process publishes attributes in a mapping
 * named OTEL_CTX. One of them, `threadlocal.attribute_key_map`, has the names of the attributes in
 * the threads' contexts (thread_context.h), which have numbers there.
 *
 *   header     "OTEL_CTX", version, size of the payload (u32 each), time of publication (u64, ns),
 *              address of the payload (u64)
 *   payload    protobuf: a message with attributes, or with a Resource that has attributes
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROCESS_CONTEXT_HEADER 32                 /* bytes */
#define PROCESS_CONTEXT_MAX    ((size_t)16 << 10) /* bytes of a payload */
#define PROCESS_CONTEXT_NO_KEY UINT16_MAX

struct process_context {
	uint64_t published_ns, payload;
	uint32_t payload_size;
};

/* The header's fields. False: it is none, of another version, or is being changed. */
bool process_context_read(const uint8_t header[PROCESS_CONTEXT_HEADER],
			  struct process_context *out);

/*
 * Fills `keys` with the number of each name in the key map: below 256, or PROCESS_CONTEXT_NO_KEY.
 * The payload is untrusted.
 */
void process_context_keys(const uint8_t *payload, size_t size, const char *const *names, size_t n,
			  uint16_t *keys);

/* Whether a line of /proc/PID/maps is the mapping, and where it begins. */
bool process_context_mapping(const char *line, uint64_t *start);
