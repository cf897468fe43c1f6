"""``rye`` and ``python -m rye``: the command line, imported where an interrupt is already answered for."""

import sys

_INTERRUPTED = 130


def run() -> int:
    """Run the command line of this process and return its exit status; Ctrl-C is quiet from the start."""
    try:
        from rye.cli import main

        return main()
    except KeyboardInterrupt:
        return _INTERRUPTED


if __name__ == "__main__":
    sys.exit(run())
