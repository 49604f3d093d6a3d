#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# libassay.so as `make install` installs it, and its first users: examples/top.c and python/.

load helpers
load pt

setup_file() {
	[ -e "$ASSAY_BUILD/libassay.so.0" ] || skip "this build has no libassay.so (-Dlibrary=false)"
	command -v meson >/dev/null || skip "meson is not installed"
	meson install --no-rebuild --quiet -C "$ASSAY_BUILD" --destdir "$BATS_FILE_TMPDIR/i" >"$BATS_FILE_TMPDIR/log" 2>&1 ||
		{ cat "$BATS_FILE_TMPDIR/log" >&2; return 1; }
	pc=$(find "$BATS_FILE_TMPDIR/i" -name assay.pc)
	export PKG_CONFIG_PATH=${pc%/*} LD_LIBRARY_PATH
	LD_LIBRARY_PATH=$(dirname "$(find "$BATS_FILE_TMPDIR/i" -name libassay.so.0)")
	PREFIX=${PKG_CONFIG_PATH%/lib*/pkgconfig}
	export PREFIX
	printf 'main;work;deep 5\nmain;work 3\nmain 2\n' >"$BATS_FILE_TMPDIR/app.folded"
}

need_python() {
	python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' || skip "Python 3.9 or newer is not installed"
	export PYTHONPATH=$ROOT/python PYTHONDONTWRITEBYTECODE=1
}

@test "the example has 25 lines, and shows the hottest functions" {
	command -v pkg-config >/dev/null || skip "pkg-config is not installed"
	[ "$(wc -l <"$ROOT/examples/top.c")" -le 25 ]
	# shellcheck disable=SC2046 # words
	cc -Wall -Wextra -Werror "$ROOT/examples/top.c" $(pkg-config --define-variable=prefix="$PREFIX" --cflags --libs assay)
	./a.out "$BATS_FILE_TMPDIR/app.folded" >out
	has '^ 50.00 % *deep ' out
	has '^ 30.00 % *work ' out
	has '^ 20.00 % *main ' out
	run ./a.out absent
	refused 1 "absent"
}

@test "the headers are C and C++ on their own" {
	for header in "$PREFIX"/include/assay/*.h; do
		echo "#include <assay/${header##*/}>" >one.c
		cc -std=c99 -pedantic -Wall -Wextra -Werror -I"$PREFIX/include" -c one.c
		c++ -std=c++11 -pedantic -Wall -Wextra -Werror -I"$PREFIX/include" -x c++ -c one.c
	done
}

