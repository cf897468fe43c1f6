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
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from rye.embedding import Choice
from rye.embedding.choice import MAX_BATCH, MAX_TIMEOUT
from rye.errors import ArgumentError, ItemError, UnavailableError
from rye.index.schema import TYPE_NAMES
from rye.items.yaml_safe import load as load_yaml
from rye.search.fields import TEXT_FIELDS, nearest
from rye.search.modes import read_boosts
from rye.search.weights import Overrides
from rye.spaces import Root

SETTINGS = Path("config", "search.yaml")
MAX_WEIGHT = 100.0
_MAX_BYTES = 1 << 16
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
        problems: Why files were left out.
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


def _read(root: Root, problems: list[str]) -> tuple[Overrides, Mapping[str, float]]:
    """Return the weights and boosts of one file."""
    path = root.path / SETTINGS
    table, problem = _table(path)
    fault = "" if problem else _stray(table, _USERS if root.space == "user" else _EVERYONES) or _fault(table)
    if not problem and not fault:
        weights = table.get("weights") or {}
        own = {str(kind): {name: float(value) for name, value in row.items()} for kind, row in weights.items()}
        try:
            return own, read_boosts(table.get("source_boosts"))
        except ArgumentError as error:
            fault = f"{error.message}; {error.hint}"
    problems.append(problem or f"{path} is left out: {fault}")
    return _SILENT


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
            low = "from 0" if key not in _NOTHING else "from 1" if kind is int else "above 0 and up"
            return f"'semantic.{key}' is {value!r}; it must be {low} to {most:,g}"
    return ""


def _stray(table: Any, known: Sequence[str]) -> str:
    """Say what a file may hold if it holds anything else."""
    if not isinstance(table, Mapping) or table.keys() - set(known):
        return f"it may hold only {', '.join(map(repr, known))}"
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
