#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Kinds of recordings that this machine can't make: odd_recordings.py writes them. The numbers are perf's:
# 7.2, and 6.1 where it knows the kind.

load helpers

recording() {
	python3 "$BATS_TEST_DIRNAME/odd_recordings.py" "$1" "$1.data"
}

# A newer perf knows the newest kinds. It is in the PATH as perf-7.2 (docs/testing.md).
newest_perf() {
	compgen -c | grep -xE 'perf-[7-9]\.[0-9.]*' | sort -u | tail -n 1
}

same_as_newest_perf() {
	local perf
	perf=$(newest_perf)
	[ -z "$perf" ] || PERF=$perf ASSAY=$ASSAY_BUILD/assay python3 "$ROOT/tests/compare_perf.py" "$@"
}

same_as_perf() {
	same_as_newest_perf "$@"
	! command -v perf >/dev/null || ASSAY=$ASSAY_BUILD/assay python3 "$ROOT/tests/compare_perf.py" "$@"
}

rows() { # FILE KEYS [FILTER…]
	local file=$1 keys=$2
	shift 2
	assay report -i "$file" -l -t 0 --by "$keys" --format json "$@" |
		jq -r --arg keys "$keys" '.rows[] | select(.samples > 0) | . as $row | "\(.samples) \(.events) \($keys | split(",") | map($row[.]) | join(" "))"' | sort
}

# Waits of perf record --off-cpu: the process, thread, time and stack that waited.
waits_are_right() {
	diff <(rows "$1" comm,image event:offcpu-time) - <<-'END'
		1 600000000 waiter /bin/waiter
		3 2400000000 app /lib/libwait.so
	END
	assay report -i "$1" event:offcpu-time --no-pager >report.out
	has '^2\.40 s  80\.00        3  app$' report.out
	assay script -i "$1" --format json | jq -c 'select(.event == "offcpu-time") | [.comm, .pid, .tid, .period, (.frames | length), .mode]' | diff - <(printf '%s\n' \
		'["app",41,41,700000000,2,"user"]' '["app",41,45,900000000,3,"user"]' '["waiter",42,42,600000000,1,"user"]' '["app",41,41,800000000,2,"user"]')
}

@test "waits of perf record --off-cpu are those of the raw data" {
	recording off-cpu
	waits_are_right off-cpu.data
	same_as_newest_perf off-cpu.data
	# A wait whose stack is longer than the sample is a bad record.
	recording bad-off-cpu
	assay report -i bad-off-cpu.data --no-pager >out
	has '^samples *5$' out
	has '^note *1: records that did not parse$' out
}

@test "waits of perf record --off-cpu before 6.17 are samples as others" {
	recording old-off-cpu
	waits_are_right old-off-cpu.data
	same_as_perf old-off-cpu.data
}

# Samples by perf's letter of their mode: guest_rows [WORDS BEFORE report…]
guest_rows() {
	"$(newest_perf)" "$@" report -i "$PWD/guest.data" --stdio -n --sort sym -g none 2>/dev/null </dev/null |
		awk '/^ +[0-9.]+%/ { n[$3] += $2 } END { for (mode in n) print n[mode], mode }' | sort
}

# perf report has the host's samples alone, and perf kvm --guest report the guests'.
@test "samples of a guest are rows of its kernel and its programs" {
	recording guest
	diff <(rows guest.data image) - <<-'END'
		2 2000000 /bin/app
		2 2000000 [guest.user]
		2 2000000 [unknown]
		6 6000000 [guest.kernel 41]
	END
	assay report -i guest.data --no-pager | grep '^samples *12$'
	# A guest's kernel is a kernel. The host's has no mapping here.
	diff <(rows guest.data mode) - <<-'END'
		2 2000000 unknown
		2 2000000 user
		2 2000000 user
		6 6000000 kernel
	END
	# In text, the guest's kernel is none of this machine's, either.
	assay script -i guest.data >text
	diff <(rows guest.data image | grep guest) <(rows text image | grep guest)
	assay script -i guest.data --format json | jq -r .mode | sort | uniq -c | tr -s ' ' | diff - <(printf ' %s\n' '6 guest-kernel' '2 guest-user' '2 kernel' '2 user')
	if [ -n "$(newest_perf)" ]; then
		guest_rows | diff - <(printf '%s\n' '2 [.]' '2 [k]')
		guest_rows kvm --guest | diff - <(printf '%s\n' '2 [u]' '6 [g]')
	fi
	# written again, each has its mode
	assay inject -q -i guest.data -o again.data
	diff <(rows guest.data image) <(rows again.data image)
}

