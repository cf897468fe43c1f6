"""What a query, a verification, a look for changes and a start cost, in numbers that are the same on every machine.

A ceiling is three or four hundredths above the cost of the day on which it was set. Whoever makes something cheaper
lowers it; whoever raises one says why in the body of the commit.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import pytest

from rye.index.storage.container import Container
from rye.mcp.calls import Call
from rye.mcp.server import App
from rye.mcp.startup import Options
from rye.mcp.tools.table import TOOLS
from rye.mcp.tools.tool import Work
from rye.registry.where import Where
from rye.trust.model import Verdict
from tests.support.mcp_server import environment
from tests.support.samples import Samples
from tests.support.signed import ANN
from tests.support.spacesim import SpaceSim

ITEMS, FEW = 60, 20
OLD = 1_700_000_000
"""When the files were written: long before they are indexed, so that their times say whether they changed."""

_SORTS = frozenset({"sort", "argsort", "partition", "argpartition"})


class Cost(NamedTuple):
    """Calls of Python functions, and sorts of numpy arrays."""

    calls: int
    sorts: int


QUERIES = {
    "a rare word": ("zebra", Cost(648, 3)),
    "a common word, a page of ten": ("release", Cost(1500, 5)),
    "AND": ("release AND number7", Cost(1530, 15)),
    "OR of three": ("number7 OR number8 OR number9", Cost(2520, 35)),
    "a phrase": ('"the third release"', Cost(2400, 67)),
    "NEAR": ("roll NEAR/6 release", Cost(2450, 73)),
    "a prefix": ("numb*", Cost(2310, 6)),
    "a sentence": ("how do I roll back the third release of the zebra", Cost(8700, 8)),
}
"""Each query, and the most that a second search for it costs, with its page of ten."""

CALLED, ANSWER = 5_090, 4_590
"""Most calls of Python functions that a call of ``rye_search`` makes, and most bytes of its answer with five hits."""

VERIFIED = 141
"""Most calls of Python functions for each item of a verification."""

LOOKED = {"open": 8, "scandir": 20, "path.realpath": 44}
"""Most calls of functions of ``os`` in a refresh that finds nothing new."""

BYTES = {
    "doc": 21,
    "entry": 63,
    "evidence": 137,
    "id": 14,
    "key": 17,
    "path": 2,
    "position": 75,
    "posting": 118,
    "term": 95,
}
"""Most bytes of an item in each group of arrays of the index; groups that have less than one are left out."""

STARTS = {
    "--help": (39, {"click"}),
    "verify": (94, {"click", "cryptography", "yaml"}),
    "search release": (167, {"click", "cryptography", "numpy", "yaml"}),
    "hook claude": (151, {"click", "cryptography", "numpy", "yaml"}),
    "show knowledge:ops/item7": (150, {"click", "cryptography", "numpy", "yaml"}),
    "list": (169, {"click", "cryptography", "numpy", "yaml"}),
}
"""A command in a new process: most modules of rye that it loads, and the large libraries that it may load."""

PROMPT = '{"prompt": "roll back the third release"}'
"""What ``rye hook`` reads."""

_LARGE = frozenset({"click", "cryptography", "lark", "mcp", "numpy", "numpy.ma", "rapidfuzz", "whoosh", "yaml"})


def lay(sim: SpaceSim, items: int = ITEMS) -> None:
    """Lay signed items of the same shape; a rare word is in one of them."""
    for number in range(items):
        rare = " zebra" if number == 41 else ""
        body = f"How to roll back the third release of number{number}{rare}.\n\n" * 4
        text = f"---\nname: item{number}\ntitle: Item {number}\ntags: [ops, release]\n---\n\n# Item {number}\n\n{body}"
        os.utime(sim.add("project", f"knowledge/ops/item{number}.md", text, ANN), (OLD, OLD))


def lay_few(sim: SpaceSim) -> None:
    """Lay the first of these items."""
    lay(sim, FEW)


@pytest.fixture(scope="session")
def sim(samples: Samples) -> SpaceSim:
    """Return the spaces; tests only read them."""
    return samples.spaces(lay)


@contextmanager
def counted() -> Iterator[Callable[[], Cost]]:
    """Count calls and sorts of this thread; yields what returns them."""
    calls = sorts = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls, sorts
        if event == "call":
            calls += 1
            sorts += frame.f_code.co_name == "lexsort"
        elif event == "c_call" and argument.__name__ in _SORTS:
            sorts += isinstance(argument.__self__, np.ndarray)

    sys.setprofile(count)
    try:
        yield lambda: Cost(calls, sorts)
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_makes_no_more_calls_and_sorts_than_it_did(sim: SpaceSim, name: str) -> None:
    """A search over files that are known, without a look for changes."""
    text, most = QUERIES[name]
    registry = sim.registry(max_staleness=600.0)
    for _ in range(3):  # what is imported, compiled or cached on first use does not count
        assert registry.search(text, space="project").results
    with counted() as cost:
        registry.search(text, space="project")
    found = cost()
    assert found.calls <= most.calls
    assert found.sorts <= most.sorts


def test_a_call_of_rye_search_costs_no_more_than_it_did(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the server does between reading a request and writing its answer, which the client's model reads."""
    for name, value in environment(sim).items():
        monkeypatch.setenv(name, value)
    projects = App(Options((sim.project,), Where(max_staleness=600.0))).projects
    try:
        for _ in range(4):
            with counted() as cost:
                answer = TOOLS["rye_search"].run(Work(projects, Call()), {"query": "third release", "limit": 5})
            found = cost()
    finally:
        projects.close()
    assert len((answer.structured_content or {})["results"]) == 5
    assert found.calls <= CALLED
    assert len(answer.model_dump_json(by_alias=True, exclude_none=True)) <= ANSWER


