/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "foreign/sniff.h"

#include "base/mem.h"
#include "foreign/folded.h"
#include "foreign/gunzip.h"
#include "foreign/jitdump.h"
#include "foreign/perf_script.h"
#include "foreign/pprof.h"
#include "foreign/slice.h"

#define SNIFF_BYTES ((size_t)64 << 10)

const char *const foreign_format_texts[N_FOREIGN_FORMATS] = {
#define X(id, text) text,
	FOREIGN_FORMATS(X)
#undef X
};

enum foreign_format foreign_sniff(const void *bytes, size_t size, bool is_whole)
{
	struct slice rest = { bytes, MIN(size, SNIFF_BYTES) }, line;
	bool is_folded = false, is_first = true;

	is_whole &= size <= SNIFF_BYTES;
	if (jitdump_has_magic(bytes, size))
		return FOREIGN_JITDUMP;
	if (gunzip_has_magic(bytes, size))
		return FOREIGN_GZIP;
	if (pprof_has_magic(bytes, size))
		return FOREIGN_PPROF;
	/* Text has no NUL; a last line that is cut tells nothing. */
	if (!rest.len || memchr(rest.at, '\0', rest.len))
		return FOREIGN_NONE;
	while (slice_line(&rest, &line)) {
		if (!rest.len && !is_whole)
			break;
		if (perf_script_is_sample(line))
			return FOREIGN_PERF_SCRIPT;
		/* Any text may have a line that ends in a number: the first one has to. */
		is_folded |= is_first && folded_is_stack(line);
		is_first &= !slice_trim(line).len || line.at[0] == '#';
	}
	return is_folded ? FOREIGN_FOLDED : FOREIGN_NONE;
}
