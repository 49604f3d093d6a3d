#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every source file says its licence in the first two lines.
cd "$(dirname "$0")/.." || exit 2
scripts/tracked.sh '*.c' '*.h' '*.cc' '*.sh' '*.bats' '*.bash' '*.py' '*.map' '*.toml' '*.cjs' '*.proto' '*.def' '*meson.build' Makefile .ci/run bench/run |
	xargs awk '
		BEGIN { for (i = 1; i < ARGC; i++) files[ARGV[i]] }
		FNR > 2 { nextfile }
		/SPDX-License-Identifier: GPL-2.0-or-later/ { has[FILENAME] }
		END { for (file in files) if (!(file in has)) print file ": no SPDX line" }' | { ! grep .; }
