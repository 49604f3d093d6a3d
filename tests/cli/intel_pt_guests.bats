#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Intel PT of virtual machines: one trace has the code of the host and of its guests.
load helpers
load pt

HOST=0xffffffff81000000 # where the host's kernel is

# guest_of OPTIONS PROGRAM [ARG…]: ./trace.data and ./truth of a guest that runs the program, with the host's
# kernel between its system calls.
guest_of() {
	local options=$1
	shift
	need_qemu_plugin
	within qemu-x86_64 -plugin "$PT/libpt_qemu.so,out=trace.data,truth=truth,host=$HOST,$options" "$@" >out 2>err </dev/null
	[ "$(wc -l <truth)" -gt 1000 ]
}

host_script() {
	assay script -i trace.data --vmlinux "$PROGRAMS/host_kernel" "$@"
}

@test "a guest's code is not taken from the host: what is missing counts, and the host is decoded" {
	# The guest's kernel has the addresses of the host's.
	guest_of mtc=on,psb=2048,shift=0xffffffff80c00000 "$PROGRAMS/flow" recursion
	grep -q "=> ffffffff8100" truth
	host_script --itrace=be -F tid,ip,addr >out 2>err
	# Each entry into the guest, and each exit; nothing of the guest is shown but where it was entered.
	awk '$2 ~ /^ffffffff810000[01]0$/ && ($4 == 0 || $4 == "ffffffff81000000") { print $1, $2, $3, $4 }' truth >want
	awk '$2 ~ /^ffffffff810000[01]0$/ && ($4 == 0 || $4 == "ffffffff81000000") { print $1, $2, $3, $4 }' out >ours
	equal_files want ours
	[ "$(grep -c error out)" -ge "$(grep -c '^[0-9]* ffffffff81000000 => 0' truth)" ]
	awk '/=>/ && $2 != 0 && $2 !~ /^ffffffff810000[01]0$/' out >invented
	[ ! -s invented ]
	grep -q "$(grep -c error out) errors in the code of guests' kernels" err
}

# The branches that the generator took, with these options.
is_as_told() {
	host_script --itrace=be -F tid,ip,addr "$@" 2>err | decoded | by_thread >ours
	equal_files want ours
}

@test "code that a guest has of the process that runs it: its branches are those that were taken, and perf's" {
	local how
	for how in recursion longjmp indirect; do
		guest_of mtc=on,psb=1500 "$PROGRAMS/flow" $how
		by_thread <truth >want
		is_as_told --guest-code
		# In parts, as threads decode it.
		ASSAY_PT_PARTS=1000 is_as_told --guest-code
		# Host and guest are in one report, with their names.
		assay report -i trace.data --vmlinux "$PROGRAMS/host_kernel" --guest-code --itrace=i1i --by image >listed
		grep -q ' flow$' listed
		grep -q '\[kernel' listed
	done
	command -v perf >/dev/null || skip "perf is not installed"
	perf script -h 2>&1 | grep -q -e --guest-code || skip "this perf knows no --guest-code"
	within assay script -i trace.data --vmlinux "$PROGRAMS/host_kernel" --guest-code --itrace=be -F tid,ip,addr,flags | without_blanks >ours
	within perf script -i trace.data --vmlinux "$PROGRAMS/host_kernel" --guest-code --itrace=be -F tid,ip,addr,flags 2>perf.err |
		without_blanks | sed 's/ bcyh / vmexit /' >theirs # it has the word, but for other flags
	[ "$(grep -c vmexit ours)" -gt 3 ]
	equal_files theirs ours
}

