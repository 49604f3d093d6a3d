#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The sources of names, and the notes if there are none: images that
# are stripped, have changed, are damaged or gone.
load helpers

# Makes ./app, a copy of the split program, and app.assay with samples in it.
have_app() {
	cp "$PROGRAMS/split" app
	session_at app.assay app forty,main=40 ten,main=10
}

report_app() {
	assay report -i app.assay --symbol-cache "${1-}" -l
}

@test "a missing image gives a note, and its samples stay" {
	have_app
	rm app
	run report_app
	refused 0 "/app: the file is not there any more" "(no symbols)"
	[ "$(assay report -i app.assay --symbol-cache "" -l --format json | jq '[.rows[].samples] | add')" = 50 ]
}

@test "an image that was built anew is not used for names" {
	have_app
	objcopy --remove-section=.note.gnu.build-id app
	run report_app
	refused 0 "has changed since it was profiled (its build id was" "now it has none" "(no symbols)"
}

@test "a damaged image gives a note" {
	have_app
	truncate -s 3000 app
	run report_app
	refused 0 "cut ELF file: the section headers are not in it" "(no symbols)"
	echo "hello" >app
	run report_app
	refused 0 "not an ELF file"
	rm app
	mkfifo app
	run report_app
	refused 0 "not a regular file"
}

@test "the second report needs no image: names are cached by build id" {
	have_app
	run report_app cache
	refused 0 forty
	rm app
	run report_app cache
	refused 0 forty
	[[ "$output" != *"not there any more"* ]]
}

@test "a damaged cache is as good as none" {
	have_app
	report_app cache >/dev/null
	for file in cache/*.sym; do
		truncate -s 90 "$file"
	done
	run report_app cache
	refused 0 forty
}

@test "a stripped program of a Go that is too old is named as such, also from the cache" {
	have_app
	strip app
	printf '\373\377\377\377\0\0\1\10' >table
	objcopy --add-section .gopclntab=table app
	run report_app cache
	refused 0 "its Go is too old (1.15 or older)" "app+0x"
	run report_app cache
	refused 0 "its Go is too old (1.15 or older)"
}

@test "functions of a stripped program are distinguished; a debug file names them" {
	have_app
	objcopy --only-keep-debug app app.debug
	strip app
	run report_app
	refused 0 "is stripped and no debug file was found" "app+0x"
	[[ "$output" != *forty* ]]
	objcopy --add-gnu-debuglink=app.debug app
	run report_app
	refused 0 forty
	[[ "$output" != *"is stripped"* ]]
}
