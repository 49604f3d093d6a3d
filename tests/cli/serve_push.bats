#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# assay serve --push: profiles of Pyroscope's clients and of OpenTelemetry, and what is no profile.

# Each test has a process and a cookie of its own. `head` is a file.
# shellcheck disable=SC2012,SC2030,SC2031,SC2094,SC2100,SC2120,SC2238

load helpers
load serve

record=record-record-record-record-record

# begin [OPTION…]: a server that takes profiles into `pushed`.
begin() {
	printf 'read %s\nrecord %s\nrecord %s comm:x\n' read-read-read-read-read-read-read-1 $record limited-limited-limited-limited-1 >tokens
	chmod 600 tokens
	serve --push pushed --token-file tokens "$@"
	cookie="Authorization:Bearer $record"
}

# push PATH FILE [HEADER:VALUE…]: the body to `answer`.
push() {
	client post "$1" "@$2" "$cookie" "${@:3}" 2>"head" >answer
}

# A profile of a minute ago, of 15 samples in two stacks, as folded stacks, pprof and OTLP.
profiles() {
	printf 'main;walk;hash 11\nmain;walk 4\n' >folded
	gzip -k folded
	assay import -q folded --start -1m --name "$1" -o made
	assay export -q -i made --format pprof -o pprof
	assay export -q -i made --format otlp -o otlp
	rm -r made
}

parts() {
	find pushed/samples/current -mindepth 1 -maxdepth 1 | wc -l
}

labels_of() { # KEY
	assay report -i pushed --by "$1" -t 0 --format json | jq -r '.rows | map([.label, .samples]) | group_by(.[0])[] | "\(.[0][0] // "") \(map(.[1]) | add)"'
}

samples_of() { # COMM
	assay report -i pushed --by comm -t 0 --format json | jq --arg comm "$1" '[.rows[] | select(.comm == $comm) | .samples] | add'
}

@test "Pyroscope's clients push pprof and folded stacks, as forms, bodies and messages" {
	profiles worker
	begin
	api sources | jq -c '.sources | map(.name)' | diff - <(echo '["pushed"]')
	push "/ingest?name=shop.cpu%7Bregion=eu%7D&from=$(date +%s)" folded
	[ "$(status)" = 200 ] || { cat answer; false; }
	[ ! -s answer ]
	[ "$(samples_of shop.cpu)" = 15 ]
	api 'values?source=pushed&by=comm' | jq -c '.rows | map([.comm, .samples])' | diff - <(echo '[["shop.cpu",15]]')
	push "/ingest?name=packed&from=$(date +%s)" folded.gz
	[ "$(status)" = 200 ]
	[ "$(samples_of packed)" = 15 ]
	python3 "$ROOT/tests/cli/push.py" form pprof >form
	push '/ingest?name=shop.cpu' form 'Content-Type:multipart/form-data; boundary=4e1b'
	[[ $(status) != 422 ]] || skip "built without protobuf-c"
	[ "$(status)" = 200 ] || { cat answer; false; }
	[ "$(samples_of worker)" = 15 ] # the profile itself has the name
	push '/ingest' pprof
	[ "$(status)" = 200 ]
	[ "$(samples_of worker)" = 30 ]
	# Two series in one message, gzipped.
	python3 "$ROOT/tests/cli/push.py" request one folded two folded >request
	gzip request
	push /push.v1.PusherService/Push request.gz Content-Type:application/proto Content-Encoding:gzip
	[ "$(status)" = 200 ] || { cat answer; false; }
	has '^Content-Type: application/proto' head
	[ "$(samples_of one) $(samples_of two)" = "15 15" ]
	api 'top?source=pushed' | jq -c '[.rows[] | select(.symbol == "hash") | .samples] | add' | diff - <(echo 66)
	# Labels are keys and filters.
	labels_of label:region | diff - <(printf '%s\n' '[none] 45' 'eu 15' 'eu-one 15' 'eu-two 15')
	api 'top?source=pushed&filter=label:region=eu-one' | jq '[.rows[].samples] | add' | diff - <(echo 15)
	# Many small parts become few, and every sample stays.
	before=$(assay report -i pushed --by comm -t 0 --format json | jq -c '.rows | map([.comm, .samples])')
	[ "$(parts)" = 5 ]
	assay retain -q --tier minutes=1s pushed
	[ "$(parts)" -lt 5 ]
	[ "$before" = "$(assay report -i pushed --by comm -t 0 --format json | jq -c '.rows | map([.comm, .samples])')" ]
}