@test "the code of a guest's kernel comes from its kcore, from --guestvmlinux, or from below --guestmount" {
	guest_of "mtc=on,psb=1500,shift=0xffffffff80c00000,kernel=$PROGRAMS/flow" "$PROGRAMS/flow" indirect
	by_thread <truth >want
	local pid symbols=trace.data.guest/kcore_dir/kallsyms
	pid=$(awk 'NR == 1 { print $1 }' truth)
	is_as_told --guestkallsyms $symbols
	# The vmlinux is linked to other addresses: kallsyms has those of the guest.
	cp $symbols copied
	is_as_told --guestkallsyms copied --guestvmlinux trace.data.vmlinux
	mkdir -p guests/"$pid"/{proc,boot}
	cp $symbols guests/"$pid"/proc
	echo 'Linux version 6.1.0-test (somebody)' >guests/"$pid"/proc/version
	cp trace.data.vmlinux guests/"$pid"/boot/vmlinux-6.1.0-test
	is_as_told --guestmount guests
	host_script --itrace=b -F ip,sym --guestmount guests >names
	grep -q __libc_start_main names
	assay report -i trace.data --vmlinux "$PROGRAMS/host_kernel" --guestmount guests --itrace=i1i --by image >listed
	grep -q '\[guest.kernel' listed
}

# guest_with_module PID: ./guests of a guest whose kernel has the functions of flow.c as the module "flow", which its
# vmlinux lacks. Its file is ./flow.ko.
guest_with_module() {
	local object functions start size
	object=$(echo "$ASSAY_BUILD"/tests/programs/flow.p/*flow.c.o)
	# The linker has moved the functions, and the generator has moved them again.
	functions=$(nm "$object" | awk '/ [tT] recursion$/ { print $1 }')
	start=$(awk '$3 == "recursion" { print $1 }' trace.data.guest/kcore_dir/kallsyms)
	start=$((0x$start - 0x$functions))
	size=$((0x$(objdump -h "$object" | awk '$2 == ".text" { print $3 }')))
	mkdir -p guests/"$1"/{proc,boot}
	printf 'flow %d 0 - Live 0x%x\n' "$size" "$start" >guests/"$1"/proc/modules
	awk -v from="$(printf %x "$start")" -v to="$(printf %x $((start + size)))" \
		'{ print $0 ($1 >= from && $1 < to ? "\t[flow]" : "") }' trace.data.guest/kcore_dir/kallsyms >guests/"$1"/proc/kallsyms
	[ "$(grep -c flow guests/"$1"/proc/kallsyms)" -gt 10 ]
	echo 'Linux version 6.1.0-test (somebody)' >guests/"$1"/proc/version
	cp trace.data.vmlinux guests/"$1"/boot/vmlinux-6.1.0-test
	cp "$object" flow.ko
}

@test "the code of a guest's module comes from its file, below --guestmount or in --image-path" {
	command -v objdump >/dev/null || skip "no objdump"
	guest_of "mtc=on,psb=1500,shift=0xffffffff80c00000,kernel=$PROGRAMS/flow" "$PROGRAMS/flow" indirect
	by_thread <truth >want
	local pid folder suffix
	pid=$(awk 'NR == 1 { print $1 }' truth)
	guest_with_module "$pid"
	# Without the file, nothing is invented. The vmlinux has no modules.
	host_script --guestmount guests --itrace=be -F tid,ip,addr >out 2>err
	grep -q "the code of the module flow of the guest that process $pid runs is not decoded: its file was not found" err
	[ "$(grep -c error out)" -gt 0 ]
	awk '/=>/ && $2 != 0 && $4 != 0 { print $1, $2, $3, $4 }' out | sort -u >ours
	[ -s ours ]
	[ -z "$(comm -23 ours <(sort -u want))" ]
	# The file is known by its name.
	mkdir files
	cp flow.ko files
	is_as_told --guestmount guests --image-path files
	grep -q "module flow of the guest that process $pid runs comes from its file" err
	ASSAY_PT_PARTS=1000 is_as_told --guestmount guests --image-path files
	is_as_told --guestkallsyms guests/"$pid"/proc/kallsyms --guestmodules guests/"$pid"/proc/modules --guestvmlinux trace.data.vmlinux --image-path files
	# Or the guest's modules.dep has it.
	folder=guests/$pid/lib/modules/6.1.0-test
	mkdir -p "$folder"/kernel
	for suffix in '' .xz .zst; do
		case $suffix in .xz) command -v xz || continue ;; .zst) command -v zstd || continue ;; esac
		case $suffix in '') cat flow.ko ;; .xz) xz -c flow.ko ;; .zst) zstd -q -c flow.ko ;; esac >"$folder/kernel/flow.ko$suffix"
		echo "kernel/flow.ko$suffix:" >"$folder"/modules.dep
		is_as_told --guestmount guests
		rm "$folder/kernel/flow.ko$suffix"
	done
	# If the guest's own file is of another build, the user's is taken.
	folder=guests/$pid/lib/modules/6.1.0-test
	"${OBJCOPY:-objcopy}" --strip-symbol deep --redefine-sym recursion=indirect --redefine-sym indirect=recursion flow.ko "$folder"/kernel/flow.ko
	echo "kernel/flow.ko:" >"$folder"/modules.dep
	host_script --guestmount guests --itrace=be >out 2>err
	grep -q "is not decoded: its file is of another build" err
	is_as_told --guestmount guests --image-path files
	rm "$folder"/kernel/flow.ko
	# A folder may have a name that is a pattern.
	mkdir 'gu[e]sts'
	cp -r guests/. 'gu[e]sts'
	cp flow.ko "gu[e]sts/$pid/lib/modules/6.1.0-test/kernel"
	is_as_told --guestmount 'gu[e]sts'
	# A module has a row of its own, with the names of its functions.
	cp flow.ko "$folder"/kernel
	echo "kernel/flow.ko:" >"$folder"/modules.dep
	assay report -i trace.data --vmlinux "$PROGRAMS/host_kernel" --guestmount guests --itrace=i1i -t 0 --by image,symbol >listed
	awk '/\[/ { image = $0; sub(/^[^[]*/, "", image) } $NF == "indirect" { print image }' listed >row
	[ "$(cat row)" = "[guest.module $pid flow]" ]
	grep -q "\[guest.kernel $pid\]" listed
	# A session keeps the row.
	assay import trace.data --vmlinux "$PROGRAMS/host_kernel" --guestmount guests -o session --itrace=i1i
	assay report -i session -t 0 --by image --guestmount guests | grep -q "\[guest.module $pid flow\]"
}

