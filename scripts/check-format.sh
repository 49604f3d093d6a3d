#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every C file is as clang-format 14 would write it; --fix makes it so.
cd "$(dirname "$0")/.." || exit 2
tool=
for name in clang-format-14 clang-format; do
	if command -v $name >/dev/null && $name --version | grep -q 'version 14\.'; then
		tool=$name
		break
	fi
done
if [ -z "$tool" ]; then
	echo "clang-format 14 is not installed (other versions write other text)"
	exit 77
fi
if [ "${1-}" = --fix ]; then
	scripts/tracked.sh '*.c' '*.h' | xargs "$tool" -i
else
	scripts/tracked.sh '*.c' '*.h' | xargs "$tool" --dry-run -Werror
fi
