"""Read ``config/search.yaml`` of the user space and of bundles: field weights; the user's boosts and embedder.

::

    weights:
      tool: {title: 4, symbols: 2}
    source_boosts: {system: 1}
    semantic: {embedder: ollama, model: nomic-embed-text}

A project's file is never read: a cloned repository must not decide how its own items rank, nor where texts are sent.
The file of a bundle is used only if it is signed with a key that the user trusts for the bundle.
"""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, cast

from rye._text import inline
from rye.embedding.choice import MAX_BATCH, MAX_CHUNK, MAX_TIMEOUT, MIN_CHUNK, Choice
from rye.errors import ArgumentError, ItemError, UnavailableError
from rye.items.model import TYPE_NAMES
from rye.items.yaml import load as load_yaml
from rye.options.model import Parameter, ParameterError, check_all, parameters_of
from rye.options.search import BoostParts
from rye.search.contract.fields import TEXT_FIELDS, Overrides
from rye.spaces.bundles import is_own
from rye.spaces.model import Root
from rye.spaces.state import MAX_SETTINGS, SETTINGS, judge_settings
from rye.trust.model import Verdict
from rye.trust.trust_set import TrustSet

MAX_WEIGHT = 100.0
"""Weight of a field in ``config/search.yaml``."""
_SHOWN_CHARS = 80
_EVERYONES = ("weights",)
_USERS = ("weights", "source_boosts", "semantic", "index")
_CHOOSES = re.compile(rb"^[\"']?(?:semantic|index)[\"']?[ \t]*:", re.MULTILINE)
_INDEX = "RYE_INDEX"
_NOWHERE = ("", "none")
_ONE = r"opensearch\+https?://[^/@?#]+/[^/@?#,\s]+/?"
_ADDRESS = re.compile(rf"{_ONE}(?:\s*,\s*{_ONE})*\Z")

