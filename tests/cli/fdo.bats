#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Branch stacks for compilers: against what perf prints of the same recording.

load helpers
load perfdata

# AutoFDO's lists of the kernel, made of perf's own text.
from_perf() {
	perf script -i "$1" -F ip,dso,brstack 2>/dev/null | python3 -c '
import collections, re, sys
ranges, branches = collections.Counter(), collections.Counter()
base = 0xffffffffb4200000
for line in sys.stdin:
    newer = None
    for f, fd, t, td in re.findall(r"0x([0-9a-f]+) ?\((.*?)\)/0x([0-9a-f]+) ?\((.*?)\)/", line):
        f, t = int(f, 16), int(t, 16)
        if not f and not t:
            break
        here = (f - base if "kernel" in fd else None, t - base if "kernel" in td else None)
        if None not in here:
            branches[here] += 1
        if newer is not None and here[1] is not None and 0 <= newer - here[1] <= 1 << 20:
            ranges[(here[1], newer)] += 1
        newer = here[0]
for counts, between in ((ranges, "-"), (branches, "->")):
    print(len(counts))
    for (a, b), n in sorted(counts.items()):
        print(f"{a:x}{between}{b:x}:{n}")
'
}

@test "autofdo has the ranges and branches that perf prints" {
	[ -d "$FIXTURES" ] || skip "no recordings in $FIXTURES"
	command -v perf >/dev/null || skip "perf is not installed"
	assay export -q -i "$FIXTURES/perf.data.branch-4.14" -o k.afdo --image '\[kernel*'
	from_perf "$FIXTURES/perf.data.branch-4.14" >expected
	[ "$(wc -l <expected)" -gt 100 ]
	# Its list of samples is between the two.
	diff expected <(awk 'NF && /^[0-9]+$/ { part++ } part != 2' k.afdo)
}

@test "perf script's text of branch stacks gives what its recording gives" {
	[ -d "$FIXTURES" ] || skip "no recordings in $FIXTURES"
	command -v perf >/dev/null || skip "perf is not installed"
	perf script -i "$FIXTURES/perf.data.branch-4.14" --show-mmap-events -F comm,pid,tid,time,event,ip,dso,brstack >text 2>/dev/null
	for image in '\[kernel*' ld-2.23.so; do
		assay export -q -i "$FIXTURES/perf.data.branch-4.14" -o want.afdo --image "$image"
		assay export -q -i text -o got.afdo --image "$image"
		[ "$(wc -l <want.afdo)" -gt 10 ]
		diff want.afdo got.afdo
	done
}

