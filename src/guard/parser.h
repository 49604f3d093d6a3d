/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parser: a child process that reads files of profiled programs and has no rights.
 *
 *	assay ── request ──► parser            a number of a handler, and bytes
 *	      ◄─ opens ───── parser            files that it wants; assay decides (config.serve)
 *	      ◄─ answer ──── parser            bytes, in a sealed memfd if they are many
 *
 * A bug in a parser of ELF files or DWARF then gives an attacker a process without capabilities,
 * without network and without files. assay checks an answer as it checks a file.
 *
 * The child is a fork of this process, so it has its handlers, and starts with the first request.
 * It serves many requests. If it dies, or takes longer than the deadline, the request fails and the
 * next request starts another child. Any thread may ask; requests wait for each other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/files/file.h"
#include "base/reader.h"

struct error;
struct parser;

/* In the child: reads a request, and appends the answer. A bad request has an empty answer. */
typedef void parser_handler(struct reader *request, struct buf *answer);

struct parser_config {
	parser_handler *const *handlers;
	uint32_t n_handlers;
	uint64_t memory_bytes; /* that the child may map, beside the memory of this process */
	uint32_t deadline_ms;  /* of one request */
	/* In the child, when it starts: it can ask for files through the socket. NULL: no files. */
	void (*connect)(int socket);
	/* In this process: answers one request for a file. False: the socket is closed. */
	bool (*serve)(int socket);
};

/* The largest answer. */
#define PARSER_ANSWER_MAX ((size_t)1 << 30)

/* The configuration is copied, but not its handlers. */
struct parser *parser_new(const struct parser_config *config);
void parser_free(struct parser *p); /* NULL is fine. Ends the child. */

/* Parts of an answer are read in place, 8-byte aligned. */
struct parser_answer {
	const uint8_t *bytes;
	size_t size;
	bool is_mapped;
};
void parser_answer_fini(struct parser_answer *a); /* { 0 } is fine */

/*
 * Asks the child. -ETIMEDOUT: the deadline passed. -EPIPE: the child died. -EPROTO: the answer is
 * wrong in its form. Other errors: no child could be started.
 */
int parser_ask(struct parser *p, uint32_t handler, const struct buf *request,
	       struct parser_answer *answer, struct error *err);

/* What the children cost so far: those that ended, and the one that runs. */
struct parser_cost {
	uint32_t n_started, n_died, n_late;
	uint64_t cpu_ns, peak_bytes; /* of those that ended */
};
struct parser_cost parser_cost(struct parser *p);

/* The process id of the child, for tests; 0: none runs. */
int parser_pid(struct parser *p);
