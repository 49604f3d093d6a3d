#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Views, formats and output files of one session; skipped if nothing may be recorded.

load helpers

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	# shellcheck disable=SC2016
	assay record -g -o s.assay -- sh -c 'head -c 3000000 "$1" | gzip -9 | sha256sum' sh "$ASSAY_BUILD/assay" >/dev/null 2>refusal ||
		rm -rf s.assay
}

session() {
	S=$BATS_FILE_TMPDIR/s.assay
	[ -d "$S" ] || skip "cannot record here: $(tail -1 "$BATS_FILE_TMPDIR/refusal")"
}

# sum FILE COLUMN: the numbers of a CSV column
sum() {
	awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i }
		NR > 1 { n += $at } END { print n + 0 }' "$1"
}

@test "the first view nests images under programs" {
	session
	run assay report -i "$S"
	[ "$status" = 0 ]
	[[ "$output" == *"app / image"* ]]
	[[ "$output" == *gzip* ]]
	[[ "$output" == *"command   sh -c"* ]]
	[[ "$output" != *$'\033'* ]]
}

@test "every view adds up to the same samples, in CSV and JSON" {
	session
	want=$(assay report -i "$S" --format json | jq '.header.samples.selected')
	[ "$want" -gt 0 ]
	for view in "" -l --tree --inverted "--by comm" "--by app,mode,symbol" "-l --by thread" \
		"--tree --by process" "-l -t 5" "-l -n 3" "--tree -t 20"; do
		# shellcheck disable=SC2086
		assay report -i "$S" $view --format csv >o.csv
		[ "$(sum o.csv samples)" = "$want" ] || { echo "csv $view" >&2; return 1; }
		# shellcheck disable=SC2086
		assay report -i "$S" $view --format json >o.json
		[ "$(jq '[.rows[].samples] | add' o.json)" = "$want" ] || { echo "json $view" >&2; return 1; }
		[ "$(jq '[.total[].samples] | add' o.json)" = "$want" ]
	done
	[ "$(assay report -i "$S" -c --format json | jq '[.rows[] | select(.role == "self").samples] | add')" = "$want" ]
}

@test "the header accounts for every stored sample" {
	session
	assay report -i "$S" --format json comm:gzip |
		jq -e '.header.samples | ., (.stored == .selected + .idle_hidden + .filtered and .filtered > 0)'
}

@test "filters choose samples; without a match the error lists the values" {
	session
	assay report -i "$S" -l comm:gzip --format csv >o.csv
	[ "$(sum o.csv samples)" -gt 0 ]
	run assay report -i "$S" comm:nobody
	refused 1 "no sample matches comm:nobody; there are: " gzip
	run assay report -i "$S" time:5000-
	refused 1 "no sample matches time:5000-"
}

@test "a typing error is a usage error that names the allowed words" {
	for wrong in "color:red" "pid:x" "time:5-1" "--by colour" "-l --tree" "-t 101" "--sort size -l" \
		"--columns size" "--tree --by symbol" "--format yaml" "-n 0"; do
		# shellcheck disable=SC2086
		run assay report $wrong
		[ "$status" = 2 ] || { echo "$wrong: $output" >&2; return 1; }
		[[ "$output" == "assay: report: "* ]]
	done
	run assay report -l --sort size
	refused 2 "no column 'size'" samples
	run assay report --columns size
	refused 2 "no column 'size'" samples
}

@test "a full disk is" {
	session
	run bash -c 'assay report -i "$1" >/dev/full' _ "$S"
	refused 1 "cannot write to standard output" "No space left"
	for words in "report --format csv" "report --format json" script info "info --format json"; do
		run bash -c 'assay $2 -i "$1" >/dev/full' _ "$S" "$words"
		refused 1 "cannot write to standard output: No space left on device"
	done
	run assay report -i "$S" --format csv -o /dev/full
	refused 1 "cannot write '/dev/full': No space left on device"
	run assay report -i "$S" -o /nowhere/o.txt
	refused 1 "'/nowhere/o.txt'" "No such file"
}

