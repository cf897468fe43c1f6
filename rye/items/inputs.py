"""The inputs that a directive declares, from its XML block or its front matter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rye.items._xml import read_inputs
from rye.items.model import Item

__all__ = ["Input", "declared_inputs"]

_BLOCK = re.compile(r"<directive\b")


@dataclass(frozen=True, slots=True)
class Input:
    """One declared input of a directive."""

    name: str
    description: str = ""
    required: bool = False


def declared_inputs(item: Item, content: str) -> tuple[Input, ...]:
    """Return the inputs of a directive in their order, each name once.

    Args:
        item: The directive.
        content: The text it was read from.
    """
    opening = _BLOCK.search(content)
    stated: Any = read_inputs(content, opening.start()) if opening else None
    found = {each.name: each for each in _read(stated or item.metadata.get("inputs")) if each.name}
    return tuple(found.values())


def _read(stated: Any) -> Iterator[Input]:
    if isinstance(stated, Mapping):
        stated = [
            {"name": name} | (dict(each) if isinstance(each, Mapping) else {"description": each})
            for name, each in stated.items()
        ]
    for each in stated if isinstance(stated, list) else ():
        if isinstance(each, Mapping):
            yield Input(_text(each.get("name")), _text(each.get("description")), _is_true(each.get("required")))
        elif isinstance(each, str):
            yield Input(_text(each))


def _text(value: Any) -> str:
    return " ".join(str(value).split()) if value is not None else ""


def _is_true(value: Any) -> bool:
    return str(value).strip().casefold() in {"true", "yes", "1", "required"}
