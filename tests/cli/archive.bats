#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# assay archive: the same reports without the binaries.
load helpers

teardown() {
	end_test
	[ -z "${OPEN-}" ] || rm -rf "$OPEN"
}

# A program of our own, so that it can go away.
record_own() {
	need_recording
	cp "$PROGRAMS/split" own
	assay record -q -o s -- ./own 300 >/dev/null
	assay report -i s -l --symbol-cache "" >before
	grep -q forty before
}

@test "an archive gives the same report when the binary is gone" {
	record_own
	run assay archive -i s -o a
	[ "$status" = 0 ]
	[[ "$output" == *"a: "*"binaries"* ]]
	[ -f "a/files$PWD/own" ]
	rm own
	assay report -i a -l --symbol-cache "" >after
	diff before after
	assay report -i s -l --symbol-cache "" >without
	run ! grep -q forty without
}

@test "an archive in one file" {
	record_own
	command -v zstd >/dev/null || skip "zstd is not installed"
	echo precious >a
	run assay archive -i s -o a.tar.zst
	[ "$status" = 0 ]
	[ "$(cat a)" = precious ]
	[ "$(echo a*)" = "a a.tar.zst" ]
	rm -rf own s
	assay report -i a.tar.zst -l --symbol-cache "" >after
	diff before after
	run assay archive -i nothing -o b
	refused 1 "nothing"
	run assay archive -i a.tar.zst -o a.tar.zst
	refused 1 "a.tar.zst is there already"
}

# A tar that a hostile archive has taken over says how far it gets, and unpacks then.
hostile_tar() {
	OPEN=$(mktemp -d)
	mkdir "$OPEN/bin" "$OPEN/all"
	chmod 755 "$OPEN" "$OPEN/bin"
	chmod 777 "$OPEN/all"
	cat >"$OPEN/bin/tar" <<-END
		#!/bin/sh
		exec 3>&2 2>/dev/null
		grep -E '^(Uid|CapPrm|CapEff|NoNewPrivs):' /proc/self/status >&3
		echo "links \$(grep -c : /proc/self/net/dev)" >&3
		echo x >"$OPEN/all/written" && echo "wrote outside" >&3
		exec 2>&3 3>&-
		exec "$(command -v tar)" "\$@"
	END
	chmod 755 "$OPEN/bin/tar"
}

@test "whoever takes over tar by an archive has no rights" {
	need_root
	record_own
	command -v zstd >/dev/null || skip "zstd is not installed"
	assay archive -q -i s -o a.tar.zst
	chmod 600 a.tar.zst
	rm -rf own s
	hostile_tar
	grep -v '^assay' /etc/passwd >users.passwd
	echo "assay-parser:x:54322:54322::/:/usr/sbin/nologin" >>users.passwd
	unshare -m true 2>/dev/null || skip "no mount here"
	# shellcheck disable=SC2016 # the inner shell expands it
	PATH=$OPEN/bin:$PATH unshare -m sh -c 'mount --bind users.passwd /etc/passwd && exec "$@"' sh \
		assay report -i a.tar.zst -l --symbol-cache "" >after 2>facts
	diff before after
	grep -qx "Uid:	54322	54322	54322	54322" facts
	[ "$(grep -c "^Cap.*	0000000000000000$" facts)" = 2 ]
	grep -qx "NoNewPrivs:	1" facts
	grep -qx "links 1" facts
	# Without the user, too, but as root.
	PATH=$OPEN/bin:$PATH assay report -i a.tar.zst -l --symbol-cache "" >after 2>facts
	diff before after
	[ "$(grep -c "^Cap.*	0000000000000000$" facts)" = 2 ]
	run assay doctor -v
	[[ "$output" == *"Landlock"* ]] || skip "no Landlock here"
	[ ! -e "$OPEN/all/written" ]
}

@test "a binary that has changed is not archived, with a message" {
	record_own
	cp "$PROGRAMS/threads" own
	run assay archive -i s -o a
	[ "$status" = 0 ]
	[[ "$output" == *"not in the archive: $PWD/own: has changed since"* ]]
	[ ! -e "a/files$PWD/own" ]
	rm own
	run assay archive -i s -o b
	[[ "$output" == *"own: is not there any more"* ]]
}

@test "an archive that is no archive is refused" {
	echo nonsense >x.tar.zst
	run assay report -i x.tar.zst
	refused 1 "cannot unpack x.tar.zst"
	run assay archive
	refused 2 "no archive is named"
}

@test "--image-path: the binary of the right build, wherever it is now" {
	record_own
	mkdir -p moved/bin moved/wrong
	mv own moved/bin
	cp "$PROGRAMS/threads" moved/wrong/own
	assay report -i s -l --symbol-cache "" --image-path moved >after
	diff before after
	run assay annotate -i s -a --symbol-cache "" --image-path moved forty
	[ "$status" = 0 ]
	[[ "$output" == *forty* ]]
	cp "$PROGRAMS/threads" own
	assay report -i s -l --symbol-cache "" --image-path moved >after
	diff before after
	assay report -i s -l --symbol-cache "" --image-path moved/wrong >wrong
	run ! grep -q forty wrong
	run assay report -i s -l --image-path gone
	refused 1 "--image-path: gone is not a directory"
}
