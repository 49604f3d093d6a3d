# SPDX-License-Identifier: GPL-2.0-or-later
"""Days of a simulated fleet at the grain of the roll-ups of ClickHouse (docs/fleet.md): no host sent them.

The hours that were loaded are the pattern. A day of a function, a stack or a host has as many samples as by chance 24 such hours have.
"""

import time
import urllib.request

HOUR_S, DAY_S = 3600, 86400
# By table: its columns before the time, those with samples, the seconds of a row, and the days that it gets: one for hours, which only the edges of a question
# need.
TABLES = {
    "func_day": ("service, event, func, build", ["self", "incl"], DAY_S, 0),
    "func_host_day": ("service, event, func, build, host", ["self", "incl"], DAY_S, 0),
    "stack_day": ("service, event, stack", ["samples"], DAY_S, 0),
    "func_hour": ("service, event, func, build", ["self", "incl"], HOUR_S, 1),
    "stack_hour": ("service, event, stack", ["samples"], HOUR_S, 1),
    "coverage": ("host, event", ["samples", "period", "lost"], 600, 0),
}


def run(url, sql):
    server, database = url.rsplit("/", 1)
    return urllib.request.urlopen(f"{server}/?database={database}", sql.encode()).read().decode().strip()


def columns_of(url, table):
    return [line.split("\t")[0] for line in run(url, f"DESCRIBE TABLE {table}").splitlines()]


def noise(column, factor, seed):
    """SQL of today's dialect: `factor` times a sum, with the spread that chance gives such a count: the normal distribution with its variance."""
    mean = f"sum({column}) * {factor}"
    chance = f"sqrt(-2 * log((rand64({seed}) + 1) / 18446744073709551617.)) * cos(6.283185307 * rand64({seed + 1}) / 18446744073709551616.)"
    return f"toUInt64(greatest(0, round({mean} + sqrt({mean}) * {chance})))"


def day_values(table, factor):
    """SQL by column: the samples of a row of a generated day. Functions have no fewer samples in all than of their own."""
    if table == "coverage":
        values = {name: f"toUInt64(sum({name}) * {factor})" for name in TABLES[table][1]}
        return values | {"part": "toUInt32(1)", "rows": "toUInt32(0)", "received": "now()"}
    if table.startswith("stack"):
        return {"samples": noise("samples", factor, 1)}
    return {"self": noise("self", factor, 1) + " AS new_self", "incl": "new_self + " + noise("(incl - self)", factor, 3)}


def day_sql(url, table, first_s, hours, day_s):
    """The statement that makes a day of a table, whose seconds begin at day_s."""
    keys, _, grain_s, _ = TABLES[table]
    values = day_values(table, grain_s / HOUR_S / hours)
    values["time"] = f"toDateTime(arrayJoin(range({day_s}, {day_s + DAY_S}, {grain_s})))"
    chosen = ", ".join(values.get(name, name) for name in columns_of(url, table))
    kept = "" if table == "coverage" else "service != '' AND "
    pattern = f"time >= toDateTime({first_s // grain_s * grain_s}) AND time < toDateTime({first_s + int(hours * HOUR_S)})"
    return f"INSERT INTO {table} SELECT {chosen} FROM {table} WHERE {kept}{pattern} GROUP BY {keys}"


def add_days(url, first_s, hours, days):
    """Adds the days before the one of first_s. Returns lines for people: rows, bytes of a row and seconds by table."""
    today_s = first_s // DAY_S * DAY_S
    lines = ["", "| table | rows of the generated days | bytes of a row on the disk | s |", "|---|---|---|---|"]
    for table, (_, _, _, most) in TABLES.items():
        begin, before = time.monotonic(), int(run(url, f"SELECT count() FROM {table}"))
        for day in range(1, (most or days) + 1):
            run(url, day_sql(url, table, first_s, hours, today_s - day * DAY_S))
        after = int(run(url, f"SELECT count() FROM {table}"))
        size = float(run(url, f"SELECT sum(bytes_on_disk) / sum(rows) FROM system.parts WHERE active AND database = currentDatabase() AND table = '{table}'"))
        lines.append(f"| {table} | {after - before:,} | {size:.1f} | {time.monotonic() - begin:.0f} |")
    return "\n".join(lines)
