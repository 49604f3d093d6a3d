#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Everything that is checked, each part in spite of the others' failures; `make check` calls it.
#
#   build/        gcc, as shipped: warning-free; the CLI tests run this one
#   build-check/  gcc with AddressSanitizer and UBSan: every unit test, and the fuzz seeds
#                 (warnings do not count here: gcc gives false ones for instrumented code)
#   build-arm64/  AArch64, with Debian's packages: unit tests by qemu-user, CLI in a virtual machine
#   build-fuzz/   clang with libFuzzer and the sanitizers: warning-free; each target a few seconds
#
# FUZZ_SECONDS (default 4) is for each fuzz target; FUZZ_SEED (default 1: the same inputs every time). The last line is the sum over all TAP results.
set -u
cd "$(dirname "$0")/.." || exit 2
export LC_ALL=C.UTF-8
fuzz_seconds=${FUZZ_SECONDS:-4}
results=$(mktemp)
scratch=$(mktemp -d)
trap 'rm -rf "$results" "$scratch"' EXIT

# Remembers TAP from stdin; shows what failed and why, and what was skipped and why.
keep() {
	tee -a "$results" | awk '
		/^not ok/ && !/# TODO/ { failing = 1; print "  " $0; next }
		/^ok/ { failing = 0; if (/# [Ss][Kk][Ii][Pp]/) print "  " $0; else good++; next }
		/^#/ && failing { print "  " $0 }
		END { if (good > 1) print "  " good " ok" }'
}

# part NAME COMMAND…: one TAP line; exit status 77 is a skip, for the reason that it printed.
part() {
	local name=$1 status=0
	local out=$scratch/out.$BASHPID
	shift
	"$@" >"$out" 2>&1 </dev/null || status=$?
	case $status in
	0) echo "ok - $name" ;;
	77) echo "ok - $name # SKIP $(tail -1 "$out")" ;;
	*)
		echo "not ok - $name"
		tail -60 "$out" | sed 's/^/# /'
		;;
	esac | keep
	return $status
}

# build FOLDER OPTIONS…: configures when needed, then builds.
build() {
	local folder=$1
	shift
	if [ -f "$folder/build.ninja" ]; then
		meson configure "$folder" "$@" || return 1
	else
		meson setup "$folder" "$@" || return 1
	fi
	ninja -C "$folder"
}

with_clang() {
	command -v clang >/dev/null || { echo "clang is not installed"; return 77; }
	echo 'int LLVMFuzzerTestOneInput(void);int LLVMFuzzerTestOneInput(void){return 0;}' |
		clang -fsanitize=fuzzer,address -x c - -o "$scratch/probe" 2>/dev/null ||
		{ echo "clang's sanitizer runtime is not installed"; return 77; }
	CC=clang CXX=clang++ build build-fuzz "$@"
}

# The TAP of every unit test. cmocka prints a skipped test as "not ok N # SKIP name" and our tests
# say why in a line "skipped: …" before it; a program that died without saying so is a failure.
# unit_tests BUILD [PREFIX OF NAMES]
unit_tests() {
	meson test -C "$1" --no-rebuild --suite unit --timeout-multiplier 4 </dev/null >/dev/null 2>&1
	jq -r --arg prefix "${2-}" '($prefix + .name) as $n | (.stdout // "") as $out | (.stderr // "" | split("\n")) as $err |
		(reduce ($out | split("\n"))[] as $line ({why: "no reason given", tap: []};
			if $line | test("^skipped: ") then .why = ($line | sub("^skipped: "; ""))
			elif $line | test("^(not )?ok.*# SKIP") then
				.tap += ["ok - " + $n + ": " + ($line | sub(".*# SKIP *"; "")) + " # SKIP " + .why]
				| .why = "no reason given"
			elif $line | test("^(not )?ok") then
				.tap += [$line | sub("^(?<v>(not )?ok)[ 0-9-]*"; .v + " - " + $n + ": ")]
			elif $line | test("^#") then .tap += [$line]
			else . end)) as $read |
		($read.tap | map(select(startswith("not ok"))) | length) as $failed |
		$read.tap[],
		(if .result == "OK" or .result == "EXPECTEDFAIL" or .result == "SKIP" or
			(.result == "FAIL" and .returncode == 0 and $failed == 0) then empty # a skip, to Meson
		else (if $failed == 0 then "not ok - " + $n + ": " + .result else empty end),
			($err[] | "# " + .) end)' "$1/meson-logs/testlog.json"
}

