"""One item has many names: what search shows and people write leads to it, or the right form is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rye import Registry
from rye.cli import main
from rye.errors import ArgumentError, NotFoundError, RyeError

SKILL = "---\nname: {0}\ndescription: Work with {0}. Use when somebody asks for it.\n---\n# {0}\nSteps.\n"


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """Return the registry of a project with a skill, a command, an item of its own, and a skill of the user."""
    project, home = tmp_path / "project", tmp_path / "home"
    for place, name in ((project / ".claude/skills", "pdf"), (home / ".claude/skills", "notes")):
        (place / name).mkdir(parents=True)
        (place / name / "SKILL.md").write_text(SKILL.format(name), encoding="utf-8")
    (project / ".claude/commands").mkdir()
    (project / ".claude/commands/ship.md").write_text("Ship the release.\n", encoding="utf-8")
    plan = project / ".ai/directives/ops/plan.md"
    plan.parent.mkdir(parents=True)
    plan.write_text("Plan the day.\n", encoding="utf-8")
    for name in ("ops/backup", "ops/old/restore", "dev/restore"):
        path = project / ".ai/knowledge" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {name}\n\nText.\n", encoding="utf-8")
    monkeypatch.chdir(project)
    monkeypatch.setenv("USER_SPACE", str(home))
    return Registry(project, user=home, bundles=(), cache_dir=tmp_path / "cache", embedder="none")


NAMES = {
    "directive:pdf": "directive:pdf",
    "pdf": "directive:pdf",
    "skill:pdf": "directive:pdf",
    "Skill:pdf": "directive:pdf",
    "skill://project/pdf/SKILL.md": "directive:pdf",
    "skill://project/pdf": "directive:pdf",
    "skill://user/notes/SKILL.md": "directive:notes",
    ".claude/skills/pdf/SKILL.md": "directive:pdf",
    "./.claude/skills/pdf": "directive:pdf",
    ".claude/commands/ship.md:1": "directive:commands/ship",
    "{project}/.claude/commands/ship.md:1:4": "directive:commands/ship",
    "skills/pdf/SKILL.md": "directive:pdf",
    "{project}/.claude/skills/pdf/SKILL.md": "directive:pdf",
    "{project}/.ai/knowledge/ops/backup.md": "knowledge:ops/backup",
    "knowledge/ops/backup.md": "knowledge:ops/backup",
    "command:ship": "directive:commands/ship",
    "ship": "directive:commands/ship",
    "backup": "knowledge:ops/backup",
    "knowledge:backup": "knowledge:ops/backup",
    "`ops/backup.md`": "knowledge:ops/backup",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_leads_to_its_item(name: str, registry: Registry, tmp_path: Path) -> None:
    """Loading, relations, similar items and explanations read the same names; another reading is said."""
    item, name = NAMES[name], name.format(project=tmp_path / "project")
    loaded = registry.get(name)
    assert f"{loaded.item.type}:{loaded.item.id}" == item
    assert any("read as" in text for text in loaded.warnings) == (name not in (item, item.partition(":")[2]))
    assert registry.refs(name).item == item
    registry.similar(name)
    why = registry.why("*", name)
    assert f"{why.type}:{why.id}" == item


WRONG: dict[str, tuple[str, str]] = {
    "skill:nope": ("item-not-found", "there is no directive 'nope'"),
    "skill:pdg": ("item-not-found", "did you mean directive:pdf"),
    "skill://user/pdf/SKILL.md": ("item-not-found", "directive:pdf is in project:.claude/skills"),
    "skills/nope": ("item-not-found", "there is no"),
    "skill:ops/plan": ("item-not-found", "directive:ops/plan is in project"),
    "command:pdf": ("item-not-found", "directive:pdf is in project:.claude/skills"),
    "restore": ("ambiguous-item", "knowledge:dev/restore or knowledge:ops/old/restore"),
    "thing:pdf": ("bad-type", "valid are directive, tool, knowledge"),
    "../../etc/passwd": ("item-not-found", "there is no"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_name_of_nothing_says_what_there_is(name: str, registry: Registry) -> None:
    """The code and the hint of the error lead on."""
    code, words = WRONG[name]
    with pytest.raises((NotFoundError, ArgumentError)) as raised:
        registry.get(name)
    assert raised.value.code == code
    assert words in f"{raised.value} {raised.value.hint}"


@pytest.mark.parametrize(
    "name", ["pdf", "skill:pdf", "skill://project/pdf/SKILL.md", ".claude/skills/pdf", "directive:pdf"]
)
def test_sign_and_verify_take_the_names_that_search_shows(name: str, registry: Registry) -> None:
    """A bare name means the item of exactly this id."""
    assert [item.id for item in registry.verify(name).items] == ["pdf"]
    assert main(["init", "--yes"]) == 0
    assert main(["sign", name, "--force"]) == 0


@pytest.mark.parametrize(("name", "words"), [("pdg", "nothing matches 'pdg'"), ("tols", "did you mean 'tool'?")])
def test_a_bare_name_of_nothing_signs_nothing(name: str, words: str, registry: Registry) -> None:
    """Parts of ids are no names here: what is signed is named in full."""
    with pytest.raises(RyeError) as raised:
        registry.sign(name, dry_run=True)
    assert words in f"{raised.value} {raised.value.hint}"
    for other in ("backup", "skill:ops/plan", "command:plan", "skill://user/pdf"):
        with pytest.raises(RyeError, match="nothing matches"):
            registry.sign(other, dry_run=True)
    main(["keys", "generate", "--add-trust"])
    assert [item.id for item in registry.sign("command:ship", dry_run=True).items] == ["commands/ship"]


def test_other_words_for_fields_work_or_say_the_right_one(registry: Registry) -> None:
    """``verdict:`` is ``is:``; a format in the place of a type is named."""
    assert [hit.id for hit in registry.search("verdict:unsigned skills pdf", relax=False).results] == [
        hit.id for hit in registry.search("is:unsigned skills pdf", relax=False).results
    ]
    assert [hit.id for hit in registry.search("verdict:unsigned type:directive pdf").results] == ["pdf"]
    assert any("did you mean format:skill?" in text for text in registry.search("type:skill pdf").warnings)
    with pytest.raises(ArgumentError) as raised:
        registry.search("pdf", scope="skill")
    assert "format:skill" in raised.value.hint
    with pytest.raises(ArgumentError) as raised:
        registry.list_items("backup")
    assert "rye show backup" in raised.value.hint


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        (
            {"filters": {"Type": "directive", "Verdict": "unsigned"}},
            {"filters": {"type": "directive", "is": "unsigned"}},
        ),
        ({"filters": {"Title": "pdf", "Date_From": "2001"}}, {"filters": {"title": "pdf", "date_from": "2001"}}),
        ({"fields": {"Title": "pdf"}}, {"fields": {"title": "pdf"}}),
        ({"facets": ["Type", "TAG:3"]}, {"facets": ["type", "tag:3"]}),
        ({"query": "references:(Tool:x)"}, {"query": "references:(tool:x)"}),
        ({"query": "Verdict:unsigned"}, {"query": "is:unsigned"}),
    ],
)
def test_the_case_of_a_field_does_not_matter(
    registry: Registry, written: dict[str, Any], folded: dict[str, Any]
) -> None:
    """Wherever a field can be named, as in queries."""
    one, other = registry.search(**written), registry.search(**folded)
    assert (one.results, one.total, one.facets) == (other.results, other.total, other.facets)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"query": "text updated:>2020"}, "updated is missing"),
        ({"query": "text", "filters": {"date_from": "2027"}}, "created is 2026-02-01"),
        ({"query": "text state:shut"}, "state is open"),
        ({"query": "text is:trusted"}, "is unsigned"),
    ],
)
def test_why_does_not_contradict_itself(registry: Registry, tmp_path: Path, options: dict[str, Any], said: str) -> None:
    """A condition is explained with the field it tests, not with another that would have passed."""
    path = tmp_path / "project/.ai/knowledge/dated.md"
    path.write_text("---\ncreated: 2026-02-01\nstate: open\n---\n# Dated\n\nText.\n", encoding="utf-8")
    assert said in registry.why(item="knowledge:dated", **options).reasons[0].message


def test_a_long_query_is_not_suggested_back(registry: Registry) -> None:
    """Nobody reads hundreds of words again, least of all in a warning."""
    found = registry.search(" ".join(f"word{number}" for number in range(3_000)))
    assert found.did_you_mean == ""
    assert found.warnings
    assert max(map(len, found.warnings)) < 200


def test_attack_a_name_is_no_pattern_and_a_path_is_its_file(registry: Registry, tmp_path: Path) -> None:
    """A folder that is called like a pattern signs itself alone; a path into another space shows no other file."""
    project, home = tmp_path / "project", tmp_path / "home"
    for name in ("[a-z]*", "x/pdf"):
        (project / ".claude/skills" / name).mkdir(parents=True)
        (project / ".claude/skills" / name / "SKILL.md").write_text(SKILL.format("other"), encoding="utf-8")
    for name in ("deploy", "sub/deploy", "deploy/deploy"):
        path = project / ".claude/commands" / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text("Deploy it.\n", encoding="utf-8")
    main(["keys", "generate", "--add-trust"])

    def signed(name: str) -> list[str]:
        return sorted(item.id for item in registry.sign(name, dry_run=True).items)

    assert signed("skill://project/%5Ba-z%5D%2A/SKILL.md") == signed("skill:[a-z]*") == ["[a-z]*"]
    assert signed("command:deploy") == ["commands/deploy"]
    assert registry.get("command:deploy").item.id == "commands/deploy"
    for other in ("skill://project/%2A", "skill:*", "command:*"):
        with pytest.raises(RyeError, match="nothing matches"):
            registry.sign(other, dry_run=True)
    for folder, text in ((home, "# Mine\n"), (project, "# Evil\n")):
        (folder / ".ai/knowledge").mkdir(parents=True, exist_ok=True)
        (folder / ".ai/knowledge/same.md").write_text(text, encoding="utf-8")
    registry = Registry(project, user=home, bundles=(), cache_dir=tmp_path / "cache", embedder="none")
    assert registry.get(str(home / ".ai/knowledge/same.md")).item.title == "Mine"
    assert registry.get(f"{project}/.ai/knowledge/../../../home/.ai/knowledge/same.md").item.title == "Mine"
    for place in (tmp_path / "other", "/nonexistent"):
        with pytest.raises(NotFoundError, match="there is no item at"):
            registry.get(f"{place}/.ai/knowledge/same.md")


@pytest.mark.parametrize(
    ("title", "query"),
    [("thre\u00adad", "thre\u00adad"), ("thre\u00adad", "thread"), ("备\u200b份", "备份"), ("Don\u2019t", "don't")],
)
def test_a_title_is_compared_as_it_is_seen(registry: Registry, tmp_path: Path, title: str, query: str) -> None:
    """Characters that show nothing, and how an apostrophe is printed, make no other title of it."""
    (tmp_path / "project/.ai/knowledge/note.md").write_text(f"---\ntitle: {title}\n---\nText.\n", encoding="utf-8")
    assert [(hit.id, hit.exact) for hit in registry.search(query, scope="knowledge").results][:1] == [("note", True)]
