"""What ``rye verify`` answers in each format, read back by readers that are not rye's own."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator

from rye.cli.render.machine import FORMATS
from rye.cli.render.verify import render_text
from rye.cli.terminal import PLAIN
from rye.trust.model import Verdict
from rye.trust.reasons import LIST_REMEDIES, POLICY_REMEDIES, REASONS
from rye.verify.policy import Demand, Policy
from rye.verify.report import Finding, Unchecked, VerifiedItem
from rye.verify.run import Verification
from tests.support.outcomes import judged
from tests.support.outcomes import verification as run
from tests.unit.cli.samples import ESCAPED, HOSTILE, signature

SCHEMA = json.loads((Path(__file__).parents[2] / "assets" / "sarif" / "sarif-2.1.0.json").read_text(encoding="utf-8"))


def item(code: str = "ok", name: str = "demo/deploy", **facts: Any) -> VerifiedItem:
    """Return an item whose signature has that code."""
    verdict = str(REASONS[code].verdict)
    words = facts.pop("reason", f"because of {code}")
    return judged(name, signature(verdict, code=code, reason=words), digest="d" * 64, **facts)


def written(form: str, made: Verification) -> str:
    """Return what a format writes."""
    return "".join(f"{line}\n" for line in FORMATS[form](made))


HOSTILE_ITEM = item("digest", f"a,b:c%0A{HOSTILE}\n::error::x", reason=f"<&\"']]> {HOSTILE}\r\n::warning::x", line=2)
LOST = Unchecked(f"gone.md: {HOSTILE}", "vanished", "search again", f"/elsewhere/{HOSTILE}")


def test_text_says_file_line_verdict_reason_and_what_fixes_it() -> None:
    """Three lines for a finding, none for what is well, the counts last; verbose lists all."""
    complaints: list[str] = []
    made = run(item(), item("no-envelope", "demo/bad", line=2), LOST, warnings=("odd key",))
    lines = list(render_text(made, PLAIN, verbose=False, complain=complaints.append))
    assert lines == [
        "– unsigned   tool:demo/bad  project  .ai/tools/demo/bad.py:2",
        "    because of no-envelope [no-envelope]",
        "    fix: rye sign tool:demo/bad",
        "    note: once you have read it and know where it came from, because nobody signed it",
        "2 items: 1 trusted, 1 unsigned -- 1 failed, 1 not checked",
    ]
    assert complaints == [f"not checked: gone.md: {ESCAPED}", "warning: odd key"]
    assert made.status == 2
    assert len(list(render_text(run(item()), PLAIN, verbose=True, complain=complaints.append))) == 2


def test_an_item_that_the_policy_refuses_has_no_tick() -> None:
    """Alone or as one of several: its verdict stands behind the mark of a failure, but for what is accepted."""
    demand = Demand(signers=("0" * 64,))
    for items, mark in (((item(),), "✗"), ((item(), item(name="demo/b")), "✗"), ((), "")):
        made = run(*items, policy=Policy(demand))
        lines = list(render_text(made, PLAIN, verbose=False, complain=lambda _: None))
        assert lines[0].startswith(f"{mark} trusted" if mark else "0 items")
    (finding,) = run(item(), policy=Policy(demand))
    assert isinstance(finding, Finding)
    assert finding.identity
    accepted = run(item(), policy=Policy(demand, accepted=frozenset({finding.identity})))
    assert next(iter(render_text(accepted, PLAIN, verbose=True, complain=lambda _: None))).startswith("✓ trusted")


@pytest.mark.parametrize(
    ("made", "status", "words"),
    [
        (run(item()), 0, "1 item: 1 trusted -- all passed"),
        (run(item("digest")), 1, "1 item: 1 tampered -- 1 failed"),
        (run(), 2, "0 items -- nothing to verify"),
        (run(item(), LOST), 2, "1 item: 1 trusted -- all passed, 1 not checked"),
        (run(item("digest"), LOST), 2, "1 item: 1 tampered -- 1 failed, 1 not checked"),
    ],
)
def test_trusted_findings_and_not_checked_are_never_confused(made: Verification, status: int, words: str) -> None:
    """Each has its status, and the summary says the same."""
    assert list(render_text(made, PLAIN, verbose=False, complain=lambda _: None))[-1] == words
    assert made.status == status


def test_json_is_one_document_with_every_item() -> None:
    """Items, counts, problems and warnings as ever; findings bring what fixes them."""
    value = json.loads(written("json", run(item(), HOSTILE_ITEM, LOST, warnings=("odd",))))
    assert [each["code"] for each in value["items"]] == ["ok", "digest"]
    assert "fix" in value["items"][1]
    assert (value["counts"], value["findings"], value["status"]) == ({"trusted": 1, "tampered": 1}, 1, 2)
    assert value["problems"] == [LOST.message]
    assert json.loads(written("json", run()))["items"] == []


@pytest.mark.parametrize("form", ["json", "jsonl", "sarif", "junit"])
def test_no_format_writes_a_character_that_does_something(form: str) -> None:
    """Whatever a name or reason holds, what is written is plain ASCII."""
    text = written(form, run(HOSTILE_ITEM, LOST, warnings=(HOSTILE,)))
    assert text.isascii()
    assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "made",
    [
        run(),
        run(item()),
        run(item("digest"), item("unknown-key", "b/c", root="/elsewhere/d#é?", line=2)),
        run(HOSTILE_ITEM, LOST, warnings=(HOSTILE,)),
    ],
)
def test_sarif_fits_its_schema(made: Verification) -> None:
    """Every document is valid SARIF 2.1.0."""
    Draft4Validator(SCHEMA).validate(json.loads(written("sarif", made)))


def test_sarif_names_rule_place_and_fingerprint() -> None:
    """A result points to its rule, to a relative URI below the working directory, and to the line."""
    (sarif,) = json.loads(written("sarif", run(item(), item("digest", "demo/a b", line=2), LOST)))["runs"]
    (result,) = sarif["results"]
    rules = sarif["tool"]["driver"]["rules"]
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == "digest"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": ".ai/tools/demo/a%20b.py", "uriBaseId": "ROOT"}
    assert place["region"] == {"startLine": 2}
    assert len(result["partialFingerprints"]["ryeFinding/v1"]) == 64
    (invocation,) = sarif["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 2)
    ids = {rule["id"] for rule in rules}
    of_items = {code for code, each in REASONS.items() if each.verdict is not Verdict.TRUSTED} | set(POLICY_REMEDIES)
    assert ids == of_items | set(LIST_REMEDIES)


def test_junit_has_a_case_for_each_item() -> None:
    """Read by the standard library's XML reader: counts, failures and errors, with nothing lost on the way."""
    text = written("junit", run(item(), HOSTILE_ITEM, LOST, warnings=(HOSTILE,)))
    suites = ET.fromstring(text)  # noqa: S314 - written by the code under test
    (suite,) = suites
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    good, bad, lost = suite.findall("testcase")
    assert len(good) == 0
    assert good.get("name") == "tool:demo/deploy"
    assert (bad[0].tag, bad[0].get("type"), bad.get("line")) == ("failure", "digest", "2")
    assert (bad[0].get("message") or "").startswith("<&\"']]> \\x1b[2J")
    assert (lost[0].tag, lost[0].get("type")) == ("error", "vanished")


