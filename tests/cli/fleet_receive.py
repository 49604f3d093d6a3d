# SPDX-License-Identifier: GPL-2.0-or-later
"""A gateway in Python for tests: `assay fleet receive` carries out each request, and a test may change the answer."""
import http.server
import subprocess
import tempfile


class Receiver(http.server.BaseHTTPRequestHandler):
    """Hosts are not asked for their token. The class that inherits this one sets `fleet`."""

    protocol_version = "HTTP/1.1"
    fleet = "fleet"

    def words(self):
        """The words of `assay fleet receive` for the request."""
        kind, *rest = self.path.split("/")[2:]
        boot, encoding = self.headers.get("Assay-Boot", ""), self.headers.get("Content-Encoding", "identity")
        if kind in ("blocks", "leaves"):
            return [{"blocks": "block"}.get(kind, kind), self.fleet, rest[0], boot, rest[1], rest[2], encoding]
        if kind == "images" and rest:
            return ["names", self.fleet, "web1", boot, rest[0], encoding]
        return [{"hosts": "host"}.get(kind, kind), self.fleet, rest[0] if rest else "web1", boot]

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def receive(self, body):
        """The status and the bytes of the answer."""
        with tempfile.TemporaryFile() as file:
            file.write(body)
            file.seek(0)
            out = subprocess.run(["assay", "fleet", "receive", *self.words()], stdin=file, stdout=subprocess.PIPE, check=True).stdout
        status, answer = out.split(b"\n", 1)
        return int(status), answer

    def reply(self, status, body, headers=()):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass
