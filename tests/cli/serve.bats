#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# assay serve: who may ask, the answers, and clients that are hostile. tests/browser/serve.mjs opens the page.

# Each test has a process and a cookie of its own. `head` is a file, and `slow` is a page and a file.
# shellcheck disable=SC2030,SC2031,SC2094,SC2238

load helpers
load daemon
load serve

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
	api 'top?source=plain&filter=comm%3D%22worker%22,symbol!~%22.*h%22' | jq .rows >matched
	[ "$(jq length matched)" -gt 1 ]
	diff matched <(assay report -i all/plain --symbols --format json comm:worker 'symbol-exclude:*h' | jq .rows)
	api 'values?source=plain&by=thread' | jq .rows | diff - <(assay report -i all/plain --by thread -t 0 --format json | jq .rows)
	api 'series?source=plain&by=thread' | jq -c '.series | map([.event, .thread, .samples])' >of_series
	diff of_series <(assay report -i all/plain --by thread -t 0 --format json | jq -c '.rows | map([.event, .thread, .samples])')
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
	for frames in native language; do
		api "tree?source=plain&frames=$frames" | diff - <(assay report -i all/plain --tree --frames $frames --format json)
		[ "$(api "top?source=plain&frames=$frames" | jq -r .header.frames)" = $frames ]
	done
	api doctor | jq -e .checks
	# A file that is no recording is a failure of that answer alone.
	api 'top?source=notes' | jq -e .error
	[ "$(status)" = 422 ]
}

@test "of 100,000 values, an answer has the heaviest, and a row for all others" {
	"$PROGRAMS/make_session" many many 100000
	serve many
	enter
	for question in 'top?' 'values?by=symbol&' 'values?by=comm&'; do
		key=$(sed -n 's/.*by=\(.*\)&/\1/p' <<<"$question")
		api "${question}source=many" >answer
		[ "$(status)" = 200 ]
		[ "$(stat -c %s answer)" -lt 1000000 ]
		jq -e --arg key "${key:-symbol}" '([.rows[][$key] | select(.)] | unique | length) == 1000 and
			([.rows[].other | select(.)] | unique) == [99000] and
			([.rows[].samples] | add) == 100000 and ([.total[].samples] | add) == 100000' answer
		[ "$(api "${question}source=many&limit=5" | jq -c '[.rows[].other | select(.)] | unique')" = '[99995]' ]
		# Each of the others is an answer of its own.
		name=$(jq -r --arg key "${key:-symbol}" '[.rows[][$key] | select(.)] | sort | .[0] | sub("[.].*"; ".99999")' answer)
		jq -e --arg key "${key:-symbol}" --arg name "$name" '[.rows[] | select(.[$key] == $name)] == []' answer
		api "${question}source=many&filter=${key:-symbol}=~%22${name%9}.*%22" |
			jq -e --arg key "${key:-symbol}" --arg name "$name" '[.rows[] | select(.[$key] == $name).samples] | add == 1'
	done
	api 'top?source=many&limit=100000' | jq -e '([.rows[].symbol] | unique | length) == 100000 and ([.rows[].other | select(.)] == [])'
}

@test "of a million functions and names of threads, a worker's memory is enough for the heaviest" {
	"$PROGRAMS/make_session" many many 1000000
	serve many
	enter
	for question in 'top?' 'values?by=symbol&' 'values?by=comm&'; do
		api "${question}source=many&limit=5" >answer
		[ "$(status)" = 200 ]
		jq -e '([.rows[].other | select(.)] | unique) == [999995] and ([.rows[].samples] | add) == 1000000 and
			([.total[].samples] | add) == 1000000' answer
	done
	# Rows by both keys are more than the memory has room for, with the samples' callers.
	api 'values?by=comm,symbol&source=many' >answer
	[ "$(status)" = 200 ]
	has '^X-Assay-Warning' head
}

