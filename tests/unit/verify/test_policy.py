"""Policies: what they demand, in which order, and every way in which a file can be wrong."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rye.cli import main
from rye.errors import ArgumentError, EnvironmentFault
from rye.spaces.contents import files_below
from rye.spaces.discover import project_root
from rye.spaces.model import Root, Space
from rye.trust.keys import SigningKey
from rye.trust.list import add_signature, write_list
from rye.trust.model import Signature, Verdict
from rye.verify.policy import EVERY_SPACE, MAX_POLICY_FILE, Demand, Policy, accept_findings, load_policy
from rye.verify.report import Finding, VerifiedItem
from tests.support.outcomes import judged, verification
from tests.support.signed import ANN, BEA, EVE, list_place
from tests.support.signed import NOW as SIGNED
from tests.support.spacesim import SpaceSim

NOW = datetime(2026, 6, 1, tzinfo=UTC)
KEY = "4b987fd4e40303ac" + "0" * 48


@pytest.fixture
def sim(tmp_path: Path) -> SpaceSim:
    """Three spaces without items."""
    return SpaceSim(tmp_path / "sim")


def item(name: str = "ops/backup", *, space: str = "project", bundle: str = "", **facts: str) -> VerifiedItem:
    """Return a trusted item, v2, signed three months ago, unless said otherwise."""
    known = {"code": "ok", "reason": "", "signer": KEY, "signed_at": "2026-03-01T00:00:00Z", "format": "v2"} | facts
    signature = Signature(Verdict(known.pop("verdict", "trusted")), **known)
    return judged(name, signature, root="/p", space=space, bundle=bundle, digest="d" * 64)


def written(folder: Path, text: str | bytes) -> Path:
    """Write a policy."""
    path = folder / "policy.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def codes(policy: Policy, *items: VerifiedItem) -> list[str]:
    """Return the code of each item's finding, empty where it is well."""
    found = verification(*items, policy=policy, now=NOW)
    return [each.code if isinstance(each, Finding) else "" for each in found]


@pytest.mark.parametrize(
    ("demand", "facts", "code"),
    [
        (Demand(), {}, ""),
        (Demand(), {"verdict": "untrusted", "code": "unknown-key"}, "unknown-key"),
        (Demand(), {"verdict": "untrusted", "code": "expired"}, "expired"),
        (Demand(signers=(KEY,)), {}, ""),
        (Demand(signers=(KEY[:16],)), {}, "signer"),
        (Demand(signers=("f" * 16,)), {}, "signer"),
        (Demand(signers=(KEY,)), {"verdict": "untrusted", "code": "unknown-key"}, "unknown-key"),
        (Demand(signers=(KEY,)), {"verdict": "untrusted", "code": "revoked"}, "revoked"),
        (Demand(formats=("v2",)), {"format": "v1"}, "format"),
        (Demand(formats=("v2", "v1")), {"format": "v1"}, ""),
        (Demand(max_age=timedelta(days=92)), {}, ""),
        (Demand(max_age=timedelta(days=91)), {}, "too-old"),
        (Demand(max_age=timedelta(days=9999)), {"format": "v1"}, "undated"),
        (Demand(not_before=datetime(2026, 3, 1, tzinfo=UTC)), {}, ""),
        (Demand(not_before=datetime(2026, 3, 2, tzinfo=UTC)), {}, "too-old"),
        (Demand(max_age=timedelta(days=1)), {"signed_at": "2026-06-01T00:05:00Z"}, ""),
        (Demand(max_age=timedelta(days=1)), {"signed_at": "2026-06-01T01:00:00Z"}, "dated-ahead"),
    ],
)
def test_a_demand_is_met_or_gives_its_code(demand: Demand, facts: dict[str, str], code: str) -> None:
    """Verdict first, then signer, format and age. A key that cannot be checked is nobody's."""
    assert codes(Policy(demand), item(**facts)) == [code]