def test_a_verified_item_makes_no_more_calls_than_it_did(samples: Samples) -> None:
    """What all items share, such as trust files and the folders above, is not a part of it."""
    calls = []
    for build in (lay, lay_few):
        sim = samples.spaces(build)
        for _ in range(2):
            sim.registry().verify(processes=1, space="project")
        with counted() as cost:
            report = sim.registry().verify(processes=1, space="project")
        calls.append(cost().calls)
        verdicts = [item.signature.verdict for item in report.items]
        assert verdicts == [Verdict.TRUSTED] * (ITEMS if build is lay else FEW)
    assert calls[0] - calls[1] <= VERIFIED * (ITEMS - FEW)


def test_a_look_for_changes_asks_the_system_no_more_than_it_did(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch) -> None:
    """No item is opened; a folder is listed once, and what decides about trust is looked at."""
    registry = sim.registry()
    registry.refresh()
    made = Counter[str]()

    def counting(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            made[name] += 1
            return real(*args, **options)

        return call

    with monkeypatch.context() as patch:
        for name in LOOKED:
            patch.setattr(f"os.{name}", counting(name, attrgetter(name)(os)))
        registry.refresh()
    assert made.keys() == LOOKED.keys()
    assert {name: number for name, number in made.items() if number > LOOKED[name]} == {}


def test_an_item_takes_no_more_bytes_of_the_index_than_it_did(sim: SpaceSim) -> None:
    """The words of rye's manual are in an index of their own."""
    (index,) = (path for path in sim.cache.glob("*/*/MAIN_*.ryx") if len(Container(path).array("doc.type")) == ITEMS)
    sizes = Counter[str]()
    for name, array in Container(index).arrays().items():
        sizes[name.partition(".")[0]] += array.nbytes
    assert {name: size / ITEMS for name, size in sizes.items() if size > BYTES.get(name, 1) * ITEMS} == {}
    assert sizes.keys() >= BYTES.keys()


@pytest.mark.parametrize("command", STARTS)
def test_a_start_loads_no_more_than_it_did(sim: SpaceSim, command: str, tmp_path: Path) -> None:
    """Nothing that only another command needs."""
    code = (
        "import sys\nfrom rye.__main__ import run\nsys.argv = ['rye', *sys.argv[1:]]\nrun()\n"
        "print(len([name for name in sys.modules if name.partition('.')[0] == 'rye']), *sys.modules)"
    )
    line, env = [sys.executable, "-c", code, *command.split()], environment(sim, RYE_CACHE_DIR=str(tmp_path / "cache"))
    for _ in range(2):  # the first makes the index
        done = subprocess.run(line, cwd=sim.project, env=env, capture_output=True, text=True, check=True, input=PROMPT)
    number, *modules = done.stdout.splitlines()[-1].split()
    most, large = STARTS[command]
    assert int(number) <= most
    assert _LARGE & set(modules) <= large