@test "a text with branches: paths with blanks, chains, bolt; a note names its missing parts" {
	local self
	cp "$(command -v sleep)" "a (b) c"
	self=$PWD/"a (b) c"
	cat >text <<-END
	a 7/7 1.000001: PERF_RECORD_MMAP2 7/7: [0x1000(0x2000) @ 0 b3:05 17 28]: r-xp $self
	a 7/7 1.000001: PERF_RECORD_MMAP2 7/7: [0x0(0xzz) @
	a 7/7 1.000002: cycles: 1010 ($self) 0x1050($self)/0x1010($self)/M/-/-/4/  0x1020/0x1040/P/-/-/0/  0x0/0x0/P/-/-/0/
	a 7/7 1.000003: cycles:
	            1010 main+0x1 ($self)
	 0x1050($self)/0x1010($self)/P/-/-/4/ 0x1020
	END
	assay export -q -i text -F autofdo -o x.afdo
	diff x.afdo - <<-'END'
	1
	40-50:1
	1
	10:2
	2
	20->40:1
	50->10:2
	END
	# perf 7 has a blank before the image, and a further column.
	sed "s|(\($self\))/| (\1)/|g; s|/4/|/4//-|" text >newer
	[ "$(grep -c '0x1050 (' newer)" = 2 ]
	assay export -q -i newer -F autofdo -o newer.afdo
	diff x.afdo newer.afdo
	assay export -q -i text -F bolt -o x.preagg
	grep -E '^B [0-9a-f]*50 [0-9a-f]*10 2 1$' x.preagg
	grep -v PERF_RECORD text >bare
	run assay export -i bare -F autofdo
	refused 1 "it has no places of branches in files" "--show-mmap-events"
	echo 'a 7 1.000002: cycles: 1010 main+0x1/main+0x2/P/-/-/0' >named
	run assay export -i named -F bolt -o y.preagg
	refused 1 "its branches have names and no addresses" brstack
	[ ! -e y.preagg ]
	echo 'a 7 1.000002: cycles: 1010 main (/bin/x)' >none
	run assay export -i none -F autofdo
	refused 1 "there are no branch stacks in it"
}

@test "record -b keeps branch stacks, or names the reason for none" {
	run assay record -b -e cpu-clock:u -- true
	refused 1 "event 'cpu-clock:u' has no branch stacks: they come with the processor's counters"
	run assay record -j any,calls -- true
	refused 2 "'calls' is no kind of branches; there are: any, any_call"
	run assay record -b --store oprofile -- true
	refused 2 "--raw, -b and -j keep what the kernel's rings give"
	run assay record -b -j any_call -- true
	refused 2 "-b and -j exclude each other"
	[ ! -e perf.data ]
	assay record -q -b -e cycles:u -o b.data -- "$PROGRAMS/split" 0.2cpu 2>said || skip "no branch stacks here: $(tail -1 said)"
	assay export -q -i b.data -F autofdo -o x.afdo
	[ "$(wc -l <x.afdo)" -gt 3 ]
}

# ./app, whose loop runs 10,000 times, and ./text of its branches. perf2bolt wants relocations, and create_gcov
# no later DWARF.
make_loop() {
	local start end samples branch
	cat >spin.c <<-'END'
		unsigned long __attribute__((noinline)) spin(unsigned long n)
		{
			unsigned long sum = 0;
			do {
				sum += n * n;
				n--;
			} while (n);
			return sum;
		}
		int main(int argc, char **argv) { return (int)spin((unsigned long)argv + argc); }
	END
	gcc -O1 -gdwarf-4 -Wl,--emit-relocs spin.c -o app
	read -r end start < <(objdump -d app | awk '/<spin>:/ { on = 1 } on && /jne / { sub(":", "", $1); print $1, $(NF - 1); exit }')
	[ -n "$start" ]
	branch=$(printf '0x%x/0x%x/P/-/-/1' $((0x555555554000 + 0x$end)) $((0x555555554000 + 0x$start)))
	samples=$(printf " $branch%.0s" 1 2 3 4 5 6 7 8 9 10 11)
	echo "app 7/7 1.000001: PERF_RECORD_MMAP2 7/7: [0x555555555000(0x2000) @ 0x1000 b3:05 17 28]: r-xp $PWD/app" >text
	for i in $(seq 1000 1999); do
		echo "app 7/7 1.00$i: cycles: ${branch:2:12} $PWD/app$samples"
	done >>text
}

@test "perf2bolt reads the bolt export: the loop's branch, as often as it was taken" {
	command -v perf2bolt >/dev/null || skip "perf2bolt (llvm-bolt) is not installed"
	make_loop
	assay export -q -i text -o x.preagg
	within perf2bolt -pa -p x.preagg -o x.fdata app >said 2>&1
	has 'traces mismatching disassembled function contents: 0 ' said
	grep -E '^1 spin [0-9a-f]+ 1 spin [0-9a-f]+ 0 11000$' x.fdata
}

@test "create_gcov reads the autofdo export: the lines of the loop have its rounds" {
	command -v create_gcov >/dev/null && command -v dump_gcov >/dev/null || skip "create_gcov (autofdo) is not installed"
	make_loop
	assay export -q -i text -o x.afdo
	within create_gcov --profiler=text --profile=x.afdo --binary=app --gcov=x.gcov --gcov_version=2
	dump_gcov --gcov_version=2 x.gcov >dump
	# Lines count from that of the function.
	grep -E '^ +4(\.[0-9]+)?: 10000$' dump
	grep -E '^ +6(\.[0-9]+)?: 10000$' dump
}

# A pipe of perf's with samples of ./app: PLACE COUNT PERIOD…, and then 5 at the first place of ./other.
recording_of() {
	local place count period i
	printf PERFILE2
	le 16 8
	# cycles: IP, TID, TIME and PERIOD
	le 64 4; le 0 2; le 96 2
	le 0 4; le 80 4; le 0 8; le 1000 8; le 263 8; le 0 8; le 0 8; le 0 8; le 0 8; le 0 8; le 0 8; le 7 8
	# MMAP2 with the build id of app; MMAP of other.
	le 10 4; le $((1 << 14 | 2)) 2; le $((72 + 256)) 2
	a_mapping app
	le 20 4
	for ((i = 0; i < ${#build}; i += 2)); do le "0x${build:i:2}" 1; done
	le 5 4; le 2 4
	a_path app
	le 1 4; le 2 2; le $((40 + 256)) 2
	a_mapping other
	a_path other
	while [ $# -gt 0 ]; do
		place=$1 count=$2 period=$3
		shift 3
		for i in $(seq "$count"); do a_sample app "$place" "$period"; done
	done
	for i in 1 2 3 4 5; do a_sample other "$start" 1000; done
}
a_mapping() { # FILE
	le 41 4; le 41 4; le $((0x555555555000 + (${#1} << 32))) 8; le $((0x2000)) 8; le $((0x1000)) 8
}
a_path() { # FILE
	printf %s "$PWD/$1"
	head -c $((256 - ${#PWD} - ${#1} - 1)) /dev/zero
}
a_sample() { # FILE PLACE PERIOD
	le 9 4; le 2 2; le 40 2
	le $((0x555555554000 + (${#1} << 32) + $2)) 8; le 41 4; le 41 4; le 1000 8; le "$3" 8
}

# ./app and ./other, and two places of app's loop: $start and $end.
make_places() {
	make_loop
	read -r end start < <(objdump -d app | awk '/<spin>:/ { on = 1 } on && /jne / { sub(":", "", $1); print $1, $(NF - 1); exit }')
	end=$((0x$end)) start=$((0x$start))
	build=$(readelf -n app | awk '/Build ID/ { print $3 }')
	objcopy --remove-section .note.gnu.build-id app other
}

# ./s.assay: 30 samples in the loop of ./app, 10 at another place, and 5 in another file.
make_samples() {
	make_places
	recording_of "$start" 30 1000 "$end" 10 1000 >samples.data
	assay import -q samples.data -o s.assay
	want=$(printf '0\n2\n%x:30\n%x:10\n0' "$start" "$end")
	bolt=$(printf 'E cycles\nS %x 30\nS %x 10' "$start" "$end")
}

@test "samples of a session, without branch stacks: autofdo and bolt have their places" {
	make_samples
	[ "$(assay export -q -i s.assay -F autofdo)" = "$want" ]
	[ "$(assay export -q -i s.assay -F autofdo --image app)" = "$want" ]
	[ "$(assay export -q -i s.assay -F autofdo --build-id "$build")" = "$want" ]
	[ "$(assay export -q -i s.assay -F bolt)" = "$bolt" ]
	[ "$(assay export -q -i s.assay -F autofdo --image other | sed -n 2p)" = 1 ]
	[ "$(assay export -q -i s.assay -F autofdo tid:41)" = "$want" ]
	run assay export -i s.assay -F autofdo --image nothing
	refused 1 "no sample is in a file of that name and build id"
	run assay export -i s.assay -F autofdo --build-id 0123456789abcdef0123
	refused 1 "no sample is in a file of that name and build id"
	run assay export -i s.assay -F autofdo --build-id xyz
	refused 1 "write hexadecimal digits"
}

@test "samples that stand for more events count more, and the sum stays" {
	make_places
	recording_of "$start" 20 1000 "$end" 2 10000 >mixed.data
	assay import -q mixed.data -o mixed.assay
	[ "$(assay export -q -i mixed.assay -F autofdo | sed -n '2,4p' | sed 's/.*://')" = $'2\n11\n11' ]
	[ "$(assay export -q -i mixed.assay -F autofdo --weight samples | sed -n '3,4p' | sed 's/.*://' | sort -n)" = $'2\n20' ]
	[ "$(assay export -q -i mixed.assay -F autofdo --weight events | sed -n '3,4p' | sed 's/.*://')" = $'20000\n20000' ]
}

@test "create_gcov and create_llvm_prof read samples: the loop's line has them" {
	command -v create_gcov >/dev/null && command -v dump_gcov >/dev/null || skip "create_gcov (autofdo) is not installed"
	make_samples
	assay export -q -i s.assay -o x.afdo
	within create_gcov --use_lbr=false --profiler=text --profile=x.afdo --binary=app --gcov=x.gcov --gcov_version=2
	dump_gcov --gcov_version=2 x.gcov | grep -E '^spin total:'
	command -v create_llvm_prof >/dev/null || return 0
	within create_llvm_prof --use_lbr=false --profiler=text --profile=x.afdo --binary=app --out=x.prof --format=text 2>said || {
		cat said
		grep -q 'LLVM version .* support was not enabled' said # Debian 13's is built without it
		skip "create_llvm_prof is built without LLVM: create_gcov alone has read the samples"
	}
	grep -E '^spin:[1-9]' x.prof
}

@test "perf2bolt -nl reads samples" {
	command -v perf2bolt >/dev/null || skip "perf2bolt (llvm-bolt) is not installed"
	perf2bolt --version | grep -qE 'version (2[1-9]|[3-9][0-9])' || skip "this perf2bolt is older than LLVM 21, and reads no samples that are added up"
	make_samples
	assay export -q -i s.assay -o x.preagg
	within perf2bolt -nl -pa -p x.preagg -o x.fdata app >said 2>&1
	grep -x 'no_lbr cycles' x.fdata
	grep -E '^1 spin [0-9a-f]+ 30$' x.fdata
	grep -E '^1 spin [0-9a-f]+ 10$' x.fdata
}

@test "a recording without branch stacks is an error that names the remedy" {
	[ -d "$FIXTURES" ] || skip "no recordings in $FIXTURES"
	run assay export -i "$FIXTURES/perf.data.singleprocess-3.8" --format bolt -o x.preagg
	refused 1 "the recording has no branch stacks"
	[ ! -e x.preagg ]
	run assay export -i "$FIXTURES/perf.data.branch-4.14" --format bolt --build-id ab
	refused 2 "--build-id is for autofdo and bolt of a session or a fleet"
	run assay export -i "$FIXTURES/perf.data.branch-4.14" --format bolt comm:echo
	refused 2 "bolt takes no filters"
}

# A pipe with one sample that has a branch stack: the event's BRANCH_SAMPLE_TYPE, then mapping and sample.
recording_with_branches() { # BRANCH_SAMPLE_TYPE
	printf PERFILE2
	le 16 8
	# cpu-clock, every 1000000 ns: IP, TID, TIME and BRANCH_STACK
	le 64 4; le 0 2; le 96 2
	le 1 4; le 80 4; le 0 8; le 1000000 8; le 2055 8; le 0 8; le 0 8; le 0 8; le 0 8; le 0 8; le "$1" 8; le 7 8
	le 1 4; le 2 2; le 56 2
	le 41 4; le 41 4; le 4096 8; le 8192 8; le 0 8; printf '/bin/app\0\0\0\0\0\0\0\0'
	le 9 4; le 2 2; le 88 2
	le 4112 8; le 41 4; le 41 4; le 1000 8
	le 2 8
	le 4176 8; le 4112 8; le 0 8
	le 4128 8; le 4160 8; le 0 8
}

@test "branch records that are call stacks are refused, with the reason" {
	recording_with_branches 1 >branches.data
	assay export -q -i branches.data -F autofdo -o x.afdo
	diff x.afdo - <<-'END'
	1
	40-50:1
	1
	10:1
	2
	20->40:1
	50->10:1
	END
	recording_with_branches $((1 | 1 << 11)) >stacks.data
	for format in autofdo bolt; do
		run assay export -i stacks.data -F $format -o y
		refused 1 "the branch records of this recording are call stacks" "without '--call-graph lbr'"
		[ ! -e y ]
	done
}

@test "llvm: llvm-profdata and clang read it, line by line as the report has them" {
	command -v llvm-profdata >/dev/null || skip "llvm-profdata (llvm) is not installed"
	cat >hot.c <<-'END'
		static inline unsigned long
		step(unsigned long x)
		{
			if (x & 1)
				return x * 3 + 1;
			return x / 2;
		}

		__attribute__((noinline)) unsigned long
		walk(unsigned long n)
		{
			unsigned long sum = 0;

			for (unsigned long i = 1; i < n; i++)
				for (unsigned long x = i; x != 1; x = step(x)) sum += x ^ i;
			return sum;
		}

		int main(void)
		{
			return walk(1000000) == 1;
		}
	END
	need_recording
	"$(command -v clang || command -v gcc)" -O2 -g hot.c -o hot
	assay record -q -e cpu-clock -o s.assay -- ./hot
	assay export -q -i s.assay -o hot.prof image:hot
	run assay export -i s.assay -F llvm -o /dev/full image:hot
	refused 1 "cannot write '/dev/full': No space left"
	llvm-profdata show --sample hot.prof >shown
	has '^Function: walk: ' shown
	# what LLVM writes of it is the same
	llvm-profdata merge --sample --text hot.prof -o again.prof
	diff <(sort hot.prof) <(sort again.prof)
	# all samples in walk, and each of its lines: it is declared in line 10
	assay report -i s.assay --lines --format json image:hot symbol:walk >walk.json
	written=$(sed -n 's/^walk:\([0-9]*\):.*/\1/p' hot.prof)
	reported=$(jq '[.rows[].samples] | add' walk.json)
	# The compiler gives some instructions no line. A sample there may have no place in the profile.
	without_line=$(jq '[.rows[] | select(.line | test(":[1-9][0-9]*$") | not) | .samples] | add // 0' walk.json)
	[ "$written" -le "$reported" ] && [ "$written" -ge $((reported - without_line)) ]
	awk -F'[ :]+' '/^[^ ]/ { inside = /^walk:/ } inside && /^ [0-9.]+: [0-9]+$/ { sub(/\..*/, "", $2); n[$2 + 10] += $3 }
		END { for (line in n) print line, n[line] }' hot.prof | sort >ours
	[ -s ours ]
	# Lines of the report are those of inlined code, too, which are above walk's. Inlined code to which the compiler
	# gives no line is the line's that it is inlined at, which is line 15.
	jq -r '.rows[] | select(.samples > 0) | "\(.line | sub(".*:"; "")) \(.samples)"' walk.json |
		awk '{ line = $1 ~ /^[0-9]+$/ ? $1 : 15 } line >= 10 { n[line] += $2 } END { for (l in n) print l, n[l] }' | sort >reported
	[ "$without_line" = 0 ] || sed -i '/^15 /d' ours reported
	diff ours reported
	if command -v clang >/dev/null; then
		clang -O2 -g -fprofile-sample-use=hot.prof -Werror hot.c -o again
	fi
}

@test "llvm: one event, and lines, or it is refused" {
	need_recording
	printf 'int main(void) { for (volatile long i = 0; i < 100000000; i++) ; return 0; }\n' >bare.c
	gcc -O1 bare.c -o bare
	assay record -q -e cpu-clock -o s.assay -- ./bare
	# _start, where a sample may be, has debug information of the C library.
	run assay export -i s.assay -o x.prof image:bare symbol:main
	refused 1 "no sample is in code with debug information; compile with -g"
	[ ! -e x.prof ]
	assay record -q -e cpu-clock -e task-clock -o t.assay -- ./bare
	run assay export -i t.assay -o x.prof
	refused 1 "llvm holds one event; choose it with event:NAME"
}
