"""What every surface says of a hit is decided once: which texts are shown, in which order, and in which words."""

from dataclasses import replace

import pytest

from rye.search.contract.results import HybridMatch, SearchResult
from rye.surface.hits import view_of
from rye.trust.model import Signature, Verdict

HIT = SearchResult(
    id="ops/deploy",
    name="release",
    description="",
    category="",
    score=1.0,
    type="knowledge",
    source="project",
    preview="",
    title="Deploy",
    path="/p/deploy.md",
    bundle="",
    version="",
    tags=(),
    updated="",
    signature=Signature(Verdict.UNSIGNED, "unsigned", "no signature"),
)


@pytest.mark.parametrize(
    ("hit", "shown"),
    [
        (("Deploy", "Ship it.", "Then roll back.", "a.md"), ["Deploy", "Ship it.", "Then roll back."]),
        (("Deploy", "Ship it and wait.", "Deploy ship it", "a.md"), ["Deploy", "Ship it and wait."]),
        (("Deploy", "Ship it.", "## Deploy Ship it. **And** wait.", "a.md"), ["Deploy", "Deploy Ship it. And wait."]),
        (("", "Ship it.", "def ship(): 'Ship it.'", "a.py"), ["Ship it."]),
        (("Deploy", "Deploy", "", "a.md"), ["Deploy"]),
        (("", "", "", "a.md"), []),
    ],
)
def test_no_text_of_a_hit_says_what_another_one_says(hit: tuple[str, str, str, str], shown: list[str]) -> None:
    """A preview within the description goes, and so does a description within the preview, unless that is code."""
    title, description, preview, path = hit
    result = replace(HIT, title=title, description=description, preview=preview, path=path)
    assert [" ".join(passage.text.split()) for passage in view_of(result.to_dict()).passages] == shown


def test_a_hit_says_how_near_it_is_what_hides_it_and_what_takes_its_place() -> None:
    """The fused score wins over the cosine; sources and states are words of one line each."""
    fused = HybridMatch(61.5, 50.0, 73.0, "Deploy > Steps", ("ship",), ("ship@L3",))
    hit = replace(HIT, similarity=0.5, shadows=("system:a",), shadowed_by=("user",), states=("superseded",))
    view = view_of(replace(hit, successor="tool:b", hybrid=fused).to_dict())
    assert view.similarity == "(61.5% total)"
    assert view.reasons[0] == "Semantic: 50% | Keyword: 73%"
    assert view.hiding == ("shadows system:a", "shadowed by user")
    assert view.lifecycle == "superseded, see tool:b"
    assert view_of(replace(HIT, similarity=0.25).to_dict()).similarity == "similarity 0.2500"
    named = replace(HIT, name="database-backup", title="Database backup", description="Dump it.")
    assert [passage.text for passage in view_of(named.to_dict()).passages] == ["Dump it."]
