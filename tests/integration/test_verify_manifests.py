"""What a manifest has something against is a finding of ``rye verify`` like any other: in every format, and known."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from jsonschema import Draft4Validator
from mcp import Client, types

from rye import Registry
from rye.cli.app import main
from rye.trust import Origin, sign_bytes
from rye.verify.reports import Finding, Violation
from tests.support.attacks import HELLO, TEXT
from tests.support.mcp_server import text_of, with_client
from tests.support.signed import ANN
from tests.support.spacesim import SpaceSim

SCHEMA = Path(__file__).parents[1] / "assets" / "sarif" / "sarif-2.1.0.json"
OTHER = "tools/demo/other.py"

Verify = Callable[..., tuple[int, str, str]]


@pytest.fixture
def sim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SpaceSim:
    """A project with two signed tools and a manifest that lists them; one is gone since."""
    found = SpaceSim(tmp_path)
    monkeypatch.setenv("USER_SPACE", str(found.user))
    monkeypatch.setenv("RYE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.chdir(found.project)
    monkeypatch.delenv("RYE_SIGNING_KEY", raising=False)
    found.save_user_key()
    found.add("project", HELLO, TEXT)
    found.add("project", OTHER, TEXT)
    assert main(["manifest", "write"]) == 0
    assert main(["verify", "--space", "project"]) == 0
    found.delete("project", HELLO)
    return found


@pytest.fixture
def verify(sim: SpaceSim, capsys: pytest.CaptureFixture[str]) -> Verify:
    """Run ``rye verify`` on that project; return its status and what it wrote on either stream."""

    def run(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main(["verify", "--space", "project", "--project", str(sim.project), *words])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def test_text_shows_the_item_its_reason_and_the_remedy(verify: Verify) -> None:
    """Three lines for the finding, one for the manifest, and the counts."""
    status, text, _ = verify()
    head, reason, note, manifest, counts = text.splitlines()
    assert status == 1
    assert "violation" in head
    assert "tool:demo/hello" in head
    assert ".ai/tools/demo/hello.py:1" in head
    assert reason.endswith("[item-removed]")
    assert note.startswith("    note: put the listed file back, or once the change is reviewed: rye manifest write")
    assert manifest.startswith("manifest of project: version 1, 2 items listed, valid until ")
    assert counts == "1 item: 1 trusted -- 1 failed"


def test_a_manifest_whose_items_are_all_gone_fails_with_nothing_checked(sim: SpaceSim, verify: Verify) -> None:
    """Where every item is gone, the manifest says so, and the status is still that of nothing to verify."""
    sim.delete("project", OTHER)
    status, text, _ = verify()
    assert (status, text.splitlines()[-1]) == (2, "0 items -- nothing to verify, 2 failed")


def test_every_format_has_the_finding_with_file_rule_and_remedy(verify: Verify) -> None:
    """Lines of JSON, SARIF and JUnit name it as they name an item's."""
    status, text, _ = verify("--format", "jsonl")
    rows = [json.loads(line) for line in text.splitlines()]
    assert status == 1
    assert [row["kind"] for row in rows] == ["item", "finding", "summary"]
    assert (rows[1]["code"], rows[1]["verdict"], rows[1]["id"]) == ("item-removed", "violation", "demo/hello")
    assert (rows[2]["items"], rows[2]["findings"]) == (1, 1)

    status, text, _ = verify("--format", "sarif")
    sarif = json.loads(text)
    Draft4Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(sarif)
    (result,) = sarif["runs"][0]["results"]
    assert (status, result["ruleId"]) == (1, "item-removed")
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == ".ai/tools/demo/hello.py"
    assert "rye manifest write" in result["message"]["text"]

    _, text, _ = verify("--format", "junit")
    (suite,) = ET.fromstring(text)  # noqa: S314 - written by the code under test
    assert (suite.get("tests"), suite.get("failures"), len(suite.findall("testcase"))) == ("2", "1", 2)
    assert suite.findall("testcase/failure")[0].get("type") == "item-removed"



def test_json_has_it_among_manifests_and_counts_it(verify: Verify) -> None:
    """``items`` holds verdicts alone."""
    status, text, _ = verify("--json")
    answer = json.loads(text)
    assert (status, answer["status"], answer["findings"], len(answer["items"])) == (1, 1, 1, 1)
    assert [found["code"] for found in answer["manifests"][0]["findings"]] == ["item-removed"]


def test_a_policy_accepts_it_until_it_is_another(sim: SpaceSim, verify: Verify, tmp_path: Path) -> None:
    """The finding that was taken down is known; other content for the same item is not."""
    known = str(tmp_path / "policy.yaml")
    sim.add("project", HELLO, TEXT + "# one\n")
    assert verify()[0] == 1
    assert verify("--policy", known, "--accept")[0] == 0
    assert verify("--policy", known)[0] == 0
    sim.add("project", HELLO, TEXT + "# two\n")
    assert verify("--policy", known)[0] == 1