_CHOICE: Mapping[str, Parameter] = {
    name: parameter._replace(name=name, required=True)
    for name, parameter in {
        **dict.fromkeys(("embedder", "model", "url", "key_variable"), Parameter("", kind="string")),
        "batch": Parameter("", kind="integer", low=1, high=MAX_BATCH),
        "timeout": Parameter("", kind="number", low=0, high=MAX_TIMEOUT, above=True),
        "threshold": Parameter("", kind="number", low=0, high=1),
        "chunk_chars": Parameter("", kind="integer", low=MIN_CHUNK, high=MAX_CHUNK),
        "chunk_overlap": Parameter("", kind="integer", low=0, high=MAX_CHUNK // 2),
        **dict.fromkeys(("query_prefix", "document_prefix"), Parameter("", kind="string")),
    }.items()
}
"""The options of ``semantic``."""

_WEIGHT = Parameter("", kind="number", low=0, high=MAX_WEIGHT, required=True)
_WEIGHTS: Mapping[str, Parameter] = {name: _WEIGHT._replace(name=name) for name in TEXT_FIELDS}
"""The options of ``weights`` for an item type."""

_BOOSTS: Mapping[str, Parameter] = {
    name: parameter._replace(required=True) for name, parameter in parameters_of(BoostParts).items()
}

_SILENT: tuple[Overrides, Mapping[str, float]] = ({}, {})


class Ranking(NamedTuple):
    """The ranking settings of all files.

    Attributes:
        weights: By source: a bundle's own weights for its items, overridden by the user's.
        boosts: The user's similarity factors, by source.
        problems: Why files, or parts of them, were left out.
    """

    weights: Mapping[str, Overrides]
    boosts: Mapping[str, float]
    problems: list[str]


def read_ranking(roots: Sequence[Root], untrusted: Collection[Root] = (), *, trust: TrustSet, now: datetime) -> Ranking:
    """Read the settings of roots, except projects and ``untrusted`` roots.

    The file of a bundle other than rye's own is used if a key that may now sign for the bundle signed it.
    """
    problems: list[str] = []
    settings = {
        root.source: _read(root, problems, trust, now)
        for root in roots
        if root.space != "project" and root not in untrusted
    }
    users, boosts = settings.get("user", _SILENT)
    merged: dict[str, Overrides] = {}
    for root in roots:
        weights, _ = settings.get(root.source, _SILENT)
        if kinds := weights.keys() | users.keys():
            merged[root.source] = {kind: {**weights.get(kind, {}), **users.get(kind, {})} for kind in kinds}
    return Ranking(merged, boosts, problems)


def read_choice(user: Path | None) -> Choice:
    """Return the embedder that the user's file chooses, or the built-in one if it chooses none.

    Args:
        user: The root of the user space; None if there is none, see :meth:`rye.spaces.layout.Layout.safe_user`.

    Raises:
        UnavailableError: ``embedder-settings``: the file, or ``part`` of it, cannot be used, so nothing is embedded.
    """
    if user is None:
        return Choice()
    path = user / SETTINGS
    hint = "rye help meaning describes 'semantic'"
    table, problem = _table(path, _USERS)
    if problem:
        raise UnavailableError("embedder-settings", problem, hint=hint, path=str(path))
    chosen = _part(table, "semantic")
    if not (fault := _fault(_CHOICE, chosen, "semantic")):
        try:
            return Choice(**{"kind" if key == "embedder" else key: value for key, value in chosen.items()}).checked()
        except ArgumentError as error:
            fault = error.message
    message = _left_out(path, "semantic", fault)
    raise UnavailableError("embedder-settings", message, hint=hint, path=str(path), part="semantic")


def chosen_index(named: str | None, user: Path | None) -> str | None:
    """Return the cluster registry to search: ``named``, else from ``RYE_INDEX``, else from the user's file.

    Args:
        named: The caller's choice; ``none`` means the spaces.
        user: The user's space; None if there is none, see :meth:`rye.spaces.layout.Layout.safe_user`.

    Raises:
        ArgumentError: ``bad-index``: the variable or the file holds no valid address.
    """
    if named is not None:
        return None if named == "none" else named
    source, address = _INDEX, cast("object", os.environ.get(_INDEX, ""))
    if not address and user is not None:
        path = user / SETTINGS
        source, (table, problem) = f"'index' of {path}", _table(path, _USERS)
        if problem and path.is_file() and _CHOOSES.search(_bytes(path)):
            raise ArgumentError("bad-index", problem, hint="correct it, or name the index with --index")
        address = "" if table.get("index") is None else table["index"]
    if not isinstance(address, str) or (address not in _NOWHERE and not _ADDRESS.match(address)):
        hint = "write it like opensearch+https://host:9200/registry; none means the spaces themselves"
        raise ArgumentError("bad-index", f"{source} is not the address of a cluster", hint=hint)
    return None if address in _NOWHERE else str(address)


def ignored_choices(roots: Sequence[Root]) -> list[str]:
    """Return a warning for each project whose file tries to choose an embedder or index, which only a user may do."""
    warnings = []
    for root in roots:
        with suppress(OSError):
            if root.space == "project" and _CHOOSES.search(_bytes(root.path / SETTINGS)):
                message = "a project does not choose the embedder or the index, only the user's own file does"
                warnings.append(f"{root.path / SETTINGS} is left out: {message}")
    return warnings


def _distrust(root: Root, data: bytes, trust: TrustSet, now: datetime) -> str:
    """Return why the file of a bundle is not used; empty if it is."""
    if root.space != "system" or is_own(root) or not data:
        return ""
    signature = judge_settings(root.bundle, data, trust=trust, now=now)
    return "" if signature.verdict is Verdict.TRUSTED else signature.reason


def _read(root: Root, problems: list[str], trust: TrustSet, now: datetime) -> tuple[Overrides, Mapping[str, float]]:
    """Return the weights and boosts of one file. A fault in one does not affect the other."""
    path = root.path / SETTINGS
    try:
        data = _bytes(path)
    except OSError as error:
        problems.append(f"{path} cannot be read: {error.strerror}")
        return _SILENT
    if why := _distrust(root, data, trust, now):
        if trust.bundle_signers(root.bundle, now):
            problems.append(f"{path} is left out: {why}; rye sign bundle signs it with the items of the bundle")
        return _SILENT
    table, problem = _parsed(path, data, _USERS if root.space == "user" else _EVERYONES)
    if problem:
        problems.append(problem)
        return _SILENT
    weights, boosts = _part(table, "weights"), _part(table, "source_boosts")
    faults = {"weights": _weights_fault(weights), "source_boosts": _fault(_BOOSTS, boosts, "source_boosts")}
    problems += [_left_out(path, part, fault) for part, fault in faults.items() if fault]
    kept = {} if faults["weights"] else weights
    own = {str(kind): {name: float(value) for name, value in row.items()} for kind, row in kept.items()}
    return own, {} if faults["source_boosts"] else {source: float(factor) for source, factor in boosts.items()}


def _left_out(path: Path, part: str, fault: str) -> str:
    return f"{path}: its part {part!r} is left out: {fault}"


def _table(path: Path, known: Sequence[str]) -> tuple[Mapping[str, Any], str]:
    try:
        return _parsed(path, _bytes(path), known)
    except OSError as error:
        return {}, f"{path} cannot be read: {error.strerror}"


def _parsed(path: Path, data: bytes, known: Sequence[str]) -> tuple[Mapping[str, Any], str]:
    """Parse the content of a file; also return why all of it is left out, or an empty string."""
    try:
        table = load_yaml(data.decode("utf-8"))
    except (ItemError, UnicodeDecodeError) as error:
        return {}, f"{path} is left out: {error}"
    table = {} if table is None else table
    fault = f"it has more than {MAX_SETTINGS:,} bytes" if len(data) > MAX_SETTINGS else ""
    if not fault and (not isinstance(table, Mapping) or table.keys() - set(known)):
        fault = f"it may hold only {', '.join(map(repr, known))}"
    return ({}, f"{path} is left out: {fault}") if fault else (table, "")


def _part(table: Mapping[str, Any], name: str) -> Any:
    """Return a part of a file. An empty part counts as absent."""
    part = table.get(name)
    return {} if part is None else part


def _bytes(path: Path) -> bytes:
    """Return at most one byte more than the size limit; nothing if the file does not exist. Never waits for a pipe."""
    if not path.exists():
        return b""
    if not path.is_file():
        raise OSError(errno.EINVAL, "it is not a regular file")
    with path.open("rb") as handle:
        return handle.read(MAX_SETTINGS + 1)


def _weights_fault(weights: Any) -> str:
    """Return the fault of field weights, or an empty string."""
    if not isinstance(weights, Mapping):
        return "'weights' must be a mapping of item types"
    for kind, row in weights.items():
        if kind not in TYPE_NAMES:
            return f"'weights' has no option {kind!r}; valid are {', '.join(TYPE_NAMES)}, each a mapping of fields"
        if fault := _fault(_WEIGHTS, row, f"weights.{kind}"):
            return fault
    return ""


def _fault(parameters: Mapping[str, Parameter], given: Any, name: str) -> str:
    """Return the fault of a part of a file, or an empty string."""
    if not isinstance(given, Mapping):
        return f"{name!r} must be a mapping of {', '.join(parameters)}"
    for key, value in given.items():
        try:
            check_all(parameters, {key: value}, (name,))
        except ParameterError as error:
            fault = f"'{name}.{key}' is {_written(value)}" if key in parameters else f"{name!r} {error.fault}"
            return f"{fault}; {error.hint}"
    return ""


def _written(value: Any) -> str:
    """Return a value as the file writes it. The YAML loader turns non-finite numbers into None."""
    if value is None:
        return "empty, or no finite number"
    text = json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, (bool, list, dict)) else repr(value)
    return inline(text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…")
