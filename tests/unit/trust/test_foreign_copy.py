"""Items that hide those of another signer, found while items are verified."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rye.spaces.shadowing import foreign_copy
from rye.trust.model import Signature, Verdict
from tests.support.signed import EVE
from tests.support.spacesim import SpaceSim, no_own_items

TOOL = '"""A tool."""\n'


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[SpaceSim]:
    """Lay empty spaces."""
    (tmp_path / "none").mkdir()
    with no_own_items(tmp_path / "none"):
        yield SpaceSim(tmp_path)


def warned(sim: SpaceSim, *targets: str, space: str = "project") -> list[str]:
    """Return what a verification warns of that is hidden."""
    run = sim.registry().check(*targets, space=space)
    assert list(run)
    return [text for text in run.warnings if "vouches" not in text]


def signature(verdict: Verdict, signer: str = "", owner: str = "") -> Signature:
    """Return a signature with just these facts."""
    return Signature(verdict=verdict, code="", reason="", signer=signer, owner=owner, signed_at="", format="")


@pytest.mark.parametrize(
    ("above", "below", "said"),
    [
        (signature(Verdict.TRUSTED, "a" * 64), signature(Verdict.TRUSTED, "a" * 64), ""),
        (signature(Verdict.UNSIGNED), signature(Verdict.UNSIGNED), ""),
        (signature(Verdict.TRUSTED, "a" * 64), signature(Verdict.UNSIGNED), ""),
        (signature(Verdict.UNSIGNED), signature(Verdict.TRUSTED, "b" * 64, "Bea"), "unsigned here, signed with key "),
        (
            signature(Verdict.TAMPERED, "b" * 64),
            signature(Verdict.TRUSTED, "b" * 64),
            "tampered here, signed with key ",
        ),
        (signature(Verdict.TRUSTED, "a" * 64), signature(Verdict.UNTRUSTED, "b" * 64), "signed with key aaaaaaaa"),
        (signature(Verdict.TRUSTED, "a" * 64), signature(Verdict.TAMPERED, "b" * 64), ""),
    ],
)
def test_who_counts_as_another_signer(above: Signature, below: Signature, said: str) -> None:
    """A signature that proves nothing is nobody's: above, it is another's; below, there is nobody to differ from."""
    text = foreign_copy("tool:x", ("project", above), ("user", below))
    assert bool(text) == bool(said)
    assert said in text


def test_every_lower_space_is_looked_at(sim: SpaceSim) -> None:
    """One warning for each copy that another key signed."""
    sim.add("project", "tools/run.py", TOOL, EVE)
    sim.add("user", "tools/run.py", TOOL)
    sim.add("system:shop", "tools/run.py", TOOL)
    assert [text.split(" hides that of ")[1].partition(":" if "user" in text else ": ")[0] for text in warned(sim)] == [
        "user",
        "system:shop",
    ]
    assert len(warned(sim, space="all")) == 3  # the user's hides the shop's, too
