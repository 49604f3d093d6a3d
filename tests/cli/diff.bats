#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# assay diff: shares of two profiles, of known counts.
load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR
	cat >old <<-END
		app;main;parse 300
		app;main;render;draw 500
		app;main;poll 200
	END
	cat >new <<-END
		app;main;parse 610
		app;main;render;draw 1200
		app;main;render;blend 90
		app;main;poll 100
	END
}

@test "the largest change comes first, in points of each recording's total" {
	run assay diff old new
	[ "$status" = 0 ]
	[[ "${lines[0]}" == *"old: 1000 samples"* && "${lines[1]}" == *"new: 2000 samples"* ]]
	[[ "${lines[4]}" =~ 20\.00\ +5\.00\ +-15\.00\ \*\*\ +-75\.0\ %\ .*poll ]]
	[[ "${lines[5]}" =~ 50\.00\ +60\.00\ +\+10\.00\ \*\*\ +\+20\.0\ %\ .*draw ]]
	[[ "$output" =~ 0\.00\ +4\.50\ +\+4\.50\ \*\*\ +new\ .*blend ]]
	# Half a point of 30 is nothing that chance would not do.
	[[ "$output" =~ 30\.00\ +30\.50\ +\+0\.50\ +\+1\.7\ %\ .*parse ]]
}

@test "a session compared with itself has no change" {
	run assay diff old old
	[ "$status" = 0 ]
	[[ "$output" == *"no change of 0.10 points or more"* ]]
}

@test "shares add up to the whole in every format" {
	run assay diff old new -t 4.6
	[[ "$output" =~ 30\.00\ +35\.00\ .*other ]]
	assay diff --format csv old new |
		awk -F, 'NR > 1 { o += $6; n += $7 } END { print o, n }' >sums
	[ "$(cat sums)" = "1000 2000" ]
	assay diff --format json old new >j
	[ "$(jq '[.rows[].old] | add' j)" = 1000 ]
	[ "$(jq '.rows[] | select(.symbol == "poll").change == -15' j)" = true ]
	[ "$(jq '.rows[] | select(.symbol == "parse").is_significant' j)" = false ]
}

@test "call trees are compared chain by chain" {
	run assay diff --tree old new
	[ "$status" = 0 ]
	[[ "$output" =~ 50\.00\ +64\.50\ +\+14\.50\ .*'   render' ]]
	[[ "$output" =~ 50\.00\ +60\.00\ +\+10\.00\ .*'    draw' ]]
}

@test "a rule fails the command, with the function that broke it" {
	run assay diff old new --fail-if 'symbol>+9%'
	refused 1 "'symbol>+9%': draw in" "+10.00 points"
	run assay diff old new --fail-if 'symbol>+11%'
	[ "$status" = 0 ]
	run assay diff old new --fail-if 'symbol:po*<-10%'
	refused 1 "poll in"
	run assay diff old new --fail-if 'symbol:parse>+0.1%' # not significant
	[ "$status" = 0 ]
	run assay diff old new --fail-if 'nonsense'
	refused 2 "symbol>+3%"
}

@test "specifications in braces, with filters in common and of a side" {
	run assay diff event:samples '{' old '}' '{' new symbol:draw,poll '}'
	[ "$status" = 0 ]
	[[ "${lines[1]}" == *"new: 1300 samples"* ]]
	run assay diff '{' old '}' new
	refused 2 "COMMON"
	run assay diff '{' old '}' '{' symbol:draw '}'
	refused 2 "the new side names no session"
	run assay diff old
	refused 2 "name two sessions"
	run assay diff old new symbol:nonesuch
	refused 1 "nonesuch"
	run assay diff old missing
	refused 1 "missing"
}

@test "functions of one name are matched by their source files, wherever the build was made" {
	build() { # FOLDER
		mkdir "$1"
		printf 'static volatile long s;\nstatic void __attribute__((noinline)) init(void) { for (long i = 0; i < 9; i++) s += i; }\nvoid a(void) { init(); }\n' >"$1/a.c"
		sed "s/void a/void b/" "$1/a.c" >"$1/b.c"
		echo 'void a(void); void b(void); int main(void) { for (int i = 0; i < 400; i++) { a(); b(); } }' >"$1/main.c"
		(cd "$1" && gcc -g -O1 -o prog main.c a.c b.c)
	}
	# samples FOLDER IN-A IN-B
	samples() {
		local address
		mapfile -t address < <(nm -l "$1/prog" | awk '$3 == "init" { print /a\.c:/ ? "a" : "b", $1 }' | sort | cut -d' ' -f2)
		printf '%s\n' "$2 0 ${address[0]}" "$3 0 ${address[1]}" | "$PROGRAMS/make_session" "$1.assay" at "$PWD/$1/prog"
	}
	build one
	build two
	samples one 300 100
	samples two 100 300 # the shares trade places
	run assay diff one.assay two.assay event:*clock*
	[ "$status" = 0 ]
	[[ "$output" =~ 75\.00\ +25\.00\ +\-50\.00\ .*init\ \[a\.c\] ]]
	[[ "$output" =~ 25\.00\ +75\.00\ +\+50\.00\ .*init\ \[b\.c\] ]]
	run assay diff one.assay two.assay --fail-if 'symbol:init>+5%' event:*clock*
	refused 1 "init [b.c] in prog"
}
