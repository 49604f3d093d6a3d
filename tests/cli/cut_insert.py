#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""cut_insert.py TARGET TABLE BYTES: a server on a free port before ClickHouse at TARGET.

Of the first insert into TABLE, it passes BYTES of the body on, and ends the connection. It passes all other requests on. It
prints its port, and "cut".
"""
import http.client
import http.server
import socket
import sys

target, table, n_bytes = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    has_cut = False

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not Proxy.has_cut and "INTO%20" + table + "%20" in self.path:
            Proxy.has_cut = True
            print("cut", flush=True)
            with socket.create_connection(("127.0.0.1", target)) as s:
                s.sendall(("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (self.path, len(body))).encode() + body[:n_bytes])
                s.shutdown(socket.SHUT_WR)
                s.settimeout(10)
                while s.recv(65536):
                    pass
            self.close_connection = True
            return
        server = http.client.HTTPConnection("127.0.0.1", target, timeout=60)
        server.request("POST", self.path, body)
        answer = server.getresponse()
        data = answer.read()
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


server = http.server.HTTPServer(("127.0.0.1", 0), Proxy)
print(server.server_port, flush=True)
server.serve_forever()
