"""Reading ``config/search.yaml`` of the user space and of bundles: field weights per item type, the user's embedder.

::

    weights:
      tool: {title: 4, symbols: 2}
    semantic: {embedder: ollama, model: nomic-embed-text}

A project's file is never read: a cloned repository does not decide how its own items rank, nor where texts are sent.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rye.embedding import Choice
from rye.embedding.choice import MAX_BATCH, MAX_TIMEOUT
from rye.errors import ArgumentError, ItemError, UnavailableError
from rye.index.schema import TYPE_NAMES
from rye.items.yaml_safe import load as load_yaml
from rye.search.fields import TEXT_FIELDS, nearest
from rye.search.weights import Overrides
from rye.spaces import Root

SETTINGS = Path("config", "search.yaml")
MAX_WEIGHT = 100.0
_MAX_BYTES = 1 << 16
_EVERYONES = ("weights",)
_USERS = ("weights", "semantic")
_CHOOSES = re.compile(rb"^[\"']?semantic[\"']?[ \t]*:", re.MULTILINE)

_CHOICE: Mapping[str, tuple[Any, float]] = {
    "embedder": (str, 0),
    "model": (str, 0),
    "url": (str, 0),
    "key_variable": (str, 0),
    "batch": (int, MAX_BATCH),
    "timeout": ((int, float), MAX_TIMEOUT),
    "threshold": ((int, float), 1),
}
"""What ``semantic`` may hold: the type of each, and the largest number."""

_NOTHING: Mapping[str, tuple[int, ...]] = {"batch": (0,), "timeout": (0,)}


def read_overrides(roots: Sequence[Root]) -> tuple[Mapping[str, Overrides], list[str]]:
    """Return ``(weights by source, problems)``: a bundle's own for its items, the user's over everything."""
    problems: list[str] = []
    own = {root.source: _read_weights(root, problems) for root in roots if root.space != "project"}
    users = own.get("user", {})
    merged = {root.source: _merge(own.get(root.source, {}), users) for root in roots}
    return {source: weights for source, weights in merged.items() if weights}, problems


def _merge(below: Overrides, above: Overrides) -> Overrides:
    kinds = below.keys() | above.keys()
    return {kind: {**below.get(kind, {}), **above.get(kind, {})} for kind in kinds}


def read_choice(user: Path) -> Choice:
    """Return the embedder that the user's file chooses, the embedded one where it chooses none.

    Args:
        user: The user's space root.

    Raises:
        UnavailableError: ``embedder-settings``: the file cannot be used, so nothing is embedded.
    """
    path = user / SETTINGS
    table, problem = _table(path)
    fault = "" if problem else _stray(table, _USERS)
    chosen = {} if problem or fault else table.get("semantic") or {}
    fault = fault or _choice_fault(chosen)
    try:
        if not problem and not fault:
            named = {"kind" if key == "embedder" else key: value for key, value in chosen.items()}
            return Choice(**named).checked()
    except ArgumentError as error:
        fault = error.message
    problem = problem or f"{path} is left out: {fault}"
    hint = "see the knowledge item rye/embedding for what 'semantic' may hold"
    raise UnavailableError("embedder-settings", problem, hint=hint, path=str(path))


def ignored_choices(roots: Sequence[Root]) -> list[str]:
    """Return a warning for each project whose file tries to choose an embedder; nothing else of it is looked at."""
    found = []
    for root in roots:
        with suppress(OSError):
            if root.space == "project" and _CHOOSES.search(_bytes(root.path / SETTINGS)):
                message = "a project does not choose the embedder, only the user's own file does"
                found.append(f"{root.path / SETTINGS} is left out: {message}")
    return found


def _read_weights(root: Root, problems: list[str]) -> Overrides:
    path = root.path / SETTINGS
    table, problem = _table(path)
    fault = "" if problem else _stray(table, _USERS if root.space == "user" else _EVERYONES) or _fault(table)
    if problem or fault:
        problems.append(problem or f"{path} is left out: {fault}")
        return {}
    weights = table.get("weights") or {}
    return {str(kind): {name: float(value) for name, value in row.items()} for kind, row in weights.items()}


def _table(path: Path) -> tuple[Any, str]:
    """Return what a file holds, or what is wrong with it."""
    try:
        data = _bytes(path)
        table = load_yaml(data.decode("utf-8")) or {}
    except OSError as error:
        return {}, f"{path} cannot be read: {error.strerror}"
    except (ItemError, UnicodeDecodeError) as error:
        return {}, f"{path} is left out: {error}"
    if len(data) > _MAX_BYTES:
        return {}, f"{path} is left out: it has more than {_MAX_BYTES:,} bytes"
    return table, ""


def _bytes(path: Path) -> bytes:
    """Return a little more of a file than it may have, nothing of one that is not there; a pipe is not waited for."""
    if not path.exists():
        return b""
    if not path.is_file():
        raise OSError(errno.EINVAL, "it is not a regular file")
    with path.open("rb") as handle:
        return handle.read(_MAX_BYTES + 1)


def _choice_fault(chosen: Any) -> str:
    """Return what is wrong with the choice of an embedder, or nothing."""
    if not isinstance(chosen, Mapping):
        return "'semantic' must be a mapping"
    for key, value in chosen.items():
        if key not in _CHOICE:
            return f"'semantic' may hold only {', '.join(_CHOICE)}, not {key!r}"
        kind, most = _CHOICE[key]
        if isinstance(value, bool) or not isinstance(value, kind):
            return f"'semantic.{key}' is {value!r}; it must be a {'text' if kind is str else 'number'}"
        if (not isinstance(value, str) and not 0 <= value <= most) or value in _NOTHING.get(key, ()):
            return f"'semantic.{key}' is {value!r}; it must be at most {most:,g}"
    return ""


def _stray(table: Any, known: Sequence[str]) -> str:
    """Say what a file may hold if it holds anything else."""
    if not isinstance(table, Mapping) or table.keys() - set(known):
        return f"it may hold only {' and '.join(map(repr, known))}"
    return ""


def _fault(table: Mapping[str, Any]) -> str:
    """Return what is wrong with the weights of the table, or nothing."""
    weights = table.get("weights") or {}
    if not isinstance(weights, Mapping):
        return "'weights' must be a mapping of item types"
    for kind, row in weights.items():
        if kind not in TYPE_NAMES or not isinstance(row, Mapping):
            return f"'weights.{kind}' must be one of {', '.join(TYPE_NAMES)}, each a mapping of fields"
        for name, value in row.items():
            if name not in TEXT_FIELDS:
                near = nearest(str(name), TEXT_FIELDS, 1)
                return f"there is no field {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= MAX_WEIGHT:
                return f"the weight of {name!r} must be a number from 0 to {MAX_WEIGHT:g}"
    return ""
