"""The texts of a query that are embedded, and the part that every hit must match."""

from __future__ import annotations

import pytest

from rye.query import parse
from rye.search.semantic import has_boost, required_part, texts_of

READ = [
    ("deploy the server", "deploy the server", ""),
    ("deploy AND server OR build", "deploy server build", ""),
    ("deplo~ server", "deplo server", ""),
    ('deploy "blue green"', "deploy blue green", '"blue green"'),
    ("deploy serv*", "deploy serv", "serv*"),
    (r"deploy a\*b*", "deploy a*b", r"a\*b*"),
    ("deploy NOT server", "deploy", "-server"),
    ("-server", "", "-server"),
    ("deploy title:server", "deploy server", "title:server"),
    ("deploy tag:api is:trusted version:>=2", "deploy api", "tag:api is:trusted version:>=2"),
    ("deploy NEAR/3 server now", "deploy server now", "deploy NEAR/3 server"),
    ('(deploy OR "blue green") -old', "deploy blue green", "-old"),
    ('"roll back" OR title:undo', "roll back undo", '"roll back" OR title:undo'),
    ("deploy^3 (server OR build)^2 is:signed", "deploy server build", "is:signed"),
    ("title:*", "", "title:*"),
    ("", "", ""),
]


@pytest.mark.parametrize(("text", "said", "demanded"), READ)
def test_plain_words_are_embedded_and_all_else_is_required(text: str, said: str, demanded: str) -> None:
    """No part of a query is left without effect."""
    node = parse(text).ast
    assert " ".join(texts_of(node)) == said
    assert required_part(node) == parse(demanded).ast or str(required_part(node)) == str(parse(demanded).ast)


def test_boosts_are_noticed() -> None:
    """Anywhere in a query."""
    assert has_boost(parse("(a b^2) OR c").ast)
    assert not has_boost(parse("(a b) OR c").ast)
