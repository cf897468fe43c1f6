"""How well questions find their items: from Python and by ``rye eval``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rye import Registry
from rye.cli.render.findability import render_findability
from rye.cli.terminal import Terminal
from rye.errors import ItemError, NotFoundError
from tests.unit.cli.workshop import HOSTILE_TITLE, Workshop, lay

SKILL = "---\nname: rollback\ndescription: Undo a deploy that went wrong\n---\n\n# Rollback\n\nGo back a release.\n"
EVALS = [
    {"id": "undo", "question": "undo a deploy that went wrong", "expected_skill": "rollback"},
    {"id": "other", "question": "server", "expected_skill": "rollback"},
    {"id": "never", "question": "undo a deploy", "expected_skill": None},
    {"id": "fine", "question": "one of two of this id", "expected_skill": None},
    {"id": "gone", "question": "what is there", "expected_skill": "no-such-skill"},
]


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    """Lay the workshop, with a skill that has questions, a copy of them, and a file that cannot be read."""
    found = lay(tmp_path)
    skill = found.project / ".claude/skills/rollback"
    write(skill / "SKILL.md", SKILL)
    for folder in (skill / "evals", found.project / "copy"):
        write(folder / "evals.json", json.dumps(EVALS))
    write(found.project / "bad/trigger_eval.json", "[{]")
    write(found.project / "node_modules/x/evals.json", "[{]")
    (found.project / "link").mkdir()
    (found.project / "link/evals.json").symlink_to("../bad/trigger_eval.json")
    return found


def write(path: Path, text: str) -> Path:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_folder_is_measured(shop: Workshop, tmp_path: Path) -> None:
    """Questions count once, negatives are counted apart, and what cannot be measured is named."""
    registry = Registry(shop.project, user=tmp_path / "home", bundles=(), cache_dir=tmp_path / "cache")
    found = registry.evaluate(shop.project, mode="keyword", scope="directive,knowledge")
    assert (found.questions, found.hit_at_1, found.negatives, found.skipped) == (2, 0.5, 2, 2)
    (failure,) = found.failures
    assert failure.place == ".claude/skills/rollback/evals/evals.json other"
    assert (failure.expected, failure.rank, failure.winner) == ("directive:rollback", None, "knowledge:demo/guide")
    assert {share.part for share in failure.decided_by} >= {"server"}
    assert failure.reasons
    assert [each.question for each in found.false_hits] == ["undo a deploy"]
    assert [each.place for each in found.errors] == ["", ".claude/skills/rollback/evals/evals.json gone"]
    assert "bad/trigger_eval.json: line 1" in found.errors[0].message
    assert "there is no item 'no-such-skill'" in found.errors[1].message
    assert dict(found.methods) == {"keyword": 4}
    assert set(found.to_dict()) == set(type(found).__dataclass_fields__)


def test_copies_in_other_spaces_take_no_rank(tmp_path: Path) -> None:
    """An item that two spaces have has one rank."""
    for space in ("project", "home"):
        for number in range(12):
            text = "word " * (12 - number) + "filler " * number
            write(tmp_path / space / f".ai/knowledge/n{number:02}.md", f"# Title {number}\n\n{text}\n")
    questions = write(tmp_path / "q.csv", "word,n00\nword,n02\n")
    registry = Registry(tmp_path / "project", user=tmp_path / "home", bundles=(), cache_dir=tmp_path / "cache")
    found = registry.evaluate(questions, mode="keyword")
    assert [(each.expected, each.rank) for each in found.failures] == [("knowledge:n02", 3)]
    assert (found.questions, found.hit_at_1, found.hit_at_3, found.mrr) == (2, 0.5, 1.0, 0.6667)


def test_the_command_prints_figures_and_failures(shop: Workshop) -> None:
    """The text names the item that won and the words that decided; the JSON has the same."""
    questions = write(shop.project / "q.csv", "server,rollback\nGuide to servers,demo/guide\nx,demo/twin\n")
    done = shop.run("eval", "q.csv", "--mode", "keyword")
    assert done.status == 0, done.err
    assert done.out.splitlines()[0] == "hit@1 0.500  hit@3 0.500  MRR 0.500  2 questions"
    for line in ("failed: 1", "    directive:rollback: no hit", "    first: knowledge:demo/guide", "not measured: 1"):
        assert f"\n{line}\n" in done.out
    assert "'demo/twin' names 2 items" in done.out
    shown = json.loads(shop.run("eval", str(questions), "--mode", "keyword", "--json").out)
    assert (shown["questions"], shown["hit_at_1"], len(shown["failures"]), len(shown["errors"])) == (2, 0.5, 1, 1)


@pytest.mark.parametrize(
    ("line", "lowest", "status"),
    [
        ("Guide to servers,demo/guide", "1", 0),
        ("server,rollback", "0.1", 1),
        ("server,rollback", "0", 0),
        ("anything,no-such-item", "0", 1),
    ],
)
def test_a_job_fails_below_its_minimum_or_where_a_question_cannot_be_measured(
    shop: Workshop, line: str, lowest: str, status: int
) -> None:
    """Exit status 1, with the answer on standard output."""
    write(shop.project / "q.csv", line)
    done = shop.run("eval", "q.csv", "--mode", "keyword", "--min", lowest)
    assert (done.status, done.out.startswith("hit@1 ")) == (status, True)


def test_on_a_terminal_no_line_is_wider_than_it(shop: Workshop, tmp_path: Path) -> None:
    """Questions, reasons and places are broken or cut."""
    long = "how is a server run that is far away " * 12
    entries = [{"id": long, "question": long, "expected_skill": each} for each in ("rollback", "no-such", None)]
    path = write(shop.project / ".claude/skills/rollback/evals.json", json.dumps(entries))
    registry = Registry(shop.project, user=tmp_path / "home", bundles=(), cache_dir=tmp_path / "cache")
    lines = list(render_findability(registry.evaluate(path, mode="keyword"), Terminal(width=80)))
    assert len(lines) > 12
    assert max(len(each) for line in lines for each in line.split("\n")) <= 80


def test_text_of_questions_and_items_is_shown_escaped(shop: Workshop) -> None:
    """No control character of a file of questions reaches a terminal; a question of two lines is shown as one."""
    hostile = "trap \x1b]0;owned\x07\u202e here\n\nnot measured: 99"
    entries = [{"id": hostile, "question": hostile, "expected_skill": each} for each in ("rollback", hostile)]
    write(shop.project / "evals.json", json.dumps(entries))
    done = shop.run("eval", "evals.json", "--mode", "keyword")
    assert not set(done.out + done.err) & set("\x1b\x07\u202e")
    assert "\nnot measured: 99" not in done.out
    assert HOSTILE_TITLE not in done.out


def test_what_cannot_be_read_is_an_error(shop: Workshop, tmp_path: Path) -> None:
    """A file that is named is an error; so is a folder without questions."""
    registry = Registry(shop.project, user=tmp_path / "home", bundles=(), cache_dir=tmp_path / "cache")
    (shop.project / "empty").mkdir()
    write(shop.project / "large.json", " " * (1 << 20) + "[]")
    for name, code in {
        "bad/trigger_eval.json": "unparsable",
        "none.csv": "not-a-file",
        "large.json": "too-large",
    }.items():
        with pytest.raises(ItemError) as caught:
            registry.evaluate(shop.project / name)
        assert (caught.value.code, Path(name).name in caught.value.message) == (code, True)
    with pytest.raises(NotFoundError, match="there are no questions"):
        registry.evaluate(shop.project / "empty")
    done = shop.run("eval", "none.csv", "--json")
    assert (done.status, json.loads(done.out)["error"]["code"]) == (2, "not-a-file")
