#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every source file says its licence in the first two lines.
cd "$(dirname "$0")/.." || exit 2
scripts/tracked.sh '*.c' '*.h' '*.cc' '*.sh' '*.bats' '*.bash' '*.py' '*.map' '*.toml' '*.cjs' '*.proto' '*.def' '*meson.build' Makefile .ci/run bench/run |
	while read -r file; do
		head -2 "$file" | grep -q 'SPDX-License-Identifier: GPL-2.0-or-later' ||
			echo "$file: no SPDX line"
	done | { ! grep .; }
