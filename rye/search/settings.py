"""Reading ``config/search.yaml`` of the user space and of bundles: field weights; the user's boosts and embedder.

::

    weights:
      tool: {title: 4, symbols: 2}
    source_boosts: {system: 1}
    semantic: {embedder: ollama, model: nomic-embed-text}

A project's file is never read: a cloned repository does not decide how its own items rank, nor where texts are sent.
"""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from rye._text import inline
from rye.embedding import Choice
from rye.embedding.choice import MAX_BATCH, MAX_TIMEOUT
from rye.errors import ArgumentError, ItemError, UnavailableError
from rye.index.schema import TYPE_NAMES
from rye.items.yaml_safe import load as load_yaml
from rye.search.fields import TEXT_FIELDS, Overrides, nearest
from rye.search.request import BOOSTS, read_boosts
from rye.spaces import Root

SETTINGS = Path("config", "search.yaml")
MAX_WEIGHT = 100.0
_MAX_BYTES = 1 << 16
_TOLD = 80
_EVERYONES = ("weights",)
_USERS = ("weights", "source_boosts", "semantic")
_CHOOSES = re.compile(rb"^[\"']?semantic[\"']?[ \t]*:", re.MULTILINE)

_CHOICE: Mapping[str, tuple[Any, float]] = {
    "embedder": (str, 0),
    "model": (str, 0),
    "url": (str, 0),
    "key_variable": (str, 0),
    "batch": (int, MAX_BATCH),
    "timeout": ((int, float), MAX_TIMEOUT),
    "threshold": ((int, float), 1),
    "query_prefix": (str, 0),
    "document_prefix": (str, 0),
}
"""What ``semantic`` may hold: the type of each, and the largest number."""

_SILENT: tuple[Overrides, Mapping[str, float]] = ({}, {})

_NOTHING: Mapping[str, tuple[int, ...]] = {"batch": (0,), "timeout": (0,)}


class Ranking(NamedTuple):
    """What files say of ranking.

    Attributes:
        weights: By source: a bundle's own for its items, the user's over everything.
        boosts: The user's factors of similarities, by source.
        problems: Why files, or parts of them, were left out.
    """

    weights: Mapping[str, Overrides]
    boosts: Mapping[str, float]
    problems: list[str]


def read_ranking(roots: Sequence[Root]) -> Ranking:
    """Read the files of some roots; that of the project is not looked at."""
    problems: list[str] = []
    own = {root.source: _read(root, problems) for root in roots if root.space != "project"}
    users, boosts = own.get("user", _SILENT)
    merged = {root.source: _merge(own.get(root.source, _SILENT)[0], users) for root in roots}
    return Ranking({source: weights for source, weights in merged.items() if weights}, boosts, problems)


def _merge(below: Overrides, above: Overrides) -> Overrides:
    kinds = below.keys() | above.keys()
    return {kind: {**below.get(kind, {}), **above.get(kind, {})} for kind in kinds}


def read_choice(user: Path) -> Choice:
    """Return the embedder that the user's file chooses, the embedded one where it chooses none.

    Args:
        user: The user's space root.

    Raises:
        UnavailableError: ``embedder-settings``: the file, or ``part`` of it, cannot be used, so nothing is embedded.
    """
    path = user / SETTINGS
    hint = "see the knowledge item rye/embedding for what 'semantic' may hold"
    table, problem = _table(path, _USERS)
    if problem:
        raise UnavailableError("embedder-settings", problem, hint=hint, path=str(path))
    chosen = _part(table, "semantic")
    if not (fault := _choice_fault(chosen)):
        try:
            return Choice(**{"kind" if key == "embedder" else key: value for key, value in chosen.items()}).checked()
        except ArgumentError as error:
            fault = error.message
    message = _left_out(path, "semantic", fault)
    raise UnavailableError("embedder-settings", message, hint=hint, path=str(path), part="semantic")


