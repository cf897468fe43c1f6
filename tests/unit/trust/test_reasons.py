"""The table of reasons, and the room's charter."""

from __future__ import annotations

import doctest
import string
import subprocess
import sys

import pytest

import rye._text
import rye.trust
from rye.trust import line as _message
from rye.trust.model import Verdict
from rye.trust.reasons import REASONS, Reason

FACTS = {"signer", "key", "ref", "detail", "bundle", "project"}


@pytest.mark.parametrize(("code", "reason"), REASONS.items())
def test_every_reason_says_why_and_what_fixes_it(code: str, reason: Reason) -> None:
    """Codes are kebab-case, words a sentence without full stop, remedies there unless nothing needs fixing."""
    assert code == code.lower().strip("-")
    assert code.replace("-", "").isalpha()
    assert len(reason.words.split()) >= 5
    assert not reason.words.endswith(".")
    assert reason.words[0].islower()
    assert bool(reason.remedy) == (reason.verdict is not Verdict.TRUSTED)
    for text in (reason.words, reason.remedy):
        assert {name for _, name, _, _ in string.Formatter().parse(text) if name} <= FACTS


def test_every_verdict_has_its_reasons_in_order() -> None:
    """The table covers the six verdicts, from the best to the worst."""
    verdicts = [reason.verdict for reason in REASONS.values()]
    assert list(dict.fromkeys(verdicts)) == list(Verdict)
    assert verdicts == sorted(verdicts, key=list(Verdict).index)


def test_words_are_unique() -> None:
    """No two codes say the same."""
    assert len({reason.words for reason in REASONS.values()}) == len(REASONS)


@pytest.mark.parametrize("module", [rye.trust, rye._text, _message], ids=lambda module: module.__name__)
def test_the_worked_examples_run(module: object) -> None:
    """What the docstrings show is so."""
    tried = doctest.testmod(module)  # type: ignore[arg-type]
    assert (tried.attempted > 0, tried.failed) == (True, 0)


def test_importing_the_room_loads_no_cryptography() -> None:
    """A process that only shows verdicts it has kept does not pay for checking signatures."""
    code = (
        "import sys, datetime\n"
        "from rye.trust.evidence import inspect\n"
        "from rye.trust.keys import PublicKey\n"
        "from rye.trust.model import Origin\n"
        "from rye.trust.trust_entry import TrustEntry, TrustScope\n"
        "from rye.trust.trust_set import TrustSet\n"
        "public = PublicKey.from_base64('UbAHc8d2KetZE2I9eb+VaUpTLkNsDJtFaAsY0nTEm7I=')\n"
        "trust = TrustSet((TrustEntry(public, 'ann', TrustScope.USER),))\n"
        "trust.digest(datetime.datetime.now(datetime.UTC))\n"
        "inspect(b'x', origin=Origin('user', '', 'tool', 'x'), declared={})\n"
        "sys.exit('cryptography' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
