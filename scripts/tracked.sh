#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The project's files that match the patterns, one a line: git's list, or in a plain archive all.
# Usage: scripts/tracked.sh '*.c' '*.h'
cd "$(dirname "$0")/.." || exit 2
if git -c safe.directory='*' rev-parse --git-dir >/dev/null 2>&1; then
	git -c safe.directory='*' ls-files --cached --others --exclude-standard -- "$@" |
		while read -r file; do [ ! -f "$file" ] || echo "$file"; done
else
	for pattern; do
		find . -path './build*' -prune -o -type f -name "${pattern##*/}" -print | sed 's|^\./||'
	done
fi | sort -u