def test_the_first_scope_that_holds_an_item_replaces_what_it_states(tmp_path: Path) -> None:
    """What it does not state stays as for all items; other items do not notice."""
    text = f"formats: v2\nscopes:\n- scope: tool.ops.*\n  signers: {KEY}\n- scope: tool\n  formats: [v1, v2]\n"
    policy = load_policy(written(tmp_path, text))
    other = {"signer": "f" * 64}
    assert codes(policy, item(), item(**other), item(format="v1"), item("x/y", format="v1", **other)) == [
        "",
        "signer",
        "format",
        "",
    ]
    assert not policy.is_plain


def test_what_the_caller_demands_comes_on_top(tmp_path: Path) -> None:
    """A policy that names one signer does not weaken the command line, which names another."""
    policy = load_policy(written(tmp_path, f"signers: {KEY}\n"))
    assert codes(policy, item()) == [""]
    assert codes(Policy(policy.default, policy.scoped, also=Demand(signers=("f" * 64,))), item()) == ["signer"]


def test_an_audience_is_demanded_of_every_item_of_a_project() -> None:
    """Of items of other spaces none is demanded."""
    items = (item(audience="acme/ops"), item(audience="acme/shop"), item())
    elsewhere = tuple(each._replace(root=Root(Space.USER, each.root.path)) for each in items)
    run = verification(*items, *elsewhere, policy=Policy(Demand(spaces=EVERY_SPACE)), audience="acme/ops")
    found = [(each.code, each.reason) for each in run.complete().found]
    assert found == [
        ("audience", "for the audience 'acme/shop'; 'acme/ops' is demanded here"),
        ("audience", "for no audience; 'acme/ops' is demanded here"),
    ]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("", ":1", "has no requirement"),
        ("- a\n", ":1", "must be a mapping"),
        ("{}\n", ":1", "has no requirement"),
        ("formats: v2\nrequire: signed\n", ":2", "'require' is not known, valid are "),
        ("formats: v2\n\nsinger: x\n", ":3", "'singer' is not known"),
        ("formats: v3\n", ":1", "formats is 'v3'"),
        ("formats: []\n", ":1", "formats is []"),
        ("signers: []\n", ":1", "at least one"),
        ("signers: [me]\n", ":1", "signer is 'me'"),
        ("audience: Acme\n", ":1", "audience is 'Acme'"),
        ("audience: [acme]\n", ":1", "audience is"),
        ("spaces: project\nscopes:\n- scope: tool\n  audience: acme\n", ":4", "'audience' is not known"),
        ("max_age: 30\n", ":1", "such as 365d"),
        ("max_age: 0d\n", ":1", "max_age is '0d'"),
        ("not_before: soon\n", ":1", "a date such as"),
        ("spaces: project\nscopes: tool\n", ":2", "list of mappings"),
        ("spaces: project\nscopes:\n- tool\n", ":2", "list of mappings"),
        ("spaces: project\nscopes:\n- {formats: v1}\n", ":2", "with a scope"),
        ("spaces: project\nscopes:\n- scope: thing.x\n  formats: v2\n", ":3", "thing"),
        ("spaces: project\nscopes:\n- scope: tool\n", ":3", "has no requirement of its own"),
        ("spaces: project\nscopes:\n- scope: tool\n  scopes: []\n", ":2", "'scopes' is not known"),
        ("spaces: 'x\n", ":1", "unexpected end"),
        ("spaces: project\nformats: v2\nspaces: user\n", ":3", "'spaces' is there twice"),
        (
            "spaces: project\nscopes:\n- scope: tool\n  formats: v2\n  formats: v1\n",
            ":5",
            "'formats' is there twice",
        ),
        ("spaces: project\n---\nspaces: user\n", ":2", "more than one document"),
        ("{spaces: project, spaces: user}", ":1", "'spaces' is there twice"),
        ("{spaces: project, 'spaces': user}", ":1", "'spaces' is there twice"),
        ('{spaces: project,\n "space\\x73": user}', ":2", "'spaces' is there twice"),
        ("scopes: [{scope: tool,\n formats: v2, formats: v1}]", ":2", "'formats' is there twice"),
        ("? spaces\n: project\n? spaces\n: user\n", ":3", "'spaces' is there twice"),
        ("{&a spaces: project, *a : user}", ":1", "a key is not written out"),
        ("{spaces: project}\n--- {spaces: user}\n", ":2", "more than one document"),
        ("<<: {spaces: user}\n<<: {spaces: project}\n", ":2", "'<<' is there twice"),
        ("true: 1\nTrue: 2\n", ":2", "'true' is there twice"),
        ("not_before: 0001-01-01T00:00:00+14:00", ":1", "not_before is"),
        ("not_before: 9999-12-31T23:59:59-14:00", ":1", "not_before is"),
        ("formats: v2\nspaces: mine\n", ":2", "spaces is 'mine'"),
        ("accepted: []\n", ":1", "'accepted' is not known"),
        ("ignore: .env\n", ":1", "ignore must be a list of names"),
        ("ignore: [1]\n", ":1", "ignore must be a list of names"),
        (b"require: \xff\n", "", "not UTF-8"),
        ("#" * (MAX_POLICY_FILE + 1), "", "more than 1,048,576 bytes"),
        ("a: &a [x]\nb: &b [*a, *a]\n" + "c: *nope\n", ":3", "found undefined alias"),
    ],
)
def test_a_policy_that_is_not_understood_is_refused(tmp_path: Path, text: str | bytes, place: str, words: str) -> None:
    """Nothing is passed over: each fault is an error with the file and the line."""
    path = written(tmp_path, text)
    with pytest.raises(ArgumentError) as raised:
        load_policy(path)
    assert raised.value.code == "bad-policy"
    assert raised.value.message.startswith(f"{path}{place}: ")
    assert words in raised.value.message