@test "a guest's module: files of another build, and hostile ones, are refused with a note" {
	command -v objdump >/dev/null || skip "no objdump"
	guest_of "mtc=on,psb=1500,shift=0xffffffff80c00000,kernel=$PROGRAMS/flow" "$PROGRAMS/flow" recursion
	local pid folder
	pid=$(awk 'NR == 1 { print $1 }' truth)
	guest_with_module "$pid"
	folder=guests/$pid/lib/modules/6.1.0-test
	mkdir -p "$folder"/kernel files
	# Functions are at other places in the guest's list.
	cp flow.ko files
	cp guests/"$pid"/proc/kallsyms right
	awk '/ deep\t/ { sub(/.$/, "0", $1); $1 = substr($1, 1, length($1) - 2) ($1 ~ /f0$/ ? "e0" : "f0"); print $1, $2, $3 "\t" $4; next } { print }' right >guests/"$pid"/proc/kallsyms
	host_script --guestmount guests --image-path files --itrace=be >out 2>err
	grep -q "is not decoded: its file is of another build" err
	# No function of the list is in the file.
	sed 's/ \([a-z_]*\)\t\[flow\]/ x_\1\t[flow]/' right >guests/"$pid"/proc/kallsyms
	host_script --guestmount guests --image-path files --itrace=be >out 2>err
	grep -q "is not decoded: nothing tells whether its file is of the same build" err
	# A FIFO as the list of symbols: assay does not wait for a writer.
	rm guests/"$pid"/proc/kallsyms
	mkfifo guests/"$pid"/proc/kallsyms
	host_script --guestmount guests --image-path files --itrace=be >out 2>err
	grep -q "the kernel's code of the guest that process $pid runs is missing" err
	rm guests/"$pid"/proc/kallsyms
	cp right guests/"$pid"/proc/kallsyms
	# A FIFO, and a link that leads out of the guest's folder.
	mkfifo "$folder"/modules.dep
	host_script --guestmount guests --itrace=be >out 2>err
	grep -q "is not decoded: its file was not found" err
	rm "$folder"/modules.dep
	echo kernel/flow.ko: >"$folder"/modules.dep
	ln -s "$PWD/flow.ko" "$folder"/kernel/flow.ko
	host_script --guestmount guests --itrace=be >out 2>err
	grep -q "is not decoded: its file was not found" err
	rm "$folder"/kernel/flow.ko
	# A cut file.
	head -c 700 flow.ko >"$folder"/kernel/flow.ko
	host_script --guestmount guests --itrace=be >out 2>err
	grep -q "is not decoded: its file was not found" err
}

