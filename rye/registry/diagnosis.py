"""What ``rye doctor`` answers: findings with their codes, how skills fit into the listings of clients, and counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rye._report import Report
from rye.registry.listings import MAX_DESCRIPTION

CODES: Final[Mapping[str, str]] = {
    "unknown-signer": "you trust no key that signed these",
    "tampered": "an item is not what was signed",
    "unreadable": "a file cannot be read as an item",
    "listing-cut": "a client's listing cuts or drops descriptions",
    "no-description": "a skill has no description, so no agent chooses it",
    "long-description": f"a description has more than {MAX_DESCRIPTION:,} characters, and clients cut it",
    "no-trigger": "a description does not say when to use the skill",
    "overlap": "another skill is the first hit for a skill's own description",
    "near-duplicate": "two skills say nearly the same",
    "same-name": "skills of one name are not the same",
    "dangling": "an item refers to what is not there",
    "front-matter": "a client may read the metadata differently, or not at all",
    "unaccounted": "neither a signature nor a lock file says where a skill came from",
    "lock-changed": "a skill is not what its lock file says",
    "lock-missing": "a skill of a lock file is not there",
    "no-links": "this checkout has no links, and git wrote them as files",
    "not-checked-out": "git tracks what is not on disk",
    "hook-missing": "the hook of a client starts a program that is not there",
    "uncovered": "agents or tools read a file that nobody signed",
    "hidden-text": "a file holds text that a reader does not see",
}
"""The code of each finding and its meaning."""


@dataclass(frozen=True, slots=True)
class Diagnosis(Report):
    """One finding.

    Attributes:
        code: One of :data:`CODES`.
        items: ``type:id`` of the items concerned.
        message: The problem.
        fix: How to fix it.
        path: The first file concerned; empty if none is.
        line: 1-based line.
    """

    code: str
    items: tuple[str, ...]
    message: str
    fix: str
    path: str = ""
    line: int = 1


@dataclass(frozen=True, slots=True)
class ListingReport(Report):
    """How the skills that a client reads fit into its listing.

    Attributes:
        client: The name of the client.
        skills: How many skills it reads.
        characters: Length of their names and descriptions.
        budget: Characters that the listing can hold; None if the client's makers state no limit.
        cut: The skills whose descriptions are cut or dropped.
        room: Characters left for each description if all are shortened equally, else 0.
        source, date: Where and when the figures were looked up.
    """

    client: str
    skills: int
    characters: int
    budget: int | None
    cut: tuple[str, ...]
    room: int
    source: str
    date: str


@dataclass(frozen=True, slots=True)
class DoctorReport(Report):
    """What an agent can find in a project and the user's space.

    Attributes:
        skills: How many skills there are; copies for several clients count once.
        items: How many items there are.
        verdicts: How many items have each verdict.
        listings: One for each client that reads a skill.
        findings: The problems.
        warnings: The warnings of the spaces.
    """

    skills: int
    items: int
    verdicts: Mapping[str, int]
    listings: tuple[ListingReport, ...]
    findings: tuple[Diagnosis, ...]
    warnings: tuple[str, ...] = ()
