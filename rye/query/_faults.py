"""One flaw met at one place: what strict parsing raises and lenient parsing reports."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from rye.errors import QueryError
from rye.query.ast import Dropped
from rye.query.flaws import FLAWS

__all__ = ["Fault", "show"]

_LONGEST = 40
_SLOT = re.compile(r"\{([a-z]+)\}")


@dataclass(frozen=True, slots=True)
class Fault:
    """One flaw at one place: ``token`` is the offending text, ``facts`` fill the message beside it."""

    code: str
    position: int
    token: str
    facts: dict[str, object] = field(default_factory=dict)

    def _fill(self, template: str) -> str:
        facts = {"token": self.token, **self.facts}
        return _SLOT.sub(lambda slot: show(str(facts[slot[1]])), template)

    def dropped(self) -> Dropped:
        """Return what lenient parsing reports about it."""
        flaw = FLAWS[self.code]
        return Dropped(self.position, self.token, f"{self._fill(flaw.message)}; {self._fill(flaw.fixed)}")

    def error(self, text: str, suggestion: str) -> QueryError:
        """Return what strict parsing raises for it."""
        flaw = FLAWS[self.code]
        place = "" if self.code == "too-long" else f", at character {self.position + 1}"
        return QueryError(
            self.code,
            f"{self._fill(flaw.message)}{place}",
            text=text,
            position=self.position,
            token=self.token,
            expected=flaw.expected,
            hint=self._fill(flaw.hint),
            suggestion=suggestion,
        )


def show(text: str) -> str:
    """Return ``text`` fit for one line of a message: short, and nothing in it that a terminal would obey."""
    short = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in short)
