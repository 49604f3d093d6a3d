# SPDX-License-Identifier: GPL-2.0-or-later
# Runs golden.py in a server with CPython: a request of it never ends.
import runpy


def application(environ, start_response):
    runpy.run_path("/golden.py", run_name="__main__")
