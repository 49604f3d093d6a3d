#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# assay export to SQLite, asked by sqlite3, and to PostgreSQL, asked by psql of a server that is started here.

load helpers
load exports
load pt

unset PGPORT PGSERVICE PGOPTIONS PGSSLMODE PGHOSTADDR PGPASSFILE

# The tools' folder of the newest server; Debian keeps it off the PATH.
postgres_bin() {
	local bin
	bin=$(find /usr/lib/postgresql/*/bin -name initdb -printf '%h\n' 2>/dev/null | sort -V | tail -1)
	echo "${bin:-$(dirname "$(command -v initdb || echo /nowhere/initdb)")}"
}

# As the user that may run a server, which root may not.
as_server() {
	if [ "$(id -u)" = 0 ]; then
		(cd "$PGDIR" && exec runuser -u nobody -- "$@")
	else
		"$@"
	fi
}

is_ready() {
	"$PGBIN/pg_isready" -q -h "$PGDIR"
}

# One server for all tests of this file, on a Unix socket alone. Why there is none is in no-server. It
# ends by itself where nobody is left to stop it.
setup_file() {
	export PGDIR PGBIN
	local log=$BATS_FILE_TMPDIR/no-server
	PGBIN=$(postgres_bin)
	echo "no PostgreSQL server is installed" >"$log"
	[ -x "$PGBIN/initdb" ] && [ -x "$PGBIN/postgres" ] && command -v psql >/dev/null || return 0
	PGDIR=$(short_folder) || return 0
	echo right >"$PGDIR/password"
	[ "$(id -u)" != 0 ] || chown -R nobody "$PGDIR"
	as_server "$PGBIN/initdb" --no-sync -A scram-sha-256 -U assay --pwfile="$PGDIR/password" -E UTF8 \
		--locale=C -D "$PGDIR/data" >"$log" 2>&1 || return 0
	as_server timeout $((20 * DEADLINE)) "$PGBIN/postgres" -D "$PGDIR/data" -k "$PGDIR" -c listen_addresses= -c fsync=off \
		>"$log" 2>&1 3>&- &
	echo $! >"$BATS_FILE_TMPDIR/server"
	if wait_for is_ready; then
		rm "$log"
	fi
}

teardown_file() {
	[ -n "${PGDIR-}" ] || return 0
	if [ -s "$BATS_FILE_TMPDIR/server" ]; then
		as_server "$PGBIN/pg_ctl" -D "$PGDIR/data" -m immediate stop >/dev/null 2>&1 || true
		kill "$(cat "$BATS_FILE_TMPDIR/server")" 2>/dev/null || true
	fi
	rm -rf "$PGDIR"
}

need_server() {
	assay --version | grep -q 'libpq.*yes' || skip "built without libpq"
	[ ! -e "$BATS_FILE_TMPDIR/no-server" ] || skip "no PostgreSQL server: $(tail -1 "$BATS_FILE_TMPDIR/no-server")"
	export PGHOST=$PGDIR PGUSER=assay PGPASSWORD=right PGDATABASE=postgres PGAPPNAME=test
}

need_sqlite() {
	assay --version | grep -q 'libsqlite3.*yes' || skip "built without libsqlite3"
	command -v sqlite3 >/dev/null || skip "sqlite3 is not installed"
}

ask() {
	psql -qAtX -F, -c "SET search_path = ${SCHEMA:-assay}" -c "$1"
}

# "event,samples,events" a line, as assay report counts them.
totals() {
	assay report -i s --format json "$@" | jq -r '.total[] | "\(.event),\(.samples),\(.events)"' | sort
}
# The rows of assay report -l with self weight, or with any weight: "event,symbol,image,samples".
functions() {
	assay report -i s --format csv --by symbol --threshold 0 | python3 -c '
import csv, sys
column = sys.argv[1]
for row in csv.DictReader(sys.stdin):
    if row["symbol"] and int(row[column]):
        print(row["event"], row["symbol"], row[column], sep=",")' "$1" | grep -v '(no symbols)' | LC_ALL=C sort
}
EVENT_TOTALS='SELECT event, SUM(samples), SUM(period) FROM samples_view GROUP BY event ORDER BY event'

@test "sqlite: totals, functions and inclusive weights are those of assay report" {
	need_sqlite
	session plain
	run assay export -i s -o x.sqlite
	refused 0 "3000 samples as sqlite to x.sqlite, "
	diff <(totals) <(sqlite3 -csv x.sqlite "$EVENT_TOTALS" | tr -d '\r')
	diff <(functions samples) <(sqlite3 -separator , x.sqlite \
		"SELECT event, symbol, samples FROM top_functions WHERE symbol NOT LIKE '[%'" | LC_ALL=C sort)
	diff <(functions total) <(sqlite3 -separator , x.sqlite \
		"SELECT event, symbol, samples FROM inclusive WHERE symbol NOT LIKE '[%'" | LC_ALL=C sort)
	[ "$(sqlite3 x.sqlite 'PRAGMA integrity_check')" = ok ]
	[ -z "$(sqlite3 x.sqlite 'PRAGMA foreign_key_check')" ]
	[ "$(sqlite3 x.sqlite 'PRAGMA user_version')" = "$(sqlite3 x.sqlite "SELECT value FROM session WHERE key = 'schema_version'")" ]
	[ "$(sqlite3 x.sqlite 'SELECT COUNT(*) FROM call_paths WHERE parent_id IS NULL')" = 1 ]
	[ "$(sqlite3 x.sqlite 'SELECT COUNT(*) FROM call_paths WHERE parent_id >= id')" = 0 ]
	for view in samples_view top_functions top_images top_threads per_second; do
		[ "$(sqlite3 x.sqlite "SELECT SUM(samples) FROM $view")" = 3000 ]
	done
}

@test "sqlite: filters, and a file that was there" {
	need_sqlite
	session plain
	echo old >x.sqlite
	assay export -q -i s -o x.sqlite comm:worker
	diff <(totals comm:worker) <(sqlite3 -csv x.sqlite "$EVENT_TOTALS" | tr -d '\r')
	run assay export -i s -F sqlite
	refused 1 "sqlite can't be written to standard output"
	[ "$(find . -name 'x.sqlite*')" = ./x.sqlite ]
}

@test "sqlite: hostile names are rows like all others" {
	need_sqlite
	session hostile
	assay export -q -i s -o x.sqlite
	[ "$(sqlite3 x.sqlite 'SELECT SUM(samples) FROM samples_view')" = 3000 ]
	[ "$(sqlite3 x.sqlite "SELECT COUNT(*) > 0 FROM symbols WHERE name LIKE '</script><script>%'")" = 1 ]
	[ "$(sqlite3 x.sqlite "SELECT COUNT(*) > 0 FROM symbols WHERE instr(name, char(10)) AND instr(name, char(9))")" = 1 ]
	sqlite3 x.sqlite .dump | iconv -f UTF-8 -t UTF-8 >/dev/null
}

@test "sqlite: a disk that fills half way leaves the old file" {
	need_sqlite
	need_full_disk
	"$PROGRAMS/make_session" s plain 20000
	run unshare -m sh -c 'mount -t tmpfs -o size=200k none full && echo kept >full/x.sqlite &&
		assay export -i s -o full/x.sqlite; echo "status $?, $(cat full/x.sqlite), $(ls full)"'
	refused 0 "cannot write 'full/x.sqlite': No space left on device" "status 1, kept, x.sqlite"
}

@test "the documentation names every table, view and column" {
	need_sqlite
	session plain
	assay export -q -i s -o x.sqlite
	local name
	for name in $(sqlite3 x.sqlite "SELECT name FROM sqlite_master WHERE type IN ('table', 'view');
		SELECT c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'"); do
		grep -qw "$name" "$ROOT/docs/sql.md" || { echo "docs/sql.md has no $name" >&2; return 1; }
	done
}

@test "postgresql: totals are those of assay report, and SQLite's and PostgreSQL's answers the same" {
	need_server
	need_sqlite
	session plain
	run assay export -i s -F postgresql -o postgresql:///postgres
	refused 0 "3000 samples as postgresql"
	[[ "$output" != *postgresql:///* ]]
	diff <(totals) <(ask "$EVENT_TOTALS")
	assay export -q -i s -o x.sqlite
	local view
	for view in samples_view top_functions top_images top_threads per_second inclusive callers_callees; do
		diff <(sqlite3 -separator , x.sqlite "SELECT * FROM $view" | LC_ALL=C sort) <(ask "SELECT * FROM $view" | LC_ALL=C sort)
	done
	[ "$(ask "SELECT obj_description('call_paths'::regclass)")" = "the call tree: a row is a place, called by its parent" ]
}

@test "docs/exporters.md says what postgresql keeps" {
	need_server
	command -v pg_dump >/dev/null && command -v xxd >/dev/null || skip "pg_dump or xxd is not installed"
	local id found
	cp "$PROGRAMS/inlines" app_of_the_test
	id=$(readelf -n app_of_the_test | awk '/Build ID/ { print $3 }')
	session_at s app_of_the_test "$(hot_place app_of_the_test),main=30"
	"$PROGRAMS/make_session" lossy lossy 1000
	assay export -q -i s -F postgresql -o dbname=postgres --schema kept
	assay export -q -i lossy -F postgresql -o dbname=postgres --schema losses
	pg_dump --schema kept >text
	found=$(kept_in text "$PWD/app_of_the_test" "$id" inlines.c stir)
	pg_dump --schema losses >text
	kept_table | grep '^| postgresql |' | diff - <(echo "| postgresql | $found | $(has_text text ring-full) |")
}

@test "postgresql: tables that are there are refused, replaced with --replace, left alone in another schema" {
	need_server
	session plain
	assay export -q -i s -F postgresql -o dbname=postgres --schema 'its "one"'
	run assay export -i s -F postgresql -o dbname=postgres --schema 'its "one"' comm:worker
	refused 1 "database 'postgres' has 'its \"one\".branches' already" "--replace" "--schema"
	SCHEMA='"its ""one"""'
	[ "$(ask 'SELECT SUM(samples) FROM samples')" = 3000 ]
	ask 'CREATE TABLE mine (n int)'
	assay export -q -i s -F postgresql -o dbname=postgres --schema 'its "one"' --replace comm:worker
	diff <(totals comm:worker) <(ask "$EVENT_TOTALS")
	[ "$(ask 'SELECT COUNT(*) FROM mine')" = 0 ]
	assay export -q -i s -F postgresql -o dbname=postgres --schema two
	SCHEMA=two
	[ "$(ask 'SELECT SUM(samples) FROM samples')" = 3000 ]
}

@test "postgresql: hostile names are rows like all others" {
	need_server
	session hostile
	SCHEMA=hostile
	assay export -q -i s -F postgresql -o postgres --schema $SCHEMA
	[ "$(ask 'SELECT SUM(samples) FROM samples_view')" = 3000 ]
	[ "$(ask "SELECT COUNT(*) > 0 FROM symbols WHERE name = E'line\nfeed\r\ttab'")" = t ]
	[ "$(ask "SELECT COUNT(*) > 0 FROM symbols WHERE name = E'quote\"back\\\\slash'")" = t ]
}

@test "postgresql: a server that refuses half way keeps nothing" {
	need_server
	session plain
	SCHEMA=public ask "CREATE FUNCTION public.refuse() RETURNS event_trigger LANGUAGE plpgsql AS
		\$\$ BEGIN RAISE EXCEPTION 'no views today'; END \$\$;
		CREATE EVENT TRIGGER refuse ON ddl_command_start WHEN TAG IN ('CREATE VIEW') EXECUTE FUNCTION public.refuse()"
	run assay export -i s -F postgresql -o postgres --schema half
	SCHEMA=public ask "DROP EVENT TRIGGER refuse"
	refused 1 "PostgreSQL: writing: ERROR:" "no views today"
	[ "$(SCHEMA=public ask "SELECT COUNT(*) FROM pg_namespace WHERE nspname = 'half'")" = 0 ]
}

@test "postgresql: not reachable, wrong password, no such database" {
	need_server
	session plain
	run assay export -i s -F postgresql -o "postgresql://assay:wrong@/postgres?host=${PGDIR// /%20}"
	refused 1 "export: PostgreSQL:" "password authentication failed for user \"assay\""
	[[ "$output" != *wrong@* ]]
	run assay export -i s -F postgresql -o dbname=absent
	refused 1 "PostgreSQL:" "database \"absent\" does not exist"
	run assay export -i s -F postgresql -o "host='$PGDIR/nobody-here' dbname=postgres"
	refused 1 "PostgreSQL: connection to server on socket" "No such file or directory"
	[ "${#lines[@]}" = 1 ]
	run assay export -i s -F postgresql -o "nonsense=1"
	refused 1 "invalid connection option \"nonsense\""
	run assay export -i s -F postgresql
	refused 1 "postgresql can't be written to standard output; use -o"
}

@test "sqlite: calls and branches of a processor trace" {
	need_sqlite
	generate --tsc --mtc --cyc -- "$PROGRAMS/flow" indirect
	assay export -q -i trace.data -o x.sqlite --branches --itrace=i1us
	[ -z "$(sqlite3 x.sqlite 'PRAGMA foreign_key_check')" ]
	[ "$(sqlite3 x.sqlite 'SELECT COUNT(*) FROM branches')" = "$(assay script -i trace.data --itrace=b -F ip | wc -l)" ]
	assay report --latency -i trace.data --format csv | awk -F, 'NR > 1 && $1 { print $10, $1, $2, $3, $6 }' |
		LC_ALL=C sort >want
	sqlite3 -separator ' ' x.sqlite 'SELECT function, calls, total, min, max FROM call_durations' | LC_ALL=C sort >got
	[ -s want ]
	diff want got
	# A call is made by one of the function that its path says.
	[ "$(sqlite3 x.sqlite 'SELECT COUNT(*) FROM calls c JOIN calls p ON p.id = c.parent_id
		JOIN trace_call_paths q ON q.id = c.call_path_id WHERE q.parent_id != p.call_path_id')" = 0 ]
	# Inner calls lie in outer ones.
	[ "$(sqlite3 x.sqlite 'SELECT COUNT(*) FROM calls c JOIN calls p ON p.id = c.parent_id
		WHERE c.call_time < p.call_time OR c.return_time > p.return_time')" = 0 ]
	[ "$(sqlite3 x.sqlite 'SELECT SUM(cyc_count) > 0 FROM calls')" = 1 ]
	# Without being asked for they are not there; of samples there are no calls.
	assay export -q -i trace.data -o y.sqlite --itrace=i1us
	[ "$(sqlite3 y.sqlite 'SELECT (SELECT COUNT(*) FROM branches), (SELECT COUNT(*) > 0 FROM calls)')" = "0|1" ]
	session plain
	assay export -q -i s -o z.sqlite
	[ "$(sqlite3 z.sqlite 'SELECT COUNT(*) FROM calls')" = 0 ]
}

@test "postgresql: calls and branches of a processor trace" {
	need_server
	generate --tsc --mtc --cyc -- "$PROGRAMS/flow" longjmp
	assay export -q -i trace.data --format postgresql -o "" --schema traced --branches --itrace=i1us
	assay report --latency -i trace.data --format csv | awk -F, 'NR > 1 && $1 { print $10 "," $1 "," $2 "," $6 }' |
		LC_ALL=C sort >want
	SCHEMA=traced ask 'SELECT function, calls, total, max FROM call_durations' | LC_ALL=C sort >got
	[ -s want ]
	diff want got
	[ "$(SCHEMA=traced ask 'SELECT COUNT(*) > 1000 FROM branches_view')" = t ]
	[ "$(SCHEMA=traced ask 'SELECT COUNT(*) > 10 FROM calls WHERE flags & 2 <> 0')" = t ]
}

# Tables and views, a line each, with their columns.
schema_of() {
	sqlite3 "$1" "SELECT m.name || ': ' || group_concat(c.name, ' ') FROM sqlite_master m, pragma_table_info(m.name) c
		WHERE m.type IN ('table', 'view') GROUP BY m.name ORDER BY m.name"
}

# Sets scripts to the folder with perf's scripts of Python. PERF_SCRIPTS names another one.
perf_scripts() {
	local script
	for script in "${PERF_SCRIPTS:-/nowhere}" /usr/lib*/perf*-core/scripts/python; do
		[ ! -e "$script/exported-sql-viewer.py" ] || { scripts=$script; return; }
	done
	skip "perf's exported-sql-viewer.py is not installed: PERF_SCRIPTS=FOLDER names its folder"
}

@test "perf-sqlite: tables, views and columns are those of perf's export-to-sqlite.py" {
	need_sqlite
	generate --tsc --mtc --cyc --packets 500 --cpus 2 --turn 20 -- "$PROGRAMS/flow" threads
	assay export -i trace.data -o all.perf.sqlite
	golden perf_sqlite_schema.txt schema_of all.perf.sqlite
	# Each view can be read.
	sqlite3 all.perf.sqlite "SELECT name FROM sqlite_master WHERE type = 'view'" >views
	[ "$(wc -l <views)" = 16 ]
	while read -r view; do
		[ "$(sqlite3 all.perf.sqlite "SELECT COUNT(*) > 0 FROM $view")" = 1 ]
	done <views
	sqlite3 -separator ' ' all.perf.sqlite 'SELECT event, hints_hex, cstate, exact_ip, deepest_cstate FROM power_events_view' >got
	grep -q '^mwait 20   $' got
	grep -q '^pwrx    [0-9]$' got
	[ "$(wc -l <got)" = "$(assay script -i trace.data --itrace=p -F event | grep -vc psb)" ]
	[ "$(sqlite3 all.perf.sqlite 'SELECT COUNT(*) FROM context_switches')" = "$(assay script -i trace.data --itrace=e \
		--show-switch-events | grep -c PERF_RECORD_SWITCH)" ]
	[ "$(sqlite3 all.perf.sqlite 'SELECT COUNT(DISTINCT tid) FROM samples_view WHERE id > 0')" = 4 ]
	# As in perf, half of the last digit is added to both, which is left there.
	[ "$(sqlite3 -separator ' ' all.perf.sqlite 'SELECT DISTINCT cbr, mhz, percent FROM cbr')" = "20 1000.5 100.5" ]
	# Like perf, it leaves out tables that are empty.
	generate -- "$PROGRAMS/flow" calls
	assay export -i trace.data -o few.perf.sqlite --itrace=be
	schema_of few.perf.sqlite >few
	run ! grep -E '^(ptwrite|context_switches|mwait|pwre|exstop|pwrx|cbr|power_events)' few
	grep -q ^calls_view: few
}

@test "perf-sqlite: branches and calls are those of the trace" {
	need_sqlite
	generate --tsc --mtc --cyc -- "$PROGRAMS/flow" indirect
	assay export -i trace.data -o x.perf.sqlite
	sqlite3 -separator ' ' x.perf.sqlite "SELECT ip_hex, to_ip_hex FROM samples_view WHERE event LIKE 'branches%' ORDER BY id" >got
	assay script -i trace.data --itrace=b -F ip,addr | awk '{ print $1, $3 }' >want
	[ "$(wc -l <want)" -gt 1000 ]
	diff want got
	assay report --latency -i trace.data --format csv | awk -F, 'NR > 1 && $1 { print $10, $1, $2, $3, $6 }' |
		LC_ALL=C sort >want
	sqlite3 -separator ' ' x.perf.sqlite "SELECT symbol, COUNT(*), SUM(elapsed_time), MIN(elapsed_time), MAX(elapsed_time)
		FROM calls_view WHERE flags IN ('', 'jump') AND id > 0 GROUP BY symbol_id" | LC_ALL=C sort >got
	[ -s want ]
	diff want got
	# Calls know the rows of their branches, and the paths of their callers.
	[ "$(sqlite3 x.perf.sqlite "SELECT COUNT(*) FROM calls_view c JOIN samples_view s ON s.id = c.call_id
		WHERE c.flags = '' AND s.to_symbol = c.symbol AND s.branch_type_name LIKE '%call%'")" = \
		"$(sqlite3 x.perf.sqlite "SELECT COUNT(*) FROM calls_view WHERE flags = '' AND id > 0")" ]
	[ "$(sqlite3 x.perf.sqlite "SELECT COUNT(*) FROM calls_view c JOIN samples_view s ON s.id = c.return_id
		WHERE c.flags = '' AND s.branch_type_name NOT LIKE 'return%' AND c.id > 0")" = 0 ]
	[ "$(sqlite3 x.perf.sqlite "SELECT COUNT(*) FROM calls c JOIN call_paths p ON p.id = c.call_path_id
		WHERE p.parent_id != c.parent_call_path_id")" = 0 ]
}

@test "perf-sqlite: perf's exported-sql-viewer.py shows its call graph and call tree" {
	local scripts
	need_sqlite
	perf_scripts
	generate --tsc --mtc --cyc -- "$PROGRAMS/flow" indirect
	assay export -i trace.data -o x.perf.sqlite
	python3 "$ROOT/tests/cli/perf_viewer.py" "$scripts" x.perf.sqlite >shown
	grep -q '^events: .*branches' shown
	[ "$(awk '$1 == "CallGraphRootItem" { print $2 }' shown)" = \
		"$(sqlite3 x.perf.sqlite 'SELECT COUNT(DISTINCT call_path_id) + 2 FROM calls WHERE id > 0')" ]
	[ "$(awk '$1 == "CallTreeRootItem" { print $2 }' shown)" = \
		"$(sqlite3 x.perf.sqlite 'SELECT COUNT(*) + 2 FROM calls WHERE id > 0')" ]
	python3 "$ROOT/tests/cli/perf_viewer.py" --schema "$scripts" >theirs
	sed '/^comms:/s/ has_calls$//' "$ROOT/tests/cli/golden/perf_sqlite_schema.txt" | diff theirs -
}

@test "perf-sqlite: the samples of any recording, with their call paths" {
	need_sqlite
	perf_record -g -e cpu-clock -o p.data -- "$PROGRAMS/split" 300
	assay export -i p.data -o x.perf.sqlite
	[ "$(sqlite3 x.perf.sqlite 'SELECT COUNT(*) FROM samples WHERE id > 0')" = \
		"$(assay report -i p.data --format json | jq '[.total[].samples] | add')" ]
	# The innermost frame of a chain is the sample's own function.
	[ "$(sqlite3 x.perf.sqlite "SELECT COUNT(*) FROM samples_view s JOIN samples n USING (id)
		JOIN call_paths_view p ON p.id = n.call_path_id WHERE s.symbol IS NOT p.symbol")" = 0 ]
	[ "$(sqlite3 x.perf.sqlite "SELECT COUNT(DISTINCT symbol) FROM call_paths_view
		WHERE symbol IN ('ten', 'twenty', 'thirty') AND parent_id > 1")" = 3 ]
	# A session has sums in place of samples, a stream has no place for a database.
	session plain
	run assay export -i s -o y.perf.sqlite
	[ "$status" = 1 ]
	[[ "$output" == *"a session does not keep"* ]]
	run assay export -i p.data -F perf-sqlite
	[ "$status" = 1 ]
	[[ "$output" == *"use -o"* ]]
	[ ! -e y.perf.sqlite ]
}
