"""Sections as an agent and a person get them: the tool and the command answer as the registry does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from rye import Registry
from tests.support.mcp_server import Session, session, text_of
from tests.support.spacesim import SpaceSim
from tests.unit.cli.workshop import Workshop, lay

GUIDE = "---\ntitle: Guide\n---\n# Deploy\n\nPush it out.\n\n## Rollback\n\nUndo a release.\u202e\n"


@pytest.fixture(scope="session")
def sim(tmp_path_factory: pytest.TempPathFactory) -> SpaceSim:
    """Lay spaces with a guide; tests of this module only read them."""
    found = SpaceSim(tmp_path_factory.mktemp("sim"))
    found.add("project", "knowledge/ops/guide.md", GUIDE)
    found.write("user", "knowledge/ops/unsigned.md", GUIDE.replace("Guide", "Copy of the guide"))
    return found


@pytest.fixture(scope="session")
def shared(sim: SpaceSim) -> Iterator[Session]:
    """Keep one server whose embedder is off, so that the answers need no model."""
    with session(sim, env={"RYE_EMBEDDER": "none"}) as found:
        yield found


def test_the_tool_answers_as_the_registry_does(sim: SpaceSim, shared: Session) -> None:
    """The structured answer is the response; the text has place, verdict and the section, harmless."""
    result = shared.call("rye_sections", query="undo release", space="project", limit=1)
    registry = Registry(
        sim.project, user=sim.user, more_bundles=tuple(sim.bundles.values()), cache_dir=sim.cache, embedder="none"
    )
    expected = registry.sections("undo release", space="project", limit=1, max_chars=20_000).to_dict()
    assert result.structured_content is not None
    (got,), (hit,) = result.structured_content["results"], expected["results"]
    assert got["text"] == "Undo a release.\\u202e"
    whole = hit | hit["signature"] | {"text": got["text"]}
    assert got == {name: whole[name] for name in got}
    assert {
        "doc_id",
        "source_handle",
        "title",
        "heading_path",
        "mtime",
        "hash",
        "display_url",
        "properties",
    } <= got.keys()
    text = text_of(result)
    assert re.match(r"\[1 of 1 sections -- keyword\]\ndata, .*\n\n1\. knowledge:ops/guide  ", text)
    assert re.search(
        r"trusted  project  lines 9-11  hidden-text (\w{12})\| Deploy > Rollback\n--- text \[\1\] ---\nUndo a release.",
        text,
    )
    assert "searching by meaning is turned off" in text


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """Lay the workshop, with a guide; tests of this module only read it."""
    found = lay(tmp_path_factory.mktemp("shop"))
    path = found.project / ".ai" / "knowledge" / "ops" / "guide.md"
    path.parent.mkdir(parents=True)
    path.write_text(GUIDE, encoding="utf-8")
    return found


def test_the_command_answers_programs_and_people(shop: Workshop) -> None:
    """JSON is the whole response; snippets stand for texts; a budget cuts and says so."""
    words = ("sections", "undo", "release", "--space", "project")
    data = json.loads(shop.run(*words, "--json", RYE_EMBEDDER="none").out)
    assert data["method"] == "keyword_fallback"
    assert data["results"][0]["heading_path"] == ["Deploy", "Rollback"]
    assert "Undo a release." in shop.run(*words, "--snippets", RYE_EMBEDDER="none").out
    cut = shop.run(*words, "--max-chars", "4", RYE_EMBEDDER="none")
    assert "    Undo\n    … " in cut.out
    aged = json.loads(
        shop.run(*words, "--recency-weight", "1", "--half-life", "0.0001", "--json", RYE_EMBEDDER="none").out
    )
    assert aged["results"][0]["score"] < data["results"][0]["score"]