def test_a_target_leaves_the_manifest_out_unless_it_is_demanded(verify: Verify) -> None:
    """One item may be asked after alone."""
    assert verify("tool:demo/other")[0] == 0
    assert verify("tool:demo/other", "--require-manifest")[0] == 1


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        ([".ai/tools", "*"], {"item-removed"}),
        (["."], {"item-removed"}),
        ([".ai"], {"item-removed"}),
        ([".ai/"], {"item-removed"}),
        (["linked"], {"item-removed"}),
        ([".."], {"item-removed"}),
        (["tool:demo/other", "."], {"item-removed"}),
        ([".ai/tools"], set()),
        ([".ai/tools", ".ai/knowledge", ".ai/directives"], set()),
        (["tool"], set()),
    ],
)
def test_naming_the_whole_of_a_project_checks_its_manifest(
    sim: SpaceSim, verify: Verify, words: list[str], reported: set[str]
) -> None:
    """However that is spelled, and by the command as from Python; who names parts is not, even if they are all."""
    (sim.project / "linked").symlink_to(".ai")
    rows = [json.loads(line) for line in verify("--format", "jsonl", *words)[1].splitlines()]
    assert {row["code"] for row in rows if row["kind"] == "finding"} == reported
    registry = Registry(sim.project, user=sim.user, bundles=())
    found = {each.code for report in registry.verify(*words).manifests for each in report.errors}
    assert found == reported
    assert {each.code for each in registry.check(*words) if isinstance(each, Finding)} == reported


def test_a_bundle_or_project_named_by_its_folder_has_its_manifest_checked(
    sim: SpaceSim, verify: Verify, tmp_path: Path
) -> None:
    """Also where it is none of those that are worked with, and where several lie in the folder that is named."""
    around = tmp_path / "around"
    for name in ("one", "two"):
        shutil.copytree(sim.project, around / name)
    sim.add("system:shop", OTHER, TEXT)
    shop = sim.bundles["shop"]
    assert main(["manifest", "write", "--bundle", str(shop)]) == 0
    sim.delete("system:shop", OTHER)

    def violations(*words: str) -> list[tuple[str, str]]:
        rows = [json.loads(line) for line in verify("--format", "jsonl", *words)[1].splitlines()]
        return sorted((row["bundle"], row["code"]) for row in rows if row.get("verdict") == "violation")

    assert violations(str(shop)) == [("shop", "item-removed")]
    assert violations(str(around)) == [("one", "item-removed"), ("two", "item-removed")]
    assert violations(str(around / "two" / ".ai")) == [("two", "item-removed")]
    assert violations(str(around / "two" / ".ai" / "tools")) == []


def test_a_state_that_cannot_be_read_is_not_checked(verify: Verify, tmp_path: Path) -> None:
    """What was last seen lies where others can write: status 2, in the answer's own form."""
    (tmp_path / "state" / "manifests").chmod(0o777)
    status, text, _ = verify("--json")
    answer = json.loads(text)
    assert (status, answer["manifests"]) == (2, [])
    assert [each["code"] for each in answer["unchecked"]] == ["state-unsafe"]


def test_the_python_api_answers_alike(sim: SpaceSim) -> None:
    """The run yields the finding after the items, and has the report."""
    run = Registry(sim.project, user=sim.user, bundles=()).check(space="project")
    *_, last = run
    assert isinstance(last, Finding)
    assert isinstance(last.item, Violation)
    assert (last.code, last.item.verdict, run.status, run.violations) == ("item-removed", "violation", 1, 1)
    assert [report.source for report in run.manifests] == ["project"]


States = Callable[[SpaceSim], None]


def rolled_back(sim: SpaceSim) -> None:
    """Put an older signed version in the place of the one that is listed; both are trusted."""
    old = sim.path("project", OTHER).read_bytes()
    later = sign_bytes(
        TEXT.replace("1.0.0", "2.0.0").encode(),
        suffix=".py",
        origin=Origin("project", "", "tool", "demo/other"),
        key=ANN,
        now=datetime(2026, 4, 1, tzinfo=UTC),
    )
    sim.path("project", OTHER).write_bytes(later)
    assert main(["manifest", "write", "--project", str(sim.project)]) == 0
    sim.add("project", HELLO, TEXT)
    sim.path("project", OTHER).write_bytes(old)


def gone(sim: SpaceSim) -> None:
    """Take the manifest away."""
    shutil.rmtree(sim.root("project") / "config" / "manifest")


