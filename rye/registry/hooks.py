"""Whether the hook of rye in the settings of a client can start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from rye._process import find_program
from rye.errors import RyeError
from rye.items.guarded import load_json

SETTINGS: Final = (".claude/settings.json", ".claude/settings.local.json")
_MOST_OF_SETTINGS: Final = 1 << 20


def missing_hooks(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield each settings file in a folder whose hook runs rye by a program that is not there, and the program.

    Such a hook says nothing, as it may not stop a prompt.
    """
    for name in SETTINGS:
        path = folder / name
        try:
            with path.open("rb") as stream:
                settings = load_json(stream.read(_MOST_OF_SETTINGS).decode())
        except (OSError, UnicodeDecodeError, RyeError):
            continue
        for command in _commands(settings):
            words = command.split()
            if words[1:3] == ["hook", "claude"] and find_program(words[0]) is None:
                yield path, words[0]


def _commands(value: Any) -> Iterator[str]:
    """Yield each text under the key ``command``, at any depth."""
    if isinstance(value, dict):
        command = value.get("command")
        if isinstance(command, str):
            yield command
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _commands(inner)