@test "OTLP profiles over HTTP are taken, if their version is certain" {
	profiles worker
	begin
	[ -s otlp ] || skip "built without protobuf-c"
	push /v1development/profiles otlp Content-Type:application/x-protobuf
	[ "$(status)" = 200 ] || { cat answer; false; }
	has '^Content-Type: application/x-protobuf' head
	[ "$(parts)" = 1 ]
	rm -r pushed/samples/current/2*
	python3 "$ROOT/tests/cli/push.py" otlp v1.10 >new
	push /v1development/profiles new 'Content-Type:application/x-protobuf; charset=utf-8'
	[ "$(status)" = 200 ] || { cat answer; false; }
	# 3 samples of 5 periods of 10 ms.
	assay report -i pushed --by comm,process,symbol,line --format json | jq -c '.rows | map([.event, .comm, .pid, .symbol, .line, .samples, .events])' |
		diff - <(echo '[["cpu","shop",77,"work","a.c:7",15,150000000]]')
	labels_of label | diff - <(echo 'endpoint=/api, deployment.environment=test 15')
	rm -r pushed/samples/current/2*
	python3 "$ROOT/tests/cli/push.py" otlp empty >empty # of a program that did nothing
	push /v1development/profiles empty Content-Type:application/x-protobuf
	[ "$(status)" = 200 ]
	for version in v1.9 older unsure; do
		python3 "$ROOT/tests/cli/push.py" otlp $version >old
		push /v1development/profiles old Content-Type:application/x-protobuf
		[ "$(status)" = 422 ]
		has 'version' answer
	done
	push /v1development/profiles new Content-Type:application/json
	[ "$(status)" = 415 ]
	[ "$(parts)" = 0 ]
	# As exported, with several events: the sums of functions are those of the session.
	"$PROGRAMS/make_session" plain plain 3000
	assay export -q -i plain --format otlp -o exported
	assay import -q --body otlp exported -o again
	for event in cpu-clock page-faults; do
		for session in plain again; do
			assay report -i $session --by thread,symbol --format json -t 0 "event:$event" |
				jq -c '.rows | map(select(.events > 0) | [.tid, .symbol // "", .events]) | group_by(.[0:2]) | map([.[0][0:2], (map(.[2]) | add)])' >of_$session
		done
		[ "$(jq length of_plain)" -gt 20 ]
		diff <(jq 'map(.[1]) | add' of_plain) <(jq 'map(.[1]) | add' of_again)
	done
}

@test "assay's own OTLP export counts no sample twice" {
	profiles worker
	[ -s otlp ] || skip "built without protobuf-c"
	assay import -q --body otlp otlp -o again
	"$PROGRAMS/make_session" plain plain 3000
	assay export -q -i plain --format otlp -o exported
	assay import -q --body otlp exported -o plain.again
	[ "$(assay report -i again --by event,symbol --format json | jq -c '.rows | map(select(.samples > 0) | [.symbol, .samples, .events])')" = '[["hash",11,11],["walk",4,4]]' ]
	for session in plain plain.again; do
		assay report -i $session --by event -t 0 --format json | jq -c '.rows | map([.event, .samples, .events])' >of_$session
	done
	[ "$(jq length of_plain)" -gt 1 ]
	diff of_plain of_plain.again
}

@test "labels: at most 16 a sample, with names that filters can have" {
	printf 'main 5\n' >folded
	labels=()
	for i in {1..20}; do labels+=(--label "l$i=v$i"); done
	assay import folded -o s "${labels[@]}" --label 'no*=x' --label "$(printf 'n%.0s' {1..33})=x" --label "long=$(printf 'é%.0s' {1..100})" 2>err
	has '7 labels are not kept' err
	[ "$(assay report -i s --by label --format json | jq -r '.rows[0].label' | tr ',' '\n' | grep -c '^ *l[0-9]*=v[0-9]*$')" = 16 ]
	run assay import -q folded -o u --label region
	[ "$status" = 2 ]
	[[ "$output" == *'give it as NAME=VALUE'* ]]
	assay import -q folded -o t --label "long=$(printf 'é%.0s' {1..100})"
	[ "$(assay report -i t --by label:long --format json | jq -r '.rows[0].label' | tr -d '\n' | wc -c)" = 128 ]
	[ "$(assay report -i t --by symbol --format json label:long=é* | jq '.rows[0].samples')" = 5 ]
}

