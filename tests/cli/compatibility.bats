#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The promises of docs/compatibility.md. tests/data/promises has the lists, and tests/tools/promises makes them.

load helpers

PROMISES=$BATS_TEST_DIRNAME/../data/promises

# Whether each promised line is still there. New lines may come.
kept() { # LIST [LEAST]
	"$BATS_TEST_DIRNAME/../tools/promises" "$1" >now
	[ "$(wc -l <"$PROMISES/$1")" -ge "${2-100}" ]
	LC_ALL=C comm -23 "$PROMISES/$1" now >gone
	cat gone
	[ ! -s gone ]
}

@test "no option of a command is gone" {
	kept options
}

@test "no key of a JSON form and no column of a CSV form is gone" {
	kept fields
}

@test "no key and no column of assay stat is gone" {
	need_recording
	kept counts 20
}

@test "no request, parameter or field of the API is gone" {
	kept api
}

@test "exit statuses stay: 0 for success, 1 for failure, 2 for a wrong command line" {
	cp -r "$BATS_TEST_DIRNAME/../data/session-format-4" s.assay
	assay report -i s.assay
	assay diff s.assay s.assay --fail-if 'total>+5%'
	run -1 assay report -i absent
	run -1 assay report -i s.assay no-such-program
	run -2 assay report --no-such-option
	run -2 assay no-such-command
	run -2 assay report -i s.assay --by no-such-key
	need_recording
	run -7 assay record -q -o command.assay -- sh -c 'exit 7'
	run -127 assay record -q -o none.assay -- ./no-such-program
}

@test "sessions of each released format have their samples" {
	local format
	for format in 1 4; do
		[ "$(assay info "$BATS_TEST_DIRNAME/../data/session-format-$format" --format json | jq .samples)" = "$(
			assay report -l -i "$BATS_TEST_DIRNAME/../data/session-format-$format" --format json | jq '[.total[].samples] | add')" ]
	done
	for format in 2 3; do
		mkdir -p "packed-$format/samples/current"
		cp "$BATS_TEST_DIRNAME/../data/packed-format-$format/0000.segment" "packed-$format/samples/current"
		[ "$(assay report -l -i "packed-$format" --format json | jq '[.total[].samples] | add')" -gt 0 ]
	done
}

# "known_part 21": the functions of a report, with their samples.
functions_of() {
	assay report -i "$1" --by symbol --format csv --symbol-cache "" | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["samples"] > 0 { print $at["symbol"], $at["samples"] }'
}

# A program that is nowhere else: its names come from the archive, and from the fleet's own index.
@test "archives and fleets of each released format have their samples and names" {
	command -v zstd >/dev/null || skip "zstd is not installed"
	cp -r "$BATS_TEST_DIRNAME/../data/fleet-1" fleet
	for place in "$BATS_TEST_DIRNAME/../data/archive-1.tar.zst" fleet fleet/web1; do
		[ "$(functions_of "$place")" = $'known_part 21\nother_part 7' ]
	done
	assay report -i fleet --by host host:web1 | grep -q web1
}

# Sessions, packed and merged parts of a history, archives, blocks and names of a fleet: of each release, as it wrote them.
@test "the examples that each release kept have their samples and names, also when they are merged" {
	command -v zstd >/dev/null || skip "zstd is not installed"
	local examples n=0
	for examples in "$BATS_TEST_DIRNAME"/../data/release-*; do
		cp -r "$examples" now
		"$BATS_TEST_DIRNAME/../tools/format_examples" list now >listed
		diff "$examples/functions" listed
		[ "$(wc -l <listed)" -ge 5 ]
		assay retain -q now/history
		assay fleet merge now/fleet
		"$BATS_TEST_DIRNAME/../tools/format_examples" list now | diff listed -
		rm -rf now
		n=$((n + 1))
	done
	[ "$n" -gt 0 ]
}

