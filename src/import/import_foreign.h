/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session of what has names instead of addresses: perf script's text, folded stacks, pprof.
 *
 * A function is (image, offset) here as everywhere: the image is of kind NAMED (the kernel's keep
 * theirs), and the offset is a hash of the name, so that one function has one place in
 * every session, whichever file it came from. The names themselves are kept with the session.
 * Frames that have no name but a build id and a place in the file are real places, and
 * are named when somebody looks.
 */
#pragma once

struct error;
struct file_mapping;
struct import_config;
struct import_result;

/*
 * As import_file(), of the bytes that foreign_sniff() has recognised. They are read twice: first
 * for the events and the time that they span.
 */
int import_foreign(const struct import_config *config, const struct file_mapping *map,
		   struct import_result *out, struct error *err);
