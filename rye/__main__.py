"""``rye`` and ``python -m rye``: imports the command line after interrupts are handled."""

# ruff: noqa: E402 - Ctrl-C leaves no traceback from the first import on

import _signal as signal  # type: ignore[import-not-found] # built in: no interrupt while it is imported

_IS_DEFAULT = signal.getsignal(signal.SIGINT) is signal.default_int_handler
if _IS_DEFAULT:  # until run() is called, Ctrl-C ends the process without a traceback
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import gc
import os
import sys

from rye._resources import has_foreign_modules, mixed_install

_GARBAGE = 100_000
_IDLE = "4"
_INTERRUPTED = 130
_FAILED = 2


def run() -> int:
    """Run the command line of this process and return its exit status; Ctrl-C is quiet from the start.

    The garbage collector runs once in 100,000 new objects instead of 700, because imports and short commands make no
    cycles. What is left at the end is frozen, so that the interpreter does not search it for cycles as it ends; the two
    took a fifth of a search. OpenBLAS threads sleep as soon as they are idle (after 2⁴ cycles, the minimum); otherwise
    each of them spins.
    """
    gc.set_threshold(_GARBAGE)
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", _IDLE)
    try:
        if _IS_DEFAULT:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if has_foreign_modules() and _is_broken():
            return _FAILED
        from rye.cli import main

        return main()
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "rye" and _is_broken():
            return _FAILED
        raise
    except KeyboardInterrupt:
        return _INTERRUPTED
    finally:
        gc.freeze()


def _is_broken() -> bool:
    """Report what another distribution did to rye's files, if anything; return whether rye cannot run."""
    words, is_broken = mixed_install()
    if words:
        sys.stderr.write(
            f"{'error' if is_broken else 'warning'}[mixed-install]: {words}\n"
            "hint: remove both, and give rye an environment of its own (pipx or uv tool); "
            "it reads the bundles of another one with --bundle SITE-PACKAGES or RYE_BUNDLES\n"
        )
    return bool(words) and is_broken


if __name__ == "__main__":
    sys.exit(run())
