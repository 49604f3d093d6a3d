/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside replay/: the folders of an archive. */
#pragma once

#define FILES_DIR  "files"
#define KERNEL_DIR "kernel"
#define KCORE_DIR  "kcore_dir" /* of a recording, as perf has it */
