# SPDX-License-Identifier: GPL-2.0-or-later
"""One thread in two interpreters: in_second() works for ever in the second one, which outer() runs."""

try:
    import _interpreters as interpreters  # 3.13 and newer

    run = interpreters.exec
except ImportError:
    import _xxsubinterpreters as interpreters  # 3.8 and newer

    run = interpreters.run_string

CODE = """
def in_second(x):
    while True:
        x += x * x % 7
in_second(1)
"""


def outer():
    run(interpreters.create(), CODE)


def main():
    outer()


if __name__ == "__main__":
    main()