@test "user parts of deferred chains are those of perf" {
	recording deferred
	assay script -i deferred.data --format json | jq -c '[.comm, .mode, (.frames | length)]' | sort | diff - <(printf '%s\n' \
		'["app","kernel",5]' '["app","kernel",5]' '["app","user",2]' '["waiter","kernel",2]' '["waiter","kernel",4]')
	assay report -i deferred.data --no-pager >out
	has '^samples *5$' out
	has '^note *1: call chains cut' out
	assay script -i deferred.data -D | grep -c CALLCHAIN_DEFERRED | diff - <(echo 4)
	same_as_newest_perf deferred.data
}

@test "the user part of a guest's deferred chain is not that of the host's thread of the same number" {
	recording guest-deferred
	assay script -i guest-deferred.data --format json | jq -c '[.mode, [.frames[].address]]' >out
	diff out - <<-'END'
		["guest-kernel",["0xffffffff81000100","0x500100","0x500200","0x500300"]]
		["kernel",["0xffffffff81000100","0x400100","0x400210"]]
	END
}

@test "branches of the kernel have the names of the mapping of their time" {
	recording kernel-maps
	assay script -i kernel-maps.data -F comm,ip,sym,symoff,dso,addr >out
	[ "$(grep -o '(\[[a-z]*\])' out | uniq -c | tr -s ' ')" = "$(printf ' %s\n' '6 ([first])' '6 ([second])')" ]
	[ "$(awk '{ print $1 }' out | tr '\n' ' ')" = "app waiter app app waiter app " ]
}

guest_symbols() { # FUNCTION
	printf '%s\n' 'ffffffff81000000 T _text' 'ffffffff81000000 T _stext' "ffffffff81000080 T $1" 'ffffffff81000200 t guest_work' \
		'ffffffff81001000 T _etext' $'ffffffffc0000100 t net_poll\t[virtio_fake]'
}

