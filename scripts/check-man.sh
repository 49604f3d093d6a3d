#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# mandoc finds no error in any man page of the build folder $1. (Its style remarks on scdoc's
# output are not ours to follow.)
pages=$(find "$1/man" -name '*.[1-8]' 2>/dev/null)
if [ -z "$pages" ]; then
	echo "no man pages in $1/man (scdoc is missing?)"
	exit 77
fi
# shellcheck disable=SC2086 # no spaces in our names
mandoc -Tlint -Werror $pages