@test "pprof and OTLP have the labels of each sample" {
	assay export --list-formats | grep -q '^otlp ' || skip "built without protobuf-c"
	mkdir -p pushed/samples/current
	printf 'main;work 5\n' >folded
	assay import -q folded --into pushed --label region=eu --label 'path=/a, b=c'
	assay import -q folded --into pushed --label region=us
	assay import -q folded --into pushed
	labels_of label >labels
	diff labels - <<-'END'
		[none] 5
		region=eu, path=/a, b=c 5
		region=us 5
	END
	mv pushed all
	for format in pprof otlp; do
		assay export -q -i all --format $format -o exported
		rm -rf pushed
		if [ $format = otlp ]; then
			assay import -q --body otlp exported -o pushed
		else
			assay import -q exported -o pushed
		fi
		labels_of label | diff labels -
		labels_of label:path | diff - <(printf '%s\n' '/a, b=c 5' '[none] 10')
	done
}

@test "pprof and OTLP keep labels apart whose texts are alike" {
	assay export --list-formats | grep -q '^otlp ' || skip "built without protobuf-c"
	mkdir -p pushed/samples/current
	# Two sets of labels that one text joins, and two pairs.
	printf 'main;work 5\n' >folded
	assay import -q folded --into pushed --label x=1 --label y=2
	assay import -q folded --into pushed --label 'x=1, y=2'
	mv pushed all
	assay export -q -i all --format otlp -o exported
	assay import -q --body otlp exported -o back
	pushed_of() { assay report -i "$1" --by label:x -t 0 --format json | jq -r '.rows[] | "\(.label) \(.samples)"' | sort; }
	pushed_of all | diff - <(printf '%s\n' '1 5' '1, y=2 5')
	pushed_of back | diff - <(pushed_of all)
	assay export -q -i all --format pprof -o exported
	assay import -q exported -o again
	pushed_of again | diff - <(pushed_of all)
}

@test "what is no profile, or may not be pushed, leaves nothing behind" {
	profiles worker
	begin
	head -c 20 pprof >cut
	gzip -k pprof
	head -c -9 pprof.gz >cut.gz
	printf 'FLR\0\0\2' >jfr
	"$PROGRAMS/make_session" plain plain 300
	assay export -q -i plain --format pprof -o of2023
	head -c 9000000 /dev/zero >large
	head -c 600000000 /dev/zero | gzip -1 >bomb.gz
	printf 'no form' >text
	# One sample, which is not whole, of the type cpu.
	printf '\x0a\x04\x08\x01\x10\x02\x12\x02\xff\xff\x32\x00\x32\x03cpu\x32\x02ns' >damaged
	printf -- '--x\r\nContent-Disposition: form-data; name="profile"\r\n\r\nmain 1' >unended
	while read -r wanted path file headers; do
		# shellcheck disable=SC2086
		push "$path" "$file" $headers
		[ "$(status)" = "$wanted" ] || { echo "$path $file: $(status)"; cat answer; return 1; }
		[ "$(parts)" = 0 ] || { ls -a pushed/samples/current; return 1; }
	done <<-'END'
		422 /ingest cut
		422 /ingest cut.gz
		422 /ingest jfr
		422 /ingest text
		422 /ingest damaged
		422 /ingest unended
		422 /ingest of2023
		422 /ingest?from=1 folded
		422 /ingest bomb.gz
		415 /push.v1.PusherService/Push folded
		415 /push.v1.PusherService/Push folded Content-Type:application/json
		415 /push.v1.PusherService/Push folded Content-Type:application/proto Content-Encoding:br
		422 /push.v1.PusherService/Push folded Content-Type:application/proto
		422 /v1development/profiles folded Content-Type:application/x-protobuf
		422 /ingest?name=--output=made&from=99999999999999999999 text
	END
	[ ! -e made ]
	# A body that is too large ends its connection, at the latest after the bytes that are read and dropped.
	push /ingest large || true
	not has '^200' head
	[ "$(parts)" = 0 ]
	cookie='Authorization:Bearer read-read-read-read-read-read-read-1'
	push /ingest folded
	[ "$(status)" = 403 ]
	cookie='Authorization:Bearer limited-limited-limited-limited-1'
	push /ingest folded
	[ "$(status)" = 403 ]
	has 'limited by filters' answer
	cookie='Authorization:Bearer nobody'
	push /ingest folded
	[ "$(status)" = 401 ]
	cookie="Authorization:Bearer $record"
	push /ingest folded Origin:http://evil.example
	[ "$(status)" = 403 ]
	[ "$(parts)" = 0 ]
	push "/ingest?from=$(date +%s)" folded
	[ "$(status)" = 200 ]
	kill "$server"
	wait "$server"
	serve plain --token-file tokens
	push /ingest folded
	[ "$(status)" = 404 ]
	has 'without --push' answer
}