def test_attack_a_policy_that_is_a_pipe(tmp_path: Path) -> None:
    """Nobody waits for what a checkout puts in the place of a file."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(EnvironmentFault, match="is not a regular file"):
            load_policy(path)


SPACES_OF_POLICY = [
    ("", {"project"}),
    ("spaces: user\n", {"user"}),
    ("spaces: [project, system]\n", {"project", "system"}),
    ("spaces: all\n", {"project", "user", "system"}),
    ("scopes:\n- {scope: tool, spaces: system, formats: v1}\n", {"project", "system"}),
]


@pytest.mark.parametrize(("text", "spaces"), SPACES_OF_POLICY)
def test_a_policy_is_for_items_of_projects_unless_it_names_spaces(tmp_path: Path, text: str, spaces: set[str]) -> None:
    """Other items need only be trusted; where the policy is for none of the items, a warning says so."""
    policy = load_policy(written(tmp_path, f"formats: v1\n{text}"))
    items = [item(f"a/{space}", space=space) for space in EVERY_SPACE]
    run = verification(*items, policy=policy, now=NOW)
    assert {each.item.space for each in run.complete().found} == spaces
    assert run.warnings == ()
    others = [each for each in items if each.space not in spaces]
    run = verification(*others, policy=policy, now=NOW)
    assert len(list(run)) == len(others)
    assert any("the policy is for no item" in each for each in run.warnings) == bool(others)


def test_a_policy_is_for_a_bundle_that_the_caller_names() -> None:
    """A build server that verifies the bundle of its checkout demands of it what the policy says."""
    bundled = item(space="system", bundle="x")
    policy = Policy(Demand(formats=("v1",)))
    assert policy.demand(bundled) is None
    assert policy.demand(bundled, is_named=True) == policy.default
    run = verification(bundled, policy=policy, named=(bundled.root,))
    assert [each.code for each in run.complete().found] == ["format"]


Change = Callable[[Path], object]
CHANGES: dict[str, Change] = {
    "bytes": lambda path: path.write_text("evil\n", encoding="utf-8"),
    "suffix": lambda path: path.rename(path.with_suffix(".sh")),
    "executable": lambda path: path.chmod(0o755),
    "link": lambda path: path.symlink_to(path.rename(path.with_suffix(".txt"))),
    "link-above": lambda path: path.parent.symlink_to(path.parent.rename(path.parent.with_name("y"))),
    "elsewhere": lambda path: path.rename(path.with_name("other.py")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_attack_an_accepted_file_turned_into_something_else(tmp_path: Path, sim: SpaceSim, change: str) -> None:
    """An unsigned file that is accepted, then renamed to ``.sh``, made executable or replaced by a link: a finding."""
    path, policy = sim.write("project", "tools/x/legacy.py", "#!/bin/sh\necho old\n"), tmp_path / "policy.yaml"
    path.chmod(0o644)
    (finding,) = sim.registry().verify(space="project", identifies=True).found
    assert finding.identity
    assert finding.identity[:3] == (".ai/tools/x/legacy.py", "100644", "no-envelope")
    accept_findings(policy, [finding.identity])

    def findings() -> int:
        run = sim.registry().verify(space="project", policy=policy)
        return len([each for each in run.found if not each.accepted])

    path.chmod(0o664)  # as another umask has it
    assert findings() == 0
    CHANGES[change](path)
    assert findings() > 0


def test_attack_a_revoked_key_among_the_signers_of_a_policy(tmp_path: Path, sim: SpaceSim) -> None:
    """A policy that names a key as signer does not make it count again."""
    sim.add("project", "tools/x/a.py", "echo\n", ANN)
    policy = written(tmp_path, f"signers: {ANN.public.fingerprint}\n")

    def codes_of() -> list[str]:
        return [each.code for each in sim.registry().verify(space="project", policy=policy).found]

    sim.trust(ANN)
    assert codes_of() == []
    sim.revoke(ANN)
    assert codes_of() == ["revoked"]


@pytest.mark.parametrize(
    ("demand", "codes"),
    [
        ("{required: true}", []),
        ("{signers: 1, number: 1}", []),
        ("{signers: 2}", ["list-signers"]),
        ("{number: 2}", ["list-number"]),
    ],
)
def test_a_list_meets_the_demands_or_gives_a_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, demand: str, codes: list[str]
) -> None:
    """Of how many signers count and of the number; each demand implies that there is one."""
    monkeypatch.setenv("RYE_STATE_DIR", str(tmp_path / "state"))
    sim = SpaceSim(tmp_path, bundles=())
    sim.save_user_key()
    sim.add("project", "knowledge/a.md", "# A\n")
    policy = tmp_path / "policy.yaml"
    policy.write_text(f"list: {demand}\n")
    before = [each.code for each in sim.registry().verify(space="project", policy=policy).found]
    assert before == ["list-missing"]
    monkeypatch.setenv("USER_SPACE", str(sim.user))
    sim.registry().sign_list()
    run = sim.registry().verify(space="project", policy=policy)
    assert [entry.code for entry in run.found] == codes
    assert [change.code for change in run.lists[0].errors] == codes, "the line on the list counts them, too"


def listed(sim: SpaceSim, *, key: SigningKey = ANN, number: int = 1, lines: Sequence[str] = ("",)) -> None:
    """Sign the project's list by hand: with one line for each of the audiences."""
    root, until = project_root(sim.project), datetime.now(UTC) + timedelta(days=30)
    data = write_list("project", number, until, list(files_below(root.path, root).files.values()))
    for audience in lines:
        data = add_signature(data, origin=root.list_place, key=key, audience=audience, now=SIGNED)
    (root.path / "rye.list").write_bytes(data)


