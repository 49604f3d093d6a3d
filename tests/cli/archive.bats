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
	[[ "$output" != *"/proc/modules"* ]] # which a kernel without modules lacks
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
	refused 1 "a.tar.zst is there already: name a new one"
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
		grep -E '^(Uid|CapPrm|CapEff|CapBnd|NoNewPrivs):' /proc/self/status >&3
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
	[ "$(grep -c "^Cap.*	0000000000000000$" facts)" = 3 ]
	grep -qx "NoNewPrivs:	1" facts
	grep -qx "links 1" facts
	# Without the user, too, but as root.
	PATH=$OPEN/bin:$PATH assay report -i a.tar.zst -l --symbol-cache "" >after 2>facts
	diff before after
	[ "$(grep -c "^Cap.*	0000000000000000$" facts)" = 3 ]
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

@test "files of another machine go into an archive from --symfs, --image-path and debuginfod" {
	cp "$PROGRAMS/inlines" app
	session_at s app work,main=30
	id=$(readelf -n app | awk '/Build ID/ { print $3 }')
	mkdir -p "sys$PWD" srv/buildid/"$id" heap
	objcopy --only-keep-debug app "srv/buildid/$id/debuginfo"
	strip app
	mv app "sys$PWD/"
	run assay archive -i s -o none
	refused 0 "none: 0 binaries" "not in the archive: $PWD/app: is not there any more"
	assay archive -i s -o a --symfs sys
	cmp "sys$PWD/app" "a/files$PWD/app"
	mv "sys$PWD/app" heap
	assay archive -i s -o b --image-path heap
	cmp heap/app "b/files$PWD/app"
	# An archive of an archive has the same files.
	assay archive -i b -o c
	cmp heap/app "c/files$PWD/app"
	run assay archive -i s -o d --image-path nowhere
	refused 1 "--image-path: nowhere is not a directory"
	assay --version | grep -q 'libdebuginfod.*yes' || skip "built without libdebuginfod"
	DEBUGINFOD_CACHE_PATH=$PWD/fetched DEBUGINFOD_URLS="file://${PWD// /%20}/srv" run assay archive -i s -o e --image-path heap
	refused 0 "got the debug information of" "e: 1 binaries, 1 debug files"
	cmp "srv/buildid/$id/debuginfo" "e/files/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
	rm -r heap fetched
	assay report -i e -l --symbol-cache "" | grep -E ' 30 .* work$'
}

@test "common debug information of dwz goes into an archive" {
	[ -n "$(command -v dwz)" ] || skip "no dwz"
	gcc -O1 -g "$ROOT/tests/programs/inlines.c" -o app
	cp app other
	dwz -m common app other || skip "dwz found nothing in common"
	session_at s app "$(hot_place app),main=30"
	assay report -i s --lines --symbol-cache "" >before
	has "inlines.c:$(hot_line)" before
	assay archive -i s -o a
	rm common other app
	assay report -i a --lines --symbol-cache "" >after
	diff before after
}

# A program with split debug information, a session s of it, and its tree with inlined functions, which only the
# .dwo file has, in before: split_app [FLAGS…]
split_app() {
	mkdir -p obj
	(cd obj && "${CC_FOR_TEST:-gcc}" -O1 -g -gsplit-dwarf "$@" -c "$ROOT/tests/programs/inlines.c" -o app.o && gcc app.o -o ../app) ||
		skip "${CC_FOR_TEST:-gcc} does not split debug information here"
	[ -e obj/app.dwo ]
	session_at s app "$(hot_place app),main=30"
	tree_of s >before
	has " stir$" before
}

tree_of() { # SESSION [OPTION…]
	local session=$1
	shift
	assay report -i "$session" --tree --inline --symbol-cache "" "$@"
}

@test "split debug information goes into an archive, by its number" {
	split_app
	run assay archive -i s -o a
	refused 0 "a: 1 binaries, 1 debug files"
	cmp obj/app.dwo a/files/usr/lib/debug/.dwo/*.dwo
	mkdir elsewhere
	mv app obj elsewhere
	tree_of a >after
	diff before after
	# An archive of an archive has it, too.
	assay archive -i a -o b
	rm -r a
	tree_of b >after
	diff before after
}

@test "split debug information that is gone, or of another build, is named and not archived" {
	split_app
	cp obj/app.dwo mine.dwo
	rm obj/app.dwo
	run assay archive -i s -o a
	refused 0 "a: 1 binaries, 0 debug files" "1 units have their debug information in files that were not found" "for example $PWD/obj/app.dwo"
	(cd obj && gcc -O2 -DOTHER -g -gsplit-dwarf -c "$ROOT/tests/programs/inlines.c" -o app.o)
	run assay archive -i s -o b
	refused 0 "b: 1 binaries, 0 debug files" "or are of another build"
	[ ! -e b/files/usr/lib/debug/.dwo ]
	# The right one is found in another folder, beside one of another build.
	mkdir -p heap/x heap/y
	cp obj/app.dwo heap/x/
	cp mine.dwo heap/y/app.dwo
	tree_of s --image-path heap >after
	diff before after
	assay archive -i s -o c --image-path heap
	cmp mine.dwo c/files/usr/lib/debug/.dwo/*.dwo
}

@test "split debug information of another machine, below --symfs" {
	split_app
	mkdir -p "sys$PWD" flat
	cp app flat/
	cp obj/app.dwo flat/
	cp -r app obj "sys$PWD/"
	rm -r app obj
	run tree_of s
	[[ $output != *"stir"* ]]
	for folder in sys flat; do
		tree_of s --symfs $folder >after
		diff before after
		assay archive -i s -o a-$folder --symfs $folder
		tree_of a-$folder >after
		diff before after
	done
}

# A package of the split debug information: packaged COMMAND…, which runs where the .dwo files are
packaged() {
	split_app "${DWARF_FOR_TEST:--gdwarf-4}"
	(cd obj && within "$@")
	rm -r obj
	tree_of s >after
	diff before after
	run assay archive -i s -o a
	refused 0 "a: 1 binaries, 1 debug files"
	cmp app.dwp a/files/usr/lib/debug/.build-id/*/*.dwp
	mkdir -p heap/x heap/y
	mv app.dwp heap/y/
	cp app heap/x/app.dwp # it has no split units
	tree_of s --image-path heap >after
	diff before after
	rm app
	tree_of a >after
	diff before after
}

