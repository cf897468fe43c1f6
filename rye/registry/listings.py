"""The listings in which clients show skills to an agent, and the limits that cut them.

An agent knows a skill only by its name and description. A client puts all of them into one listing, and cuts everything
over its budget; a skill without its description is never chosen for a request.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

MAX_DESCRIPTION: Final = 1_024
"""Maximum length of a description in characters. Source: agentskills.io/specification."""


class ClientListing(NamedTuple):
    """The listing of one client.

    Attributes:
        name: The display name of the client.
        clients: The clients of :data:`rye.items.clients.CLIENTS` whose skills folders it reads.
        budget: Maximum number of characters of all names and descriptions; None if its makers state none.
        longest: Maximum number of characters of one description.
        is_shared: Whether it shortens all descriptions equally; else some are dropped, the least used first.
        source: Where its makers, or a project that cites them, state the figures.
        date: When they were looked up.
    """

    name: str
    clients: frozenset[str]
    budget: int | None
    longest: int
    is_shared: bool
    source: str
    date: str


LISTINGS: Final = (
    ClientListing(
        "Claude Code",
        frozenset({"claude"}),
        8_000,  # 1 % of a context window of 200,000 tokens, at 4 characters a token; also the default
        1_536,
        False,
        "code.claude.com/docs/en/skills",
        "2026-11-28",
    ),
    ClientListing(
        "Codex",
        frozenset({"agents", "codex"}),
        8_000,  # if the context window is unknown; else 2 % of it
        MAX_DESCRIPTION,
        True,
        "github.com/openai/codex/pull/18298",
        "2026-11-28",
    ),
    ClientListing(
        "Cursor",
        frozenset({"agents", "claude", "codex", "cursor"}),
        None,
        MAX_DESCRIPTION,
        False,
        "cursor.com/docs/context/skills",
        "2026-11-28",
    ),
    ClientListing(
        "Copilot",
        frozenset({"agents", "claude", "copilot"}),
        None,
        MAX_DESCRIPTION,
        False,
        "code.visualstudio.com/docs/copilot/customization/agent-skills",
        "2026-11-28",
    ),
    ClientListing(
        "Gemini CLI",
        frozenset({"agents", "gemini"}),
        None,
        MAX_DESCRIPTION,
        False,
        "github.com/google-gemini/gemini-cli/docs/cli/skills.md",
        "2026-11-28",
    ),
)

_WHEN: Final = re.compile(
    r"\bwhen(?:ever)?\b|\bfor use\b|\b(?:should|must) be used\b"
    r"|\buse[sd]?\s+(?:it|this|these|for|to|if|by|as|the|after|before|proactively|in|with|on)\b"
    r"|\bif\s+(?:you|the|a|an|someone|asked)\b|\b(?:before|after|while|during)\b"
    r"|\b(?:trigger|invoke|activat|ask|request|mention|need|want|say)\w*"
    r"|\bfor\s+(?:tasks|requests|questions|anything|any|all|each|every)\b"
    r"|\bhandles?\s+(?:requests|questions|tasks)\b|\b(?:apply|applies|covers?)\b|\bhelps?\s+(?:with|you)\b",
    re.IGNORECASE,
)
"""Words that say when to use a skill. Of 300 public skills, 141 have none of them, and 137 of these do not say it."""

_ENGLISH: Final = 0.9
"""The share of ASCII above which a description is taken for English."""


class Entry(NamedTuple):
    """A skill in a listing: its name and its listed text."""

    name: str
    text: str


class Fit(NamedTuple):
    """How skills fit into a listing.

    Attributes:
        characters: Characters of all names and descriptions, each description cut to the maximum of the listing.
        cut: Names of the skills whose description is cut or dropped.
        room: Characters left for each description if all are shortened equally; else 0.
    """

    characters: int
    cut: tuple[str, ...] = ()
    room: int = 0


def fit(listing: ClientListing, entries: Sequence[Entry]) -> Fit:
    """Return how skills fit into a listing, given their entries sorted by name.

    A client that drops descriptions drops those of the least used skills first. Usage is unknown here, so the last ones
    in the order of names are dropped.
    """
    sizes = [min(len(entry.text), listing.longest) for entry in entries]
    names, total = sum(len(entry.name) for entry in entries), sum(sizes)
    too_long = {entry.name for entry in entries if len(entry.text) > listing.longest}
    if listing.budget is None or names + total <= listing.budget:
        return Fit(names + total, tuple(sorted(too_long)))
    left = max(listing.budget - names, 0)
    room = _shared_room(sizes, left) if listing.is_shared else 0
    for entry, size in zip(entries, sizes, strict=True):
        fits = size <= room if listing.is_shared else size <= left
        left -= size
        if not fits:
            too_long.add(entry.name)
    return Fit(names + total, tuple(sorted(too_long)), room)


def _shared_room(sizes: Sequence[int], left: int) -> int:
    """Return the greatest length to which texts can be cut so that together they have at most ``left`` characters."""
    for done, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - done)
        if size > share:
            return share
        left -= size
    return max(sizes, default=0)


def listed_text(metadata: Mapping[str, object], description: str) -> str:
    """Return the text of a skill in a listing: its description, and ``when_to_use`` if that is a separate key."""
    when = metadata.get("when_to_use")
    return f"{description} {when}" if isinstance(when, str) else description


def has_trigger(text: str) -> bool:
    """Return whether a description says when to use the skill; True if it is not in English."""
    is_english = sum(map(str.isascii, text)) >= _ENGLISH * len(text)
    return not is_english or _WHEN.search(text) is not None


_SENTENCE: Final = re.compile(r"(?<=[.;!?])\s+|\n+")
_OF_OTHERS: Final = re.compile(
    r"\b(?:not (?:for|to be used)|(?:do not|don't|never) use|instead of|unlike|rather than)\b", re.IGNORECASE
)


def without_others(description: str) -> str:
    """Return a description without sentences about other uses, because these contain words of other skills.

    >>> without_others("Fill PDF forms. Not for Word files: use docx.")
    'Fill PDF forms.'
    """
    sentences = _SENTENCE.split(description)
    return " ".join(sentence for sentence in sentences if not _OF_OTHERS.search(sentence)).strip() or description
