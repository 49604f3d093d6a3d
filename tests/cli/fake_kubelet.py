# SPDX-License-Identifier: GPL-2.0-or-later
"""A kubelet with the pods of a file: fake_kubelet.py FILE [TOKEN]. Prints its port.

Answers GET /pods by the text of FILE. With TOKEN, other tokens are refused by 403. Each request is a
line in the file asked.
"""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_GET(self):
        with open("asked", "a") as out:
            print(self.path, self.headers.get("Authorization", "-"), file=out)
        status, body = 404, b"no such page\n"
        if len(sys.argv) > 2 and self.headers.get("Authorization") != "Bearer " + sys.argv[2]:
            status, body = 403, b"Forbidden\n"
        elif self.path == "/pods":
            status, body = 200, open(sys.argv[1], "rb").read()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()
