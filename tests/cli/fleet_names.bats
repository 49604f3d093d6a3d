#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Names of functions on their way to a gateway: many, slowly, and to one that is busy.
load helpers
load serve
load fleet_hosts
load fleet

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR TZ=UTC0
}

# A gateway at $url that wants all names and has no blocks. To each index, it says "later" TIMES times. The file `asked` has a line for each
# request: milliseconds, the status, the bytes of the body and the path.
busy_gateway() { # TIMES
	cat >busy.py <<-'END'
		import collections, http.server, json, os, sys, time
		tries = collections.Counter()
		class Gate(http.server.BaseHTTPRequestHandler):
		    protocol_version = "HTTP/1.1"
		    def do_PUT(self):
		        body = self.rfile.read(int(self.headers["Content-Length"]))
		        tries[self.path] += 1
		        answer, status = {"fleet": "0123456789abcdef", "contact_s": 600, "bucket_s": 600}, 200
		        if self.path == "/v1/images":
		            answer = {"wanted": list(json.loads(body)["images"])}
		        elif self.path.startswith("/v1/images/"):
		            answer = {"kept": True}
		            status = 200 if tries[self.path] > int(sys.argv[1]) else 429
		        with open("asked", "a") as asked:
		            print(time.monotonic_ns() // 1000000, status, len(body), self.path, file=asked)
		        text = json.dumps(answer).encode()
		        self.send_response(status)
		        self.send_header("Content-Length", str(len(text)))
		        if status == 429:
		            self.send_header("Retry-After", "1")
		        self.end_headers()
		        self.wfile.write(text)
		    do_POST = do_PUT
		server = http.server.HTTPServer(("127.0.0.1", 0), Gate)
		open("ready.new", "w").write(str(server.server_port))
		os.rename("ready.new", "ready")
		server.serve_forever()
	END
	background python3 busy.py "$1"
	wait_for test -s ready
	url=http://127.0.0.1:$(cat ready)
	echo 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef >token.web1
	chmod 600 token.web1
}

# A history without blocks, and indexes of builds that no file has.
some_indexes() { # NUMBER [BYTES]
	mkdir -p empty/samples/current
	"$PROGRAMS/make_session" empty/samples/current/20260601T000000.000Z at "$PROGRAMS/split" </dev/null
	ship web1 empty -q
	"$PROGRAMS/make_indexes" state.web1/*/.names "$@"
}

@test "ship --once sends names of more than 1,000 builds" {
	gateway
	some_indexes 2040
	# The gateway has most of them. They are in no order, so each question has some that it wants.
	mkdir -p fleet/.names
	cp state.web1/*/.names/*.sym fleet/.names/
	for number in $(seq 50 50 2040); do
		rm "fleet/.names/$(printf %08x "$number").sym"
	done
	[ "$(find fleet/.names -name '*.sym' | wc -l)" = 2000 ]
	ship web1 empty -q --names-rate 0
	[ "$(find fleet/.names -name '*.sym' | wc -l)" = 2040 ]
	[ "$(cat fleet/.names/*.from | sort | uniq -c | xargs)" = "40 web1" ]
}

@test "a gateway that is busy gets the names later, each once" {
	busy_gateway 2
	some_indexes 3
	ship web1 empty -q --names-rate 0 >said 2>&1
	[ ! -s said ]
	for number in 1 2 3; do
		[ "$(grep "/$(printf %08x $number)/symbols" asked | cut -d' ' -f2 | xargs)" = "429 429 200" ]
	done
}

@test "a gateway that has had enough is left alone, and ship says so" {
	busy_gateway 100
	some_indexes 3
	# It waits a second or two after each refusal. Its time is short here.
	ship web1 empty --names-rate 0 >said 2>&1
	has "names are not sent: .* answers 429" said
	[ "$(grep -c /symbols asked)" = 8 ]
}

@test "--names-rate is the bytes of names in a second" {
	busy_gateway 0
	some_indexes 3 40000
	ship web1 empty -q --names-rate 20k
	grep /symbols asked >sent
	[ "$(cut -d' ' -f2 sent | xargs)" = "200 200 200" ]
	# After each index, as long as its bytes take.
	awk 'NR > 1 && $1 - time < bytes / 20 { exit 1 } { time = $1 + 1; bytes = $3 } END { exit NR != 3 || bytes < 20000 }' sent
}

@test "--names-rate holds for names that a busy gateway refuses" {
	busy_gateway 1
	some_indexes 2 60000
	ship web1 empty -q --names-rate 10k
	grep /symbols asked >sent
	[ "$(cut -d' ' -f2 sent | xargs)" = "429 200 429 200" ]
	# The bytes that were refused count, too. They take longer than the one or two seconds that the gateway asks for.
	awk 'NR > 1 && $1 - time < bytes / 10 { exit 1 } { time = $1 + 1; bytes = $3 } END { exit NR != 4 || bytes < 22000 }' sent
}

# The functions of bin/work in the fleet, largest first.
functions() {
	assay report -i fleet --by symbol -t 1 --format json 'image:*work' | jq -r '.rows[].symbol' | xargs
}

@test "names that no host could send come from a server of debuginfod, for all readers" {
	assay --version | grep -q 'libdebuginfod.*yes' || skip "built without libdebuginfod"
	need_recording
	unset DEBUGINFOD_URLS
	stripped_program
	assay record -q -F 997 -o rec bin/work
	history_of rec history
	assay ship --to dir:fleet --once -q --host web1 history
	[[ "$(functions)" != *parse* ]]
	assay fleet names fleet >said 2>&1
	has "^0 of [0-9]* files of the fleet have new names" said
	build=$(readelf -n whole/work | sed -n 's/.*Build ID: //p')
	mkdir -p "srv/buildid/$build"
	cp whole/work "srv/buildid/$build/debuginfo"
	export DEBUGINFOD_URLS="file://$PWD/srv" DEBUGINFOD_CACHE_PATH=$PWD/fetched
	XDG_CACHE_HOME=$PWD/of.gateway assay fleet names fleet >said 2>&1
	has "^1 of [0-9]* files of the fleet has new names" said
	[ "$(cat "fleet/.names/$build.from")" = "(assay fleet names)" ]
	[ -z "$(find fleet/.names -name '.found*')" ]
	# A reader that asks no server.
	unset DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH
	[[ "$(XDG_CACHE_HOME=$PWD/of.reader functions)" == *parse*copy* || "$(XDG_CACHE_HOME=$PWD/of.reader functions)" == *copy*parse* ]]
	XDG_CACHE_HOME=$PWD/of.gateway assay fleet names fleet >said 2>&1
	has "^0 of " said
}