def ignored_choices(roots: Sequence[Root]) -> list[str]:
    """Return a warning for each project whose file tries to choose an embedder; nothing else of it is looked at."""
    found = []
    for root in roots:
        with suppress(OSError):
            if root.space == "project" and _CHOOSES.search(_bytes(root.path / SETTINGS)):
                message = "a project does not choose the embedder, only the user's own file does"
                found.append(f"{root.path / SETTINGS} is left out: {message}")
    return found


def _read(root: Root, problems: list[str]) -> tuple[Overrides, Mapping[str, float]]:
    """Return the weights and boosts of one file, each without regard to the other."""
    path = root.path / SETTINGS
    table, problem = _table(path, _USERS if root.space == "user" else _EVERYONES)
    if problem:
        problems.append(problem)
        return _SILENT
    weights, boosts = _part(table, "weights"), _part(table, "source_boosts")
    faults = {"weights": _fault(weights), "source_boosts": _boosts_fault(boosts)}
    problems += [_left_out(path, part, fault) for part, fault in faults.items() if fault]
    kept = {} if faults["weights"] else weights
    own = {str(kind): {name: float(value) for name, value in row.items()} for kind, row in kept.items()}
    return own, {} if faults["source_boosts"] else read_boosts(boosts)


def _left_out(path: Path, part: str, fault: str) -> str:
    return f"{path}: its part {part!r} is left out: {fault}"


def _table(path: Path, known: Sequence[str]) -> tuple[Mapping[str, Any], str]:
    """Return what a file holds, or why all of it is left out."""
    try:
        data = _bytes(path)
        table = load_yaml(data.decode("utf-8"))
    except OSError as error:
        return {}, f"{path} cannot be read: {error.strerror}"
    except (ItemError, UnicodeDecodeError) as error:
        return {}, f"{path} is left out: {error}"
    table = {} if table is None else table
    fault = f"it has more than {_MAX_BYTES:,} bytes" if len(data) > _MAX_BYTES else _stray(table, known)
    return ({}, f"{path} is left out: {fault}") if fault else (table, "")


def _part(table: Mapping[str, Any], name: str) -> Any:
    """Return a part of a file; one that is named and left empty says as much as one that is not named."""
    part = table.get(name)
    return {} if part is None else part


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
            return f"'semantic.{key}' is {_written(value)}; it must be a {'text' if kind is str else 'number'}"
        if (not isinstance(value, str) and not 0 <= value <= most) or value in _NOTHING.get(key, ()):
            low = "from 0" if key not in _NOTHING else "from 1" if kind is int else "above 0 and up"
            return f"'semantic.{key}' is {_written(value)}; it must be {low} to {most:,g}"
    return ""


def _stray(table: Any, known: Sequence[str]) -> str:
    """Say what a file may hold if it holds anything else."""
    if not isinstance(table, Mapping) or table.keys() - set(known):
        return f"it may hold only {', '.join(map(repr, known))}"
    return ""


def _fault(weights: Any) -> str:
    """Return what is wrong with field weights, or nothing."""
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
                return f"'weights.{kind}.{name}' is {_written(value)}; it must be a number from 0 to {MAX_WEIGHT:g}"
    return ""


def _boosts_fault(boosts: Any) -> str:
    """Return what is wrong with factors of sources, or nothing."""
    if not isinstance(boosts, Mapping):
        return "'source_boosts' must be a mapping of sources"
    for key, value in boosts.items():
        try:
            read_boosts({key: value})
        except ArgumentError as error:
            wrong = f"'source_boosts.{key}' is {_written(value)}" if key in BOOSTS else error.message
            return f"{wrong}; {error.hint}"
    return ""


def _written(value: Any) -> str:
    """Return a value as a file says it; what is no finite number is read as nothing."""
    if value is None:
        return "empty, or no finite number"
    text = json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, (bool, list, dict)) else repr(value)
    return inline(text if len(text) <= _TOLD else f"{text[:_TOLD]}…")