def runner_commands(text: str) -> list[str]:
    """Return the lines that the runners of GitHub and Azure would obey: ``::`` at the start, ``##[`` anywhere."""
    lines = re.split(r"\r\n|\r|\n", text)
    return [line for line in lines if re.match(r"\s*::[a-z]", line) or re.search(r"##[A-Za-z-]*\[", line)]


@pytest.mark.parametrize("form", [*FORMATS, "text"])
def test_attack_commands_of_a_build_in_names_and_reasons(form: str) -> None:
    """No runner finds a command in a name, a reason or a warning; SARIF, XML and JSON stay what they are."""
    command = "##[command]::error::x ##vso[task.setvariable]##[add-path]/x"
    hostile = item("digest", f"a{command}", reason=f"::stop-commands::x\n{command}", line=2)
    lost = Unchecked(f"::error::{command}", "vanished", "", f"/else/{command}")
    made = run(item(), hostile, lost, warnings=(f"::warning::{command}",))
    said: list[str] = []
    lines = render_text(made, PLAIN, verbose=True, complain=said.append) if form == "text" else FORMATS[form](made)
    text = "\n".join([*lines, *said])
    assert runner_commands(text) == []
    assert not re.search(r"##[a-z]*\[", text)
    if form == "sarif":
        Draft4Validator(SCHEMA).validate(json.loads(text))
    elif form == "junit":
        ET.fromstring(text)  # noqa: S314 - written by the code under test
    elif form != "text":
        values = [json.loads(text)] if form == "json" else [*map(json.loads, text.splitlines())]
        assert command in json.dumps(values)


def test_what_the_policy_accepts_is_marked_in_every_format() -> None:
    """Known findings are suppressed, skipped or notices, and do not fail."""
    bad = item("digest")
    (finding,) = run(bad)
    assert isinstance(finding, Finding)
    assert finding.identity
    made = {form: run(bad, policy=Policy(accepted=frozenset({finding.identity}))) for form in FORMATS}
    texts = {form: written(form, each) for form, each in made.items()}
    assert {each.status for each in made.values()} == {0}
    assert json.loads(texts["sarif"])["runs"][0]["results"][0]["suppressions"]
    assert "<skipped" in texts["junit"]
    Draft4Validator(SCHEMA).validate(json.loads(texts["sarif"]))


def test_an_id_cannot_put_a_command_into_what_fixes_it() -> None:
    """The reference is quoted for the shell; items of the user get their own command, those of a bundle none."""
    found = list(run(item("no-envelope", "a/$(rm x)")))
    assert isinstance(found[0], Finding)
    assert found[0].fix == "rye sign 'tool:a/$(rm x)'"
    user = item("no-envelope", "a/b", space="user")
    bundled = item("no-envelope", "a/b", space="system", bundle="x", root="/b x")
    fixes = [each.fix for each in run(user, bundled)]  # type: ignore[union-attr]
    assert fixes[0] == "rye sign tool:a/b --space user"
    assert fixes[1] == ""
