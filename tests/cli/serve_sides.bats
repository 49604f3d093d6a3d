#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# assay serve: two sides of one source, files of tokens that change, and recordings as downloads.

# Each test has a process and a cookie of its own. `head` is a file.
# shellcheck disable=SC1083,SC2030,SC2031

load helpers
load serve

# sides ARGUMENTS: the rows and sides of an answer, without the names of the paths.
sides() {
	api "diff?$1" >answer
	[ "$(status)" = 200 ] || { cat answer; return 1; }
	jq -S 'del(.old.path, .new.path, .total.old_path, .total.new_path)' answer
}

of_command() { # ARGUMENT…
	assay diff --format json "$@" | jq -S 'del(.old.path, .new.path, .total.old_path, .total.new_path)'
}

@test "two selectors or two times of one source are compared, each with its significance" {
	mkdir all
	"$PROGRAMS/make_session" all/plain plain 3000
	"$PROGRAMS/make_session" all/base plain 1700 7 9
	cp -r all/plain 'all/a:b'
	serve all
	enter
	sides 'source=plain&baseline_filter=comm:main&filter=comm:worker' >by_selector
	diff by_selector <(of_command { all/plain comm:main } { all/plain comm:worker })
	[ "$(jq '.old.samples, .new.samples | select(. > 0)' by_selector | wc -l)" = 2 ]
	[ "$(jq '.old.samples == .new.samples' by_selector)" = false ]
	jq -e '.rows | map(has("z")) | all and length > 2' by_selector
	sides 'source=plain&baseline_filter=time:0-4s&filter=time:4s-' | diff - <(of_command { all/plain time:0-4s } { all/plain time:4s- })
	sides 'source=plain&baseline_filter=&filter=comm:worker' | diff - <(of_command { all/plain } { all/plain comm:worker })
	# Of two sources: the same filters, unless the old side has others.
	sides 'source=plain&baseline=base&filter=comm:worker' | diff - <(of_command all/base all/plain comm:worker)
	sides 'source=plain&baseline=base&filter=comm:worker&baseline_filter=comm:main' | diff - <(of_command { all/base comm:main } { all/plain comm:worker })
	# A path with a colon is no filter.
	sides 'source=a:b&baseline=plain&filter=comm:worker' | diff - <(of_command all/plain all/plain comm:worker)
	start=$(assay report -i all/plain --series --format json | jq .start_seconds)
	sides "source=plain&since=@$((start + 5))&until=@$((start + 8))&against=@$((start + 1))" >by_time
	diff by_time <(of_command -i all/plain --since "@$((start + 5))" --until "@$((start + 8))" --against "@$((start + 1))")
	[ "$(jq '.new.samples > 0 and .old.samples > 0 and .new.samples < 2000' by_time)" = true ]
	while read -r wanted question; do
		api "diff?$question" | jq -e .error >error
		[ "$(status)" = "$wanted" ] || { echo "$question: $(status)"; cat error; return 1; }
	done <<-'END'
		400 source=plain
		400 source=plain&filter=comm:worker
		400 source=plain&baseline_filter=nobody
		400 source=plain&baseline_filter=/etc/passwd
		400 source=plain&baseline_filter=comm:x%0A%7D
		400 source=plain&baseline_filter=session:x
		404 source=plain&baseline=plain2
		400 source=plain&against=--output=made
	END
	[ ! -e made ]
}

@test "the filters of a token limit both sides of a comparison" {
	"$PROGRAMS/make_session" plain plain 3000
	printf 'read %s comm:worker\nread %s time:1s-2s\n' limited-limited-limited-limited-1 timed-timed-timed-timed-timed-timed >tokens
	chmod 600 tokens
	serve plain --token-file tokens
	cookie='Authorization:Bearer limited-limited-limited-limited-1'
	sides 'source=plain&baseline_filter=symbol:hash&filter=' | diff - <(of_command { plain comm:worker symbol:hash } { plain comm:worker })
	api 'diff?source=plain&baseline_filter=comm:main&filter=' | jq -e .error
	[ "$(status)" = 400 ]
	cookie='Authorization:Bearer timed-timed-timed-timed-timed-timed'
	api 'diff?source=plain&against=@1700000001' | jq -e .error
	[ "$(status)" = 403 ]
}

