"""Definitions of a file that are read when somebody first looks at them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar, overload

from rye.items.model import Documented, Import, Symbol

T = TypeVar("T")


class Definitions(NamedTuple):
    """What code defines and imports, in file order."""

    symbols: tuple[Symbol, ...] = ()
    imports: tuple[Import, ...] = ()
    documented: tuple[Documented, ...] = ()


class _Reading:
    """Reads once, and keeps what was read. Two threads may both read: they get the same."""

    __slots__ = ("_definitions", "_read")

    def __init__(self, read: Callable[[], Definitions]) -> None:
        self._read = read
        self._definitions: Definitions | None = None

    def __call__(self) -> Definitions:
        if self._definitions is None:
            self._definitions = self._read()
        return self._definitions


class _Deferred(Sequence[T]):
    """One of the tuples of :class:`Definitions`; equal to every sequence of the same values."""

    __slots__ = ("_number", "_reading")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, reading: _Reading, number: int) -> None:
        self._reading, self._number = reading, number

    @property
    def _values(self) -> Any:
        return self._reading()[self._number]

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        values: Sequence[T] = self._values[index]
        return values

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._values == tuple(other)

    def __repr__(self) -> str:
        return repr(self._values)


def deferred(read: Callable[[], Definitions]) -> tuple[Sequence[Symbol], Sequence[Import], Sequence[Documented]]:
    """Return symbols, imports and documentation that a function reads when any of them is first looked at."""
    reading = _Reading(read)
    return _Deferred(reading, 0), _Deferred(reading, 1), _Deferred(reading, 2)