@test "the mapping of a guest's kernel in a recording of perf kvm places --guestvmlinux" {
	guest_of "mtc=on,psb=1500,kvm=on,shift=0xffffffff80c00000,kernel=$PROGRAMS/flow" "$PROGRAMS/flow" indirect
	by_thread <truth >want
	is_as_told --guestvmlinux trace.data.vmlinux
}

@test "a guest's files that are of no use: the code is missing, with a note that says so" {
	guest_of "mtc=on,psb=1500,shift=0xffffffff80c00000,kernel=$PROGRAMS/flow" "$PROGRAMS/flow" indirect
	cp trace.data.guest/kcore_dir/kallsyms copied
	# A vmlinux alone does not tell where the guest has it.
	head -c 3000 trace.data.vmlinux >cut.vmlinux
	mkdir with
	head -c 3000 trace.data.guest/kcore_dir/kcore >with/kcore
	cp copied with/kallsyms
	local files pid
	# A FIFO in a guest's folder: assay does not wait for a writer.
	pid=$(awk 'NR == 1 { print $1 }' truth)
	mkdir -p version/"$pid"/proc symbols/"$pid"/proc
	cp copied version/"$pid"/proc/kallsyms
	mkfifo version/"$pid"/proc/version symbols/"$pid"/proc/{kallsyms,version}
	for files in "--guestmount version" "--guestmount symbols" "--guestkallsyms copied" "--guestkallsyms copied --guestvmlinux cut.vmlinux" "--guestvmlinux trace.data.vmlinux" "--guestkallsyms with/kallsyms"; do
		# shellcheck disable=SC2086
		host_script $files --itrace=be -F tid,ip,addr >out 2>err
		# The cut kcore opens, and has no code.
		[[ $files == *with* ]] || grep -q "the kernel's code of the guest that process [0-9]* runs is missing" err
		grep -q "errors in the code of guests' kernels" err
		awk '/=>/ && $2 != 0 && $2 !~ /^ffffffff810000[01]0$/' out >invented
		[ ! -s invented ]
	done
	run host_script --guestvmlinux absent --itrace=be
	refused 1 "--guestvmlinux: absent: No such file or directory"
}

