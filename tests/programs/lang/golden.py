# SPDX-License-Identifier: GPL-2.0-or-later
# Stacks that are known: each function spin_… is at the end of one call path, which PATHS in
# tests/cli/language_stacks.py has. `golden.py ROUNDS` ends and prints its CPU time in milliseconds;
# without a number it goes on for ever. --version: prints the version of Python.
import sys
import threading
import time
import zlib

DATA = bytes(1 << 20)


def spin():
    x = 0
    for i in range(2000 + time.monotonic_ns() % 2048):  # no round takes as long as the one before
        x += i * i
    return x


def spin_callback(v):
    spin()
    return v


def callback():
    sorted([3, 1, 2], key=spin_callback)


class Shape:
    def area(self):
        return self.spin_method()

    def spin_method(self):
        return spin()


def closure():
    def inner():
        def spin_closure():
            return spin() + a
        return spin_closure()
    a = 1
    return inner()


def recursion(n):
    if n:
        return recursion(n - 1)
    return spin_deep()


def spin_deep():
    return spin()


def spin_handler():
    return spin()


def exception():
    try:
        raise KeyError("golden")
    except KeyError:
        spin_handler()
    finally:
        spin_finally()


def spin_finally():
    return spin()


def generator():
    for _ in range(3):
        yield spin_generator()


def spin_generator():
    return spin()


def generators():
    return sum(generator())


def spin_eval():
    return spin()


def evaluated():
    return eval("spin_eval()")


def spin_thread():
    # Without the lock: zlib gives it back while it works.
    return zlib.crc32(DATA)


class Worker(threading.Thread):
    def run(self):
        while not done:
            spin_thread()


def everything():
    callback()
    Shape().area()
    closure()
    recursion(99)
    exception()
    generators()
    evaluated()


if sys.argv[1:] == ["--version"]:
    sys.exit(print("Python %d.%d.%d" % sys.version_info[:3]))
done = False
rounds = int(sys.argv[1]) if len(sys.argv) > 1 else -1
Worker(daemon=True).start()
while rounds:
    everything()
    rounds -= 1
done = True
print(int(time.process_time() * 1000))
