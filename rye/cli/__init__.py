"""The ``rye`` command: arguments in, text or JSON out; no logic of its own.

Importing this room pulls in click and the standard library only; a command imports what it needs when it runs.
Every command exits 0 when it found something or all checks passed, 1 when it found nothing or some failed, 2 on an
error. Text that comes from items is escaped before it is shown.

    >>> from rye.cli import main
    >>> main(["--version"])
    rye 0.1.0
    0
"""

from rye.cli.app import main

__all__ = ["main"]
