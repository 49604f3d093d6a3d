#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# assay serve: who may ask, the answers, and clients that are hostile. tests/browser/serve.mjs opens the page.

# Each test has a process and a cookie of its own.
# shellcheck disable=SC2030,SC2031

load helpers


# serve PATH… [OPTION…]: starts it; $address and $login are the address and the path that opens it once.
serve() {
	background assay serve "$@" >serve.out 2>serve.err
	server=$!
	wait_for has_line_or_ended serve.out "$server"
	[ -s serve.out ] || { cat serve.err; grep -q "built without libmicrohttpd" serve.err && skip "built without libmicrohttpd"; return 1; }
	login=$(sed -n '1s|^http://[^/]*||p; 1s|.* path \(.*\) once$|\1|p' serve.out)
	address=$(sed -n '1s|^http://\([^/]*\)/.*|\1|p; 1s|^\(unix:.*\): listening.*|\1|p' serve.out)
}

has_line_or_ended() { # FILE PID
	[ -s "$1" ] || ! kill -0 "$2" 2>/dev/null
}

client() { # COMMAND…
	python3 "$ROOT/tests/cli/serve_client.py" "$address" "$@"
}

# get PATH [HEADER:VALUE…]: the body to standard output; $BATS_TEST_TMPDIR/head has the status and the headers.
get() {
	client get "$@" 2>"head"
}

status() {
	head -1 head
}

# Logs in; $cookie is the header for further requests.
enter() {
	get "$login" >/dev/null
	[ "$(status)" = 200 ]
	cookie="Cookie:$(sed -n 's/^Set-Cookie: \([^;]*\);.*/\1/p' head)"
}

api() { # NAME?ARGUMENTS
	get "/api/v1/$1" "$cookie"
}

@test "the address opens once, and its cookie is needed for everything" {
	"$PROGRAMS/make_session" plain plain 300
	serve plain
	get / >/dev/null
	[ "$(status)" = 401 ]
	get /api/v1/sources >/dev/null
	[ "$(status)" = 401 ]
	get "/login?token=00000000000000000000000000000000" >/dev/null
	[ "$(status)" = 403 ]
	get "/login" >/dev/null
	[ "$(status)" = 403 ]
	client head "$login" | diff - <(echo 403)
	enter
	has '^Set-Cookie: assay-[0-9]*=[0-9a-f]*; Path=/; HttpOnly; SameSite=Strict$' head
	get "$login" >/dev/null
	[ "$(status)" = 403 ]
	# There is another address now, for another browser.
	[ "$(wc -l <serve.out)" = 2 ]
	[ "$(sed -n '2s|.*token=||p' serve.out)" != "${login#*token=}" ]
	get / "$cookie" >page
	[ "$(status)" = 200 ]
	has "^Content-Security-Policy: default-src 'none'; script-src 'self'" head
	not grep -q '<script>' page
	get / "${cookie%?}x" >/dev/null
	[ "$(status)" = 401 ]
	get / "Cookie:assay-1=x; ${cookie#*:}" >/dev/null
	[ "$(status)" = 200 ]
	get / "Cookie:assay=${cookie#*=}" >/dev/null
	[ "$(status)" = 401 ]
	get /nothing "$cookie" >/dev/null
	[ "$(status)" = 404 ]
	kill "$server"
	wait "$server"
}

@test "pages of other sites can neither ask nor read" {
	"$PROGRAMS/make_session" plain plain 300
	serve plain
	enter
	get /api/v1/sources "$cookie" Host:evil.example >/dev/null
	[ "$(status)" = 403 ]
	get /api/v1/sources "$cookie" "Host:evil.example:${address##*:}" >/dev/null
	[ "$(status)" = 403 ]
	get /api/v1/sources "$cookie" "Origin:http://evil.example" >/dev/null
	[ "$(status)" = 403 ]
	get /api/v1/sources "$cookie" "Origin:null" >/dev/null
	[ "$(status)" = 403 ]
	for site in cross-site same-site; do
		get /api/v1/sources "$cookie" Sec-Fetch-Site:$site >/dev/null
		[ "$(status)" = 403 ]
	done
	get /api/v1/sources "$cookie" "Origin:http://$address" >/dev/null
	[ "$(status)" = 200 ]
	not grep -qi '^Access-Control' head
	get /api/v1/sources "$cookie" "Host:localhost:${address##*:}" >/dev/null
	[ "$(status)" = 200 ]
}

