"""Where a signature stands: other readers of a file find in it what they found before it was signed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from rye._text import BOM
from rye.trust.evidence import inspect
from rye.trust.judge import judge
from rye.trust.line import sign_detached, unsigned_bytes
from rye.trust.model import EnvelopeFormat, Verdict
from tests.support.independent_checker import verdict_on_v2
from tests.support.signed import ANN, EVE, NOTE_PLACE, NOW, SIGNED_AT, TRUST, above, place, sign, verdict

FILES: Mapping[str, str] = {
    "skill": "---\nname: pdf\ndescription: Fill forms. Use when: a PDF is named.\nlicense: MIT\n---\n\n# PDF\n",
    "skill-metadata": '---\nname: pdf\ndescription: >-\n  Folded\n  text.\nmetadata:\n  version: "1.0"\n---\nBody\n',
    "command": "---\nallowed-tools: Bash(git add:*), Bash(git status:*)\nargument-hint: [message]\n---\nCommit $1\n",
    "agent": "---\nname: reviewer\ndescription: Reviews\ntools: Read, Grep\nmodel: inherit\n---\n\nYou review.\n",
    "rule": "---\ndescription: RPC services\nglobs: *.ts,src/**\nalwaysApply: false\n---\n- Use RPC\n",
    "rule-empty": "---\ndescription:\nglobs:\nalwaysApply: true\n---\n\nAlways.\n",
    "prompt": "---\nmode: agent\ntools: ['githubRepo', 'codebase']\ndescription: 'A form'\n---\nMake: ${input:x}\n",
    "comment": "---\n# a comment\na: 1\n---\ntext\n---\nmore\n",
    "empty": "---\n---\ntext\n",
    "blanks": "---  \na: 1\n--- \ntext\n",
}
"""Files of clients of agents, and some that are close to those; not all of their front matter is YAML."""

VARIANTS: Mapping[str, Callable[[bytes], bytes]] = {
    "lf": lambda data: data,
    "crlf": lambda data: data.replace(b"\n", b"\r\n"),
    "mark": lambda data: BOM + data,
}


def files() -> list[bytes]:
    """Return every file in every variant."""
    return [variant(text.encode()) for text in FILES.values() for variant in VARIANTS.values()]


def python_frontmatter(data: bytes) -> Any:
    """Return what the Python reader finds in a file: metadata and text, or the kind of error."""
    frontmatter = pytest.importorskip("frontmatter", reason="python-frontmatter is of the extra 'test'")
    import yaml

    try:
        found = frontmatter.loads(data.decode("utf-8-sig"))
    except yaml.YAMLError as error:
        return type(error)
    return found.metadata, found.content


def test_python_frontmatter_reads_a_signed_file_as_before() -> None:
    """Metadata and text are those of the unsigned file; with the line above them there is no metadata."""
    for data in files():
        before = python_frontmatter(data)
        assert python_frontmatter(sign(data, suffix=".md")) == before
    data = FILES["agent"].encode()
    assert python_frontmatter(data)[0]["name"] == "reviewer"
    assert python_frontmatter(above(data))[0] == {}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_front_matter_holds_the_line_and_stays_first(name: str, variant: str) -> None:
    """The line is the second, a comment with the line break of the first; without it the file is as it was."""
    data = VARIANTS[variant](FILES[name].encode())
    signed = sign(data, suffix=".md")
    first, second = signed.splitlines(keepends=True)[:2]
    assert data.startswith(first)
    assert second.startswith(b"# rye:signed:v2:")
    assert second.endswith(b"\r\n") == (variant == "crlf")
    assert unsigned_bytes(signed, ".md") == data
    assert sign(signed, suffix=".md") == sign(sign(signed, EVE, suffix=".MD"), suffix=".md") == signed
    assert verdict(signed).code == "ok"


def test_an_older_place_stays_readable_and_signing_again_leaves_it() -> None:
    """An older line above front matter counts, a v2 line does not; signed again, the file has one line, inside."""
    data = FILES["skill"].encode()
    for old, code in ((above(data), "malformed"), (sign(data, suffix=".md", form=EnvelopeFormat.V1), "ok-unbound")):
        assert old.startswith(b"<!-- rye:signed:")
        assert verdict(old, NOTE_PLACE).code == code
        assert sign(old, suffix=".md") == sign(data, suffix=".md")


@pytest.mark.parametrize(
    "data",
    [
        b"---\na: b\n",
        b"----\na: b\n---\n",
        b"--- a\n---\n",
        b"\n---\na: b\n---\n",
        b" ---\na: b\n---\n",
        b"---\ra: b\r---\r",
        b"```yaml\na: b\n```\n",
        b"#!/x\n---\na: b\n---\n",
        BOM + BOM + b"---\n---\n",
    ],
)
def test_what_is_no_front_matter_has_the_line_on_top(data: bytes) -> None:
    """A rule at the top of a text, or a fence that other readers do not take for front matter, holds no comment."""
    signed = sign(data, suffix=".md")
    assert b"<!-- rye:signed:v2:" in signed.removeprefix(BOM).partition(b"---")[0]
    assert verdict(signed).code == "ok"
    assert inspect(signed, origin=place(), declared={}, suffix=".md").code == ""


RENAMED = {".md": ".md", ".py": ".sh", ".sh": ".yaml", ".yaml": ".py", ".js": ".js", ".json": ".json"}
"""Each extension, and one of files whose comments begin alike."""
BODIES = (b"", b"a\n", b"#!/bin/sh\na\n", *files(), b"---\na: b\n", b"a\r\nb\n", b"\n\n")


@pytest.mark.parametrize("suffix", RENAMED)
def test_an_independent_reader_of_the_specification_agrees(suffix: str) -> None:
    """In each place, with audiences or none, signed by trusted keys or others, whole, moved or changed."""
    seen, renamed, there = set(), RENAMED[suffix], place(suffix=suffix)
    for data in BODIES:
        for who, audience in ((ANN, ""), (ANN, "acme/ops"), (EVE, "")):
            beside: bytes | None = None
            if suffix == ".json":
                signed, beside = data, sign_detached(data, origin=there, key=who, audience=audience, now=SIGNED_AT)
            else:
                signed = sign(data, who, suffix=suffix, audience=audience, origin=there)
            pairs = [(signed, beside), (signed + b"x", beside), (data, None), (signed, beside and beside[:-1])]
            pairs += [(signed.replace(b"2026-03", b"2026-04"), beside and beside.replace(b"2026-03", b"2026-04"))]
            pairs += [(signed.replace(b":acme/ops", b":acme"), beside and beside.replace(b":acme/ops", b""))]
            stated, other = f":{there.stated}".encode(), f":{place(suffix=renamed).stated}".encode()
            pairs += [(signed.replace(stated, b""), beside), (signed.replace(stated, other), beside)]
            for (content, signature), name in product(pairs, {suffix, renamed}):
                here = place(suffix=name)
                for wanted in ("", "acme/ops", "acme/shop"):
                    evidence = inspect(content, origin=here, declared={}, suffix=name, detached=signature)
                    found = judge(evidence, origin=here, trust=replace(TRUST, audience=wanted), now=NOW)
                    facts: dict[str, Any] = {"pems": [ANN.public.pem], "audience": wanted, "place": here.stated}
                    known = verdict_on_v2(content, signature, name, **facts)
                    assert found.verdict == known, (content, signature, found)
                    seen.add(known)
    assert seen == {str(each) for each in Verdict} - {"partial", *(["misplaced"] if renamed == suffix else [])}