@test "the OpenAPI file has every answer, as it is" {
	"$PROGRAMS/make_session" plain plain 3000
	"$PROGRAMS/make_session" base plain 1700 7 9
	"$ASSAY_BUILD/bench/history" hist 1 2000 400
	assay ship --to dir:fleet --once -q --host web1 hist
	serve plain base fleet
	enter
	python3 "$ROOT/tests/cli/openapi.py" "$ROOT" "$address" "${cookie#Cookie:}" plain base fleet >names
	[ "$(wc -l <names)" -ge 20 ]
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
		400 top?source=plain&filter=comm%3D~%22(a%22
		400 top?source=plain&filter=comm:*a*a*a*a*a*a*a*a*a
		422 top?source=plain&filter=comm%3D~%22(a*)*(a*)*(a*)*b%22
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
		read cert:x session:y|chooses sources
		read short|needs 32 characters
		read all-all-all-all-all-all-all-all-1 session:x|chooses sources
		read all-all-all-all-all-all-all-all-1 Comm:worker|is not a filter
		read all-all-all-all-all-all-all-all-1 nothing|is not a filter
		read all-all-all-all-all-all-all-all-1 nothing:x|nothing
	END
}

@test "a file of tokens is its user's alone, and a limit of stars has no way around" {
	"$PROGRAMS/make_session" plain plain 300
	stars='comm:*a*b*c*d*e*f*g*h*i*'
	while IFS='|' read -r line wanted; do
		printf '%s\n' "$line" >bad
		chmod 600 bad
		run assay serve plain --token-file bad
		[ "$status" = 1 ] || skip "built without libmicrohttpd"
		has "$wanted" <(echo "$output")
	done <<-END
		read all-all-all-all-all-all-all-all-1 $stars|at most 8 stars
		read all-all-all-all-all-all-all-all-1 $stars"|at most 8 stars
		read all-all-all-all-all-all-all-all-1 comm=~".*a.*b.*c.*d.*e.*f.*g.*h.*i.*" nothing|is not a filter
	END
	chmod 640 bad
	[ "$(id -u)" != 0 ] || chown 1:1 bad
	run assay serve plain --token-file bad
	has 'other users may read it' <(echo "$output")
	# Root's file with an entry of an ACL, as LoadCredential= makes it: the bits of the group are the mask.
	chmod 440 bad
	[ "$(id -u)" != 0 ] || chown 0:0 bad
	unshare -r true || skip "this system has no user namespaces"
	run unshare -r assay serve plain --token-file bad
	has 'is not a filter' <(echo "$output")
	chmod 444 bad
	run unshare -r assay serve plain --token-file bad
	has 'other users may read it' <(echo "$output")
}


@test "a unit of systemd passes its socket" {
	"$PROGRAMS/make_session" plain plain 300
	run assay serve plain --listen systemd
	[ "$status" = 1 ]
	has 'systemd passed no socket' <(echo "$output")
	short=$(short_folder)
	background python3 -c '
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execvp("assay", ["assay", "serve", "plain", "--listen", "systemd"])' "$short/web" >serve.out 2>serve.err
	server=$!
	wait_for has_line_or_ended serve.out "$server"
	login=$(sed -n '1s|.* path \(.*\) once$|\1|p' serve.out)
	address=unix:$short/web
	enter
	api sources | jq -e '.sources | length == 1'
	kill "$server"
	wait "$server"
	[ -e "$short/web" ] # it is systemd's
	# A socket of another family has no address that a browser knows.
	run python3 -c '
import os, socket
s = socket.socket(socket.AF_VSOCK)
s.bind((socket.VMADDR_CID_ANY, socket.VMADDR_PORT_ANY))
s.listen()
os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execvp("assay", ["assay", "serve", "plain", "--listen", "systemd"])'
	has 'neither IP nor Unix' <(echo "$output") || has 'OSError' <(echo "$output") # no vsock here
	rm -rf "$short"
	command -v systemd-analyze >/dev/null || return 0
	mkdir unit
	sed "s#@bindir@#$(dirname "$(command -v assay)")#" "$ROOT/data/assay-serve.service" >unit/assay-serve.service
	cp "$ROOT/data/assay-serve.socket" unit
	systemd-analyze verify --man=no "$PWD/unit/assay-serve.socket" "$PWD/unit/assay-serve.service" 2>verify.log || { cat verify.log; false; }
	systemd-analyze security --help | grep -q -- --offline || return 0
	systemd-analyze security --offline=true --threshold=25 "$PWD/unit/assay-serve.service" >/dev/null
}

@test "it listens for this machine alone, or at a socket of its user" {
	"$PROGRAMS/make_session" plain plain 300
	run assay serve plain --listen 0.0.0.0:0
	[ "$status" = 1 ] || skip "built without libmicrohttpd"
	has 'other machines could reach' <(echo "$output") || has 'built without libmicrohttpd' <(echo "$output")
	echo "read all-all-all-all-all-all-all-all-1" >tokens
	chmod 600 tokens
	run assay serve plain --listen 0.0.0.0:0 --token-file tokens
	[ "$status" = 1 ]
	has 'add --tls-certificate' <(echo "$output")
	run assay serve plain --listen 0.0.0.0:0 --behind-proxy
	[ "$status" = 1 ]
	has 'add --token-file' <(echo "$output")
	run assay serve plain --tls-certificate cert.pem
	[ "$status" = 2 ]
	run assay serve nowhere
	[ "$status" = 1 ]
	has "cannot read 'nowhere'" <(echo "$output")
	if [ "$(cat /proc/sys/net/ipv4/ip_unprivileged_port_start)" -gt 80 ]; then
		run unprivileged assay serve . --listen 80
		refused 1 "cannot listen at '80': ports below 1024 need root; name another one"
	fi
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
	[ "$(ulimit -Sn hard && client flood 2000 "$cookie")" = 200 ]
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

@test "a request whose client goes gives up its place, and a long download stays" {
	"$PROGRAMS/make_session" plain plain 300000
	serve plain
	enter
	client body /api/v1/sources "$cookie" | diff - <(echo 200)
	client crowd '/api/v1/top?source=plain&limit=1' 200 "$cookie" | diff - <(printf 'some had to wait\n200\n200\n')
	client slow '/api/v1/speedscope?source=plain' 600 "$cookie" >slow.json
	api 'speedscope?source=plain' | cmp - slow.json
	[ "$(wc -c <slow.json)" -gt 4000000 ]
}

@test "Grafana's data source for Pyroscope has types, labels, series and flame graphs" {
	"$PROGRAMS/make_session" plain plain 3000
	"$PROGRAMS/make_session" $'b\xffd' plain 10
	serve plain $'b\xffd'
	enter
	grafana() { # METHOD FIELD…
		python3 "$ROOT/tests/cli/grafana.py" "$address" "${cookie#Cookie:}" "$@"
	}
	type=1=assay:cpu-clock:nanoseconds:cpu-clock:nanoseconds
	grafana ProfileTypes >types
	[[ $(<types) != 404* ]] || skip "built without protobuf-c"
	diff types - <<-'END'
		assay:cpu-clock:nanoseconds:cpu-clock:nanoseconds assay cpu-clock nanoseconds cpu-clock nanoseconds
		assay:page-faults:count:page-faults:count assay page-faults count page-faults count
	END
	grafana LabelNames >names
	has '^data_symbol$' names
	grafana LabelValues 1=service_name | diff - <(echo plain) # the other name is no UTF-8
	grafana LabelValues 1=comm '2={service_name="plain", comm!="main"}' | diff - <(echo worker)
	grafana LabelValues 1=process | diff - <(assay report -i plain --by process --format json | jq '.rows[].pid' | uniq)
	grafana SelectSeries "$type" '2={service_name="plain"}' 3:=1600000000000 4:=1800000000000 5=comm 6/=2 | sort >series
	diff series - <<-END
		[('comm', 'main')] 1700000000000 5 $(events_of comm:main)
		[('comm', 'worker')] 1700000000000 5 $(events_of comm:worker)
	END
	grafana SelectSeries "$type" '2={comm="nobody"}' | diff - /dev/null
	grafana SelectMergeStacktraces "$type" '2={comm=~"wor.*"}' | tail -1 | diff - <(echo "total $(events_of comm:worker)")
	# With few boxes, those that are too light are one below each function that has some.
	grafana SelectMergeStacktraces "$type" 5:=3 >boxes
	grep '^(other) ' boxes
	tail -1 boxes | diff - <(echo "total $(assay report -i plain --format json event:cpu-clock | jq '.total[0].events')")
	# Before and after all samples.
	grafana SelectMergeStacktraces "$type" 3:=1000 4:=2000 | diff - <(echo "total 0")
	while IFS='|' read -r wanted method selector; do
		grafana "$method" "$type" "2=$selector" | grep -q "^$wanted" || { echo "$method $selector"; return 1; }
	done <<-'END'
		404|SelectMergeSpanProfile|{}
		404|SelectSeries|{service_name="other"}
		400|SelectSeries|{service_name=~"plain"}
		400|SelectSeries|{comm="a
		400|SelectSeries|{comm=~"("}
		400|SelectSeries|{nobody="x"}
	END
	client post /querier.v1.QuerierService/ProfileTypes '{}' "$cookie" Content-Type:application/json 2>"head" >/dev/null
	[ "$(status)" = 415 ]
	client post /querier.v1.QuerierService/ProfileTypes '' Content-Type:application/proto 2>"head" >/dev/null
	[ "$(status)" = 401 ]
	jq -e '.panels | map(.datasource.type) | unique == ["grafana-pyroscope-datasource"]' "$ROOT/data/grafana-dashboard.json"
}

events_of() { # FILTER
	assay report -i plain --format json event:cpu-clock "$1" | jq '.total[0].events'
}

@test "the daemon records for some seconds, if its settings and the asker's role permit it" {
	need_daemon
	rate=$(at_most 499)
	start_daemon d -e cpu-clock -F 49 --max-cpu 0 --max-memory 0
	not assay ctl --session-dir d record machine 1 2>refused
	has "add 'allow-record = yes'" refused
	end_daemon
	start_daemon d -e cpu-clock -F 49 --max-cpu 0 --max-memory 0 --allow-record
	printf 'read %s\nrecord %s\nrecord %s comm:x\n' read-read-read-read-read-read-read-1 record-record-record-record-record limited-limited-limited-limited-1 >tokens
	chmod 600 tokens
	serve d --token-file tokens
	record() { # TOKEN ARGUMENTS
		client post "/api/v1/record?$2" '' "Authorization:Bearer $1" 2>"head"
	}
	record read-read-read-read-read-read-read-1 'source=d&target=machine&seconds=2&rate=499' >/dev/null
	[ "$(status)" = 403 ]
	record limited-limited-limited-limited-1 'source=d&target=machine&seconds=2&rate=499' >/dev/null
	[ "$(status)" = 403 ]
	while read -r wanted question; do
		record record-record-record-record-record "$question" >answer
		[ "$(status)" = "$wanted" ] || { echo "$question"; cat answer; return 1; }
	done <<-'END'
		404 source=nowhere&target=machine&seconds=2
		422 source=d&target=machine&seconds=61&rate=499
		422 source=d&target=machine&seconds=2&rate=1000
		422 source=d&target=--timeout&seconds=2
		400 source=d&target=pid:1%0A&seconds=2
		400 source=d&target=machine
	END
	work
	record record-record-record-record-record "source=d&target=pid:$busy&seconds=40&rate=$rate" >answer
	jq -e --arg filter "pid:$busy" '.ok and .filter == $filter and .until_seconds - .since_seconds == 41' answer
	record record-record-record-record-record 'source=d&target=machine&seconds=1' >second
	[ "$(status)" = 422 ]
	has 'another recording runs' second
	[ "$(status_of d .rate_hz)" = "$rate" ]
	wait_for has_rate 49
	has "control: process .* of user 0: .*\"target\":\"pid:$busy\".*\"asker\":\"token of line 2\"" daemon.log
	assay ctl --session-dir d dump
	since=$(jq .since_seconds answer) until=$(jq .until_seconds answer)
	[ "$(assay report --session-dir d --since "@$since" --until "@$until" "pid:$busy" --format json | jq .header.samples.selected)" -gt 100 ]
}

@test "a daemon that is restarted goes on in the same history, and records" {
	need_daemon
	start_daemon d -e cpu-clock -F 49 --max-cpu 0 --max-memory 0 --allow-record
	serve d
	enter
	work
	wait_for has_busy_samples 1
	end_daemon
	has_busy_samples 1 # the answers stay
	client post "/api/v1/record?source=d&target=machine&seconds=1&rate=49" '' "$cookie" 2>"head" >answer
	[ "$(status)" = 422 ]
	has daemon answer
	before=$(busy_samples)
	start_daemon d -e cpu-clock -F 49 --max-cpu 0 --max-memory 0 --allow-record
	wait_for has_busy_samples $((before + 1))
	client post "/api/v1/record?source=d&target=machine&seconds=1&rate=49" '' "$cookie" 2>"head" >answer
	[ "$(status)" = 200 ]
}

busy_samples() {
	api "values?source=d&by=comm&filter=pid:$busy&weight=samples" | jq '[.rows[]?.samples] | add // 0'
}

has_busy_samples() { # AT LEAST
	[ "$(busy_samples)" -ge "$1" ]
}

@test "settings that are read again, during a recording on request" {
	need_daemon
	rate=$(at_most 499)
	settings() { # LINE…
		printf '%s\n' 'max-cpu = 0' 'max-memory = 0' 'allow-record = yes' "$@" >daemon.conf
	}
	again() { # TIMES
		kill -HUP "$daemon"
		wait_for has_read "$1"
	}
	settings 'freq = 49' 'event = cpu-clock'
	start_daemon d --config "$PWD/daemon.conf"
	ask d record machine 60 rate="$rate"
	[ "$(status_of d .rate_hz)" = "$rate" ]
	again 1 # with no other rate, it goes on
	[ "$(status_of d .rate_hz)" = "$rate" ]
	settings 'freq = 29' 'event = cpu-clock'
	again 2
	wait_for has_rate 29
	ask d record machine 60 rate="$rate"
	settings 'freq = 39' 'event = task-clock'
	again 3
	wait_for has_begun_anew
	has_rate 39
	ask d record machine 1 rate="$rate" # none runs any more
	wait_for has_rate 39
	settings 'event = page-faults:100'
	again 4
	wait_for has_begun_anew
	not ask d record machine 1 rate="$rate" 2>refused
	has "there is no rate to raise" refused
}

has_read() { # TIMES
	[ "$(grep -c "settings were read again" daemon.log)" = "$1" ]
}

# The events changed, and they are counted.
has_begun_anew() {
	grep -e 'other events' -e collecting daemon.log | tail -1 | grep -q collecting
}

has_rate() { # HZ
	[ "$(status_of d .rate_hz)" = "$1" ]
}

@test "in a browser: views, selectors, series, comparison, history, keyboard, hostile names, axe-core; no complaint" {
	local chromium
	chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "Chromium is not installed"
	command -v node >/dev/null || skip "node is not installed"
	[ -d "$ROOT/tests/npm/node_modules/playwright-core" ] && [ -d "$ROOT/tests/npm/node_modules/axe-core" ] || skip "playwright-core is not installed (scripts/deps-npm.sh)"
	mkdir all
	"$PROGRAMS/make_session" all/plain plain 3000
	"$PROGRAMS/make_session" all/hostile hostile 1500
	"$PROGRAMS/make_session" all/base plain 1700 7 9
	"$PROGRAMS/make_session" all/many many 3000
	printf PERFILE2 >all/perf.data
	"$ASSAY_BUILD/bench/history" all/hist 2 30000 400
	echo "read all-all-all-all-all-all-all-all-1" >tokens
	chmod 600 tokens
	serve all --token-file tokens
	short=$(short_folder) # the browser has sockets in its temporary folder
	CHROMIUM=$chromium TMPDIR=$short DEADLINE=$DEADLINE timeout $((5 * DEADLINE)) node "$ROOT/tests/browser/serve.mjs" \
		"http://$address$login" "$PWD/all" >results </dev/null
	rm -rf "$short"
	not grep '^skip ' results || skip "$(sed -n 's/^skip //p' results)"
	cat results
	[ "$(grep -c '^ok ' results)" = 32 ]
	not grep -v '^ok ' results
}

@test "a login without ClickHouse is refused" {
	echo user:password >login
	chmod 600 login
	run -2 assay serve --login login .
	[[ "$output" == *"--login is for ClickHouse"* ]]
}