@test "an export to SQLite has the guest as a machine, and its exits; calls of guest and host are apart" {
	command -v sqlite3 >/dev/null || skip "no sqlite3"
	guest_of mtc=on,psb=1500 "$PROGRAMS/flow" recursion
	assay export -i trace.data --vmlinux "$PROGRAMS/host_kernel" --guest-code -o x.perf.sqlite
	local pid exits
	pid=$(awk 'NR == 1 { print $1 }' truth)
	exits=$(host_script --guest-code --itrace=b -F flags,ip | grep -c vmexit)
	[ "$exits" -gt 10 ]
	[ "$(sqlite3 x.perf.sqlite "SELECT COUNT(*) FROM samples_view WHERE branch_type_name = 'vm exit'")" = "$exits" ]
	[ "$(sqlite3 x.perf.sqlite "SELECT COUNT(*) FROM samples WHERE branch_type = 4099")" = "$exits" ] # perf's number of it
	[ "$(sqlite3 x.perf.sqlite "SELECT COUNT(DISTINCT machine_id) FROM samples WHERE id > 0")" = 2 ]
	[ "$(sqlite3 x.perf.sqlite "SELECT COUNT(*) FROM machines WHERE pid = $pid")" = 1 ]
	# A call of the host is no caller of the guest's.
	[ "$(sqlite3 x.perf.sqlite "SELECT COUNT(*) FROM calls_view WHERE symbol = 'main'")" -gt 0 ]
	[ "$(sqlite3 x.perf.sqlite "SELECT COUNT(*) FROM calls_view c JOIN calls_view p ON p.call_path_id = c.parent_call_path_id
		WHERE c.symbol = 'main' AND p.symbol IN ('enter_guest', 'leave_guest')")" = 0 ]
}

@test "a guest's own side band tells its processes: code, names and numbers are those of the guest, as perf has them" {
	local how
	for how in recursion indirect; do
		# Of the guest's side band, process 3405 was there before, with other code at the same addresses.
		guest_of mtc=on,psb=1500,guest=3404 "$PROGRAMS/flow" $how
		sed 's/^[0-9]* //' truth >want
		host_script --itrace=be -F ip,addr 2>err | decoded | awk '{ print $1, $2, $3 }' >ours
		equal_files want ours
		ASSAY_PT_PARTS=1000 host_script --itrace=be -F ip,addr 2>err | decoded | awk '{ print $1, $2, $3 }' | cmp - want
		# The host's thread enters the guest, and the guest's runs there.
		host_script --itrace=b -F machine_pid,vcpu,comm,pid,tid,ip | awk '$NF ~ /^ffffffff8/ { print $1 }' | sort -u >names
		[ "$(cat names)" = qemu ]
		host_script --itrace=b -F machine_pid,vcpu,comm,pid,tid,ip,sym |
			grep -q "^VM: *$(awk 'NR == 1 { print $1 }' truth) VCPU:003  *program  *3404/3404 .* main"
	done
	assay report -i trace.data --vmlinux "$PROGRAMS/host_kernel" --itrace=i1i --by pid,image >listed
	grep -q 'program (3404)' listed
	grep -q ' flow$' listed
	grep -q 'qemu (' listed
	if command -v sqlite3 >/dev/null; then
		assay export -i trace.data --vmlinux "$PROGRAMS/host_kernel" -o x.perf.sqlite
		sqlite3 -separator ' ' x.perf.sqlite "SELECT m.pid, pid_out, comm_out, pid_in, comm_in, flags
			FROM context_switches_view c JOIN machines m ON m.id = c.machine_id ORDER BY time" >switches
		sed "s/^/$(awk 'NR == 1 { print $1 }' truth) /" <<-'END' | diff switches -
			-1 unknown 3405 other in
			3405 other -1 unknown out
			-1 unknown 3404 program in
		END
	fi
	# The guest's processes are none of this machine's.
	assay script -i trace.data --show-task-events --show-switch-events --no-itrace >events
	grep -q 'COMM exec: program:3404/3404' events
	[ "$(grep -c -E '[ :/]-[0-9]{3}' events)" = 0 ]
	command -v perf >/dev/null || skip "perf is not installed"
	perf script -h 2>&1 | grep -q -e --guest-code || skip "this perf knows no side band of guests"
	local fields=machine_pid,vcpu,comm,pid,tid,ip,addr,flags,dso
	host_script --itrace=be -F $fields 2>err | without_blanks >ours
	within perf script -i trace.data --vmlinux "$PROGRAMS/host_kernel" --itrace=be -F $fields 2>perf.err |
		without_blanks | sed 's/ bcyh / vmexit /' >theirs
	equal_files theirs ours
}

