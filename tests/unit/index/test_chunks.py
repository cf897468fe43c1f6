"""Which texts of an item are embedded."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rye.index.chunks import CHUNK_CHARS, OVERLAP_CHARS, chunks_of, spans_of
from rye.items.model import ItemType, Section
from rye.items.reader import parse

MARKDOWN = """---
title: Deploying services
tags: [ops, ci]
description: How a service gets live.
---
Intro text.

# Deploying services

## Before

### Checks

Run the checks.

## After

Look at the logs.
"""


def texts(
    content: str, kind: ItemType = ItemType.KNOWLEDGE, suffix: str = ".md", name: str = "ops/deploy"
) -> list[str]:
    """Return the texts of a file."""
    return [one.text for one in chunks_of(parse(content.encode(), item_type=kind, item_id=name, suffix=suffix))]


def test_a_section_stands_with_title_and_headings() -> None:
    """The first one has the description and tags besides; a heading without text of its own is no text."""
    assert texts(MARKDOWN) == [
        "Deploying services. deploy. How a service gets live. ops, ci. Intro text.",
        "Deploying services. deploy. Before. Checks. Run the checks.",
        "Deploying services. deploy. After. Look at the logs.",
    ]
    numbers = [
        (one.section, one.number)
        for one in chunks_of(parse(MARKDOWN.encode(), item_type=ItemType.KNOWLEDGE, item_id="ops/deploy", suffix=".md"))
    ]
    assert numbers == [(0, 0), (3, 0), (4, 0)]


def test_a_tool_is_one_text() -> None:
    """Name, description, symbols and what its data describes; neither code nor other data."""
    yaml = (
        "name: sendMail\ndescription: Send a mail.\nexecutor_id: null\n"
        "parameters:\n  to_address: {type: string, description: Who gets it}\n"
        "config:\n  - {name: smtpHost, description: Where it goes out}\n"
    )
    assert texts(yaml, ItemType.TOOL, ".yaml", "ops/send-mail") == [
        "send mail. Send a mail. to address: Who gets it. smtp Host: Where it goes out"
    ]
    code = '"""Check the links."""\n\n\ndef find_broken(secret):\n    return 42\n'
    assert texts(code, ItemType.TOOL, ".py", "rye/check_links") == ["check links. Check the links. find broken"]


@given(st.text(st.sampled_from("ab .\n"), max_size=4 * CHUNK_CHARS))
def test_the_chunks_of_a_section_cover_it(text: str) -> None:
    """Each has at most the size of a chunk and overlaps with the one before; no character is lost."""
    spans = spans_of(Section((), 0, 1, 1, text))
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)
    for (_, stop), (start, _) in pairwise(spans):
        assert start == stop - OVERLAP_CHARS
    assert all(stop - start <= CHUNK_CHARS for start, stop in spans)
    assert all(stop > start for start, stop in spans) or spans == ((0, 0),)
