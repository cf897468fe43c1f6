"""Reading ``config/search.yaml`` of the user space and of bundles: field weights per item type.

::

    weights:
      tool: {title: 4, symbols: 2}

A project's file is never read: a cloned repository does not decide how its own items rank.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rye.errors import ItemError
from rye.index.schema import TYPE_NAMES
from rye.items.yaml_safe import load as load_yaml
from rye.search.fields import TEXT_FIELDS, nearest
from rye.search.weights import Overrides
from rye.spaces import Root

SETTINGS = Path("config", "search.yaml")
MAX_WEIGHT = 100.0
_MAX_BYTES = 1 << 16


def read_overrides(roots: Sequence[Root]) -> tuple[Mapping[str, Overrides], list[str]]:
    """Return ``(weights by source, problems)``: a bundle's own for its items, the user's over everything."""
    problems: list[str] = []
    own = {root.source: _read(root.path / SETTINGS, problems) for root in roots if root.space != "project"}
    users = own.get("user", {})
    merged = {root.source: _merge(own.get(root.source, {}), users) for root in roots}
    return {source: weights for source, weights in merged.items() if weights}, problems


def _merge(below: Overrides, above: Overrides) -> Overrides:
    kinds = below.keys() | above.keys()
    return {kind: {**below.get(kind, {}), **above.get(kind, {})} for kind in kinds}


def _read(path: Path, problems: list[str]) -> Overrides:
    try:
        data = _bytes(path)
        table = load_yaml(data.decode("utf-8")) or {}
    except OSError as error:
        problems.append(f"{path} cannot be read: {error.strerror}")
        return {}
    except (ItemError, UnicodeDecodeError) as error:
        problems.append(f"{path} is left out: {error}")
        return {}
    fault = _fault(table) if len(data) <= _MAX_BYTES else f"it has more than {_MAX_BYTES:,} bytes"
    if fault:
        problems.append(f"{path} is left out: {fault}")
        return {}
    weights = table.get("weights") or {}
    return {str(kind): {name: float(value) for name, value in row.items()} for kind, row in weights.items()}


def _bytes(path: Path) -> bytes:
    """Return a little more of a file than it may have, nothing of one that is not there; a pipe is not waited for."""
    if not path.exists():
        return b""
    if not path.is_file():
        raise OSError(errno.EINVAL, "it is not a regular file")
    with path.open("rb") as handle:
        return handle.read(_MAX_BYTES + 1)


def _fault(table: Any) -> str:
    """Return what is wrong with the table, or nothing."""
    if not isinstance(table, Mapping) or table.keys() - {"weights"}:
        return "it may hold only 'weights'"
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
