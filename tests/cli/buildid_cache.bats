#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The folder in which perf and assay keep files by build id.
load helpers
load pt

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export PERF_BUILDID_DIR=$BATS_TEST_TMPDIR/kept
	echo 'int main(void) { return 0; }' >a.c
	"${CC_FOR_TEST:-gcc}" -Wl,--build-id=0x11223344556677889900aabbccddeeff00112233 a.c -o one
	"${CC_FOR_TEST:-gcc}" -Wl,--build-id=0x22223344556677889900aabbccddeeff00112233 a.c -o two
	"${CC_FOR_TEST:-gcc}" -Wl,--build-id=none a.c -o none
}

@test "files are added, listed, replaced and removed" {
	run assay buildid-cache -v --add one,two
	[ "$status" = 0 ]
	[[ "$output" == *"added 1122"*"/one"*"added 2222"*"/two"* ]]
	assay buildid-cache --list >list
	diff list - <<-END
		11223344556677889900aabbccddeeff00112233 $PWD/one
		22223344556677889900aabbccddeeff00112233 $PWD/two
	END
	cmp one "$PERF_BUILDID_DIR/.build-id/11/223344556677889900aabbccddeeff00112233/elf"
	# The same build again is kept as it is, and --update replaces it.
	printf x >>one
	assay buildid-cache --add one
	run cmp one "$PERF_BUILDID_DIR/.build-id/11/223344556677889900aabbccddeeff00112233/elf"
	[ "$status" = 1 ]
	assay buildid-cache --update one
	cmp one "$PERF_BUILDID_DIR/.build-id/11/223344556677889900aabbccddeeff00112233/elf"
	assay buildid-cache --remove one
	[ "$(assay buildid-cache -l | wc -l)" = 1 ]
	run assay buildid-cache --remove one
	refused 1 "no file with build id 1122"
	# All builds that were at a path.
	cp one two.new
	mv two.new two
	assay buildid-cache --add two
	[ "$(assay buildid-cache -l | grep -c "$PWD/two")" = 2 ]
	assay buildid-cache --purge two
	[ -z "$(assay buildid-cache -l)" ]
	run assay buildid-cache --purge two
	refused 1 "no build of two"
	assay buildid-cache --add one --purge-all
	[ -z "$(assay buildid-cache -l)" ]
	[ -z "$(find kept -type f)" ]
}

@test "what has no build id, is no program or is absent is refused, and the rest is added" {
	run assay buildid-cache --add none,a.c,absent,one
	refused 1 "none: it has no build id" "a.c" "absent"
	[ "$(assay buildid-cache -l | wc -l)" = 1 ]
	run assay buildid-cache
	refused 2 "say what to do"
	run assay buildid-cache --missing absent
	refused 1 "absent"
}

@test "a link that leads out of the folder removes nothing" {
	mkdir -p kept/.build-id/11 precious
	ln -s ../../../precious kept/.build-id/11/223344556677889900aabbccddeeff00112233
	run assay buildid-cache --remove one
	refused 1 "no file with build id"
	assay buildid-cache --purge-all
	[ -d precious ]
	# Neither does one by way of another link, nor one to the cache itself.
	ln -s ../precious kept/elsewhere
	mkdir precious/inner
	ln -sfn ../../elsewhere/inner kept/.build-id/11/223344556677889900aabbccddeeff00112233
	run assay buildid-cache --remove one
	refused 1 "is a link"
	[ -d precious/inner ]
	ln -sfn ../../. kept/.build-id/11/223344556677889900aabbccddeeff00112233
	run assay buildid-cache --remove one
	refused 1 "no file with build id"
	[ -d kept/.build-id ]
}

@test "a dangling link is replaced, and --update of the kept file itself keeps it" {
	link=kept/.build-id/11/223344556677889900aabbccddeeff00112233
	mkdir -p kept/.build-id/11
	ln -s ../../nowhere/11223344556677889900aabbccddeeff00112233 $link
	assay buildid-cache --add one
	cmp one $link/elf
	assay buildid-cache --update $link/elf
	cmp one $link/elf
	[ "$(assay buildid-cache -l | wc -l)" = 1 ]
	mkdir $'a\eb'
	cp two $'a\eb/two'
	assay buildid-cache --add $'a\eb/two'
	assay buildid-cache -l >list
	has 'a.x1[bB]b/two' list
}

