#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A gateway of the fleet FLEET that answers requests of the kind KIND by these statuses in turn (the last one stays).

KIND is blocks (of functions) or leaves (of addresses). The folder that the file gone names, if there is one, is removed before an answer.

Prints its address, and then a line for each block: METHOD PATH STATUS.

    fleet_answers.py FLEET KIND STATUS…
"""
import http.server
import os
import shutil
import sys

import fleet_receive

statuses = [int(status) for status in sys.argv[3:]]


class Gateway(fleet_receive.Receiver):
    fleet = sys.argv[1]

    def answer(self):
        body = self.body()
        kind = self.path.split("/")[2]
        status, answer = 200, b"{}"
        if kind == sys.argv[2]:
            if os.path.exists("gone"):
                shutil.rmtree(open("gone").read().strip(), ignore_errors=True)
            status = statuses.pop(0) if len(statuses) > 1 else statuses[0]
        if status == 200:
            status, answer = self.receive(body)
        if kind in ("leaves", "blocks"):
            print(self.command, self.path, status, flush=True)
        self.reply(status, answer)

    do_PUT = do_POST = answer


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
print("127.0.0.1:%d" % server.server_port, flush=True)
server.serve_forever()
