#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# A profiled program chooses its path, its thread names and its symbols. None of them controls a terminal or a spreadsheet.

load helpers

# ESC [ is the start of a sequence, 0x9b the same in C1, U+202E turns the order of text around.
EVIL=$'\e]0;title\a\e[2Jv\u202e\u009b\xff\n'

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	objcopy --redefine-sym "forty==f$EVIL" "$PROGRAMS/split" "=p$EVIL"
	assay record -q -o s -e cpu-clock -F "$(at_most 997)" -- "./=p$EVIL" 0.5cpu
	assay record -q --raw -o s.data -e cpu-clock -F "$(at_most 997)" -- "./=p$EVIL" 0.5cpu
	printf '%s;main;=f%s 7\n' "$(tr -d '\n' <<<"$EVIL")" "$(tr -d '\n' <<<"$EVIL")" >folded.txt
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR
}

is_visible() { # COMMAND…
	"$@" >out 2>&1 || { cat -v out && return 1; }
	"$TOOLS/control_characters" out || { echo "by: $*" && return 1; }
}

@test "no view of a session shows control characters" {
	local view
	for view in "" -l --tree --inverted --callgraph --lines --processes --details "--by app,symbol" "--by comm" "--by process,thread" \
		"--by image" "--by address" "--columns samples,comm,symbol,image"; do
		# shellcheck disable=SC2086 # words
		is_visible assay report -i s $view
	done
	grep -q '\\x1b' out
	is_visible assay report -i s -l --wide
	grep -qF '=f\x1b]0;title\x07\x1b[2Jv\u{202e}\u{009b}\xff\x0a' out
	is_visible assay info -i s
	is_visible assay annotate -i s --output-dir pages
	is_visible assay why -i s '*title*'
	is_visible assay diff s s.data -t 0
	run assay annotate -i s
	"$TOOLS/control_characters" <(printf '%s\n' "$output")
}

@test "assay script and its dump show no control characters" {
	is_visible assay script -i s.data
	grep -qF '=f\x1b]0;title' out
	is_visible assay script -i s
	is_visible assay script -i s.data -F comm,pid,ip,sym,dso,srcline,symoff --show-mmap-events --show-task-events
	is_visible assay script -i s.data --format json
	is_visible assay script -i s.data -D
	is_visible assay report -i folded.txt -l
	is_visible assay script -i folded.txt
}

@test "OProfile's programs show no control characters" {
	local options
	assay --version | grep -q 'OProfile.*yes' || skip "this build has no OProfile"
	mkdir op
	"$ASSAY_BUILD/operf" --session-dir="$PWD/op" "./=p$EVIL" 0.5cpu >/dev/null 2>&1
	for options in "" -l -c -d "-l -f" "-l -g" "-l -a"; do
		# shellcheck disable=SC2086 # words
		is_visible "$ASSAY_BUILD/opreport" --session-dir="$PWD/op" $options
	done
	is_visible "$ASSAY_BUILD/opreport" --session-dir="$PWD/op" -l
	grep -qF '=f\x1b]0;title' out
	is_visible "$ASSAY_BUILD/opannotate" --session-dir="$PWD/op" --assembly
	is_visible "$ASSAY_BUILD/opreport" --session-dir="$PWD/op" --xml
}

@test "an error message and a warning show no control characters" {
	run assay report -i "no$EVIL"
	[ "$status" = 1 ]
	"$TOOLS/control_characters" <(printf '%s\n' "$output")
	[ "${#lines[@]}" -le 2 ]
	run assay record -o "no$EVIL/x" -- true
	[ "$status" != 0 ]
	"$TOOLS/control_characters" <(printf '%s\n' "$output")
}

@test "a cell of CSV never begins like a formula, unless its user wants the names as they are" {
	local format
	assay report -i s --by comm,symbol --format csv >guarded.csv
	assay report -i s --by comm,symbol --format csv --csv raw >raw.csv
	assay export -i s -F csv -o - >exported.csv
	assay diff s s.data --format csv >diff.csv
	python3 - <<'END'
import csv
def cells(path):
    return [cell for row in csv.reader(open(path, newline="", encoding="utf-8")) for cell in row]
for path in ("guarded.csv", "exported.csv", "diff.csv"):
    found = [c for c in cells(path) if c[:1] in ("=", "+", "-", "@", "\t", "\r") and not c[1:].replace(".", "").isdigit()]
    assert not found, (path, found)
    assert any(c.startswith("'=f\x1b]0;title\x07") for c in cells(path)), path
assert any(c.startswith("=f\x1b]0;title\x07") for c in cells("raw.csv"))
END
}

@test "JSON has the names as they are, in valid UTF-8" {
	assay report -i s -l --format json >report.json
	assay script -i s.data --format json >script.json
	python3 - <<'END'
import json
evil = "\x1b]0;title\x07\x1b[2Jv\u202e\u009b\ufffd\n"
lines = [json.loads(line) for line in open("script.json", encoding="utf-8")]
assert any(line["comm"].startswith("=p\x1b]0;title\x07") for line in lines)
assert any(frame.get("symbol") == "=f" + evil for line in lines for frame in line["frames"])
assert any(row["symbol"] == "=f" + evil for row in json.load(open("report.json", encoding="utf-8"))["rows"])
END
}

@test "a terminal gets no control characters from formats for programs" {
	script -qec true /dev/null >/dev/null 2>&1 || skip "no pseudo-terminal can be made here"
	for format in "report -i s --by comm,symbol --format csv" "report -i s --by comm,symbol --format json" "report -i s -l"; do
		TERM=dumb script -qec "assay $format" /dev/null | tr -d '\r' >out
		"$TOOLS/control_characters" out
	done
	# Colours pass.
	TERM=xterm script -qec "assay report -i s -l" /dev/null | tr -d '\r' >out
	grep -q $'\e\\[1m' out
	sed -i $'s/\e\\[[0-9;]*m//g' out
	"$TOOLS/control_characters" out
}
