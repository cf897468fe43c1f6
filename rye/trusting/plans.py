"""Changes of trust files that are found possible first, so that of several none is made unless all can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rye.errors import RyeError, SigningError
from rye.signing import TrustEntry
from rye.trusting.reports import TrustChange

__all__ = ["Plan", "carry_out_all"]


@dataclass(frozen=True, slots=True)
class Plan:
    """A change of trust files that has been found possible: whose key it is, and what carries it out."""

    fingerprint: str
    carry_out: Callable[[], TrustChange]

    @classmethod
    def of_nothing(cls, action: str, entry: TrustEntry, paths: tuple[str, ...]) -> Plan:
        """Return a plan that changes nothing, and says so with ``action``."""
        return cls(entry.fingerprint, lambda: TrustChange(action, entry.fingerprint, entry.owner, paths))


def carry_out_all(texts: Sequence[str], plan: Callable[[str], Plan]) -> list[TrustChange]:
    """Plan the change for every text, and carry all out only if each is possible.

    Raises:
        SigningError: ``bad-keys`` with every problem of every text; the only text's own error is raised as it is.
    """
    plans: dict[str, Plan] = {}
    problems: list[str] = []
    for text in dict.fromkeys(texts):
        try:
            found = plan(text)
        except RyeError as error:
            if len(texts) == 1:
                raise
            problems.append(f"{text}: {error.message}")
            continue
        if found.fingerprint in plans:
            problems.append(f"{text}: key {found.fingerprint[:16]} is named twice")
        plans.setdefault(found.fingerprint, found)
    if problems:
        raise SigningError(
            "bad-keys",
            f"{len(problems)} of {len(texts)} keys cannot be taken, so nothing was changed",
            hint="fix each, or leave it out",
            problems=problems,
        )
    return [each.carry_out() for each in plans.values()]
