#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Memory events: samples with a data source, a data address and a weight. Few processors record them, so
# memory_events.py writes the recording. The numbers are those of perf 6.1 and 7.2.

load helpers

memory_recording() {
	cat >app.c <<-END
		int table[64] = { 1 }, zeros[65536];
		static volatile int counter = 1;
		const int constants[16] = { 1, 2 };
		__attribute__((noinline)) int work(int i) { return table[i & 63] + counter++; }
		int main(int argc, char **argv) { (void)argv; return work(argc) + zeros[argc] + constants[argc & 15]; }
	END
	gcc -O1 -g -no-pie app.c -o app
	python3 "$BATS_TEST_DIRNAME/memory_events.py" "$PWD/app" mem.data
}

# Lines of a number and a text: the sums by text.
sums() {
	awk '{ n = $1; sub(/^[^ ]+ /, ""); sum[$0] += n } END { for (row in sum) if (sum[row]) print sum[row], row }' | sort -k1,1nr -k2
}

# Samples by keys, over all events, a row a line: rows KEYS [FILTER…]
rows() {
	local keys=$1
	shift
	assay report -i mem.data -l -t 0 --by "$keys" --format json "$@" |
		jq -r --arg keys "$keys" '.rows[] | . as $row | "\(.samples) \($keys | split(",") | map($row[.]) | join(" @ "))"' | sums
}

# The same of perf: perf_rows PERF SORT_KEYS, by perf's names
perf_rows() {
	"$1" report --mem-mode -i "$PWD/mem.data" --stdio -n --sort "$2" -t @ 2>/dev/null </dev/null |
		awk -F@ '/^[^#]/ && NF > 2 { gsub(/ *@ */, "@"); sub(/ +$/, ""); row = $3; for (i = 4; i <= NF; i++) row = row " @ " $i; print $2, row }' | sums
}

# Each perf that is here; a perf of another release is in the PATH as perf-7.2 (docs/testing.md).
each_perf() {
	local perf
	for perf in $(compgen -c | grep -xE 'perf([_-][0-9]+[0-9.]*)?' | sort -u); do
		"$@" "$perf" || { echo "differs from $perf" >&2; return 1; }
	done
}

same_as_mem_report() {
	diff <(rows mem) <(perf_rows "$1" mem)
	diff <(rows tlb) <(perf_rows "$1" tlb)
	diff <(rows snoop) <(perf_rows "$1" snoop)
	diff <(rows mem,symbol 'symbol:*') <(perf_rows "$1" mem,sym | sed 's/@ \[[.k]\] /@ /' | grep -v 0xf)
	diff <(rows data-symbol 'data-symbol:[a-y]*') <(perf_rows "$1" symbol_daddr | sed -nE 's/ \[.\] ([a-z]+)\+0x[0-9a-f]+( @.*)?$/ \1/p' |
		sums)
}

@test "accesses whose stacks were cut: the same facts, and [cut] is the outermost frame" {
	memory_recording
	mkdir whole && mv mem.data whole
	python3 "$BATS_TEST_DIRNAME/memory_events.py" "$PWD/app" mem.data cut
	for keys in mem,symbol data-symbol,data-image; do
		rows "$keys" | grep -vF '[cut]' >with
		(cd whole && rows "$keys") >without
		diff without with
	done
	assay report -i mem.data --tree -t 0 --format json >tree.json
	[ "$(jq -c '[.rows[] | select(.depth == 0) | .symbol] | unique' tree.json)" = '["(unknown)","[cut]"]' ]
	[ "$(jq '[.rows[] | select(.symbol == "[cut]") | .total] | add' tree.json)" = 52 ]
}

@test "accesses by their level, page, snoop and variable, as perf mem report has them" {
	memory_recording
	diff <(rows mem) - <<-'END'
		31 L1 hit
		14 Local RAM hit
		4 L3 hit
		3 N/A
		2 L1 miss
	END
	diff <(rows tlb) - <<-'END'
		26 L1 or L2 hit
		14 Walker miss
		9 L1 hit
		5 N/A
	END
	diff <(rows snoop) - <<-'END'
		36 None
		14 N/A
		4 HitM
	END
	diff <(rows mem,symbol) - <<-'END'
		25 L1 hit @ work
		9 Local RAM hit @ main
		6 L1 hit @ main
		4 L3 hit @ work
		3 Local RAM hit @ work
		3 N/A @ main
		2 L1 miss @ main
		2 Local RAM hit @ (unknown)
	END
	each_perf same_as_mem_report
}

# Sums of latencies by keys, over all events: latencies KEYS [FILTER…]
latencies() {
	local keys=$1
	shift
	assay report -i mem.data -l -t 0 --weight latency --by "$keys" --format json "$@" |
		jq -r --arg keys "$keys" '.rows[] | . as $row | "\(.events) \($keys | split(",") | map($row[.]) | join(" @ "))"' | sums
}