@test "a full disk refuses profiles, and harms nothing else" {
	unshare -rm true || skip "this system has no user namespaces"
	profiles worker
	mkdir pushed
	seq -f 'main;f%g 1' 20000 >many
	begin_small() {
		# shellcheck disable=SC2016
		background unshare -rm sh -c 'mount -t tmpfs -o size=128k tmpfs pushed && exec assay serve --push pushed --token-file tokens' >serve.out 2>serve.err
		server=$!
		wait_for has_line_or_ended serve.out "$server"
		address=$(sed -n '1s|^http://\([^/]*\)/.*|\1|p' serve.out)
		cookie="Authorization:Bearer $record"
	}
	printf 'record %s\n' $record >tokens
	chmod 600 tokens
	begin_small
	[ -n "$address" ] || skip "no tmpfs in a user namespace: $(cat serve.err)"
	now=$(date +%s)
	push "/ingest?name=small&from=$now" folded
	[ "$(status)" = 200 ]
	push "/ingest?name=large&from=$now" many
	[ "$(status)" = 422 ]
	has 'No space left' answer
	# What was there stays, and there is room for as much as before.
	api 'values?source=pushed&by=comm' | jq -c '.rows | map([.comm, .samples])' | diff - <(echo '[["small",15]]')
	push "/ingest?name=small&from=$now" folded
	[ "$(status)" = 200 ]
	api 'values?source=pushed&by=comm' | jq -c '.rows | map([.comm, .samples])' | diff - <(echo '[["small",30]]')
}

has_hidden() {
	[ -n "$(find history -name '.import-*' 2>/dev/null)" ]
}

@test "a profile joins a history by assay import --into, and a history has so many parts at most" {
	profiles worker
	assay import -q folded --into history --start '2026-01-05T10:00:00Z' --name old
	assay import -q folded --into history --start '2026-01-05T10:00:00Z' --name old
	find history/samples/current -mindepth 1 -maxdepth 1 -printf '%f\n' >names
	[ "$(grep -cxE '20260105T100000\.000Z-[0-9]+' names) $(sort -u names | wc -l)" = "2 2" ]
	assay report -i history --since 2026-01-05T09:00:00Z --until 2026-01-05T11:00:00Z --by comm --format json | jq -c '.rows | map([.comm, .samples])' | diff - <(echo '[["old",30]]')
	# A part that is as old as merged ones is none of them.
	assay retain -q --tier minutes=1s history
	assay import -q folded --into history --start '2026-01-05T10:00:00Z' --name old
	assay report -i history --by comm --format json | jq -c '.rows | map([.comm, .samples])' | diff - <(echo '[["old",45]]')
	assay retain -q --tier minutes=1s history
	assay report -i history --by comm --format json | jq -c '.rows | map([.comm, .samples])' | diff - <(echo '[["old",45]]')
	# An import that is ended leaves nothing.
	awk 'BEGIN { for (i = 0; i < 400000; i++) print "main;a" i % 5000 ";b" i " 3" }' >many
	background assay import -q many --into history
	wait_for has_hidden
	kill "$!"
	wait "$!" || status=$?
	[ "$status" = 143 ]
	[ -z "$(find history -name '.import-*')" ]
	run assay import folded --into history -o other
	[ "$status" = 2 ]
	run assay import pprof --into history --body otlp
	[ "$status" = 1 ]
	mkdir history/samples/current/.import-1 history/samples/current/.import-2
	touch -d '-1 day' history/samples/current/.import-1
	mkdir history/samples/current/{1..4095}
	run assay import folded --into history
	[ "$status" = 1 ]
	has "assay retain --tier minutes=10m history" <(echo "$output")
	[ ! -e history/samples/current/.import-1 ] # of an import that was killed
	[ -e history/samples/current/.import-2 ]
}

