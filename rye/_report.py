"""The base of every answer that rye gives as JSON: the fields of a report are its keys.

>>> @dataclass(frozen=True, slots=True)
... class Counted(Report):
...     words: tuple[str, ...]
...     total: int
>>> Counted(("a", "b"), 2).to_dict()
{'words': ['a', 'b'], 'total': 2}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any


@dataclass(frozen=True, slots=True)
class Report:
    """Base of the frozen dataclasses that rye answers with; their fields are the keys of the JSON."""

    def to_dict(self) -> dict[str, Any]:
        """Return every field by its name, converted by :func:`as_json`."""
        return {name: as_json(getattr(self, name)) for name in self.__dataclass_fields__}


def as_json(value: Any) -> Any:
    """Convert a value to JSON types: by its ``to_dict`` if it has one, a sequence to a list, an enum to its text."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: as_json(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [as_json(part) for part in value]
    if hasattr(value, "__dataclass_fields__"):
        return Report.to_dict(value)
    return value