@pytest.fixture
def listing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SpaceSim:
    """A project with an item without a signature, and a user of another machine who trusts ann."""
    monkeypatch.setenv("RYE_STATE_DIR", str(tmp_path / "state"))
    sim = SpaceSim(tmp_path, bundles=())
    sim.trust(ANN)
    sim.write("project", "knowledge/a.md", "# A\n")
    return sim


@pytest.mark.parametrize("lines", [("", ""), ("", "acme/shop")])
def test_attack_two_signatures_of_one_key_on_a_list_are_one_signer(
    tmp_path: Path, listing: SpaceSim, lines: Sequence[str]
) -> None:
    """A line written twice, or once more for another audience, adds no signer."""
    policy = written(tmp_path, "list: {signers: 2}\n")
    listed(listing, lines=lines)
    report = listing.registry().verify(space="project", policy=policy)
    assert "list-signers" in [each.code for each in report.found]


def test_attack_a_line_for_another_audience_does_not_count(tmp_path: Path, listing: SpaceSim) -> None:
    """Where an audience is demanded, a key that signed the list for another one is no signer of it."""
    listing.trust(BEA)
    listed(listing, lines=("acme/ops",))
    body = (listing.root("project") / "rye.list").read_bytes()
    listing.write(
        "project", "rye.list", add_signature(body, origin=list_place(), key=BEA, audience="acme/shop", now=SIGNED)
    )
    policy = written(tmp_path, "audience: acme/ops\nlist: {signers: 2}\n")
    report = listing.registry().verify(space="project", policy=policy)
    assert "list-signers" in [each.code for each in report.found]


