/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes a session of a format with names instead of addresses: perf script's text, folded stacks,
 * pprof.
 *
 * A function is (image, offset), as everywhere. The image is of kind NAMED, or the kernel's. The
 * offset is a hash of the name. So a function has the same place in every session. The session
 * keeps the names. A frame without a name, but with a build id and a place in the file, is a real
 * place. A report names it.
 */
#pragma once

#include "foreign/sniff.h"

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
