/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An archive: a session with all files that its reports need. So the reports are the same on
 * another machine.
 *
 *   DIR/samples/…          the session itself: an archive is a session
 *   DIR/files/PATH         binaries, by the path that they ran under
 *   DIR/files/usr/lib/debug/.build-id/xx/….debug
 *                          separate debug files, the files with what they have in common (dwz),
 *                          and the second binary of one path
 *   DIR/files/usr/lib/debug/.dwo/….dwo, .build-id/xx/….dwp
 *                          split debug information (symbol/split_files.h)
 *   DIR/kernel/            kallsyms, modules, notes, module/NAME/notes/… of the recorded kernel
 *
 * A binary counts only if its build id is the session's.
 *
 * A recording with a processor trace can be decoded in many ways. So its archive has the recording
 * in place of a session, and all mapped code:
 *
 *   DIR/data, DIR/kcore_dir/…   the form of perf for a recording that is a directory
 *   DIR/files/…, DIR/kernel/…   as above; the vdso and vmlinux by build id, like debug files
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "store/session.h"
#include "symbol/symbols.h"

struct error;

struct archive_result {
	uint32_t n_binaries, n_debug_files;
	uint64_t bytes;
	bool has_holes;      /* one of the files has parts that take no place on the disk */
	VEC(char *) missing; /* sentences: a missing file, and why it is missing */
};
void archive_result_fini(struct archive_result *r);

/* Which images' files go into an archive. */
struct archive_choice {
	bool (*takes)(void *context, const struct image *image);
	void *context;
};

/*
 * Makes the archive at `dir` of the chosen images (NULL: all); `dir` must not exist. The files come
 * from the places of `symbols`. A binary that can't be copied is a sentence in out->missing, and no
 * failure. On failure nothing is left at `dir`.
 */
int archive_write(const struct session *session, const struct archive_choice *choice,
		  struct symbolizer *symbols, const char *dir, struct archive_result *out,
		  struct error *err);

/*
 * The same of the recording at `path`, if it has a processor trace; -ENODATA where it has none.
 */
int archive_write_trace(const char *path, struct symbolizer *symbols, const char *dir,
			struct archive_result *out, struct error *err);

/*
 * The places of the symbols of a session's images. They are in the session if it is an archive,
 * else on this machine. Those of the kernel are in the copy of the kernel beside a recording, if
 * there is one (perf record --kcore). `root` is the folder of an archive of another tool
 * (import/importer.h), or NULL; *places takes it over. The texts of *config belong to *places.
 */
struct archive_places {
	char *root, *kallsyms, *modules, *notes, *sys_module, *kcore;
};
void archive_places_init(struct archive_places *places, const char *session_dir, char *root,
			 struct symbolizer_config *config);
void archive_places_fini(struct archive_places *places);