@test "answers are those of the commands, for sessions, recordings and folders" {
	mkdir all
	"$PROGRAMS/make_session" all/plain plain 3000
	"$PROGRAMS/make_session" all/base plain 1700 7 9
	echo text >all/notes
	serve all
	enter
	api sources | jq -c '.sources | map([.name, .kind])' | diff - <(echo '[["base","session"],["notes","file"],["plain","session"]]')
	api labels | jq -e '.labels | map(.name) | index("symbol")'
	api 'top?source=plain&threshold=0' | jq .rows | diff - <(assay report -i all/plain --symbols -t 0 --format json | jq .rows)
	api 'top?source=plain&filter=comm:worker' | jq .rows | diff - <(assay report -i all/plain --symbols --format json comm:worker | jq .rows)
	api 'top?source=plain&filter=comm:worker%0Atime:1s-2s' | jq .rows |
		diff - <(assay report -i all/plain --symbols --format json comm:worker time:1s-2s | jq .rows)
	api 'values?source=plain&by=thread' | jq .rows | diff - <(assay report -i all/plain --by thread -t 0 --format json | jq .rows)
	api 'tree?source=plain' | jq .rows | diff - <(assay report -i all/plain --tree --format json | jq .rows)
	api 'inverted?source=plain' | jq .rows | diff - <(assay report -i all/plain --inverted --format json | jq .rows)
	api 'function?source=plain&filter=symbol:hash' | jq .rows | diff - <(assay report -i all/plain -c --format json symbol:hash | jq .rows)
	api 'processes?source=plain' | jq 'del(.header)' | diff - <(assay report -i all/plain -P --format json | jq 'del(.header)')
	api 'diff?source=plain&baseline=base' | jq . | diff - <(assay diff --format json all/base all/plain | jq .)
	api 'info?source=plain' | jq .samples | diff - <(assay info --format json all/plain | jq .samples)
	api 'explain?source=plain' | jq -e .schema
	api 'page?source=plain' | diff - <(assay report -i all/plain --html -)
	has "^Content-Security-Policy: .*script-src 'sha256-" head
	api 'page?source=plain&baseline_page=base' | diff - <(assay report -i all/plain --baseline all/base --html -)
	api 'svg?source=plain' | diff - <(assay report -i all/plain --svg -)
	has '^Content-Disposition: attachment; filename="profile.svg"' head
	api 'folded?source=plain' | diff - <(assay export -i all/plain --format folded -o - 2>/dev/null)
	api 'pprof?source=plain' | cmp - <(assay export -i all/plain --format pprof -o - 2>/dev/null)
	api 'speedscope?source=plain' | jq -e .shared
	api doctor | jq -e .checks
	# A file that is no recording is a failure of that answer alone.
	api 'top?source=notes' | jq -e .error
	[ "$(status)" = 422 ]
}

@test "a request can name neither a file nor an option" {
	"$PROGRAMS/make_session" plain plain 300
	serve plain
	enter
	while read -r wanted question; do
		api "$question" | jq -e .error >error
		[ "$(status)" = "$wanted" ] || { echo "$question: $(status)"; cat error; return 1; }
	done <<-'END'
		404 top?source=../plain
		404 top?source=/etc/passwd
		400 top?source=%00
		400 top
		400 top?source=
		400 top?source=plain&filter=session:other
		400 top?source=plain&filter=archive:/etc
		400 top?source=plain&filter=--output=made
		400 top?source=plain&filter=comm:x%0A-o%0Amade
		400 top?source=plain&filter=nobody
		400 top?source=plain&threshold=1%20--output=made
		400 values?source=plain&by=comm,--output=made
		400 values?source=plain&by=nothing
		400 diff?source=plain
		404 diff?source=plain&baseline=plain2
		404 nothing?source=plain
	END
	[ ! -e made ]
	api "top?source=plain&filter=comm:$(printf 'x%.0s' {1..5000})" | jq -e '.rows == [] or .error'
}

@test "a source that changes, breaks or goes changes its answers" {
	"$PROGRAMS/make_session" plain plain 300
	"$PROGRAMS/make_session" other plain 900
	mkdir all
	mv plain all/one
	serve all
	enter
	[ "$(api 'info?source=one' | jq '.samples.stored // .samples')" = "$(assay info --format json all/one | jq '.samples.stored // .samples')" ]
	api 'top?source=one' | jq -c .header.samples.stored | diff - <(echo 300)
	mv all/one gone
	mv other all/one
	wait_for answers_with_samples 900
	printf x | dd of=all/one/samples/current/0000.segment bs=1 seek=2000 conv=notrunc 2>/dev/null
	wait_for answers_with_damage
	rm -r all/one
	wait_for is_gone
}

answers_with_samples() { # NUMBER
	[ "$(api 'top?source=one' | jq .header.samples.stored)" = "$1" ]
}

answers_with_damage() {
	api 'top?source=one' >out
	[ "$(status)" = 422 ] || jq -e '.header.warnings | length > 0' out
}

is_gone() {
	api 'top?source=one' >/dev/null
	[ "$(status)" = 404 ]
}

