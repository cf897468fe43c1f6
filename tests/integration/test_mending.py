"""What ``rye verify`` says mends a finding is run as it stands, and then nothing is found any more."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from rye.cli import main
from rye.signing import REASONS, Revocation
from tests.support.signed import (
    ANN,
    DIRECTIVE,
    EVE,
    NARROW,
    NOW,
    OLD,
    REVOKED,
    XML,
    hashed,
    html,
    old_envelope,
    sign,
)
from tests.support.spacesim import SpaceSim

Rye = Callable[..., tuple[int, str]]

TOOL = b'"""Say hello."""\n\n__version__ = "1.0.0"\n'
SCRIPT = b"#!/bin/sh\n" + TOOL
NOTE = b"# Hello\n\nA note.\n"
FRONT = b"---\nversion: 1.0.0\n---\n\n"

DEFECTS: Mapping[str, tuple[str, Callable[[], bytes]]] = {
    "no-envelope": ("tools/demo/hello.py", lambda: TOOL),
    "envelope-elsewhere": ("tools/demo/hello.py", lambda: TOOL + sign(TOOL)),
    "digest": ("tools/demo/hello.py", lambda: sign(TOOL) + b"# more\n"),
    "line-ends": ("tools/demo/hello.py", lambda: sign(TOOL).replace(b"\n", b"\r\n")),
    "malformed": ("tools/demo/hello.py", lambda: sign(TOOL).replace(b":v2:", b":v2:x:", 1)),
    "encoding": ("tools/demo/hello.py", lambda: hashed(old_envelope(TOOL).replace("==", "=")) + TOOL),
    "two-envelopes": ("tools/demo/hello.py", lambda: hashed(old_envelope(TOOL)) + sign(TOOL)),
    "signature": ("tools/demo/hello.py", lambda: sign(TOOL).replace(b"2026-", b"2031-", 1)),
    "revoked": ("tools/demo/hello.py", lambda: sign(TOOL, REVOKED)),
    "expired": ("tools/demo/hello.py", lambda: sign(TOOL, OLD)),
    "namespace": ("tools/demo/hello.py", lambda: sign(TOOL, NARROW)),
    "outside-shebang": ("tools/demo/hello.py", lambda: b"#!/bin/sh\n" + hashed(old_envelope(TOOL)) + TOOL),
    "outside-front-matter": ("knowledge/demo/hello.md", lambda: html(old_envelope(NOTE.strip())) + FRONT + NOTE),
    "outside-directive": ("directives/demo/hello.md", lambda: html(old_envelope(XML)) + DIRECTIVE),
}
"""Code of each defect that signing anew mends → the file and its bytes, well but for that."""


@pytest.fixture
def sim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SpaceSim:
    """An empty project as the working directory of a user whose key is in the environment."""
    sim = SpaceSim(tmp_path)
    monkeypatch.chdir(sim.project)
    monkeypatch.setenv("USER_SPACE", str(sim.user))
    monkeypatch.setenv("RYE_SIGNING_KEY", ANN.to_pem().decode())
    return sim


@pytest.fixture
def rye(sim: SpaceSim, capsys: pytest.CaptureFixture[str]) -> Rye:
    """Run a command line; return its status and what it wrote."""
    assert sim.project.exists()

    def run(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        status = main(list(words))
        return status, capsys.readouterr().out

    return run


def test_every_defect_that_signing_mends_is_here() -> None:
    """But for those where the item has to be corrected first, as signing says."""
    signing = {code for code, row in REASONS.items() if row.remedy.startswith("rye sign")}
    assert {*DEFECTS, "misplaced", "signed-elsewhere"} == signing


@pytest.mark.parametrize("space", ["project", "user"])
@pytest.mark.parametrize("code", DEFECTS)
def test_a_defect_is_mended_by_the_command_that_is_given(sim: SpaceSim, rye: Rye, code: str, space: str) -> None:
    """Whatever the defect, the command signs the item so that it is trusted."""
    rel, make = DEFECTS[code]
    sim.write(space, rel, make())
    sim.trust(REVOKED, owner="rev", revoked=Revocation("stolen", "2026-05-01"))
    sim.trust(OLD, owner="old", not_after=NOW.replace(year=2020))
    sim.trust(NARROW, owner="narrow", namespaces=("other/*",))
    status, out = rye("verify", "--space", space, "--json")
    (item,) = json.loads(out)["items"]
    assert (status, item["code"]) == (1, code)
    program, *words = shlex.split(item["mend"], comments=True)
    assert program == "rye"
    assert rye(*words)[0] == 0
    assert rye("verify", "--space", space)[0] == 0


def test_a_key_of_the_project_is_mended_by_endorsing_or_trusting_it(sim: SpaceSim, rye: Rye) -> None:
    """The fingerprint in the command is enough, as the trust file is known already."""
    sim.add("project", "tools/demo/a.py", '"""A."""\n\n__version__ = "1.0.0"\n')
    sim.sign("project", "tools/demo/a.py", EVE)
    sim.trust(EVE, "project", owner="eve")
    for space, code in (("project", "project-key"), ("user", "foreign-project")):
        if space == "user":
            sim.add("user", "tools/demo/b.py", '"""B."""\n\n__version__ = "1.0.0"\n')
            sim.sign("user", "tools/demo/b.py", EVE)
        status, out = rye("verify", "--space", space, "--json")
        (item,) = json.loads(out)["items"]
        assert (status, item["code"]) == (1, code)
        assert rye(*shlex.split(item["mend"], comments=True)[1:])[0] == 0
        assert rye("verify", "--space", space)[0] == 0


def test_what_a_manifest_finds_is_mended_by_the_command_that_is_given(sim: SpaceSim, rye: Rye) -> None:
    """An item that is not listed, and one that is gone."""
    sim.add("project", "tools/demo/a.py", '"""A."""\n\n__version__ = "1.0.0"\n')
    assert rye("manifest", "write")[0] == 0
    sim.add("project", "tools/demo/b.py", '"""B."""\n\n__version__ = "1.0.0"\n')
    for gone in ("", "tools/demo/a.py"):
        if gone:
            sim.path("project", gone).unlink()
        status, out = rye("verify", "--space", "project", "--format", "jsonl")
        mends = [row["mend"] for row in map(json.loads, out.splitlines()) if row["kind"] == "finding"]
        assert (status, len(mends)) == (1, 1)
        assert rye(*shlex.split(mends[0], comments=True)[1:])[0] == 0
        assert rye("verify", "--space", "project")[0] == 0