@test "assay ship sends the blocks of a history as OTLP, and as pprof to Pyroscope, once" {
	begin
	assay record -q -o rec "$PROGRAMS/split" 0.4s
	mkdir -p store/samples/current
	cp -r rec "store/samples/current/$(date -u -d "@$(stat -c %Y rec)" +%Y%m%dT%H%M%S.000Z)"
	printf %s "$record" >token
	chmod 600 token
	all=$(assay report -i store -t 0 --format json | jq .header.samples.selected)
	for to in otlp pyroscope; do
		for _ in 1 2; do
			assay ship --to "$to+http://$address" --token-file token --state state --once -q --host web1 store
		done
		[ "$(assay report -i pushed -t 0 --format json --by symbol | jq '[.rows[] | .samples] | add')" = "$all" ]
		[ "$(assay report -i pushed -t 0 --format json --by symbol | jq '[.rows[] | select(.symbol == "forty") | .samples] | add')" = \
			"$(assay report -i store -t 0 --format json --by symbol | jq '[.rows[] | select(.symbol == "forty") | .samples] | add')" ]
		rm -r pushed/samples/current/2*
	done
	# Each kind has a folder, although they have one address.
	find state -mindepth 1 -maxdepth 1 -name '*_*' -printf '%f\n' | sort | diff - <(printf '%s\n' otlp pyroscope | sed "s/$/_${address/:/_}/")
	# Nobody answers, a wrong token, another machine without TLS, and addresses.
	run assay ship --to otlp+http://127.0.0.1:1 --state other --once --host web1 store
	[ "$status" = 1 ]
	echo wrong >token
	run assay ship --to "otlp+http://$address" --token-file token --state other --once --host web1 store
	[ "$status" = 1 ]
	[[ "$output" == *"answers 40"* ]]
	run assay ship --to otlp+http://example.org --state other --once --host web1 store
	[ "$status" = 1 ]
	[[ "$output" == *"write https://"* ]]
	for word in leaves labels; do
		run -2 assay ship --to "otlp+http://$address" "--$word" x=y --state other --once --host web1 store
		[[ "$output" == *"--$word is for a fleet"* ]]
	done
	# What was not taken waits.
	printf %s "$record" >token
	assay ship --to "otlp+http://$address" --token-file token --state other --once -q --host web1 store
	[ "$(assay report -i pushed -t 0 --format json --by symbol | jq '[.rows[] | .samples] | add')" = "$all" ]
}

# other_server STATUS…: a server of another tool, which gives these answers and then 200. got.N is the N-th body that it took. The bodies of its answers are the file answer, if there is one.
other_server() {
	cat >other.py <<-'END'
		import http.server, os, sys
		class Other(http.server.BaseHTTPRequestHandler):
		    statuses, taken = [int(a) for a in sys.argv[1:]], 0
		    def do_POST(self):
		        body = self.rfile.read(int(self.headers["Content-Length"]))
		        status = self.statuses.pop(0) if self.statuses else 200
		        if status == 200:
		            Other.taken += 1
		            with open(f"got.{self.taken}", "wb") as f:
		                f.write(body)
		            with open("asked", "a") as f:
		                print(self.path, self.headers["Content-Type"], file=f)
		        self.send_response(status)
		        if status == 503:
		            self.send_header("Retry-After", "2")
		        answer = open("answer", "rb").read() if os.path.exists("answer") else b""
		        self.send_header("Content-Length", str(len(answer)))
		        self.end_headers()
		        self.wfile.write(answer)
		    def log_message(self, *arguments):
		        pass
		server = http.server.HTTPServer(("127.0.0.1", 0), Other)
		with open("port.new", "w") as f:
		    f.write(str(server.server_port))
		os.rename("port.new", "port")
		server.serve_forever()
	END
	background python3 other.py "$@"
	wait_for test -s port
	url=http://127.0.0.1:$(cat port)
}