@test "the library exports what the headers declare and the list of the ABI has" {
	nm -D --defined-only "$LD_LIBRARY_PATH/libassay.so.0" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >exported
	sed -n 's/^\t\(assay_[a-z_]*\);$/\1/p' "$ROOT/src/libassay/libassay.map" | sort >listed
	grep -hoE '^[a-z].*\b(assay_[a-z_]+)\(' "$ROOT"/include/assay/*.h | grep -oE 'assay_[a-z_]+\($' | tr -d '(' | grep -v _function | sort >declared
	diff listed exported
	diff listed declared
	readelf -d "$LD_LIBRARY_PATH/libassay.so.0" | grep -q 'SONAME.*\[libassay.so.0\]'
}

@test "Python: rows, trees and samples add up" {
	need_python
	python3 - "$BATS_FILE_TMPDIR/app.folded" <<-'END'
		import sys, assay
		with assay.open(sys.argv[1]) as session:
		    rows = session.rows(by="symbol")
		    assert [(r["symbol"], r["samples"], r["total_samples"]) for r in rows] == [("deep", 5, 5), ("work", 3, 8), ("main", 2, 10)], rows
		    tree = session.tree()
		    assert [(r["symbol"], r["parent"], r["total_samples"]) for r in tree] == [("main", None, 10), ("work", 0, 8), ("deep", 1, 5)], tree
		    assert sum(s.samples for s in session.samples()) == session.n_samples == 10
		    assert session.rows(by="symbol", filters=["symbol:deep"])[0]["samples"] == 5
		    assert session.events and session.losses() == {}
		    session.export("folded", "out.folded")
		    for wrong in (lambda: assay.open("absent"), lambda: session.rows(by="colour"), lambda: session.tree(by="symbol"),
		                  lambda: assay.open(sys.argv[1], colour=True), lambda: session.export("paper", "x")):
		        try:
		            wrong()
		        except assay.Error as error:
		            assert error.errno and error.strerror
		        else:
		            raise SystemExit("not refused")
	END
	[ "$(awk '{ n += $NF } END { print n }' out.folded)" = 10 ]
}

@test "Python: the same rows as assay report" {
	need_python
	session_at app.assay /bin/true 0x1000=7 0x2000=5
	assay report -i app.assay --by comm,image --format json >report.json
	python3 - <<-'END'
		import json, assay
		rows = {(r["comm"], r["image"]): r["samples"] for r in assay.open("app.assay").rows(by="comm,image")}
		told = {(r["comm"], r["image"]): r["samples"] for r in json.load(open("report.json"))["rows"]}
		assert rows == told and sum(rows.values()) == 12, (rows, told)
	END
}

@test "Python: calls, branches and instructions of a trace, one after the other" {
	need_python
	trace_of --tsc --mtc --cyc -- "$PROGRAMS/flow" indirect
	assay script -i trace.data --itrace=b -F ip,addr | awk '{ print $1, $3 }' >branches
	assay script -i trace.data --itrace=i1i -F ip | wc -l >instructions
	python3 - <<-'END'
		import assay, itertools
		branches = [line.split() for line in open("branches")]
		told = list(assay.trace("trace.data"))
		assert [int(b["address"], 16) for b in told] == [int(to, 16) for _, to in branches]
		assert [int(b["frames"][0]["address"], 16) for b in told] == [int(begin, 16) for begin, _ in branches]
		assert sum(1 for _ in assay.trace("trace.data", "instructions")) == int(open("instructions").read())
		calls = [c["flags"] for c in assay.trace("trace.data", "calls")]
		assert 0 < len(calls) < len(told) and any("call" in f for f in calls) and any("return" in f for f in calls)
		first = list(itertools.islice(assay.trace("trace.data"), 3))
		assert first == told[:3]
		assert len(list(assay.trace("trace.data", "branches", "--time", "0%-50%"))) < len(told)
		some = list(assay.trace("trace.data", "branches", "--filter", "from-symbol:main"))
		assert some and {e["frames"][0]["symbol"] for e in some} == {"main"}
		try:
		    list(assay.trace("absent"))
		except assay.Error as error:
		    assert error.errno and "absent" in error.strerror
		else:
		    raise SystemExit("not refused")
	END
}

@test "Python: pip installs the module in a fresh environment, without a network" {
	need_python
	unset PYTHONPATH
	python3 -m venv --help >/dev/null 2>&1 && python3 -c 'import ensurepip' || skip "python3-venv is not installed"
	python3 -m venv v
	cp -r "$ROOT/python" source # pip may write there
	unshare -n true 2>/dev/null && alone="unshare -n"
	${alone-} v/bin/pip install -q --no-index --no-build-isolation --disable-pip-version-check ./source
	v/bin/python -c 'import assay; print(assay.version()); print(assay.open("'"$BATS_FILE_TMPDIR"'/app.folded").rows(by="symbol")[:5])' >out
	has "'symbol': 'deep'" out
	find v -name py.typed | grep -q assay/py.typed
}

@test "Python: the version equals the build's" {
	need_python
	[ "assay $(python3 -c 'import assay; print(assay.version())')" = "$(assay --version | head -1)" ]
	has "^version = \"$(python3 -c 'import assay; print(assay.version())')\"" "$ROOT/python/pyproject.toml"
}

# build_starve: ./starve, with the library that is installed
build_starve() {
	command -v pkg-config >/dev/null || skip "pkg-config is not installed"
	# shellcheck disable=SC2046 # words
	cc -O1 -Wall -Wextra -Werror -o starve "$ROOT/tests/programs/starve.c" $(pkg-config --define-variable=prefix="$PREFIX" --cflags --libs assay)
}

@test "without memory, every seed of the fuzzers is refused or read, and the program goes on" {
	build_starve
	find "$ROOT/fuzz/corpus" -type f -print0 | xargs -0 ./starve 0,32,66,72,90,2000 folded >out
	[ "$(grep -c '^0 .*: not enough memory$' out)" = "$(find "$ROOT/fuzz/corpus" -type f | wc -l)" ]
	has '^2000 .*: whole$' out
	[ "$(grep -c '^2000 .*: not enough memory$' out)" = 0 ]
}

@test "a file that needs more memory than there is, is -ENOMEM and no abort" {
	build_starve
	awk 'BEGIN { srand(1); for (i = 0; i < 8000; i++) { s = "main"; for (k = 1; k < 12; k++) s = s ";fn_" k "_" int(rand() * k * 900); print s, 1 } }' >large.folded
	assay import -q -o large.assay large.folded
	assay export -q -i large.assay -F pprof -o large.pprof
	for input in large.folded large.assay large.pprof; do
		./starve 66,70,76,90,4000 folded "$input" >>out
	done
	[ "$(grep -c '^66 .*: not enough memory$' out)" = 3 ]
	[ "$(grep -c '^4000 .*: whole$' out)" = 3 ]
	[ "$(grep -c 'refused$' out)" = 0 ]
}

# Each kind allocates in its own way: by libzstd, file by file, and part by part in several threads.
@test "a compressed recording, OProfile's files and a history are -ENOMEM and no damage" {
	build_starve
	python3 "$ROOT/tests/tools/hungry.py" hungry
	"$PROGRAMS/make_session" part plain 3000 3 6
	mkdir -p hungry/history/samples/current
	for i in $(seq 0 1999); do
		cp -r part "hungry/history/samples/current/$(printf '20261121T10%02d%02d.001Z' $((i / 60)) $((i % 60)))"
	done
	for input in zstd.data op history; do
		./starve 66,90,96,104,130,4000 folded "hungry/$input" >>out
	done
	cat out
	[ "$(grep -c '^66 .*: not enough memory$' out)" = 3 ]
	[ "$(grep -c '^4000 .*: whole$' out)" = 3 ]
	[ "$(grep -c 'refused$' out)" = 0 ]
}

@test "without memory for the mappings of a trace, assay script fails and does not abort" {
	python3 "$ROOT/tests/tools/hungry.py" hungry
	assay script -i hungry/maps.data --itrace=b -F ip >/dev/null
	for kb in $(seq 75000 2500 105000); do
		code=0
		(ulimit -v "$kb" && assay script -i hungry/maps.data --itrace=b -F ip) >/dev/null 2>err || code=$?
		[ "$code" = 0 ] || { [ "$code" = 1 ] && has "there is not enough memory" err; }
	done
}
