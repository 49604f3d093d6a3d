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
