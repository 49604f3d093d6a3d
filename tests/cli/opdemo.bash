# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# OProfile's sample files of known counts, and the programs that they are of, made once a file.

MKOPFILE=$TOOLS/mkopfile.py

setup_file() {
	cd "$BATS_FILE_TMPDIR" && python3 "$MKOPFILE" demo demo bin >/dev/null
}

# The demonstration's sample files as the folder NAME, and its programs as bin, which all tests share.
demo() { # [NAME]
	cp -r "$BATS_FILE_TMPDIR/demo" "${1-demo}"
	ln -s "$BATS_FILE_TMPDIR/bin" bin
	BIN=$(realpath bin)
}

# The same for a test that moves or changes the programs.
own_demo() { # [NAME]
	rm -rf "${1-demo}" bin
	python3 "$MKOPFILE" demo "${1-demo}" bin >/dev/null
	BIN=$(realpath bin)
}