@test "tokens of a file are for programs, and their filters limit all answers" {
	"$PROGRAMS/make_session" plain plain 3000
	printf '# programs\n\nread %s\nread %s comm:worker\n' all-all-all-all-all-all-all-all-1 limited-limited-limited-limited-1 >tokens
	chmod 644 tokens
	run assay serve plain --token-file tokens
	[ "$status" = 1 ]
	has 'chmod 600' <(echo "$output")
	chmod 600 tokens
	serve plain --token-file tokens
	get '/api/v1/top?source=plain' 'Authorization:Bearer all-all-all-all-all-all-all-all-1' | jq .rows |
		diff - <(assay report -i plain --symbols --format json | jq .rows)
	get '/api/v1/top?source=plain' 'Authorization:Bearer all-all-all-all-all-all-all-all-2' >/dev/null
	[ "$(status)" = 401 ]
	cookie='Authorization:Bearer limited-limited-limited-limited-1'
	api 'top?source=plain' | jq .rows | diff - <(assay report -i plain --symbols --format json comm:worker | jq .rows)
	api 'top?source=plain&filter=symbol:hash' | jq .rows | diff - <(assay report -i plain --symbols --format json comm:worker symbol:hash | jq .rows)
	api 'values?source=plain&by=comm' | jq -c '.rows | map(.comm) | unique' | diff - <(echo '["worker"]')
	# A second filter of the limit's tag could only widen it.
	api 'top?source=plain&filter=comm:*' >/dev/null
	[ "$(status)" = 400 ]
	# A message that lists all names that there are is not for this token.
	api 'top?source=plain&filter=app:zz' >error
	[ "$(status)" = 422 ]
	not grep -q 'there are' error
	api 'top?source=plain&filter=Comm:*' >/dev/null
	[ "$(status)" = 400 ]
	for name in info explain doctor; do
		api "$name?source=plain" >/dev/null
		[ "$(status)" = 403 ]
	done
	while IFS='|' read -r line wanted; do
		printf '%s\n' "$line" >bad
		chmod 600 bad
		run assay serve plain --token-file bad
		[ "$status" = 1 ]
		has "$wanted" <(echo "$output")
	done <<-'END'
		write all-all-all-all-all-all-all-all-1|there is no role 'write'
		read short|needs 32 characters
		read all-all-all-all-all-all-all-all-1 session:x|chooses sources
		read all-all-all-all-all-all-all-all-1 Comm:worker|is not a filter
		read all-all-all-all-all-all-all-all-1 nothing|is not a filter
		read all-all-all-all-all-all-all-all-1 nothing:x|nothing
	END
}

@test "it listens for this machine alone, or at a socket of its user" {
	"$PROGRAMS/make_session" plain plain 300
	run assay serve plain --listen 0.0.0.0:0
	[ "$status" = 1 ] || skip "built without libmicrohttpd"
	has 'other machines could reach' <(echo "$output") || has 'built without libmicrohttpd' <(echo "$output")
	run assay serve nowhere
	[ "$status" = 1 ]
	has "cannot read 'nowhere'" <(echo "$output")
	run assay serve plain --listen localhost
	[ "$status" = 1 ]
	short=$(short_folder)
	serve plain --listen "unix:$short/web"
	[ "$(stat -c %a "$short/web")" = 700 ] || [ "$(stat -c %a "$short/web")" = 600 ]
	enter
	api sources | jq -e '.sources | length == 1'
	run assay serve plain --listen "unix:$short/web"
	[ "$status" = 1 ]
	has 'cannot listen' <(echo "$output")
	kill -9 "$server"
	wait "$server" || true
	serve plain --listen "unix:$short/web" # the socket of one that was killed
	kill "$server"
	wait "$server"
	[ ! -e "$short/web" ]
	rm -rf "$short"
}

@test "silent connections, large headers and endless bodies keep nobody out" {
	"$PROGRAMS/make_session" plain plain 300
	serve plain
	enter
	[ "$(client flood 600 "$cookie")" = 200 ]
	client large >statuses
	diff statuses - <<-'END'
		431
		405
	END
	api sources | jq -e .schema
	# One that asks and goes does not harm the answers of others.
	client leave "/api/v1/page?source=plain&threshold=" 20 "$cookie"
	api 'top?source=plain' | jq -e .rows
	kill "$server"
	wait "$server"
}

@test "in a browser: views, filters, history, hostile names, downloads, a narrow window; no complaint" {
	local chromium
	chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "Chromium is not installed"
	command -v node >/dev/null || skip "node is not installed"
	[ -d "$ROOT/tests/npm/node_modules/playwright-core" ] || skip "playwright-core is not installed (scripts/deps-npm.sh)"
	mkdir all
	"$PROGRAMS/make_session" all/plain plain 3000
	"$PROGRAMS/make_session" all/hostile hostile 1500
	serve all
	short=$(short_folder) # the browser has sockets in its temporary folder
	CHROMIUM=$chromium TMPDIR=$short DEADLINE=$DEADLINE timeout $((5 * DEADLINE)) node "$ROOT/tests/browser/serve.mjs" \
		"http://$address$login" >results </dev/null
	rm -rf "$short"
	not grep '^skip ' results || skip "$(sed -n 's/^skip //p' results)"
	cat results
	[ "$(grep -c '^ok ' results)" = 8 ]
	not grep -v '^ok ' results
}
