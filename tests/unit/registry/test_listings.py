"""What a client's listing of skills carries, and whether a description says when to use a skill."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.items.clients import CLIENTS
from rye.registry.listings import LISTINGS, ClientListing, Entry, fit, has_trigger, without_others

DROPS = ClientListing("drops", frozenset(), 100, 40, False, "", "")
SHARES = DROPS._replace(is_shared=True)
ENTRIES = st.lists(st.builds(Entry, st.text("ab", min_size=1, max_size=9), st.text("x", max_size=60)), max_size=8)


def test_the_table_names_clients_that_rye_knows() -> None:
    """Each listing is of folders in the table of clients, and states where and when its figures were looked up."""
    for listing in LISTINGS:
        assert listing.clients <= {*CLIENTS}
        assert listing.source
        assert listing.date


@given(ENTRIES, st.sampled_from([DROPS, SHARES, DROPS._replace(budget=None)]))
def test_what_is_not_cut_fits(entries: list[Entry], listing: ClientListing) -> None:
    """Cut as reported, descriptions stay within what the names leave of the budget; without a budget all do."""
    entries = [Entry(f"{number}{entry.name}", entry.text) for number, entry in enumerate(entries)]
    found = fit(listing, entries)
    sizes = {entry.name: min(len(entry.text), listing.longest) for entry in entries}
    names = sum(map(len, sizes))
    assert found.characters == names + sum(sizes.values())
    too_long = {entry.name for entry in entries if len(entry.text) > listing.longest}
    if listing.budget is None or found.characters <= listing.budget:
        assert {*found.cut} == too_long
        return
    left = {name: min(size, found.room) if listing.is_shared else size * (name not in found.cut or name in too_long)
            for name, size in sizes.items()}  # fmt: skip
    kept = [size for name, size in left.items() if listing.is_shared or name not in found.cut]
    assert sum(kept) <= max(listing.budget - names, 0)
    assert found.cut
    if listing.is_shared:  # one character more for each would be too much
        assert sum(min(size, found.room + 1) for size in sizes.values()) > max(listing.budget - names, 0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Fill PDF forms. Use when somebody has a form to fill.", True),
        ("Use this skill for any request about taxes.", True),
        ("Run before a release.", True),
        ("Triggers on mentions of Kubernetes.", True),
        ("Formulare ausfüllen, für Ämter und Behörden in Österreich – übersichtlich, schön, müheloös: ÄÖÜäöüß", True),
        ("Master of defensive Bash scripting.", False),
        ("Automate Box tasks via an MCP server. Always search tools first.", False),
        ("PDF forms", False),
    ],
)
def test_a_description_says_when_to_use_it(text: str, said: object) -> None:
    """A word of a trigger says when; of a description in another language nothing is known."""
    assert has_trigger(text) == said


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Fill PDF forms. Not for Word files: use docx.", "Fill PDF forms."),
        (
            "Fill PDF forms. Do NOT use for images: that is the work of ocr.",
            "Fill PDF forms.",
        ),
        ("Fill PDF forms, and use it for invoices", "Fill PDF forms, and use it for invoices"),
        ("Unlike docx", "Unlike docx"),
    ],
)
def test_what_a_skill_is_not_for_is_left_out(text: str, left: str) -> None:
    """A clause that names another skill's work is no claim on it; a description of nothing else stays."""
    assert without_others(text) == left