def unsafe(sim: SpaceSim) -> None:
    """Let others write what was last seen."""
    (sim.folder / "state" / "manifests").chmod(0o777)


@pytest.mark.parametrize("state", [None, rolled_back, gone, unsafe])
def test_every_way_of_verifying_all_reports_what_the_manifest_is_against(
    sim: SpaceSim, verify: Verify, state: States | None
) -> None:
    """What stands is trusted in each case, so no verdict reports it: the command, the Python API and MCP all must."""
    if state is not None:
        state(sim)
    status, text, _ = verify("--json")
    said = json.loads(text)
    assert status == (2 if state is unsafe else 1)
    assert set(said["counts"]) == {"trusted"}
    registry = Registry(sim.project, user=sim.user, bundles=())
    for targets in ((), ("*",)):
        report = registry.verify(*targets, space="project")
        assert [each.to_dict() for each in report.manifests] == report.to_dict()["manifests"] == said["manifests"]
        assert (list(report.problems), list(report.warnings)) == (said["problems"], said["warnings"])
        assert report.counts == said["counts"]
    assert registry.verify("tool:demo/other", space="project").manifests == ()

    async def talk(client: Client) -> list[types.CallToolResult]:
        asked: list[dict[str, str]] = [{}, {"item": "rye.search.*"}, {"item": "tool:demo/other"}]
        return [await client.call_tool("rye_verify", {"space": "project", **each}) for each in asked]

    *everything, one = with_client(sim, talk, env={"RYE_STATE_DIR": str(sim.folder / "state")})
    for result in everything:
        answer = result.structured_content or {}
        for manifest in answer["manifests"]:
            assert manifest.pop("violations") == len(manifest["findings"])
        assert answer["manifests"] == said["manifests"]
        assert len(answer["problems"]) == len(said["problems"])
        codes = [found["code"] for manifest in said["manifests"] for found in manifest["findings"]]
        assert all(f"[{code}]" in text_of(result) for code in codes)
        assert (f"{len(codes)} violations of manifests" in text_of(result)) == bool(codes)
        assert str(sim.folder / "state") not in json.dumps(answer)
    assert (one.structured_content or {})["manifests"] == []


def test_many_findings_of_a_manifest_are_cut_by_mcp(sim: SpaceSim) -> None:
    """Whoever lists many items and takes them away fills no client's memory, and hides nothing from the counts."""
    names = [f"tools/many/t{number}.py" for number in range(210)]
    for name in names:
        sim.add("project", name, TEXT)
    assert main(["manifest", "write", "--project", str(sim.project)]) == 0
    for name in names:
        sim.delete("project", name)

    async def talk(client: Client) -> types.CallToolResult:
        return await client.call_tool("rye_verify", {"space": "project"})

    result = with_client(sim, talk, env={"RYE_STATE_DIR": str(sim.folder / "state")})
    (manifest,) = (result.structured_content or {})["manifests"]
    assert (manifest["violations"], len(manifest["findings"])) == (210, 200)
    assert "10 more findings of the manifest of project are not listed" in text_of(result)
    assert len(text_of(result).splitlines()) < 15


def test_a_manifest_is_demanded_of_the_users_own_spaces_and_of_bundles_that_are_named(
    sim: SpaceSim, verify: Verify, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody but its publisher can write that of an installed bundle; who names one asks for it."""
    sim.add("system:shop", OTHER, TEXT)
    shop = str(sim.bundles["shop"])

    def missing(*words: str) -> set[str]:
        rows = [json.loads(line) for line in verify("--require-manifest", "--format", "jsonl", *words)[1].splitlines()]
        rows = [row for row in rows if row.get("code") == "manifest-missing"]
        return {f"{row['space']}:{row['bundle']}".removesuffix(":") for row in rows}

    assert missing("--space", "all", "--bundle", shop) == {"system:shop"}
    assert missing("--space", "system", "--bundle", shop) == {"system:shop", "system:rye"}
    monkeypatch.setenv("RYE_BUNDLES", shop)
    assert missing("--space", "all") == set()
    assert missing("--space", "all", "tool:demo/*") == set()
    assert missing("--space", "system") == {"system:shop", "system:rye"}
    assert missing("--space", "all", shop) == {"system:shop"}
    sim.add("user", OTHER, TEXT)
    assert missing("--space", "all") == {"user"}
    places = {"project": sim.project, "user": sim.user}
    for space, bundles, asked in (
        ("all", None, {"project", "user"}),
        ("all", [shop], {"project", "user", "system:shop"}),
        ("system", None, {"system:shop", "system:rye"}),
    ):
        registry = Registry(**places, bundles=bundles)  # type: ignore[arg-type]
        assert {each.source for each in registry.check_manifests(space, require=True)} == asked
