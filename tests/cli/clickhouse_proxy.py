# SPDX-License-Identifier: GPL-2.0-or-later
"""Passes requests on to a ClickHouse: clickhouse_proxy.py URL. Prints its port.

The file mode, if there is one, chooses what happens to inserts into func_hour. A line in the file
held is written for each:

  late   the answer is 504 at once, and the server gets the insert when the file go is there
  hang   there is no answer
"""

import os
import sys
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def forward(path, body):
    try:
        with urllib.request.urlopen(urllib.request.Request(sys.argv[1] + path, body)) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def forward_later(path, body):
    for _ in range(600):
        if os.path.exists("go"):
            break
        time.sleep(0.1)
    forward(path, body)
    with open("forwarded", "a") as out:
        print(path, file=out)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        mode = ""
        if "INSERT%20INTO%20func_hour%20" in self.path and os.path.exists("mode"):
            mode = open("mode").read().strip()
        if mode:
            with open("held", "a") as out:
                print(self.path, file=out)
        if mode == "hang":
            time.sleep(60)
            self.close_connection = True
            return
        if mode == "late":
            threading.Thread(target=forward_later, args=(self.path, body), daemon=True).start()
        status, answer = (504, b"a proxy has no answer\n") if mode else forward(self.path, body)
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


class Server(ThreadingHTTPServer):
    daemon_threads = True


with Server(("127.0.0.1", 0), Handler) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever()
