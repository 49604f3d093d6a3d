# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: GPL-2.0-or-later
# A real ClickHouse for tests, and a server that only looks like one.

# Makes an empty database in the ClickHouse at $ASSAY_CLICKHOUSE (http://127.0.0.1:8123), and drops it at the end: $clickhouse is its URL.
real_clickhouse() {
	[ -n "${ASSAY_CLICKHOUSE-}" ] || skip "no ClickHouse: set ASSAY_CLICKHOUSE to the URL of one (docs/testing.md)"
	curl -sf -m 5 "$ASSAY_CLICKHOUSE/ping" >/dev/null || { echo "ASSAY_CLICKHOUSE: $ASSAY_CLICKHOUSE does not answer"; return 1; }
	database=assay_test_${BATS_TEST_NUMBER}_$$
	curl -sf "$ASSAY_CLICKHOUSE/" --data-binary "CREATE DATABASE $database"
	clickhouse=$ASSAY_CLICKHOUSE/$database
}

drop_clickhouse() {
	[ -z "${database-}" ] || curl -s "$ASSAY_CLICKHOUSE/" --data-binary "DROP DATABASE $database"
}

# The answer to a statement, as tab-separated text.
sql() {
	curl -sS "$ASSAY_CLICKHOUSE/?database=$database" --data-binary "$1"
}

# A server that answers in a way that ClickHouse does not: fake_clickhouse ANSWER. $clickhouse is its URL, and it writes each request to the file requests.
fake_clickhouse() {
	background python3 "$ROOT/tests/cli/fake_clickhouse.py" "$1" requests >port 2>fake.err
	wait_for test -s port
	clickhouse=http://127.0.0.1:$(cat port)/fake
}

# A fleet of two hosts with a recording each: fleet_of_two
fleet_of_two() {
	local host
	for host in web1 web2; do
		assay record -q -o "$host.rec" "$PROGRAMS/split" 0.5cpu
		mkdir -p "$host/samples/current"
		cp -r "$host.rec" "$host/samples/current/$(date -u -d "@$(stat -c %Y "$host.rec")" +%Y%m%dT%H%M%S.000Z)"
		assay ship --to dir:fleet --once -q --host "$host" --labels zone=a "$host"
	done
}

samples() {
	assay report -i "$@" --format json | jq .header.samples.selected
}

# The samples that each table of sums has, and the largest receipt: "N N N N N N 1" where all is right.
sums() {
	local table
	for table in facts:samples stack_hour:samples stack_day:samples func_hour:self func_day:self func_host_day:self; do
		sql "SELECT sum(${table#*:}) FROM ${table%:*} WHERE service != ''"
	done
	sql "SELECT max(n) FROM (SELECT func, sum(incl) AS n FROM func_day WHERE service = '' GROUP BY func)"
}

all_are() { # N
	printf '%s\n%s\n%s\n%s\n%s\n%s\n1\n' "$1" "$1" "$1" "$1" "$1" "$1"
}

# Passes requests on to the ClickHouse: clickhouse_proxy. The file mode chooses what happens to inserts into func_hour; the file held has a line for each.
#   late   the answer is 504 at once, and the server gets the insert when the file go is there
#   hang   there is no answer
# Sets $proxied, the URL of the database.
clickhouse_proxy() {
	background python3 "$ROOT/tests/cli/clickhouse_proxy.py" "$ASSAY_CLICKHOUSE" >proxy.port 2>proxy.err
	wait_for test -s proxy.port
	proxied=http://127.0.0.1:$(cat proxy.port)/$database
}

# Empties the files of two tables, of a day or of all, as a full disk once did: break_tables DATABASE [DAY]
break_tables() {
	local table part file
	for table in coverage facts; do
		sql "SELECT path FROM system.parts WHERE database = '$1' AND table = '$table' AND active AND partition LIKE '${2-%}' FORMAT TabSeparated" >parts
		[ -s parts ]
		while read -r part; do
			[ -d "$part" ] || skip "the server's files are not on this machine"
			for file in "$part"/*.bin; do
				: >"$file"
			done
		done <parts
	done
	sql "SYSTEM DROP MARK CACHE"
	sql "SYSTEM DROP UNCOMPRESSED CACHE"
}