@test "a package of split debug information goes into an archive, DWARF 4" {
	command -v dwp >/dev/null || skip "dwp (binutils, up to 2.43) is not installed"
	packaged dwp -e ../app -o ../app.dwp
}

@test "a package of split debug information goes into an archive, DWARF 5" {
	command -v clang >/dev/null && command -v llvm-dwp >/dev/null || skip "clang or llvm-dwp is not installed"
	CC_FOR_TEST=clang DWARF_FOR_TEST=-gdwarf-5 packaged llvm-dwp -e ../app -o ../app.dwp
}

@test "a package of split debug information of a program without a build id" {
	need_recording
	command -v dwp >/dev/null || skip "dwp (binutils, up to 2.43) is not installed"
	gcc -O1 -gdwarf-4 -gsplit-dwarf -Wl,--build-id=none "$ROOT/tests/programs/inlines.c" -o app
	dwp -e app -o app.dwp
	rm ./*.dwo
	assay record -q -e cpu-clock -o s -- ./app 0.2cpu
	tree_of s >before
	has " stir$" before
	assay archive -i s -o a
	rm app app.dwp
	tree_of a >after
	diff before after
}

@test "an archive takes no file that only a name leads to" {
	split_app
	# The skeleton's name of its file leads to a file that is none of split debug information.
	echo "a private key" >obj/app.dwo
	run assay archive -i s -o a
	refused 0 "a: 1 binaries, 0 debug files"
	run ! grep -r "private key" a
	rm obj/app.dwo
	mkfifo obj/app.dwo
	run assay archive -i s -o b
	refused 0 "b: 1 binaries, 0 debug files"
}

@test "of a file with holes, an archive has the holes" {
	cp "$PROGRAMS/inlines" app
	truncate -s 8G app
	session_at s app work,main=30
	assay archive -i s -o a
	cmp -n 100000 app "a/files$PWD/app"
	[ "$(stat -c %s "a/files$PWD/app")" = 8589934592 ]
	[ "$(du -k "a/files$PWD/app" | cut -f 1)" -lt 1000 ]
	command -v zstd >/dev/null || skip "zstd is not installed"
	within assay archive -q -i s -o b.tar.zst
	within tar -xf b.tar.zst
	[ "$(du -k "b/files$PWD/app" | cut -f 1)" -lt 1000 ]
}

@test "links, .. and FIFOs in an archive lead nowhere" {
	cp "$PROGRAMS/inlines" app
	session_at s app work,main=30
	assay archive -q -i s -o a
	assay report -i a -l --symbol-cache "" >before
	has ' work$' before
	mv app outside
	for kind in fifo link; do
		rm -rf b
		cp -r a b
		mkdir -p b/kernel b/kcore_dir
		rm "b/files$PWD/app"
		for entry in kernel/kallsyms kernel/notes kcore_dir/kallsyms kcore_dir/kcore "files$PWD/app" containers; do
			if [ "$kind" = fifo ]; then mkfifo "b/$entry"; else ln -s "$PWD/outside" "b/$entry"; fi
		done
		tar -cf b.tar b
		run within assay report -i b.tar -l --symbol-cache ""
		[[ $output != *" work"* ]]
		# Landlock does not let tar make a FIFO.
		[ "$kind:$status" = fifo:1 ] || refused 0 "samples   30"
	done
	# The whole folder, or the samples, are elsewhere.
	ln -s "$PWD/a" c
	tar -cf c.tar c
	run within assay report -i c.tar
	refused 1 "c.tar has no session in it"
	mkdir d
	ln -s "$PWD/a/samples" d/samples
	tar -cf d.tar d
	run within assay report -i d.tar
	[ "$status" = 1 ]
	# tar does not leave the folder.
	mkdir in
	tar -cPf e.tar --transform 's,^a/files.*app$,a/../../../../../../../../../..'"$PWD"'/in/evil,' a
	run within assay report -i e.tar -l --symbol-cache ""
	[ -z "$(ls in)" ]
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