# Those that the branches in the guest are of.
threads_of_guest() {
	host_script --itrace=b -F machine_pid,vcpu,comm,pid,tid,event,ip "$@" 2>err |
		awk '/branches/ && $NF !~ /^(ffffffff8|0$)/ { sub(/ *branches.*/, ""); sub(/VM: */, "VM:"); $1 = $1; print }' | sort -u
}

@test "a guest's sched_switch tells the guest's threads" {
	local pid
	guest_of mtc=on,psb=1500,guest=3404,tracepoint=on "$PROGRAMS/flow" recursion
	pid=$(awk 'NR == 1 { print $1 }' truth)
	sed 's/^[0-9]* //' truth >want
	# Before the switch, another process had other code at the same addresses.
	host_script --itrace=be -F ip,addr 2>err | decoded | awk '{ print $1, $2, $3 }' >ours
	equal_files want ours
	ASSAY_PT_PARTS=1000 host_script --itrace=be -F ip,addr 2>err | decoded | awk '{ print $1, $2, $3 }' | cmp - want
	# The tracepoint has the thread, and the side band has its process.
	threads_of_guest >names
	[ "$(cat names)" = "VM:$pid VCPU:003 worker 3404/3414" ]
	# In this guest, the tracepoint's number is another event: no field names the sampled thread.
	command -v python3 >/dev/null || skip "no python3"
	python3 - <<'PY'
import re
data = open('trace.data', 'rb').read()
data, n = re.subn(rb'(before\0{10}).{4}', lambda m: m[1] + bytes([1, 0, 0, 0]), data, flags=re.S)
assert n == 2
open('trace.data', 'wb').write(data)
PY
	threads_of_guest --guest-code >names
	[ "$(grep -c -e worker -e other names)" = 0 ]
}

# has_truth_of_samples OPTION…: the chains and the last 16 branches of the samples are those of ./samples.
has_truth_of_samples() {
	[ "$(grep -c ' host ' samples)" -gt "$1" ]
	[ "$(awk '$2 == "guest" && NF > 5' samples | wc -l)" -gt "$1" ]
	shift
	cut -d' ' -f3- samples >want
	host_script --itrace=G1024e --format json "$@" 2>err | awk '/"frames"/ {
		line = ""
		while (match($0, /"address":"0x[0-9a-f]+"/)) {
			line = line " " substr($0, RSTART + 13, RLENGTH - 14)
			$0 = substr($0, RSTART + RLENGTH)
		}
		print substr(line, 2)
	}' >ours
	equal_files want ours
	# Branches of the host and of the guest are apart.
	awk 'NR == FNR {
			side = $2 ~ /^ffffffff810000[01]0$/ || $4 ~ /^ffffffff810000[01]0$/ ? "host" : "guest"
			branch[side, ++n[side]] = " 0x" $2 "/0x" $4
			until[NR, "host"] = n["host"]
			until[NR, "guest"] = n["guest"]
			next
		}
		{
			line = $3
			for (i = until[$1, $2]; i > 0 && i > until[$1, $2] - 16; i--)
				line = line branch[$2, i]
			print line
		}' truth samples >want
	host_script --itrace=L16e -F ip,brstack "$@" 2>err | awk '{
		line = $1
		for (i = 2; i <= NF; i++) {
			split($i, end, "/")
			line = line " " end[1] "/" end[2]
		}
		print line
	}' >ours
	equal_files want ours
}