@test "perf and assay find and list what the other has added" {
	command -v perf >/dev/null || skip "perf is not installed"
	HOME=$PWD perf buildid-cache --buildid-dir "$PERF_BUILDID_DIR" -a one >/dev/null 2>&1 || HOME=$PWD perf --buildid-dir "$PERF_BUILDID_DIR" buildid-cache -a one
	assay buildid-cache -a two
	HOME=$PWD perf --buildid-dir "$PERF_BUILDID_DIR" buildid-cache -l | sort >theirs
	[ "$(wc -l <theirs)" = 2 ]
	assay buildid-cache -l | diff theirs -
}

@test "the files of a recording that are not kept" {
	need_recording
	assay record -q --raw -o raw.data -- "$PROGRAMS/split" 100
	[ "$(assay buildid-cache --missing raw.data | grep -c '/split$')" = 1 ]
	assay buildid-cache --add "$PROGRAMS/split"
	assay buildid-cache --missing raw.data >left
	[ "$(grep -c '/split$' left)" = 0 ]
	# Another build at its path: the kept one has the names.
	cp "$PROGRAMS/split" app
	assay record -q --raw -o app.data -- ./app 300
	assay buildid-cache --add app
	cp one app
	assay report -i app.data -l | grep -q forty
}

@test "--kcore keeps a kernel's code, and Intel PT of that kernel is decoded with it" {
	# The kernel's /proc, as a machine has it, and a trace without a copy beside it.
	generate --kernel --tsc -- "$PROGRAMS/flow" indirect
	mkdir -p sys/kernel proc
	cp trace.data/kcore_dir/* proc
	printf '' >proc/modules
	rm -r trace.data
	trace_of --kernel --vmlinux vmlinux --tsc --mtc --interrupt 700 -- "$PROGRAMS/flow" indirect
	objcopy -O binary --only-section=.note.gnu.build-id "$PROGRAMS/flow" sys/kernel/notes
	run assay script -i trace.data --itrace=be -F tid,ip,addr
	[[ $output == *"the kernel's code is missing and is not decoded"*"buildid-cache --kcore"* ]]

	run assay buildid-cache -v --kcore proc/kcore
	[ "$status" = 0 ]
	local id
	id=$(readelf -n "$PROGRAMS/flow" | sed -n 's/.*Build ID: //p')
	[[ "$output" == *"added $PERF_BUILDID_DIR/[kernel.kcore]/$id/20"* ]]
	for file in kcore kallsyms modules; do
		[ "$(stat -c %a "$PERF_BUILDID_DIR/[kernel.kcore]/$id/"*/$file)" = 400 ]
	done
	assay script -i trace.data --itrace=be -F tid,ip,addr 2>said | by_thread >ours
	equal_files want ours
	[ ! -s said ]
	if command -v perf >/dev/null; then
		perf --buildid-dir "$PWD/of-perf" buildid-cache -k "$PWD/proc/kcore"
		PERF_BUILDID_DIR=$PWD/of-perf assay script -i trace.data --itrace=be -F tid,ip,addr | by_thread | cmp - want
	fi
	# The same state of the kernel is there, and a kernel with another module is not.
	run assay buildid-cache -v --kcore proc/kcore
	[[ "$status" = 0 && "$output" == *"kept before: "* ]]
	echo 'probe 4096 0 - Live 0xffffffff81001000' >proc/modules
	run assay buildid-cache -v --kcore proc/kcore
	[[ "$status" = 0 && "$output" == *"added "* ]]
	[ "$(find "$PERF_BUILDID_DIR/[kernel.kcore]/$id" -name kcore | wc -l)" = 2 ]
	# A module less: a copy with more modules is another state. So is one with an unknown list.
	: >proc/modules
	rm -r "$PERF_BUILDID_DIR/[kernel.kcore]/$id/$(assay buildid-cache --list | sed -n '1s/.*kcore]\///p')"
	run assay buildid-cache -v --kcore proc/kcore
	[[ "$status" = 0 && "$output" == *"added "* ]]
	rm proc/modules
	mkdir proc/modules
	run assay buildid-cache -v --kcore proc/kcore
	refused 1 "--kcore: proc/modules: Is a directory"
	rmdir proc/modules
	: >proc/modules
	# Copies are listed, hidden folders of unfinished ones are not, and --purge-all removes both.
	mkdir "$PERF_BUILDID_DIR/[kernel.kcore]/$id/.new-123456"
	assay buildid-cache --list >listed
	[ "$(grep -cE "^$id \[kernel.kcore\]/20[0-9]{14}$" listed)" = 2 ]
	[ "$(wc -l <listed)" = 2 ]
	assay buildid-cache --purge-all
	[ ! -e "$PERF_BUILDID_DIR/[kernel.kcore]" ]
	[ -z "$(assay buildid-cache --list)" ]
	mkdir -p elsewhere "$PERF_BUILDID_DIR"
	: >elsewhere/file
	ln -s "$PWD/elsewhere" "$PERF_BUILDID_DIR/[kernel.kcore]"
	run assay buildid-cache --purge-all
	refused 1 "is a link"
	[ -e elsewhere/file ]
	rm "$PERF_BUILDID_DIR/[kernel.kcore]"
	assay buildid-cache --kcore proc/kcore
	# By the build id of the kernel, or by the names that --list has.
	run assay buildid-cache -v --remove proc/kcore
	[[ "$status" = 0 && "$output" == *"removed $id [kernel.kcore]/$id"* ]]
	[ -z "$(assay buildid-cache --list)" ]
	run assay buildid-cache --remove proc/kcore
	refused 1 "no file with build id $id is kept"
	assay buildid-cache --add "$PROGRAMS/flow" --kcore proc/kcore
	[ "$(assay buildid-cache --list | wc -l)" = 2 ]
	assay buildid-cache --remove "$PROGRAMS/flow"
	[ -z "$(assay buildid-cache --list)" ]
	assay buildid-cache --add "$PROGRAMS/flow" --kcore proc/kcore
	run assay buildid-cache --purge '[kernel.kcore]/2020010100000000'
	refused 1 "no copy [kernel.kcore]/2020010100000000 is kept"
	assay buildid-cache --purge "$(assay buildid-cache --list | sed -n 's/^[0-9a-f]* \(\[kernel\.kcore\].*\)/\1/p')"
	[ "$(assay buildid-cache --list)" = "$id $PROGRAMS/flow" ]
	assay buildid-cache --kcore proc/kcore
	assay buildid-cache --purge '[kernel.kcore]'
	[ "$(assay buildid-cache --list)" = "$id $PROGRAMS/flow" ]
	run assay buildid-cache --purge '[kernel.kcore]'
	refused 1 "no copy [kernel.kcore] is kept"
	# With its last copy, a build is gone.
	run assay buildid-cache --remove proc/kcore
	[ "$status" = 0 ] # the file of the same build
	run assay buildid-cache --remove proc/kcore
	refused 1 "no file with build id $id is kept"
	assay buildid-cache --kcore proc/kcore
	# A copy at other addresses is of no use.
	rm -r "$PERF_BUILDID_DIR"
	sed -i 's/^ffffffff81000000 T _text/ffffffff80fff000 T _text/' proc/kallsyms
	assay buildid-cache --kcore proc/kcore
	assay script -i trace.data --itrace=e 2>&1 | grep -q "the kernel's code is missing"
	run assay buildid-cache --kcore /nowhere/kcore
	refused 1 "--kcore: the kernel's build id: /nowhere/../sys/kernel/notes"
	run assay buildid-cache --kcore vmlinux
	refused 1 "the file must be named kcore"
	rm proc/kallsyms
	run assay buildid-cache --kcore proc/kcore
	refused 1 "--kcore: "
}