@test "the fleet of a newer assay is refused by its number, and stays as it was" {
	local words
	cp -r "$BATS_TEST_DIRNAME/../data/fleet-1" fleet
	cp -r fleet/web1 history
	echo "assay-fleet 2" >fleet/.fleet
	cp -r fleet before
	for words in "report -i fleet" "info fleet" "fleet hosts fleet" "fleet audit fleet" "fleet merge fleet" "fleet forget fleet web1" \
		"fleet enroll fleet web2" "serve --fleet fleet --listen 127.0.0.1:0" "ship --to dir:fleet --once --host web2 history" \
		"export --fleet fleet -F autofdo"; do
		# shellcheck disable=SC2086 # several words
		run -1 within assay $words
		[[ "$output" == *"fleet was made by a newer assay (format 2; this one reads up to 1)"* ]]
	done
	diff -r before fleet
	# The fleet of this version is read.
	echo "assay-fleet 1" >fleet/.fleet
	[ "$(functions_of fleet)" = $'known_part 21\nother_part 7' ]
}

# The header of a segment: magic, version 99, number, samples before it, and XXH3 of these 24 bytes.
make_newer() {
	printf 'ASSAYSEG\x63\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x47\x47\xf3\xcc\xaa\x7a\x7e\xc2' |
		dd of="$1/0000.segment" conv=notrunc status=none
}

@test "a recording does not replace a session of a newer assay" {
	need_recording
	cp -r "$BATS_TEST_DIRNAME/../data/session-format-4" s
	make_newer s/samples/current
	cp -r s before
	run -1 assay record -q -o s -- true
	[[ "$output" == *"'s' was written by a newer assay (format 99; this one knows up to 5), and stays as it is"* ]]
	diff -r before s
	[ ! -e s.old ]
	# The same for the one before.
	mv s s.old
	cp -r "$BATS_TEST_DIRNAME/../data/session-format-4" s
	run -1 assay record -q -o s -- true
	[[ "$output" == *"'s.old' was written by a newer assay"* ]]
	diff -r before s.old
	diff -r "$BATS_TEST_DIRNAME/../data/session-format-4" s
}

@test "operf does not replace samples of a newer assay" {
	need_recording
	cp -r "$BATS_TEST_DIRNAME/../data/session-format-4" d
	make_newer d/samples/current
	cp -r d before
	run assay operf --session-dir=d true
	[ "$status" != 0 ]
	[[ "$output" == *"d/samples/current' was written by a newer assay (format 99"* ]]
	diff -r before d
}

@test "a cached index of another version is made again" {
	need_recording
	assay record -q -o s.assay -- "$PROGRAMS/split" 0.2cpu
	export XDG_CACHE_HOME=$PWD/cache
	assay report -i s.assay -l --format csv >first
	cp -r cache before
	find cache -name '*.sym' >indexes
	[ -s indexes ]
	while read -r index; do # magic of 8 bytes, then the version
		printf '\x63' | dd of="$index" bs=1 seek=8 conv=notrunc status=none
	done <indexes
	assay report -i s.assay -l --format csv >second
	diff first second
	diff -r before cache
}

# Types and functions that are gone or changed; additions are allowed.
@test "programs that were built with an older libassay still run" {
	command -v abidiff >/dev/null || skip "abidiff (abigail-tools) is not installed"
	[ "$(abidiff --version | grep -o '[0-9]*' | head -n 1)" -ge 2 ] || skip "abidiff is older than 2.0"
	[ "$(uname -m)" = x86_64 ] || skip "the promise is kept for x86-64"
	local compared=(abidiff --no-added-syms --no-architecture)
	"${compared[@]}" "$PROMISES/libassay.abi" "$ASSAY_BUILD/libassay.so.0"
	# The comparison can fail: the promise of a function that is not there.
	sed "s/assay_open/assay_never/g" "$PROMISES/libassay.abi" >other.abi
	run "${compared[@]}" other.abi "$ASSAY_BUILD/libassay.so.0"
	[ "$status" != 0 ]
	[[ "$output" == *"assay_never"* ]]
	# … and a member of a sample at another place.
	awk '/layout-offset/ { line = $0; if ((getline next_line) > 0) {
			if (next_line ~ /name=.pid./) sub(/320/, "288", line)
			print line; print next_line }
		next } { print }' "$PROMISES/libassay.abi" >other.abi
	run "${compared[@]}" other.abi "$ASSAY_BUILD/libassay.so.0"
	[ "$status" != 0 ]
	[[ "$output" == *"struct assay_sample"* ]]
}
