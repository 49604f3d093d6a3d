#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The findings that matter, each with its numbers and a command that runs.
load helpers

# A session with a hot function, in which 30 of 100 samples are in main().
have_hot() {
	session_at hot.assay "$PROGRAMS/inlines" work,main=70 main=30
}

# Runs the next commands of a JSON output, except those that record again. Each must succeed and print.
run_next() { # FILE
	local n=0 command
	while IFS= read -r command; do
		[[ $command != *'assay record '* ]] || continue
		bash -c "$command" >next.out 2>next.err || { echo "failed: $command" >&2; cat next.err >&2; return 1; }
		[ -s next.out ]
		n=$((n + 1))
	done < <(jq -r '.findings[].next' "$1")
	[ "$n" -gt 0 ]
}

@test "a hot function: its share, its numbers, its line and the command for its code" {
	have_hot
	run assay explain hot.assay
	refused 0 "70 % of the CPU time (" ") is in one function: work of inlines." "called most by main" "inlines.c:" \
		"Next: assay annotate -i hot.assay 'work'" "Not looked at: waits of threads"
	assay explain --format json hot.assay >out
	jq -e '.findings[0] | .rule == "hot-function" and (.share - 0.7 | fabs) < 1e-9 and .symbol == "work" and .unit == "ns"' out
	jq -e '.losses.samples == 100 and .losses.missing == 0 and (.losses.is_incomplete | not)' out
	run_next out
}

@test "the session may be the default one, an option or an operand" {
	have_hot
	mv hot.assay assay.data
	assay explain | has "Next: assay annotate 'work'" -
	assay explain -i assay.data >by_option
	assay explain assay.data >by_operand
	assay explain >by_default
	cmp by_option by_operand
	cmp by_option by_default
}

@test "a stripped program: no names, and the command that explains it" {
	cp "$PROGRAMS/inlines" app
	session_at s app work,main=70 main=30
	strip app
	assay explain --format json --symbol-cache "" s >out
	jq -e '.findings[] | select(.rule == "no-symbols") | .image == "app" and .share == 1 and (.next | test("assay why -i s .app."))' out
	run_next out
}

@test "few samples say nothing, and neither do many functions with little each" {
	session_at few "$PROGRAMS/inlines" work,main=5 main=2
	assay explain few >out
	has "in 7 samples" out
	run ! grep "one function" out
	for i in $(seq 30); do echo "main;f$i 10"; done >many.folded
	run assay explain many.folded
	refused 0 "in 300 samples" "Nothing stands out" "Next: assay report -i many.folded -l" "Not looked at: CPU time"
	run_next <(assay explain --format json many.folded) && return 1
	echo "main;hot 100" >>many.folded
	run assay explain many.folded
	refused 0 "25 % of the samples (100 of 400) is in one function: hot"
}

@test "missing samples come first" {
	"$PROGRAMS/make_session" lossy lossy 50
	run assay explain lossy
	refused 0 "The data is incomplete: " " of the samples are missing ("
	[ "$(grep -n 'The data is incomplete' <<<"$output" | cut -d: -f1)" -lt "$(grep -n '^1\. \|Nothing stands' <<<"$output" | cut -d: -f1)" ]
	assay explain --format json lossy | jq -e '.losses | .is_incomplete and .missing > 0 and (.reason | length > 0)'
}

@test "hostile names: commands run, and names control no terminal" {
	"$PROGRAMS/make_session" hostile hostile 5000 3 4
	assay explain --format json hostile >out
	jq -e '.findings | length > 0' out
	run_next out
	[ ! -e pwned ]
	assay explain hostile >text
	# The session's command is no shell command: it is not proposed.
	has "Next: .*assay record --off-cpu -a --duration 10" text
	run ! grep -P '[\x00-\x09\x0b-\x1f\x7f]' text
}

