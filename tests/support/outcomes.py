"""Verifications of verdicts that are made by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rye.spaces.layout import Layout
from rye.spaces.model import Root
from rye.trust.trust_set import TrustSet
from rye.verify.advice import Adviser, Signers
from rye.verify.lists import ListChecks
from rye.verify.policy import EVERY_SPACE, Demand, Policy
from rye.verify.report import Outcome
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
    whole: tuple[Root, ...] = ()
    layout: Layout = NOWHERE

    def __iter__(self) -> Iterator[Outcome]:
        yield from self.entries

    def beside(self) -> Iterator[tuple[Root, list[str]]]:
        """There is nothing beside them."""
        yield from ()


def verification(*entries: Outcome, policy: Policy | None = None, **more: Any) -> Verification:
    """Return a verification of these."""
    now, audience, named = more.pop("now", NOW), more.pop("audience", ""), more.pop("named", frozenset())
    outcomes: Any = Outcomes(entries, **more)
    return Verification(
        outcomes,
        policy or Policy(Demand(spaces=EVERY_SPACE)),
        now,
        ListChecks(outcomes),
        Path.cwd(),
        named,
        audience,
        Adviser(str(Path.cwd()), signers=lambda: HOLDER),
    )
