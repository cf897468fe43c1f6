"""Run the campaign; see the package."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from tests.campaign.damaged import Damaged
from tests.campaign.interrupted import Interrupted
from tests.campaign.raced import Raced
from tests.campaign.soaked import Soaked
from tests.campaign.trial import Finding


class Part(Protocol):
    """One kind of trials."""

    counts: Counter[str]

    def trial(self) -> None:
        """Make one trial.

        Raises:
            Finding: Something was lost, wrong or unexplained.
        """

    def close(self) -> None:
        """End what was started."""


PARTS: dict[str, Callable[[Path, random.Random], Part]] = {
    "killed": lambda folder, chance: Interrupted(folder, chance, kill=True),
    "failing": lambda folder, chance: Interrupted(folder, chance, kill=False),
    "damaged": Damaged,
    "raced": Raced,
    "mcp": lambda folder, chance: Soaked(folder, chance, web=False),
    "web": lambda folder, chance: Soaked(folder, chance, web=True),
}


def run(name: str, seconds: float, seed: int) -> tuple[int, Counter[str], list[str]]:
    """Make trials of one part for some time, each from a seed of its own; return how many, counts and findings.

    A finding is printed when it is made, too.
    """
    findings, number = list[str](), 0

    def found(text: str) -> None:
        findings.append(f"{name}, seed {seed + number}: {text}")
        sys.stderr.write(f"{findings[-1]}\n")
        sys.stderr.flush()

    with tempfile.TemporaryDirectory(prefix="rye-campaign-") as folder:
        chance = random.Random()  # noqa: S311 - repeatable, not secret
        part, ends = PARTS[name](Path(folder).resolve(), chance), time.monotonic() + seconds
        while number == 0 or time.monotonic() < ends:
            chance.seed(seed + number)
            try:
                part.trial()
            except Finding as finding:
                found(str(finding))
            except Exception:  # noqa: BLE001 - a trial that breaks is a finding too
                found(traceback.format_exc())
            number += 1
        part.close()
    return number, part.counts, findings


def main() -> int:
    """Run all parts, print a table, and return 1 where there are findings."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="for all parts together (default 10)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first trial (default: the time)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    chosen = parser.parse_args()
    lines, every = ["| part | trials | findings | what happened |", "|---|--:|--:|---|"], list[str]()
    for name in chosen.parts:
        number, counts, findings = run(name, chosen.minutes * 60 / len(chosen.parts), chosen.seed)
        told = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
        lines.append(f"| {name} | {number:,} | {len(findings)} | {told} |")
        every += findings
    sys.stdout.write("\n".join([*lines, *(f"\n{finding}" for finding in every), ""]))
    return 1 if every else 0


if __name__ == "__main__":
    sys.exit(main())