@test "samples in a guest have its call chains and branches, and those in its host have the host's" {
	# The host samples its guest, whose code is known by the process.
	guest_of mtc=on,psb=1500,samples=samples "$(command -v dd)" if=/dev/zero of=/dev/null bs=1 count=60
	has_truth_of_samples 20 --guest-code
	ASSAY_PT_PARTS=1000 has_truth_of_samples 20 --guest-code
	# Both sample, and the guest tells its processes.
	guest_of mtc=on,psb=1500,samples=samples,guest=3404 "$(command -v dd)" if=/dev/zero of=/dev/null bs=1 count=60
	has_truth_of_samples 20
	host_script --itrace=Ge -F machine_pid,pid,ip --no-itrace | grep -q 'VM:.* 3404'
	# The host samples the guest's kernel.
	guest_of "mtc=on,psb=1500,samples=samples,shift=0xffffffff80c00000,kernel=$PROGRAMS/flow" "$PROGRAMS/flow" recursion
	has_truth_of_samples 0 --guestkallsyms trace.data.guest/kcore_dir/kallsyms
}

@test "without times, a guest's side band has its programs, too" {
	guest_of psb=1500,guest=3404 "$PROGRAMS/flow" recursion
	sed 's/^[0-9]* //' truth >want
	host_script --itrace=be -F ip,addr 2>err | decoded | awk '{ print $1, $2, $3 }' >ours
	equal_files want ours
	ASSAY_PT_PARTS=1000 host_script --itrace=be -F ip,addr 2>err | decoded | awk '{ print $1, $2, $3 }' | cmp - want
	host_script --itrace=b -F machine_pid,vcpu,comm,pid,tid,ip,sym |
		grep -q "^VM: *$(awk 'NR == 1 { print $1 }' truth) VCPU:003  *program  *3404/3404 .* main"
}

@test "--guestmount has the programs of a guest, also where this machine has another file at the path" {
	cp "$PROGRAMS/flow" program
	guest_of mtc=on,psb=1500,guest=3404 "$PWD/program" recursion
	sed 's/^[0-9]* //' truth >want
	local pid
	pid=$(awk 'NR == 1 { print $1 }' truth)
	mkdir -p "guests/$pid$PWD"
	mv program "guests/$pid$PWD"
	# Nothing tells that this is not the program.
	cp "$PROGRAMS/quarters" program
	host_script --itrace=be -F ip,addr --guestmount guests 2>err | decoded | awk '{ print $1, $2, $3 }' >ours
	equal_files want ours
	host_script --itrace=b -F ip,sym --guestmount guests | grep -q __libc_start_main
	assay report -i trace.data --vmlinux "$PROGRAMS/host_kernel" --guestmount guests --itrace=i1i --by image >listed
	grep -q ' program$' listed
	# Without the folder of that guest, the code is missing. The other file is not taken.
	mv "guests/$pid" guests/1
	host_script --itrace=be -F ip,addr --guestmount guests >out 2>err
	grep -q "program can't be read" err
	awk '/=>/ && $1 != 0 && $1 !~ /^ffffffff/' out >invented
	[ ! -s invented ]
}

# A TSC of each PSB+ of a guest has another time: ./right.data becomes ./trace.data.
#   early   days before the host's     ahead   days behind it     boot   before the recording has begun
shift_guest() {
	mv trace.data made.data
	python3 - "$1" made.data right.data trace.data <<'PY'
import re, sys
right = bytearray(open(sys.argv[2], 'rb').read())
data, n = right[:], 0
for psb in re.finditer(re.escape(bytes([2, 0x82]) * 8), bytes(right)):
    head = right[psb.end():right.index(bytes([2, 0x23]), psb.end())]
    tsc = psb.end() + re.search(rb'\x19.{7}\x02\x73', bytes(head), re.S).start() # a TMA follows
    right[tsc + 6] = data[tsc + 6] = 1
    if head[:2] == bytes([2, 0x43]) and head[2] & 1:
        data[tsc + 6] = 2 if sys.argv[1] == "ahead" else 0
        if sys.argv[1] == "boot":
            data[tsc + 1:tsc + 6] = bytes([1, 0, 0, 0, 0])
        n += 1
if not n:
    sys.exit("no PSB is of the guest")
open(sys.argv[3], 'wb').write(right)
open(sys.argv[4], 'wb').write(data)
PY
}