@test "a file of tokens that changes is read again, and a wrong one changes nothing" {
	"$PROGRAMS/make_session" plain plain 300
	one=one-one-one-one-one-one-one-one-one two=two-two-two-two-two-two-two-two-two
	(umask 077 && printf 'read %s\n' "$one" >tokens)
	serve plain --token-file tokens
	status_with() { # TOKEN
		get /api/v1/sources "Authorization:Bearer $1" >/dev/null
		status
	}
	has_status() { # TOKEN STATUS
		[ "$(status_with "$1")" = "$2" ]
	}
	has_warned() { # TEXT, after a request: the file is looked at then
		status_with "$two" >/dev/null
		grep -q "$1" serve.err
	}
	has_status "$one" 200
	has_status "$two" 401
	# A browser that logged in by a token goes with it.
	client post /login "token=$one" 2>"head" >/dev/null
	cookie="Cookie:$(sed -n 's/^Set-Cookie: \([^;]*\);.*/\1/p' head)"
	api sources | jq -e '.role == "read"'
	printf '# the same, with another role\nadmin %s\nread %s\n' "$one" "$two" >tokens
	wait_for has_status "$two" 200
	api sources | jq -e '.role == "admin"'
	printf 'read short\n' >tokens
	wait_for has_warned 'the tokens stay as they were'
	has_status "$two" 200
	# A file that is half written would give more rights than the whole one.
	while IFS='|' read -r text wanted; do
		# shellcheck disable=SC2059
		printf "$text" >tokens
		wait_for has_warned "$wanted; the tokens stay as they were"
		has_status "$one" 200
		has_status "$two" 200
	done <<-END
		admin $one\\nread $two|its last line has no end
		# nothing\\n|it has no token
	END
	printf 'read %s\n' "$two" >tokens
	chmod 644 tokens
	wait_for has_warned 'other users may read it'
	has_status "$one" 200
	chmod 600 tokens
	wait_for has_status "$one" 401
	has_status "$two" 200
	api sources >/dev/null
	[ "$(status)" = 401 ]
	rm tokens
	wait_for has_warned "cannot read 'tokens'"
	has_status "$two" 200
	[ "$(grep -c "cannot read 'tokens'" serve.err)" = 1 ]
}

@test "a recording of perf can be downloaded as it is, and no other file" {
	mkdir all
	"$PROGRAMS/make_session" all/plain plain 300
	{
		printf PERFILE2
		seq 200000
	} >all/perf.data
	seq 200000 >all/notes
	printf 'read %s comm:worker\nread %s\n' limited-limited-limited-limited-1 read-read-read-read-read-read-read-1 >tokens
	chmod 600 tokens
	serve all --token-file tokens
	enter
	api sources | jq -c '.sources | map([.name, .kind])' | diff - <(echo '[["notes","file"],["perf.data","recording"],["plain","session"]]')
	api 'recording?source=perf.data' | cmp - all/perf.data
	has '^Content-Disposition: attachment; filename="perf.data"' head
	has '^Content-Type: application/octet-stream' head
	for name in notes plain ../all/notes nothing ''; do
		api "recording?source=$name" | jq -e .error
		[ "$(status)" = 404 ]
	done
	for token in limited-limited-limited-limited-1 read-read-read-read-read-read-read-1; do
		get '/api/v1/recording?source=perf.data' "Authorization:Bearer $token" | jq -e .error
		[ "$(status)" = 403 ]
	done
	ln -sf /etc/passwd all/perf.data
	wait_for is_no_recording
	rm all/perf.data
	mkfifo all/perf.data
	wait_for is_no_recording
}

is_no_recording() {
	api 'recording?source=perf.data' >/dev/null
	[ "$(status)" = 404 ]
}
