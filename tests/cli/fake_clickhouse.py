# SPDX-License-Identifier: GPL-2.0-or-later
"""A server that answers as no ClickHouse should: fake_clickhouse.py ANSWER FILE.

Prints its port. Writes the path and the body of each request to FILE. The first question, for the
version, has a right answer (unless ANSWER is about it); ANSWER chooses the others:

  error     status 500 with a text of several lines and an escape
  memory    the tables are there, and each question about them needs too much memory
  half      a length of 1000 bytes, and ten of them
  nothing   the connection is closed
  garbage   200, with bytes that are no rows
  old       the version is 20.3
  html      the version is a page
  text      it is like an empty ClickHouse, but inserts into func_hour have the status 200 and an error as text
  blank     likewise, but questions about blocks that are stored have the status 200 and no row, and inserts none

"text" and "blank" are in FILE as all others are.
"""

import socketserver
import struct
import sys
from http.server import BaseHTTPRequestHandler

answer, log = sys.argv[1:]


owner = b""


def like_clickhouse(path, body):
    """The answer of a ClickHouse whose tables are empty."""
    global owner
    if "INSERT" in path:
        return b"Code: 241. DB::Exception: Memory limit exceeded\n" if answer == "text" and "func_hour" in path else b""
    if b"INSERT INTO schema_version" in body:
        owner = struct.pack("<II", *[int(n) for n in body.split(b"VALUES (0,")[1].strip(b" )").split(b",")])
    if b"WHERE version > 0" in body:
        return struct.pack("<III", 3, 0, 1)
    if b"WHERE version = 0" in body:
        return owner
    if b"FROM system.tables" in body:
        return struct.pack("<Q", 0)
    if b"UNION ALL SELECT toUInt32(0)" in body and answer != "blank":
        return struct.pack("<II", 0, 0)
    if b"UNION ALL SELECT toUInt8(255)" in body and answer != "blank":
        return struct.pack("<BQQ", 255, 0, 1)
    return b""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, status, body, length=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with open(log, "ab") as out:
            out.write(self.path.encode() + b"\n" + body + b"\n")
        if b"version()" in body:
            versions = {"old": b"20.3.1\n", "html": b"<html><h1>It works!</h1></html>"}
            self.reply(200, versions.get(answer, b"26.7.2.1\n"))
        elif answer in ("text", "blank"):
            self.reply(200, like_clickhouse(self.path, body))
        elif answer == "memory" and b"schema_version" in body:
            self.reply(200, struct.pack("<III", 3, 0, 1))
        elif answer in ("error", "memory"):
            self.reply(500, b"Code: 241. DB::Exception: \x1b[31mmemory limit\nsecond line\n")
        elif answer == "half":
            self.reply(200, b"0123456789", 1000)
            self.close_connection = True
        elif answer == "nothing":
            self.close_connection = True
        else:
            self.reply(200, b"\xff" * 37)


with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()
