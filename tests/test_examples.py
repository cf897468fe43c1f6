"""The examples in the knowledge items, the README and docstrings do what they show.

A ``query`` fence is parsed line by line, and the commands of a ``console`` fence are run; a line that is to exit with
another status than 0 says so, as in ``$ rye show rye/nothing   # exit 1``. Lines below a command are what it prints:
``…`` stands for anything, lines may be broken elsewhere, and decimal fractions and percentages may differ. A fence that
begins with ``$ cd shop`` is run in the project of ``tests.support.sample_project``, others in an empty folder; the page
on a team is played by ``tests/test_team.py``. The options of an ``sh`` fence are checked, and ``python`` fences are run
in a copy of that project.
"""

from __future__ import annotations

import doctest
import importlib
import io
import os
import re
import shlex
import shutil
from pathlib import Path
from typing import cast

import click
import pytest

from rye import Registry
from rye.cli.app import main
from rye.cli.app import root as command_line
from rye.query import parse as parse_query
from tests.support.mcp_server import text_of, with_client
from tests.support.sample_project import furnish
from tests.support.spacesim import SpaceSim
from tests.test_docs import DOCS, ROOT

PAGES = DOCS | {"README": (ROOT / "README.md").read_text(encoding="utf-8")}
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def fences(language: str) -> list[tuple[str, str]]:
    """Return ``(page, content)`` of every fence of that language in the knowledge items and the README."""
    return [(page, match[2]) for page, text in PAGES.items() for match in FENCE.finditer(text) if match[1] == language]


@pytest.mark.parametrize(
    ("page", "line"),
    [(page, line) for page, text in fences("query") for line in text.splitlines() if line],
)
def test_every_query_example_parses(page: str, line: str) -> None:
    """A documented query is well formed, and its canonical form means the same."""
    tree = parse_query(line).ast
    assert parse_query(str(tree)).ast == tree, page


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the project that samples are printed from, and the home of its user."""
    return furnish(tmp_path_factory.mktemp("samples"))


@pytest.fixture
def shop(sample: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the sample project while its user is the user of this process; there is nobody to ask."""
    monkeypatch.setattr("sys.stdin", io.StringIO())
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("USER_SPACE", str(sample[1]))
    monkeypatch.chdir(tmp_path / "empty")
    return sample[0]


def matches(sample: str, answer: str) -> bool:
    """Return whether a sample is what was printed, as far as it goes."""
    wanted, found = (re.sub(r"\d+(\.\d+)?%|\d+\.\d+|\s+", "", text) for text in (sample, answer))
    return re.fullmatch(".*?".join(map(re.escape, wanted.split("…"))), found) is not None


@pytest.mark.parametrize(
    ("page", "text"),
    [each for each in fences("console") if each[0] != "team"],
    ids=lambda value: value.split("\n")[0][:60],
)
def test_every_console_example_prints_what_it_shows(
    page: str, text: str, shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A documented command runs, exits with the status written beside it, and prints what stands below it."""
    rest = text.removeprefix("$ cd shop\n")
    if rest != text:
        os.chdir(shop)
    assert rest.startswith("$ "), f"{page}: no command in a console fence"
    for example in re.split(r"^\$ ", rest, flags=re.MULTILINE)[1:]:
        line, _, sample = example.partition("\n")
        program, *words = shlex.split(line, comments=True)
        said = re.search(r"# exit (\d+)$", line)
        assert program == "rye", f"{page}: {line}"
        status = main(words)
        answer = "".join(capsys.readouterr())
        assert status == (int(said[1]) if said else 0), f"{page}: {line}\n{answer}"
        assert answer
        assert not sample.strip() or matches(sample, answer), f"{page}: {line} prints\n{answer}"


def test_the_sample_of_an_answer_to_an_agent_is_one(shop: Path, tmp_path: Path) -> None:
    """The text of ``rye_search`` in the sample project, with other marks around what items say."""
    sim = SpaceSim(tmp_path, bundles=())
    shutil.copytree(shop, sim.project, dirs_exist_ok=True)
    given = {"query": "refund order", "space": "project", "limit": 2}
    text = text_of(with_client(sim, lambda client: client.call_tool("rye_search", given)))
    (sample,) = [sample for page, sample in fences("text") if page == "mcp"]
    assert matches(re.sub(r"\b[0-9a-f]{12}\b", "…", sample), text), text


@pytest.mark.parametrize(
    "path",
    [path for path in sorted((ROOT / "rye").rglob("*.py")) if re.search(r">>> (?!.*\+SKIP)", path.read_text("utf-8"))],
    ids=lambda path: path.relative_to(ROOT / "rye").as_posix(),
)
def test_every_docstring_example_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a docstring shows is what happens; ``…`` stands for what is left out."""
    monkeypatch.setattr(doctest, "ELLIPSIS_MARKER", "…")
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert found.attempted
    assert found.failed == 0


@pytest.fixture
def shop_copy(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the sample project with a bundle in it; it is the working directory."""
    project, home = (shutil.copytree(folder, tmp_path / folder.name) for folder in (shop, shop.parent / "home"))
    shutil.copytree(project / ".ai/knowledge", project / "items/knowledge")
    monkeypatch.chdir(project)
    monkeypatch.setenv("USER_SPACE", str(home))
    return project


@pytest.mark.usefixtures("shop_copy")
@pytest.mark.parametrize(
    ("page", "text"),
    [(page, text) for page, text in fences("python") if "import" in text or 'registry.search("' in text],
    ids=lambda value: value.split("\n")[0][:60],
)
def test_every_python_example_runs(page: str, text: str) -> None:
    """An example may go on with the ``registry`` of the one before it."""
    exec(compile(text, page, "exec"), {"registry": Registry()})  # noqa: S102 - an example of our own manual


COMMAND = re.compile(r"^(?:.*&& )?(rye(?: |$).*)", re.MULTILINE)


@pytest.mark.parametrize(
    ("page", "line"),
    [(page, line) for page, text in fences("sh") for line in COMMAND.findall(text)],
    ids=lambda value: value[:60],
)
def test_every_shell_example_is_a_command_with_options_that_exist(page: str, line: str) -> None:
    """Files and folders that an example names need not be there."""
    words = shlex.split(re.split(r" [>|;&]|  #", line)[0], comments=True)[1:]
    context, command = click.Context(command_line), cast("click.Command", command_line)
    while isinstance(command, click.Group):
        name, found, words = command.resolve_command(context, words)
        assert found is not None, f"{page}: {line}"
        command, context = found, click.Context(found, context, name, **found.context_settings)
    try:
        command.parse_args(context, list(words))
    except click.MissingParameter:
        raise
    except click.BadParameter:
        pass  # such as a folder that is not there
