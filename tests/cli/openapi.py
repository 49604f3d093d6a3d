#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks docs/openapi.json against the table of answers, and against answers of a server.

openapi.py TREE ADDRESS COOKIE SOURCE BASELINE FLEET: prints a line for each answer that was checked, and fails at the first difference.
"""
import http.client
import json
import re
import sys
import urllib.parse


def table(tree):
    """NAME: its arguments, as src/serve/api.def has them."""
    rows = re.findall(r'API\("(\w+)",[^"]*(?:"[^"]*")?,? ?(?:NULL,|"[^"]*",) "([^"]*)", "([^"]*)"', open(f"{tree}/src/serve/api.def").read())
    found = {name: arguments.split() for name, _, arguments in rows}
    assert len(found) == open(f"{tree}/src/serve/api.def").read().count("\nAPI("), "a row of api.def is not read here"
    return found


def resolve(document, node):
    while "$ref" in node:
        target = document
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target
    return node


KINDS = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}

OF_FLEETS = "hosts", "blocks", "regressions"


def check(document, schema, value, place):
    schema = resolve(document, schema)
    assert isinstance(value, KINDS[schema["type"]]), f"{place}: {value!r} is no {schema['type']}"
    if "enum" in schema:
        assert value in schema["enum"], f"{place}: {value!r}"
    for name in schema.get("required", []):
        assert name in value, f"{place}: there is no {name}"
    for name, inner in schema.get("properties", {}).items():
        if name in value:
            check(document, inner, value[name], f"{place}.{name}")
    for i, one in enumerate(value if "items" in schema else []):
        check(document, schema["items"], one, f"{place}[{i}]")


def main():
    tree, address, cookie, source, baseline, fleet = sys.argv[1:]
    document = json.load(open(f"{tree}/docs/openapi.json"))
    given = {"source": source, "baseline": baseline, "by": "comm", "limit": "3", "filter": "comm:worker", "frames": "native"}
    rows = table(tree)
    described = {path.removeprefix("/api/v1/"): operations["get"] for path, operations in document["paths"].items() if "get" in operations}
    assert set(described) == set(rows) | {"sources", "labels", "recording"}, set(described) ^ set(rows)
    for name in "recording", "calls", "timeline", "instructions":  # of perf.data files alone; with a processor trace
        operation = described.pop(name)
        assert [resolve(document, p)["name"] for p in operation["parameters"]] == rows.get(name, ["source"]), name
    for name, operation in described.items():
        parameters = [resolve(document, p) for p in operation["parameters"]]
        assert [p["name"] for p in parameters] == rows.get(name, []), name
        of_fleet = {"source": fleet, "filter": "host:web1", "since": "2026-06-01"} if name in OF_FLEETS else {}
        query = {p["name"]: (given | of_fleet)[p["name"]] for p in parameters if p["name"] in given | of_fleet}
        assert all(p["name"] in query for p in parameters if p["required"]), name
        connection = http.client.HTTPConnection(address)
        connection.request("GET", f"/api/v1/{name}?{urllib.parse.urlencode(query)}", headers={"Cookie": cookie})
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200, f"{name}: {answer.status} {body[:200]}"
        content = resolve(document, operation["responses"]["200"])["content"]
        kind = answer.getheader("Content-Type").split(";")[0]
        assert list(content) == [kind], f"{name}: {kind}"
        if kind == "application/json" and "$ref" in content[kind]["schema"]:
            check(document, content[kind]["schema"], json.loads(body), name)
        connection.request("GET", f"/api/v1/{name}")
        answer = connection.getresponse()
        check(document, resolve(document, operation["responses"]["401"])["content"]["application/json"]["schema"], json.loads(answer.read()), "401")
        assert answer.status == 401
        print(name)


main()