# A history of two parts: the older one is small, and the newer one is large.
two_sizes() {
	echo 'main;walk 5' >small
	awk 'BEGIN { for (i = 0; i < 3000; i++) print "main;a" i ";b" i " 3" }' >large
	assay import -q small --into history --start '2026-01-05T10:00:00Z' --name small
	assay import -q large --into history --start '2026-01-05T11:00:00Z' --name large
}

@test "assay ship to another tool waits as long as the server asks, and names the host as --host says" {
	two_sizes
	other_server 200 503
	begin=$(date +%s%N)
	assay ship --to "otlp+$url" --state state --once -q --host web9 history
	# 503 asked for 2 s.
	[ $(($(date +%s%N) - begin)) -ge 2000000000 ]
	# The profiles were imported, so no block has a host's name of its own.
	[ "$(grep -alF web9 got.*)" = $'got.1\ngot.2' ]
}

@test "assay ship says what a receiver of OpenTelemetry rejects, and that a page is none" {
	two_sizes
	other_server
	echo '<html>It works!</html>' >answer
	run assay ship --to "otlp+$url" --state state --once --host web9 history
	[ "$status" = 1 ]
	[[ "$output" == *"is no receiver of OpenTelemetry"* ]]
	# ExportProfilesServiceResponse: partial_success { rejected_profiles: 2, error_message: "no room" }
	printf '\x0a\x0b\x08\x02\x12\x07no room' >answer
	run assay ship --to "otlp+$url" --state state --once --host web9 history
	[ "$status" = 0 ]
	[ "$(grep -c "took the block of 20260105T1.*, but rejected 2 profiles of it: no room" <<<"$output")" = 2 ]
	# They must not come again.
	run assay ship --to "otlp+$url" --state state --once --host web9 history
	[ "$output" = "assay: nothing to send: all 2 blocks of the history were sent before" ]
}

@test "assay ship to another tool: a block that can't be written in the format does not hold up the others" {
	two_sizes
	other_server
	# The block has 126 kB, and 282 kB as OTLP. It is the newest, so it comes first.
	run -1 bash -c "trap '' XFSZ; ulimit -f 200; exec assay ship --to otlp+$url --state state --once --host web9 history"
	[[ "$output" == *"a block is refused: "*"File too large"* ]]
	[[ "$output" == *"1 block sent: 5 samples"* ]]
	# It comes again.
	run assay ship --to "otlp+$url" --state state --once --host web9 history
	[ "$status" = 0 ]
	[[ "$output" == *"1 block sent: 9000 samples"* ]]
	[ ! -e got.3 ]
}

@test "a push to Pyroscope has what the documentation of its /ingest asks for" {
	other_server
	assay record -q -o rec "$PROGRAMS/split" 0.4s
	history=store/samples/current/$(date -u -d "@$(stat -c %Y rec)" +%Y%m%dT%H%M%S.000Z)
	mkdir -p store/samples/current
	cp -r rec "$history"
	assay ship --to "pyroscope+$url" --state state --once -q --host web1 store
	# name, from and until are required; from and until are seconds. The format says that the body is pprof.
	python3 - <<-'END'
		import gzip, sys, urllib.parse
		for number, line in enumerate(open("asked"), 1):
		    path, kind = line.split()
		    url = urllib.parse.urlsplit(path)
		    words = dict(urllib.parse.parse_qsl(url.query, strict_parsing=True))
		    assert url.path == "/ingest" and words.keys() == {"name", "from", "until", "format"}, path
		    assert words["name"] == "assay{host=web1}" and words["format"] == "pprof", words
		    assert int(words["from"]) % 600 == 0 and int(words["until"]) == int(words["from"]) + 600, words
		    assert kind == "application/octet-stream" and gzip.decompress(open(f"got.{number}", "rb").read()), kind
	END
	total=0
	for body in got.*; do
		mv "$body" "$body.pb.gz"
		total=$((total + $(assay report -i "$body.pb.gz" --idle --format json | jq .header.samples.selected)))
	done
	[ "$total" = "$(assay report -i store --idle --format json | jq .header.samples.selected)" ]
}