# The same of perf: samples times their latency. perf_latencies PERF SORT_KEY
perf_latencies() {
	"$1" report --mem-mode -i "$PWD/mem.data" --stdio -n --sort "local_weight,$2" -t @ 2>/dev/null </dev/null |
		awk -F@ '/^[^#]/ && NF > 3 { gsub(/ *@ */, "@"); sub(/ +$/, ""); print $2 * $3, $4 }' | sums
}

same_latencies() {
	diff <(latencies mem) <(perf_latencies "$1" mem)
	diff <(latencies tlb) <(perf_latencies "$1" tlb)
	diff <(latencies symbol 'symbol:*') <(perf_latencies "$1" sym | sed -E 's/ \[[.k]\] / /; /0xf/d')
}

@test "--weight latency sums the latencies of accesses, as perf mem report does" {
	memory_recording
	diff <(latencies mem) - <<-'END'
		5210 Local RAM hit
		400 L1 miss
		360 L3 hit
		330 L1 hit
	END
	diff <(latencies data-symbol 'data-symbol:[a-y]*') - <<-'END'
		1047 table
		540 counter
		10 constants
	END
	latencies symbol 'mem:L1 hit' | diff - <(printf '%s\n' '297 work' '33 main')
	each_perf same_latencies
	assay report -i mem.data -l --weight latency --no-pager >out
	has '^ *latency  *%' out
	assay import -q -o s.assay mem.data
	assay export -i s.assay --weight latency --format folded | awk '{ n += $NF } END { print n }' | diff - <(echo 6300)
	# of the first event
	assay diff mem.data s.assay --weight latency --format json | jq -e '[.rows[] | .old_events] | add == 5720'
	# A recording without latencies has no sum of them.
	session_at plain.assay app main=30
	run assay report -i plain.assay --weight latency
	refused 1 "no sample has a latency"
}

# perf has .bss as anonymous memory, and each address without a variable as a row.
@test "variables have their names and files, also in .bss, and other memory is a row by its kind" {
	memory_recording
	diff <(rows data-symbol,data-image) - <<-'END'
		19 table @ app
		13 counter @ app
		6 zeros @ app
		5 [heap] @ [heap]
		2 SYSV00000000 @ SYSV00000000
		2 [anon] @ [anon]
		2 [kernel] @ [kernel]
		2 constants @ app
		1 [none] @ [none]
		1 [stack] @ [stack]
		1 [unknown] @ [unknown]
	END
	gcc -O1 -no-pie app.c -s -o app
	rows data-symbol data-image:app | diff - <(echo '40 (no symbols)')
}

@test "memory accesses are selected by level, page, snoop and variable, and each is where its code is" {
	memory_recording
	rows symbol 'mem:L1 hit' | diff - <(printf '%s\n' '25 work' '6 main')
	rows symbol 'mem:*RAM*' tlb:Walker\* data-symbol:zeros | diff - <(echo '6 main')
	rows data-symbol snoop:HitM | diff - <(echo '4 counter')
	rows mem data-image:app event:\*82d0\* | diff - <(echo '9 L1 hit')
	rows symbol | diff - <(printf '%s\n' '32 work' '20 main' '2 (unknown)')
	assay report -i mem.data --tree -t 0 --no-pager | grep -c '\[memory' | diff - <(echo 0)
	run assay report -i mem.data mem:L9
	refused 1 "no sample matches mem:L9; there are: L1 hit, Local RAM hit, L3 hit, N/A, L1 miss"
	# In a session, too, the data is no place of a sample.
	assay import -q -o s.assay mem.data
	assay script -i s.assay -F ip | sort | uniq -c | sort -k1,1nr | awk '{ print $1 }' | diff - <(printf '%s\n' 32 20 2)
	assay report -i s.assay -l --by waker --format json | jq -e '([.rows[].waker] | unique == ["[none]"]) and ([.rows[].samples] | add == 54)'
}

plain_sources() {
	tr -s ' ' | sed -E 's/\|OP [A-Z/]+\|LVL //; s/\|BLK N\/A//'
}

same_as_script() {
	# perf 5.10 has fewer parts of the data source
	diff <("$1" script -i "$PWD/mem.data" -F addr,data_src,weight 2>/dev/null </dev/null | plain_sources) <(plain_sources <script.out)
}

@test "script prints data source, address and weight as perf does" {
	memory_recording
	assay script -i mem.data -F addr,data_src,weight >script.out
	[ "$(wc -l <script.out)" = 54 ]
	sed -n '12p;$p' script.out | tr -s ' ' | sed -E 's/^ [0-9a-f]+//' | diff - <(printf '%s\n' \
		' 68100142 |OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK N/A 8' ' 184 |OP STORE|LVL L1 miss|SNP N/A|TLB N/A|LCK No|BLK N/A 200')
	each_perf same_as_script
}
