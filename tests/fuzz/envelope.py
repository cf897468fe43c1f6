"""Coverage-guided fuzzing of everything that reads a stranger's bytes before any key is asked, with atheris.

``python -m tests.fuzz.envelope --seconds 60`` runs for that long and exits 0 when nothing was found. Otherwise
libFuzzer prints the traceback and the input, and exits with another status. ``--target`` chooses what is fuzzed:
signature lines, trust files, or the files of a manifest. Where atheris is not installed (``pip install atheris``), it
says so and exits 0.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

TARGETS = ("envelope", "trust", "manifest")
LONGEST = 8192


def main(words: Sequence[str] | None = None) -> int:
    """Fuzz one target for a bounded time; never returns where atheris is there, for libFuzzer ends the process."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.envelope", description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="how long (default 60)")
    parser.add_argument("--target", choices=TARGETS, default="envelope", help="what reads the bytes")
    chosen = parser.parse_args(words)
    if importlib.util.find_spec("atheris") is None:
        sys.stdout.write("skipped: atheris is not installed (pip install atheris)\n")
        return 0
    return _fuzz(chosen.target, chosen.seconds)


def _fuzz(target: str, seconds: int) -> int:
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["rye"]):
        from rye import errors, manifest, signing  # noqa: F401 - loaded here so that their branches are counted
    seeds, check = {"envelope": _envelope, "trust": _trust, "manifest": _manifest}[target]()
    folder = Path(tempfile.mkdtemp(prefix="rye-fuzz-"))
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    options = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-timeout=10", "-rss_limit_mb=2048"]
    atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={folder}/", str(corpus)], check)
    atheris.Fuzz()
    return 0


Target = tuple[list[bytes], Callable[[bytes], None]]


def _envelope() -> Target:
    """Whatever the bytes, there is evidence and a verdict, and only what was signed is trusted.

    Around a lone directive with an older line white space may stand, which no reader sees; nothing else may differ.
    """
    from rye import _text as lines
    from rye.signing import REASONS, EnvelopeFormat, Evidence, Verdict, inspect, judge
    from tests.support.signed import GOLDEN, NOW, TRUST, XML, place, sign

    seeds = [golden.make() for golden in GOLDEN.values()]
    contents = set()
    signed = {*seeds, *(sign(b"x\n", form=form) for form in (EnvelopeFormat.V1, EnvelopeFormat.V2))}
    signed.add(sign(b"x\n", audience="acme/ops"))
    for data in signed:
        envelope = lines.find_envelope(data)
        content = data if envelope is None else data[: envelope.start] + data[envelope.end :]
        contents.add(content)
    origin = place()

    def check(data: bytes) -> None:
        evidence = inspect(data, origin=origin, declared={"name": "hello", "category": "demo"})
        assert evidence.code in {"", *REASONS}
        assert Evidence.from_record(evidence.to_record()) == evidence
        found = judge(evidence, origin=origin, trust=TRUST, now=NOW)
        assert found.reason
        if found.verdict is Verdict.TRUSTED:
            envelope = lines.find_envelope(data)
            assert envelope is not None
            content = data[: envelope.start] + data[envelope.end :]
            assert data in signed or found.format != "v2"
            assert content in contents or (found.format != "v2" and content.strip(b" \t\r\n") == XML)

    return seeds, check


def _trust() -> Target:
    """A trust file is understood or refused with an error of rye's own."""
    from rye.errors import RyeError
    from rye.signing import TrustScope, endorse, parse_trust_file, write_trust_file
    from tests.support.signed import ANN, BEA, NOW

    plain = write_trust_file(ANN.public, owner="ann")
    limited = write_trust_file(BEA.public, owner="bea", namespaces=("a/*",), not_after=NOW)
    seeds = [plain, limited, b"revoked = true\n" + plain, endorse(plain, stem="x", key=BEA, now=NOW)]

    def check(data: bytes) -> None:
        try:
            owner = parse_trust_file(data, scope=TrustScope.PROJECT).owner
        except RyeError as error:
            owner = error.hint
        assert owner.isprintable()

    return seeds, check


def _manifest() -> Target:
    """Whatever stands in one file of a manifest, there are findings, and no list but the signed one is believed."""
    from rye.manifest.check import check_manifest
    from rye.manifest.model import ListedItem, SpaceName
    from rye.manifest.write import write_manifest
    from rye.signing import TrustSet
    from tests.support.signed import ANN, NOW, entry

    items = (ListedItem("tools/demo/hello.py", "tool", "demo/hello", 1, "0" * 64, ""),)
    trust = TrustSet((entry(ANN),))
    files = dict(write_manifest({}, items, signers=(ANN,), now=NOW - timedelta(days=1)).files)
    names = sorted(files)
    seeds = [bytes([number]) + files[name] for number, name in enumerate(names)]

    def check(data: bytes) -> None:
        changed = files | {names[data[0] % len(names)]: data[1:]} if data else files
        found = check_manifest(changed, items, place=SpaceName("project"), trust=trust, now=NOW)
        assert {one.code for one in found.findings} >= {"manifest-first-use"} or found.errors
        assert not [one for one in found.errors if one.code.startswith("item-")]

    return seeds, check


if __name__ == "__main__":
    sys.exit(main())
