"""Verifications of verdicts that are made by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rye.items.model import ItemType
from rye.spaces.layout import Layout
from rye.spaces.model import ItemFile, Root, Space
from rye.trust.model import Signature
from rye.trust.trust_set import TrustSet
from rye.verify.accepted import Identities
from rye.verify.advice import Adviser, Signers
from rye.verify.lists import ListChecks
from rye.verify.policy import EVERY_SPACE, Demand, Policy
from rye.verify.report import Outcome, VerifiedItem
from rye.verify.repositories import RepositoryChecks
from rye.verify.run import Verification
from tests.support.signed import ANN, NOW, entry

HOLDER = Signers({ANN.public.fingerprint: ""}, TrustSet((entry(ANN),)), NOW)
"""Somebody who holds a key that counts."""

NOWHERE = Layout((), None, Path("/nowhere"))


@dataclass
class Outcomes:
    """A stream of files with verdicts."""

    entries: tuple[Outcome, ...]
    warnings: tuple[str, ...] = ()
    whole_roots: tuple[Root, ...] = ()
    layout: Layout = NOWHERE

    def __iter__(self) -> Iterator[Outcome]:
        yield from self.entries

    def beside(self) -> Iterator[tuple[Root, list[str]]]:
        """There is nothing beside them."""
        yield from ()


def judged(
    name: str, signature: Signature, *, space: str = "project", bundle: str = "", root: str = "", **more: Any
) -> VerifiedItem:
    """Return the verdict on a tool; its root is the ``.ai`` of the working directory unless another is given."""
    file = ItemFile(f"tools/{name}.py", ItemType.TOOL, name, ".py")
    place = Root(Space(space), Path(root) if root else Path.cwd() / ".ai", bundle)
    return VerifiedItem(place, file, signature, **more)


def verification(*entries: Outcome, policy: Policy | None = None, **more: Any) -> Verification:
    """Return a verification of these."""
    now, audience, named = more.pop("now", NOW), more.pop("audience", ""), more.pop("named", frozenset())
    outcomes: Any = Outcomes(entries, **more)
    return Verification(
        outcomes,
        policy or Policy(Demand(spaces=EVERY_SPACE)),
        now,
        ListChecks(outcomes),
        RepositoryChecks({}, Path.cwd()),
        Path.cwd(),
        named,
        audience,
        Adviser(str(Path.cwd()), signers=lambda: HOLDER),
        Identities(Path.cwd()),
    )
