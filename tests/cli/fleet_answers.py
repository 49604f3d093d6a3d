#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A gateway that takes blocks of functions, and answers those of addresses by these statuses in turn (the last one stays).

Prints its address, and then a line for each block: METHOD PATH STATUS.

    fleet_answers.py STATUS…
"""
import http.server
import sys

statuses = [int(status) for status in sys.argv[1:]]


class Gateway(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kind = self.path.split("/")[2]
        status = 200
        if kind == "leaves":
            status = statuses.pop(0) if len(statuses) > 1 else statuses[0]
        if kind in ("leaves", "blocks"):
            print(self.command, self.path, status, flush=True)
        self.send_response(status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_PUT = do_POST = answer

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
print("127.0.0.1:%d" % server.server_port, flush=True)
server.serve_forever()
