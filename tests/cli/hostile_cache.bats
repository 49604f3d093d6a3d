#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Any file can claim another's build id. Neither the caches nor one recording mix their names.

load helpers

setup_file() {
	[ "$(id -u)" = 0 ] || skip "needs root, to give files to another user"
	command -v objcopy >/dev/null || skip "no objcopy here (package binutils)"
}

# ours/quarters is root's. theirs/quarters is nobody's, and claims its build id with other names.
setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR
	mkdir ours theirs cache
	cp "$PROGRAMS/quarters" ours/quarters
	objcopy --redefine-sym three_quarters=forged_name --redefine-sym one_quarter=forged_name2 ours/quarters theirs/quarters
	chown -R 65534:65534 theirs
	export XDG_CACHE_HOME=$PWD/cache
	[ "$(readelf -n ours/quarters | grep 'Build ID')" = "$(readelf -n theirs/quarters | grep 'Build ID')" ]
	readelf -n ours/quarters | grep -q 'Build ID' || skip "needs a linker that gives programs a build ID"
}

# The functions of a session that begin with forged_ or end with quarter(s): "name samples" a line.
functions() {
	assay report -i "$1" --by symbol -t 0 --format json |
		jq -r '.rows[] | select(.symbol | test("^forged_|quarters?$")) | .symbol' | sort
}

honest=$'one_quarter\nthree_quarters'
forged=$'forged_name\nforged_name2'

@test "a file that claims another's build id does not name the other's functions in later reports" {
	need_recording
	within assay record -q -o evil --call-graph dwarf -- "$PWD/theirs/quarters" 0.5cpu
	[ "$(functions evil)" = "$forged" ]
	assay report -i evil --lines >/dev/null
	within assay record -q -o good --call-graph dwarf -- "$PWD/ours/quarters" 0.5cpu
	[ "$(functions good)" = "$honest" ]
	# The second time, all comes from the cache.
	[ "$(functions good)" = "$honest" ]
	[ "$(functions evil)" = "$forged" ]
	# A stack that is walked with the other's table would not reach main.
	[ "$(assay report -i good --format json --tree | jq '[.. | .symbol? // empty] | index("main") != null')" = true ]
}

@test "in one recording, a file that claims another's build id stays apart" {
	need_recording
	cat >both <<-'END'
		"$PWD/theirs/quarters" 0.5cpu >/dev/null
		"$PWD/ours/quarters" 0.5cpu >/dev/null
	END
	within assay record -q -o s -- sh both
	[ "$(functions s)" = "$forged"$'\n'"$honest" ]
	assay report -i s --by pid,symbol -t 0 --format json >rows
	# No process has functions of both.
	[ "$(jq '[.rows[] | select(.symbol | test("^forged_|quarters?$"))] | group_by(.pid) | map(map(.symbol | test("^forged_")) | unique | length) | unique' -c rows)" = '[1]' ]
}

@test "in another mount namespace, a file at the same path with the same build id stays apart" {
	need_recording
	unshare -m true 2>/dev/null || skip "mount namespaces are not permitted here"
	# The files are read while their processes' namespaces exist.
	cat >both <<-'END'
		unshare -m sh -c 'mount --bind "$PWD/theirs/quarters" "$PWD/ours/quarters" && exec "$PWD/ours/quarters" 100000s' >/dev/null &
		theirs=$!
		"$PWD/ours/quarters" 100000s >/dev/null &
		trap "kill $theirs $!" EXIT
		trap exit TERM
		wait
	END
	both_have_names() { [ "$(functions s)" = "$forged"$'\n'"$honest" ]; }
	record_until both_have_names -q -o s -- sh both
	both_have_names
	within assay record -q -o good -- "$PWD/ours/quarters" 0.5cpu
	[ "$(functions good)" = "$honest" ]
}

@test "a debug file of another user is not kept for root's program" {
	need_recording
	strip -o ours/stripped ours/quarters
	objcopy --only-keep-debug theirs/quarters theirs/stripped.debug
	objcopy --add-gnu-debuglink=theirs/stripped.debug ours/stripped
	mkdir ours/.debug
	cp theirs/stripped.debug ours/.debug/stripped.debug
	chown 65534 ours/.debug/stripped.debug
	within assay record -q -o s -- "$PWD/ours/stripped" 1s
	functions s >/dev/null
	rm ours/.debug/stripped.debug
	[ -z "$(functions s)" ]
}
