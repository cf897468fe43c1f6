"""Passphrases: asked for on a terminal, never shown, never taken from the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from rye.errors import RyeError, SigningError
from rye.keys.key_store import PASSPHRASE_VARIABLE
from rye.signing import hide_keys

__all__ = ["ask_new_passphrase", "ask_passphrase", "hide_keys_in"]


def hide_keys_in(error: RyeError) -> None:
    """Take private keys out of whatever an error would tell."""
    error.message, error.hint = hide_keys(error.message), hide_keys(error.hint)
    error.details = {name: _hidden(value) for name, value in error.details.items()}


def _hidden(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_hidden(each) for each in value]
    return hide_keys(value) if isinstance(value, str) else value


def ask_passphrase(what: str) -> bytes:
    """Return the passphrase of a key that is there.

    Raises:
        SigningError: ``passphrase-needed`` when nobody can be asked.
    """
    return _ask(what)


def ask_new_passphrase(what: str) -> bytes:
    """Return a passphrase for a new key, written twice.

    Raises:
        SigningError: ``passphrase-needed`` when nobody can be asked.
    """
    return _ask(what, confirmation_prompt="The same again")


def _ask(what: str, **how: Any) -> bytes:
    looks: tuple[Callable[[], bool], ...] = tuple(
        stream.isatty for stream in (sys.stdin, sys.stderr) if stream is not None
    )
    if len(looks) < 2 or not all(look() for look in looks):
        raise SigningError(
            "passphrase-needed",
            f"{what} needs a passphrase, and there is no terminal to ask on",
            hint=f"set {PASSPHRASE_VARIABLE}",
        )
    said: str = click.prompt(f"Passphrase for {what}", hide_input=True, err=True, **how)
    return said.encode("utf-8", "surrogateescape")
