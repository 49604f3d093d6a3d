# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls of many kinds, for ever. SIGUSR1 has the interpreter itself write the stack into the file that is named (tests/random_stops.py)."""
import faulthandler
import signal
import sys

faulthandler.register(signal.SIGUSR1, file=open(sys.argv[1], "w"), all_threads=False, chain=False)


class Shape:
    def __init__(self, n):
        self.n = n

    def key(self, x):
        return inner(x) + self.n


def inner(x):
    return x * 3 % 7


def numbers(n):
    for i in range(n):
        yield inner(i)


def recursion(n):
    return recursion(n - 1) + 1 if n else leaf(3)


def leaf(n):
    return sum(i * i for i in range(n))


def thrower(n):
    try:
        if n:
            thrower(n - 1)
        else:
            raise ValueError("x")
    except ValueError:
        return inner(n)
    finally:
        inner(n)


def everything():
    shape = Shape(2)
    closure = lambda v: shape.key(v) + inner(v)
    code = compile("inner(1)\nleaf(4)", "made.py", "exec")
    while True:
        sorted(range(20), key=shape.key)
        list(map(closure, range(20)))
        sum(numbers(20))
        recursion(20)
        thrower(5)
        exec(code)


print("ready", flush=True)
everything()
