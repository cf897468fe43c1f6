"""What a program gets from a registry: names to import, answers to iterate, a block to use it in."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import rye
from rye import Registry, SearchResponse, errors
from rye.errors import RyeError
from tests.support.spacesim import SpaceSim


def test_whatever_is_returned_or_raised_can_be_imported_from_rye() -> None:
    """So that a program names its types and catches its errors without knowing the rooms."""
    returned = {
        name
        for _, method in inspect.getmembers(Registry, inspect.isfunction)
        for name in re.findall(r"[A-Z]\w+", str(inspect.get_annotations(method).get("return", "")))
        if not method.__name__.startswith("_")
    }
    raised = {name for name, each in vars(errors).items() if inspect.isclass(each) and issubclass(each, RyeError)}
    aliases = {"Pages", "AbstractContextManager", "None"}  # a generator of responses, and what Python has
    assert (returned | raised) - aliases <= set(rye.__all__)
    for name in rye.__all__:
        assert getattr(rye, name).__name__ == name


def test_an_answer_is_iterated_counted_and_asked_whether_it_has_any(tmp_path: Path) -> None:
    """A page of hits and one of sections; a hit has the name that every method takes."""
    sim = SpaceSim(tmp_path)
    sim.write("project", "knowledge/ops/undo.md", "# Undo\n\nHow to undo a release.\n")
    with sim.registry() as registry:
        found = registry.search("release", space="project")
        assert isinstance(found, SearchResponse)
        assert [hit.ref for hit in found] == ["knowledge:ops/undo"]
        assert (len(found), bool(found)) == (1, True)
        assert [registry.get(hit.ref).item.title for hit in found] == ["Undo"]
        sections = registry.sections("release", space="project", mode="keyword")
        assert [section.ref for section in sections] == ["knowledge:ops/undo"]
        assert not registry.search("quokka", space="project", relax=False)


def test_a_registry_works_again_after_its_block(tmp_path: Path) -> None:
    """The files of its index are closed, so that they can be removed where open files cannot."""
    sim = SpaceSim(tmp_path)
    sim.write("project", "knowledge/undo.md", "# Undo\n\nHow to undo a release.\n")
    with sim.registry(max_staleness=float("inf")) as registry:
        assert registry.search("release", space="project")
    assert registry.search("release", space="project")