def test_attack_a_key_limited_to_tools_signs_a_whole_list(listing: SpaceSim) -> None:
    """Verification and search agree: the list does not count, and what it names is not trusted."""
    listing.trust(BEA, patterns=("knowledge:*",))
    listed(listing, key=BEA)
    run = listing.registry().verify(space="project")
    assert {each.code for each in run.found} == {"limited", "list-signer"}
    (hit,) = listing.registry().search("a", space="project").results
    assert (hit.signature.verdict, hit.signature.code) == (Verdict.UNTRUSTED, "limited")


def test_attack_an_accepted_finding_about_a_list_hides_the_next_list(tmp_path: Path, listing: SpaceSim) -> None:
    """What is accepted is one list, byte for byte."""
    policy = tmp_path / "policy.yaml"
    listed(listing, key=EVE)
    known = listing.registry().verify(space="project", identifies=True)
    accept_findings(policy, [each.identity for each in known.found if each.identity])

    def codes_of() -> list[str]:
        run = listing.registry().verify(space="project", policy=policy)
        return [each.code for each in run.found if not each.accepted]

    assert codes_of() == []
    listed(listing, key=EVE, number=2)
    assert "list-signer" in codes_of()


def test_hidden_names_that_nobody_knows_are_findings_unless_the_policy_names_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By name or by a pattern of the path, at any depth; those of git and of known clients are none."""
    sim = SpaceSim(tmp_path, bundles=())
    sim.write("project", "knowledge/a.md", "# A\n")
    for path in (".gitignore", ".github/workflows/a.yml", ".env.example", "a/b/.qoder/rules/x.md"):
        (sim.project / path).parent.mkdir(parents=True, exist_ok=True)
        (sim.project / path).write_text("x")

    def named(text: str) -> set[str]:
        words = ["--strict", "--policy", str(written(tmp_path, text)), "--project", str(sim.project), "--json"]
        assert main(["verify", "--space", "project", *words]) > 0
        items = json.loads(capsys.readouterr().out)["items"]
        return {each["id"] for each in items if each["code"] == "unknown-dot-name"}

    assert named("formats: v2\n") == {".env.example", "a/b/.qoder"}
    assert named('ignore: [.env.example, "a/*/.qoder"]\n') == set()
    assert named("ignore: [.qoder]\n") == {".env.example"}
