"""Weights that the user or a bundle sets, and how they reach the items of each root and type."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from rye.errors import ArgumentError
from rye.registry.settings import MAX_WEIGHT, Ranking, chosen_index, read_ranking
from rye.spaces.layout import Layout
from rye.spaces.model import Root, Space
from rye.spaces.state import settings_place
from tests.support.files import lay
from tests.support.signed import NOW, TRUST, sign

FILE = "config/search.yaml"


def roots(folder: Path, **files: str | bytes) -> tuple[Root, ...]:
    """Lay settings in a project, the user space and two bundles, where given; return the four roots."""
    found = (
        Root(Space.PROJECT, folder / "project"),
        Root(Space.USER, folder / "user"),
        Root(Space.SYSTEM, folder / "alpha", "alpha"),
        Root(Space.SYSTEM, folder / "beta", "beta"),
    )
    for name, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        if name in {"alpha", "beta"}:
            data = sign(data, origin=settings_place(name), suffix=".yaml")
        lay(folder / name, {FILE: data})
    return found


def read(of: Sequence[Root]) -> Ranking:
    """Return the settings of some roots for a user who trusts the key that signs those of bundles."""
    return read_ranking(of, trust=TRUST, now=NOW)


def test_a_bundle_weighs_its_own_items_and_the_user_all(tmp_path: Path) -> None:
    """The user's word is above a bundle's, field by field."""
    found, _, problems = read(
        roots(
            tmp_path,
            user="weights:\n  tool: {title: 4}\n",
            alpha="weights:\n  tool: {title: 9, symbols: 2.5}\n  knowledge: {content: 0}\n",
        )
    )
    assert problems == []
    everyone = {"tool": {"title": 4.0}}
    assert found == {
        "project": everyone,
        "user": everyone,
        "system:alpha": {"tool": {"title": 4.0, "symbols": 2.5}, "knowledge": {"content": 0.0}},
        "system:beta": everyone,
    }


def test_attack_a_project_does_not_weigh_its_own_items(tmp_path: Path) -> None:
    """A cloned repository cannot raise itself: its file is not even read."""
    mine = "weights:\n  tool: {title: 100}\nsource_boosts: {project: 10}\n"
    assert read(roots(tmp_path, project=mine)) == Ranking({}, {}, [])
    assert read(roots(tmp_path, project=b"\xff broken")).problems == []


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("weights: [", "search.yaml is left out"),
        (b"\xff\xfe", "is left out"),
        ("- a list", "may hold only 'weights'"),
        ("weight: {}", "may hold only 'weights'"),
        ("weights: {}\nmore: 1", "may hold only 'weights'"),
        ("weights: false", "'weights' must be a mapping of item types"),
        ("source_boosts: 0", "'source_boosts' must be a mapping"),
        ("[]", "it may hold only"),
        ("weights: 5", "must be a mapping of item types"),
        ("weights: {tools: {title: 1}}", "valid are directive, tool, knowledge"),
        ("weights: {tool: 5}", "'weights.tool' must be a mapping of title"),
        ("weights: {tool: {titel: 1}}", "did you mean 'title'?"),
        ("weights: {tool: {qqqq: 1}}", "has no option 'qqqq'"),
        ("weights: {tool: {author: 1}}", "has no option 'author'"),
        ("weights: {tool: {title: '4'}}", "valid are numbers from 0 to 100"),
        ("weights: {tool: {title: true}}", "valid are numbers"),
        ("weights: {tool: {title: -1}}", "valid are numbers"),
        (f"weights: {{tool: {{title: {MAX_WEIGHT + 1}}}}}", "valid are numbers"),
        ("weights: {tool: {title: .nan}}", "valid are numbers"),
        ("weights: {tool: {title: .inf}}", "valid are numbers"),
        ("weights: {tool: {1: 1}}", "has no option '1'"),
        ("weights: {1: {title: 1}}", "has no option '1'"),
        ("source_boosts: 5", "must be a mapping"),
        ("source_boosts: {projekt: 2}", "did you mean 'project'?"),
        ("source_boosts: {project: 0}", "to leave a source out use space"),
        ("source_boosts: {project: 11}", "is 11"),
        ("source_boosts: {project: '2'}", "is '2'"),
        (
            "source_boosts: {user: .nan}",
            "'source_boosts.user' is empty, or no finite number; valid are numbers above 0",
        ),
        ("source_boosts: {user: true}", "'source_boosts.user' is true; valid are"),
        ("source_boosts: {user: [true, null]}", "'source_boosts.user' is [true, null]; valid are"),
        ("source_boosts: [true]", "'source_boosts' must be a mapping of project, user, system"),
        ("weights: {tool: {title: true}}", "'weights.tool.title' is true; valid"),
        ("#" * 70_000 + "\nweights: {tool: {title: 4}}", "more than"),
    ],
)
def test_a_fault_is_reported_and_the_file_left_out(tmp_path: Path, content: str | bytes, problem: str) -> None:
    """The problem names the file, and the part if it is one; the other files count all the same."""
    found, boosts, problems = read(roots(tmp_path, user=content, alpha="weights: {tool: {title: 9}}"))
    assert (found, boosts) == ({"system:alpha": {"tool": {"title": 9.0}}}, {})
    assert len(problems) == 1
    assert problem in problems[0]
    assert str(tmp_path / "user" / FILE) in problems[0]


def test_attack_a_long_value_is_shortened_in_the_message(tmp_path: Path) -> None:
    """A warning is a line."""
    (problem,) = read(roots(tmp_path, user=f"source_boosts: {{user: {'x' * 9000}}}\n")).problems
    assert len(problem) < len(str(tmp_path)) + 400


def test_only_the_user_boosts_sources(tmp_path: Path) -> None:
    """Of a bundle that tries, all of the file is left out."""
    boosts = "source_boosts: {system: 1, user: 2.5}\n"
    found = read(roots(tmp_path, user=boosts, alpha=boosts))
    assert found.boosts == {"system": 1.0, "user": 2.5}
    (problem,) = found.problems
    assert str(tmp_path / "alpha" / FILE) in problem
    assert "may hold only 'weights'" in problem


def test_attack_a_pipe_for_settings_does_not_hang(tmp_path: Path) -> None:
    """A folder or a pipe in place of the file is a problem like any other."""
    (tmp_path / "alpha" / "config").mkdir(parents=True)
    os.mkfifo(tmp_path / "alpha" / FILE)
    (tmp_path / "beta" / FILE).mkdir(parents=True)
    found, _, problems = read(roots(tmp_path))
    assert found == {}
    assert [str(tmp_path / name / FILE) in text for name, text in zip(("alpha", "beta"), problems, strict=True)] == [
        True
    ] * 2


ADDRESS = "opensearch+https://search.example:9200/skills"


@pytest.mark.parametrize(
    "content",
    ["index: 7", "index: http://x/y", "index: opensearch+https://me:secret@host/x", "index: [", "index: ''\nx: 1"],
)
def test_a_file_that_names_no_index_rightly_is_an_error(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The spaces would be other items; nothing of the value is shown, as it may hold a password."""
    monkeypatch.delenv("RYE_INDEX", raising=False)
    lay(tmp_path, {FILE: content})
    with pytest.raises(ArgumentError, match=r"search\.yaml") as raised:
        chosen_index(None, tmp_path)
    assert raised.value.code == "bad-index"
    assert "secret" not in str(raised.value)


def test_attack_a_project_does_not_choose_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by its file, nor by a user space that lies in it."""
    monkeypatch.delenv("RYE_INDEX", raising=False)
    project = tmp_path / "project"
    for folder in (project, project / "home"):
        lay(folder / ".ai", {FILE: f"index: {ADDRESS}\n"})
    for home, chosen in ((tmp_path / "user", None), (project / "home", None), (tmp_path / "good", ADDRESS)):
        lay(tmp_path / "good" / ".ai", {FILE: f"index: {ADDRESS}\n"})
        layout = Layout.find(project=project, user=home, bundles=())
        assert chosen_index(None, layout.safe_user()) == chosen