@test "a guest whose TSC has an offset does not damage the times of its host" {
	command -v python3 >/dev/null || skip "no python3"
	local offset cyc
	for cyc in "" ,cyc=on; do
		for offset in early ahead boot; do
			# Many system calls: the host and the guest have PSBs in turn.
			guest_of "mtc=on$cyc,psb=500" "$(command -v dd)" if=/dev/zero of=/dev/null bs=1 count=300
			by_thread <truth >want
			shift_guest $offset
			is_as_told --guest-code
			run ! grep "not verified" err
			ASSAY_PT_PARTS=700 is_as_told --guest-code
			# Where the host has a PSB, the time is the host's own.
			host_script --guest-code --itrace=b -F time --ns | tr -d ' :' >late
			sort -s -n -c late
			ASSAY_PT_PARTS=700 host_script --guest-code --itrace=b -F time --ns | tr -d ' :' | cmp late -
			assay script -i right.data --vmlinux "$PROGRAMS/host_kernel" --guest-code --itrace=b -F time --ns | tr -d ' :' >right
			comm -12 <(sort -u late) <(sort -u right) >equal
			[ "$(wc -l <equal)" -gt 30 ]
			# The first PSB is the host's, and the next one is no reason to doubt its time.
			[ "$(head -n 1 late)" = "$(head -n 1 right)" ]
		done
	done
}

@test "without PIP packets, an earlier TSC of a guest does not move the times of its host" {
	command -v python3 >/dev/null || skip "no python3"
	guest_of mtc=on,psb=100 "$(command -v dd)" if=/dev/zero of=/dev/null bs=1 count=300
	shift_guest early
	# A PIP is 0x02 0x43 and six bytes. Zeros are PADs.
	python3 - right.data trace.data <<'PY'
import re, sys
for path in sys.argv[1:]:
    data = open(path, 'rb').read()
    without, n = re.subn(rb'(?<=(?:\x02\x82){8})\x02\x43.{6}', bytes(8), data, flags=re.S)
    begin = data.index(bytes([2, 0x82]) * 8)
    without, m = re.subn(rb'\x02\x43.{5}\0', bytes(8), without[begin:], flags=re.S)
    if not n + m:
        sys.exit("no PIP")
    open(path, 'wb').write(data[:begin] + without)
PY
	host_script --itrace=b -F time,ip,addr --ns 2>said | tr -d ':' >late
	assay script -i right.data --vmlinux "$PROGRAMS/host_kernel" --itrace=b -F time,ip,addr --ns | tr -d ':' >right
	diff <(awk '{ print $2, $4 }' right) <(awk '{ print $2, $4 }' late)
	sort -s -n -c late
	# Behind a PSB of the guest, time stands still up to one of the host. None is in the future.
	paste -d ' ' right late | awk '$5 > $1' >future
	[ ! -s future ]
	# Only behind the last PSB of the host may the clock seem to go back for good.
	[ "$(grep -c 'goes back in the trace' said)" = "$(grep -c 'goes back in the trace (1 times)' said)" ]
}

@test "with CYC packets, parts of a guest's trace are decoded as one decoder does it" {
	local how bytes
	for how in recursion longjmp indirect; do
		guest_of mtc=on,cyc=on,psb=300 "$PROGRAMS/flow" $how
		by_thread <truth >want
		is_as_told --guest-code
		host_script --guest-code --itrace=b -F tid,time,ip,addr --ns >one
		for bytes in 300 700 3000; do
			ASSAY_PT_PARTS=$bytes host_script --guest-code --itrace=b -F tid,time,ip,addr --ns >many
			equal_files one many
		done
	done
}