@test "-o writes the file and nothing else" {
	session
	run assay report -i "$S" -l -o out.txt
	[ "$status" = 0 ]
	[ -z "$output" ]
	has samples out.txt
}

@test "a pipe has whole names, and COLUMNS shortens them" {
	local name=a_function_whose_name_is_longer_than_a_line_of_eighty_columns_has_room_for_in_its_last_column
	printf 'app;main;%s 10\n' "$name" >folded
	env -u COLUMNS assay report -i folded -l | grep -q " $name\$"
	env -u COLUMNS assay report -i folded -l -o out.txt
	has " $name\$" out.txt
	COLUMNS=80 assay report -i folded -l >narrow
	run ! grep -q "$name" narrow
	grep -q 'a_funct.*…' narrow
}

@test "a terminal gets colours and its own width, unless NO_COLOR" {
	session
	command -v script >/dev/null || skip "no script(1)"
	script -qec true /dev/null >/dev/null 2>&1 || skip "no pseudo-terminal can be made here"
	TERM=xterm COLUMNS=60 script -qec "assay report -i '$S' -l" /dev/null >tty.txt
	grep $'\033\[31m' tty.txt
	sed 's/\x1b\[[0-9;]*m//g; s/\r//; 1,/^$/d' tty.txt | awk 'length($0) > 70 { exit 1 }'
	NO_COLOR=1 TERM=xterm script -qec "assay report -i '$S' -l" /dev/null >tty.txt
	run ! grep $'\033' tty.txt
}

@test "a pager is used on a terminal" {
	session
	command -v script >/dev/null || skip "no script(1)"
	script -qec true /dev/null >/dev/null 2>&1 || skip "no pseudo-terminal can be made here"
	PAGER='sed s/^/paged:/' TERM=xterm script -qec "assay report -i '$S'" /dev/null >tty.txt
	grep paged: tty.txt
	PAGER='sed s/^/paged:/' TERM=xterm script -qec "assay report --no-pager -i '$S'" /dev/null >tty.txt
	run ! grep paged: tty.txt
	PAGER=true TERM=xterm script -qec "assay report -i '$S' -l -t 0; echo status \$?" /dev/null >tty.txt
	grep 'status 0' tty.txt
}

@test "a limit shows the first rows of the whole list, in any order and with any threshold" {
	"$PROGRAMS/make_session" plain plain 3000
	rows_of() { # OPTION…
		assay report -i plain --format json "$@" | jq -c '.rows[] | select(.other | not) | [.event, .symbol, .image, .comm, .samples]'
	}
	rows_in() { # FILE: each row is there for each event
		jq -s 'map(.[1:3]) | unique | length' "$1"
	}
	for how in '--symbols -t 0' '--symbols -t 1' '--symbols -t 0 --sort symbol' '--symbols -t 0.5 --sort image,-samples' '--by symbol -t 0' '--by thread,symbol -t 0'; do
		# shellcheck disable=SC2086
		rows_of $how >all
		[ "$(wc -l <all)" -gt 20 ] || { echo "$how"; false; }
		for n in 1 2 3 7 20; do
			# shellcheck disable=SC2086
			rows_of $how --limit $n >some
			case $how in
			*thread*) [ "$(grep -cFf all some)" = "$(wc -l <some)" ] && [ "$(wc -l <some)" -lt "$(wc -l <all)" ] ;;
			*) head -n "$(wc -l <some)" all | diff - some && [ "$(rows_in some)" = "$(($(rows_in all) < n ? $(rows_in all) : n))" ] ;;
			esac
			# shellcheck disable=SC2086
			[ "$(assay report -i plain --format json $how --limit $n | jq '[.rows[] | select(.symbol or .other) | .samples] | add')" = 3000 ]
		done
	done
}
