"""How fast items are verified, beside the least that any program must do for as many signed files in the same run.

``python -m tests.benchmarks.verify --items 10000`` lays signed items of 2 KiB, v2 and v1, and measures

- bare: reading as many of the files, SHA-256 of each, and ``Ed25519PublicKey.verify``, and nothing else;
- one core: reading, digests, Ed25519 and all else, in one process;
- all cores: the same with a process on each processor.

Rates of one core are of the processor time of this process. Bare and full take turns every thousand items, so that
whatever else the machine does slows both alike, and the median round counts. The gain of more cores is of wall clocks,
best round against best round.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from statistics import median

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from rye._process import cores
from rye.spaces.layout import Layout
from rye.trust.keys import SigningKey
from rye.trust.line import sign_bytes
from rye.trust.model import EnvelopeFormat, Verdict
from rye.trust.trust_file import trust_file_bytes, trust_file_name
from rye.trust.trust_store import TRUSTED_FOLDER
from rye.verify.facts import facts
from rye.verify.report import VerifiedItem
from rye.verify.subject import subject_of
from tests.support.signed import place, sign_v1

RESULTS = Path(__file__).parent / "results"
GOALS = {"v2": 0.75, "v1": 0.5}
GOAL_CORES = 1.7
SIZE = 2048
TURN = 1000
_SENTENCE = "Restore the newest snapshot, check every table against its digest, and write down how long it took. "


def lay(folder: Path, form: EnvelopeFormat, count: int) -> Layout:
    """Write a project of signed knowledge items, a hundred to a folder, and a user who trusts their key."""
    key, now = SigningKey.generate(), datetime.now(UTC)
    trusted = folder / "home" / ".ai" / TRUSTED_FOLDER
    trusted.mkdir(parents=True)
    (trusted / trust_file_name(key.public)).write_bytes(trust_file_bytes(key.public, owner="bench"))
    root = folder / "project" / ".ai"
    for number in range(count):
        category, name = f"area{number // 100:04}", f"item{number:06}"
        path = root / "knowledge" / category / f"{name}.md"
        if number % 100 == 0:
            path.parent.mkdir(parents=True)
        head = (
            f"---\nname: {name}\ncategory: {category}\ntitle: Item {number}\nversion: 1.0.0\n---\n\n# Item {number}\n\n"
        )
        origin = place(f"{category}/{name}", "knowledge")
        text = (head + _SENTENCE * (SIZE // len(_SENTENCE)))[: SIZE - 300] + "\n"
        data = text.encode()
        path.write_bytes(
            sign_v1(data, suffix=".md", key=key)
            if form is EnvelopeFormat.V1
            else sign_bytes(data, suffix=".md", origin=origin, key=key, now=now)
        )
    return Layout.find(project=root.parent, user=folder / "home", bundles=())


def bare(layout: Layout) -> Callable[[], None]:
    """Return what reads and hashes as many files as a turn has, checks as many signatures, and does nothing else."""
    private = Ed25519PrivateKey.generate()
    public, messages = private.public_key(), [b"%0150d" % number for number in range(TURN)]
    paths = [str(path) for path in sorted(layout.roots[0].path.rglob("*.md"))[:TURN]]
    signed = [(path, private.sign(message), message) for path, message in zip(paths, messages, strict=True)]

    def run() -> None:
        for path, signature, message in signed:
            with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - as little as can be
                sha256(file.read()).hexdigest()
            public.verify(signature, message)

    return run


def full(layout: Layout, processes: int) -> Iterator[int]:
    """Verify every item of a layout, insist that all are trusted, and yield how many there were at every turn."""
    done = 0
    for outcome in facts(subject_of((), layout, space="project", digests=False), processes=processes):
        if not isinstance(outcome, VerifiedItem):
            continue
        assert outcome.signature.verdict is Verdict.TRUSTED
        done += 1
        if done % TURN == 0:
            yield TURN
    yield done % TURN


def in_turns(layout: Layout, other: Callable[[], None]) -> tuple[float, float]:
    """Return the processor seconds that an item takes in full, and bare."""
    began, spent, spent_bare, done, turns = time.process_time(), 0.0, 0.0, 0, 0
    for number in full(layout, 1):
        spent += time.process_time() - began
        began = time.process_time()
        other()
        spent_bare += time.process_time() - began
        done, turns, began = done + number, turns + 1, time.process_time()
    return spent / done, spent_bare / (turns * TURN)


def wall(layout: Layout, processes: int) -> float:
    """Return how many seconds all items take."""
    began = time.perf_counter()
    assert sum(full(layout, processes))
    return time.perf_counter() - began


def measure(count: int, rounds: int) -> dict[str, object]:
    """Return items per second and the ratios that are the goals."""
    with tempfile.TemporaryDirectory() as folder:
        layouts = {form: lay(Path(folder, form), EnvelopeFormat(form), count) for form in GOALS}
        only, every = bare(layouts["v2"]), cores()
        in_turns(layouts["v2"], only)
        found = {form: [in_turns(layout, only) for _ in range(rounds)] for form, layout in layouts.items()}
        walls = [(wall(layouts["v2"], 1), wall(layouts["v2"], every)) for _ in range(rounds)]
    one_wall, many_wall = (min(each) for each in zip(*walls, strict=True))
    rates = {"bare": 1 / median(alone for turns in found.values() for _, alone in turns)}
    rates |= {form: 1 / median(each for each, _ in turns) for form, turns in found.items()}
    return {
        "items": count,
        "bytes": SIZE,
        "cores": cores(),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "per_second_and_core": {name: round(rate) for name, rate in rates.items()},
        "of_bare": {form: round(median(alone / each for each, alone in turns), 3) for form, turns in found.items()},
        "per_second": {"one core": round(count / one_wall), "all cores": round(count / many_wall)},
        "gain": round(one_wall / many_wall, 2),
    }


def main() -> None:
    """Measure, print a table, and write the result beside the others."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--items", type=int, default=10_000, help="how many of each format")
    parser.add_argument("--rounds", type=int, default=5, help="of each measurement")
    parser.add_argument("--no-write", action="store_true", help="leave the results folder alone")
    options = parser.parse_args()
    found = measure(options.items, options.rounds)
    print(f"{found['items']:,} items of {SIZE:,} bytes, {found['cores']} cores, Python {found['python']}")
    rates, ratios = found["per_second_and_core"], found["of_bare"]
    assert isinstance(rates, dict)
    assert isinstance(ratios, dict)
    print(f"{'':12}{'items/s/core':>14}{'of bare':>10}{'goal':>8}")
    for name, rate in rates.items():
        goal = f"{ratios[name]:>10.3f}{GOALS[name]:>8}" if name in GOALS else ""
        print(f"{name:12}{rate:>14,}{goal}")
    print(f"gain of {found['cores']} cores: {found['gain']} (goal for 2: {GOAL_CORES})")
    if not options.no_write:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "verify.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