@test "functions of guests have the names of --guestkallsyms, or of each guest below --guestmount" {
	recording guests
	guest_symbols guest_idle >kallsyms
	echo 'virtio_fake 16384 0 - Live 0xffffffffc0000000' >modules
	# without a file, the report says how to have names
	rows guests.data symbol | diff - <(printf '%s\n' '1 1000000 (no symbols)' '1 1000000 (no symbols)' '10 10000000 (no symbols)')
	assay why -i guests.data '[guest.kernel 41]' | grep -e '--guestkallsyms' >/dev/null
	diff <(rows guests.data symbol --guestkallsyms kallsyms --guestmodules modules) - <<-'END'
		1 1000000 (no symbols)
		1 1000000 (no symbols)
		1 1000000 guest_idle
		2 2000000 guest_work
		3 3000000 guest_idle
		4 4000000 net_poll
	END
	# Both lists may come through pipes.
	diff <(rows guests.data symbol --guestkallsyms kallsyms --guestmodules modules) \
		<(rows guests.data symbol --guestkallsyms <(cat kallsyms) --guestmodules <(cat modules))
	# perf has one guest, and no functions of its modules without their mappings
	if [ -n "$(newest_perf)" ]; then
		"$(newest_perf)" kvm --guest --guestkallsyms="$PWD/kallsyms" --guestmodules="$PWD/modules" report -i "$PWD/guests.data" --stdio -n --sort sym -g none 2>/dev/null </dev/null |
			awk '$4 ~ /^guest_/ { print $2, $4 }' | sort | diff - <(rows guests.data symbol 'symbol:guest_*' --guestkallsyms kallsyms | awk '{ n[$3] += $1 } END { for (name in n) print n[name], name }' | sort)
	fi
	mkdir -p guests/4{1,2}/proc
	guest_symbols first_idle >guests/41/proc/kallsyms
	guest_symbols second_idle >guests/42/proc/kallsyms
	rows guests.data symbol --guestmount guests 'symbol:*_idle' | diff - <(printf '%s\n' '1 1000000 second_idle' '3 3000000 first_idle')
	# a guest without a folder
	rm -r guests/42
	rows guests.data symbol --guestmount guests --guestkallsyms kallsyms 'symbol:*_idle' | diff - <(printf '%s\n' '1 1000000 guest_idle' '3 3000000 first_idle')
	# Files that are none
	run assay report -i guests.data --guestkallsyms absent
	refused 1 "--guestkallsyms: absent: No such file or directory"
	sed 's/^[0-9a-f]*/0000000000000000/' kallsyms >hidden
	assay why -i guests.data '[guest.kernel 41]' --guestkallsyms hidden | grep 'no addresses' >/dev/null
	# Messages have the name of a pipe as it was given.
	mkfifo pipe
	cat hidden >pipe &
	assay why -i guests.data '[guest.kernel 41]' --guestkallsyms pipe | grep "kernel: pipe has no addresses" >/dev/null
}

@test "bytes of a trace in samples (--aux-sample) change no count" {
	recording aux
	diff <(rows aux.data comm,image) - <<-'END'
		4 4000000 waiter /bin/waiter
		5 5000000 app /bin/app
	END
	same_as_perf aux.data
}

@test "records with metadata of BPF programs are stepped over" {
	recording metadata
	diff <(rows metadata.data comm) - <<-'END'
		1 1000000 app
		1 1000000 waiter
	END
	assay script -i metadata.data -D | grep -c BPF_METADATA
	same_as_newest_perf metadata.data
}

@test "cgroups of samples are those of perf report" {
	recording cgroups
	diff <(rows cgroups.data cgroup) - <<-'END'
		2 2000000 /
		2 2000000 /user.slice
		6 6000000 /system.slice/web.service
	END
	rows cgroups.data comm unit:web | diff - <(echo '6 6000000 app')
	same_as_perf cgroups.data
	if command -v perf >/dev/null; then
		perf report -i cgroups.data --stdio -n --sort cgroup -g none 2>/dev/null </dev/null | awk '/^ +[0-9.]+%/ { print $2, $2 * 1000000, $3 }' | sort |
			diff <(rows cgroups.data cgroup) -
	fi
}

@test "namespaces of threads are those of perf script" {
	recording namespaces
	assay script -i namespaces.data --show-namespace-events >out
	grep -A2 'NAMESPACES 42' out | sed 's/.*PERF/PERF/' | diff - <(printf '%s\n' 'PERF_RECORD_NAMESPACES 42/42 - nr_namespaces: 7' \
		$'\t\t[0/net: 4/0xf0000002, 1/uts: 4/0xefffffff, 2/ipc: 4/0xf0000000, 3/pid: 4/0xeffffffd, ' \
		$'\t\t 4/user: 4/0xeffffffe, 5/mnt: 4/0xf0000001, 6/cgroup: 4/0xeffffffc]')
	same_as_perf namespaces.data
	if command -v perf >/dev/null; then
		diff <(grep -A2 NAMESPACES out | tr -s ' ') <(perf script -i namespaces.data --show-namespace-events 2>/dev/null </dev/null | grep -A2 NAMESPACES | tr -s ' ') # newer ones have wider columns
	fi
}