@test "a damaged session is explained, and is a failure" {
	have_hot
	segment=$(echo hot.assay/samples/current/*)
	truncate -s -20 "$segment"
	run assay explain hot.assay
	[ "$status" -le 1 ]
	truncate -s 30 "$segment"
	run assay explain hot.assay
	[ "$status" = 1 ]
}

@test "wrong usage" {
	have_hot
	run assay explain -i hot.assay -- true
	refused 2 "-i is a session that exists"
	run assay explain -p 1 -- true
	refused 2 "exclude each other"
	run assay explain ./app --its-option
	refused 2 "--its-option"
	run assay explain true false
	refused 2 "assay explain -- true"
	run assay explain -o x
	refused 2 "-o is for a recording"
	run assay explain -i -
	refused 2 "give a file"
	run assay explain nothing.here
	refused 1 "nothing.here"
}

@test "a command is recorded, explained, and kept for the next commands" {
	need_recording
	run --separate-stderr assay explain -- "$PROGRAMS/split" 1s
	[ "$status" = 0 ]
	[[ $output == *"split 1s: "*"is in one function: forty of split"* || $output == *"Nothing stands out"* ||
		$output == *"waits for a CPU"* ]]
	assay explain --format json >out
	[[ $output == *"Nothing stands out"* ]] || run_next out
	run -127 assay explain -- ./not-there
	run assay explain -o ended -- sh -c 'exit 3'
	[ "$status" -le 1 ]
	[ "$status" = 1 ] || [[ $output == *"(exit status 3)"* ]]
}

@test "waits have their function and their waker" {
	need_sampler
	assay explain --format json -o w -- "$PROGRAMS/waits" 1s >out.all
	sed -n '/^{/,$p' out.all >out
	jq -e '[.missing[].facts] | index("waits of threads") == null' out
	# The program has four threads: one waits for a mutex all the time.
	jq -e '.findings[] | select(.rule == "wait-locks") | .symbol == "locker" and .waker == "waits" and .waker_symbol == "main" and
		.text == "a mutex" and (.owner | test("^waits .[0-9]+.$"))' out
	run_next out
}

@test "page faults are recorded, each of them, and name the function that has most" {
	need_recording
	cat >faults.c <<'END'
#include <sys/mman.h>
static __attribute__((noinline)) void touch(char *m) { for (int i = 0; i < 256 << 20; i += 4096) m[i] = 1; __asm__ volatile(""); }
int main(void)
{
	for (int i = 0; i < 8; i++) {
		char *m = mmap(0, 256 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		madvise(m, 256 << 20, MADV_NOHUGEPAGE);
		touch(m);
		munmap(m, 256 << 20);
	}
	return 0;
}
END
	gcc -O1 -g -fno-omit-frame-pointer -o faults faults.c
	assay explain --format json -o f -- ./faults >out.all
	sed -n '/^{/,$p' out.all >out
	n=$(assay report -i f --format json event:page-faults* | jq '[.rows[].samples] | add')
	echo "$n faults"
	lost=$(assay info --format json f | jq .lost)
	[ $((n + lost)) -ge $((8 * 65536)) ]
	jq -e '[.missing[].facts] | index("the kernel'"'"'s time")' out && skip "this user can't sample the kernel"
	jq -e --argjson n "$n" '.findings[] | select(.rule == "page-faults") | .caller == "touch" and (.evidence | contains("\($n) faults")) and
		(.next | test("event:page-faults"))' out
	run_next out
}

@test "an ordinary user: the facts that are missing, and the command that would record them" {
	need_recording
	[ "$(id -u)" = 0 ] || skip "needs root, to be somebody else"
	run unprivileged assay explain -o mine -- "$PROGRAMS/split" 1s
	[ "$status" = 0 ] || skip "this user may not record: $output"
	[[ $output == *"Not looked at: waits of threads, because "* ]]
	[[ $output == *"Not looked at: the kernel's time, because "*"Next: sudo assay record -- "*"split 1s"* ]]
	[[ $output == *"Next: sudo assay record --off-cpu -- "*"split 1s"* ]]
}
