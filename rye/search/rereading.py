"""Hits as their files are at this moment: read, verified from those bytes, and compared with what was indexed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, NamedTuple, Protocol, TypeVar

from rye.errors import ItemError
from rye.index.reader import Part, Reader
from rye.index.schema import TYPE_NAMES
from rye.index.verdicts import VERDICT_NUMBER
from rye.items.model import ItemType
from rye.search.states import States
from rye.signing import Evidence, Origin, Signature, TrustSet, judge, remembering_verify
from rye.spaces import Root

__all__ = ["Place", "Reread", "Rereading"]

_KINDS = tuple(map(ItemType, TYPE_NAMES))


class _Proven(Protocol):
    """What was read of a file, with what its bytes prove."""

    @property
    def evidence(self) -> Evidence: ...
    @property
    def origin(self) -> Origin: ...


R = TypeVar("R", bound=_Proven)


class Place(NamedTuple):
    """Where an indexed document comes from."""

    part: Part
    path: str
    kind: ItemType
    item_id: str

    @property
    def name(self) -> str:
        """``type:id``, for sentences."""
        return f"{self.kind}:{self.item_id}"


@dataclass(frozen=True, slots=True)
class Reread(Generic[R]):
    """One document, read again.

    Attributes:
        place: Where it comes from.
        read: What its file holds now.
        signature: The verdict on that.
        same_bytes: Whether that is what was indexed.
    """

    place: Place
    read: R
    signature: Signature
    same_bytes: bool


@dataclass(frozen=True, slots=True)
class Rereading(Generic[R]):
    """How documents are read again.

    Attributes:
        reader: Whose documents they are.
        states: What was known of them.
        trust: Whom to trust.
        now: The moment.
        verdicts_matter: Whether one whose verdict has changed no longer fits the query.
        read: Reads a file, given root, path, type and id; raises :class:`rye.errors.ItemError`.
    """

    reader: Reader
    states: States
    trust: TrustSet
    now: datetime
    verdicts_matter: bool
    read: Callable[[Root, str, ItemType, str], R]

    def again(self, doc: int, warnings: list[str]) -> Reread[R] | None:
        """Read one document; None, and a warning, where its file is gone or no longer fits."""
        return self.all_again([doc], warnings)[0]

    def all_again(self, docs: Sequence[int], warnings: list[str]) -> list[Reread[R] | None]:
        """Read documents, as :meth:`again` does: first all, then they are judged; caches like one kind of work."""
        places = [self._place(doc) for doc in docs]
        found = [self._read(place, warnings) for place in places]
        return [
            None if read is None else self._judged(doc, place, read, warnings)
            for doc, place, read in zip(docs, places, found, strict=True)
        ]

    def _place(self, doc: int) -> Place:
        part, local = self.reader.locate(doc)
        segment = part.segment
        return Place(part, segment.paths[local], _KINDS[segment.types[local]], segment.ids[local])

    def _read(self, place: Place, warnings: list[str]) -> R | None:
        try:
            return self.read(place.part.root, place.path, place.kind, place.item_id)
        except ItemError as error:
            warnings.append(f"{place.name} was left out: {error.message}")
            return None

    def _judged(self, doc: int, place: Place, read: R, warnings: list[str]) -> Reread[R] | None:
        signature = judge(read.evidence, origin=read.origin, trust=self.trust, now=self.now, verify=remembering_verify)
        part = place.part
        same = part.segment.evidence.content_digest(doc - part.base) == read.evidence.content_digest
        if not same and self.verdicts_matter and self.states.verdicts[doc] != VERDICT_NUMBER[signature.verdict]:
            warnings.append(f"{place.name} was left out: it changed and is {signature.verdict} now")
            return None
        if not same:
            warnings.append(f"{place.name} changed since it was indexed; it is shown as it is now")
        return Reread(place, read, signature, same)