# one_bats BUILD OUT TESTS…: their TAP, in a file.
one_bats() {
	local folder=$1 out=$2
	shift 2
	# A test that hangs is a failure, and not the end of all checking.
	if ! ASSAY_BUILD=$PWD/$folder timeout -k 10 1200 bats --tap "$@" </dev/null >"$out" 2>&1 &&
		! grep -q '^not ok' "$out"; then
		{
			echo "not ok - bats ended with a failure of its own"
			sed 's/^/# /' "$out"
		} >"$out.failed"
		mv "$out.failed" "$out"
	fi
}

# cli_tests BUILD TESTS…: every second file beside the others, as they wait more than they compute.
cli_tests() {
	local folder=$1 file i=0
	local -a halves=("" "")
	shift
	for file; do
		halves[i % 2]+=" $file"
		i=$((i + 1))
	done
	for i in 0 1; do
		# shellcheck disable=SC2086 # our own names, without spaces
		[ -z "${halves[i]}" ] || one_bats "$folder" "$scratch/bats.$i" ${halves[i]} &
	done
	wait
	cat "$scratch"/bats.[01]
	rm -f "$scratch"/bats.[01]
}

# fuzz_one PROGRAM
fuzz_one() {
	local name=${1##*/fuzz_}
	mkdir -p "$scratch/corpus/$name" "fuzz/corpus/$name"
	part "fuzz $name, $fuzz_seconds s" "$1" -seed="${FUZZ_SEED:-1}" -max_total_time="$fuzz_seconds" \
		-rss_limit_mb=2048 -timeout=10 -max_len=65536 -verbosity=0 \
		-artifact_prefix="build-fuzz/$name-" "$scratch/corpus/$name" "fuzz/corpus/$name"
}

# As many at once as there are processors, two here.
fuzz_smoke() {
	local program
	for program in build-fuzz/fuzz/fuzz_*; do
		[ -f "$program" ] || continue # the folders of object files
		[ "$(jobs -rp | wc -l)" -lt 2 ] || wait -n
		fuzz_one "$program" &
	done
	wait
}

say() {
	echo "== $*"
}

[ -t 1 ] || echo "assay $(git -c safe.directory='*' describe --always --dirty 2>/dev/null), $(uname -sr), $(nproc) CPUs"
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1

say "style"
for check in layers format spdx shell js; do
	part "check-$check" "scripts/check-$check.sh"
done
say "gcc build"
part "gcc: builds without a warning" build build -Dwerror=true
has_build=$?
part "check-man" scripts/check-man.sh build
say "unit tests under AddressSanitizer and UBSan"
if part "gcc with sanitizers: builds" build build-check -Db_sanitize=address,undefined \
	-Doptimization=1; then
	unit_tests build-check | keep
fi
say "command line tests"
if [ $has_build = 0 ]; then
	cli_tests build tests/cli/*.bats | keep
fi
say "bad input under AddressSanitizer and UBSan"
if [ -x build-check/assay ]; then
	cli_tests build-check tests/cli/bad_input.bats | keep
fi
say "clang build and fuzzing"
if part "clang: builds without a warning" with_clang -Dwerror=true -Dfuzzing=true \
	-Db_sanitize=address,undefined -Db_lundef=false; then
	fuzz_smoke
fi

say "AArch64, and virtual machines"
if part "AArch64: builds" scripts/cross-arm64.sh; then
	if command -v qemu-aarch64 >/dev/null; then
		unit_tests build-arm64 "AArch64 " | keep
	else
		echo "ok - AArch64 unit tests # SKIP qemu-user is not installed" | keep
	fi
fi
tests/guest/run </dev/null | keep

awk '
/^not ok/ && !/# TODO/ { failed++; next }
/^ok/ { if (/# [Ss][Kk][Ii][Pp]/) skipped++; else passed++ }
END {
	printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
	exit failed > 0
}' "$results"
