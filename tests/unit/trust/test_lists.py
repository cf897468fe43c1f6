"""Signed lists of a space: their bytes, what is refused, and how a folder differs from one."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye import Registry
from rye.errors import ArgumentError, SigningError
from rye.keyring.lists import ListSigned, find_root, sign_list
from rye.keyring.sign_items import sign_bundle
from rye.spaces.contents import files_below
from rye.spaces.layout import Layout
from rye.spaces.lists import read_list
from rye.trust.judge import judge_list
from rye.trust.keys import SigningKey
from rye.trust.list import (
    LIST_FILE,
    ListClaim,
    ListedFile,
    ListFault,
    Seen,
    add_signature,
    compare,
    parse_list,
    write_list,
)
from rye.trust.trust_entry import TrustEntry, TrustScope
from rye.trust.trust_set import TrustSet
from tests.support.files import lay
from tests.support.signed import ANN, BEA, EVE, list_place, place, sign
from tests.support.spacesim import SpaceSim

SKILL = "---\nname: pdf\ndescription: Fill forms\n---\n"
WHEN = datetime(2026, 11, 26, 12, tzinfo=UTC)
UNTIL = datetime(2027, 2, 24, tzinfo=UTC)
FILES = [
    ListedFile("tools/b.sh", "100755", hashlib.sha256(b"").hexdigest()),
    ListedFile("knowledge/é.md", "100644", hashlib.sha256(b"a\n").hexdigest()),
    ListedFile("tools/a b.py", "120000", hashlib.sha256(b"b.sh").hexdigest()),
]
PLACE = list_place()
BODY = """\
name: shop
number: 7
expires: 2027-02-24T00:00:00Z
100644 87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7 knowledge/é.md
120000 {link} tools/a b.py
100755 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 tools/b.sh
""".format(link=hashlib.sha256(b"b.sh").hexdigest())


def signed(*keys: SigningKey, body: bytes = BODY.encode()) -> bytes:
    """Return a list with these signatures, the last one first."""
    for key in keys:
        body = add_signature(body, origin=PLACE, key=key, now=WHEN)
    return body


def test_the_bytes_that_are_signed() -> None:
    """Header lines, then a row for each file, in the order of the paths' bytes; they do not change."""
    assert write_list("shop", 7, UNTIL, FILES).decode() == BODY


def test_a_list_is_read_back() -> None:
    """Every signature is over all below the signature lines, so one more changes nothing for the others."""
    found = parse_list(signed(ANN, BEA))
    assert (found.name, found.number, found.expires) == ("shop", 7, UNTIL)
    assert sorted(found.files.values()) == sorted(FILES)
    assert [line.fingerprint for line in found.lines] == [BEA.public.fingerprint, ANN.public.fingerprint]
    assert [found.holds(line, key.public) for line, key in zip(found.lines, (BEA, ANN), strict=True)] == [True, True]
    assert not found.holds(found.lines[0], ANN.public)


LINE, REST = signed(ANN).split(b"\n", 1)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "list-malformed"),
        (BODY.encode(), "list-malformed"),
        (b"<<<<<<< ours\n" + signed(ANN), "list-conflict"),
        (LINE + b"\n" + REST.replace(b"number: 7", b"number: 8"), "list-malformed"),
        (signed(ANN, body=BODY.replace("number: 7", "number: 07").encode()), "list-malformed"),
        (signed(ANN, body=BODY.replace("name: shop\n", "").encode()), "list-malformed"),
        (signed(ANN, body=BODY.replace("2027-02-24", "2027-02-30").encode()), "list-malformed"),
        (signed(ANN, body=BODY.replace("100755", "100777").encode()), "list-malformed"),
        (signed(ANN, body=(BODY + BODY.splitlines()[-1] + "\n").encode()), "list-malformed"),
        (signed(ANN, body=(BODY + "more\n").encode()), "list-malformed"),
        (signed(*[ANN] * 65), "list-malformed"),
        (signed(ANN).replace(b":v2:", b":v3:"), "list-malformed"),
    ],
)
def test_what_is_no_list_is_refused(data: bytes, code: str) -> None:
    """Unsigned, altered, in another order, with marks of a conflict or with anything else in it."""
    with pytest.raises(SigningError) as caught:
        parse_list(data)
    assert caught.value.code == code


ENDS: dict[str, bytes] = {
    "CR LF": b"\r\n",
    "form feed": b"\x0c",
    "line separator": "\u2028".encode(),
    "next line": "\u0085".encode(),
    "an extension": b":.py\n",
    "a blank": b" \n",
}


@pytest.mark.parametrize("end", ENDS)
def test_a_signature_line_of_a_list_has_one_spelling(end: str) -> None:
    """Lines end with LF alone, and nothing stands behind the place and the audience."""
    data = signed(ANN, BEA)
    first, rest = data.split(b"\n", 1)
    with pytest.raises(SigningError) as caught:
        parse_list(first + ENDS[end] + rest)
    assert caught.value.code == "list-malformed"


def test_a_key_is_named_by_its_whole_fingerprint() -> None:
    """The digest of the raw key, and the first 16 digits, are names of older lines alone."""
    for name in ANN.public.names[1:]:
        data = signed(ANN).replace(ANN.public.fingerprint.encode(), name.encode())
        if len(name) == 64:
            state = judge_list(parse_list(data), place=PLACE, trust=trusting(ANN), now=WHEN)
            assert isinstance(state, ListFault)
            assert state.code == "list-signer"
        else:
            with pytest.raises(SigningError):
                parse_list(data)


@pytest.mark.parametrize("number", [0, 10**9])
def test_no_list_is_written_that_cannot_be_read_back(number: int) -> None:
    """A number has one to nine digits."""
    with pytest.raises(SigningError) as caught:
        write_list("shop", number, UNTIL, FILES)
    assert caught.value.code == "unlistable"


QUESTIONS = ("signature", "signer", "place", "audience", "expiry", "rollback")
"""What is asked of a list, in this order."""
CODES = {
    "signature": "list-signature",
    "signer": "list-signer",
    "place": "list-name",
    "audience": "list-name",
    "expiry": "list-expired",
    "rollback": "list-rollback",
}


@pytest.mark.parametrize(("first", "second"), [*combinations(QUESTIONS, 2)])
def test_of_two_faults_of_a_list_the_earlier_question_decides(first: str, second: str) -> None:
    """Whoever wrote the list: name, dates and number are asked only of what a key that counts has signed."""
    faults = {first, second}
    key = EVE if "signer" in faults else ANN
    where = list_place("other/.ai") if "place" in faults else PLACE
    audience = "acme/shop" if "audience" in faults else "acme/ops"
    until = WHEN - timedelta(days=1) if "expiry" in faults else UNTIL
    body = write_list("shop", 7, until, FILES)
    data = add_signature(body, origin=where, key=key, audience=audience, now=WHEN)
    if "signature" in faults:
        data = data.replace(b":2026-11-26T", b":2026-11-27T").replace(
            key.public.fingerprint.encode(), ANN.public.fingerprint.encode()
        )
    seen = Seen(9, "0" * 64) if "rollback" in faults else None
    trust = replace(trusting(ANN), audience="acme/ops")
    state = judge_list(parse_list(data), place=PLACE, trust=trust, now=WHEN, seen=seen)
    assert isinstance(state, ListFault)
    assert state.code == CODES[first]
    if first == "place":
        assert "it was signed as list other/.ai, this is list .ai" in state.words


def test_a_list_without_a_fault_has_each_signer_once() -> None:
    """A line written twice adds nobody; one for another audience or place does not count."""
    body = write_list("shop", 7, UNTIL, FILES)
    elsewhere = list_place("other/.ai")
    data = add_signature(body, origin=PLACE, key=ANN, audience="a", now=WHEN)
    for key, where, audience in ((ANN, PLACE, "a"), (BEA, elsewhere, "a"), (BEA, PLACE, "b")):
        data = add_signature(data, origin=where, key=key, audience=audience, now=WHEN)
    for audience, names in (("a", ["0"]), ("", ["1", "0"])):
        trust = replace(trusting(ANN, BEA), audience=audience)
        state = judge_list(parse_list(data), place=PLACE, trust=trust, now=WHEN)
        assert isinstance(state, ListClaim)
        assert [signer.owner for signer in state.signers] == names


@pytest.mark.parametrize(
    "path", ["a\u200b.md", "a\\b.md", "a\n.md", "RYE.LIST", "\u212aelvin.md", "Kelvin.md", "kelvin.md/x", "KELVIN.MD"]
)
def test_a_name_that_deceives_cannot_be_listed(path: str) -> None:
    """Invisible characters, backslashes, and names that are one where case is ignored."""
    with pytest.raises(SigningError) if path != "kelvin.md/x" else pytest.MonkeyPatch.context():
        write_list(
            "shop", 1, UNTIL, [ListedFile("kelvin.md", "100644", "0" * 64), ListedFile(path, "100644", "1" * 64)]
        )


ROWS = st.dictionaries(
    st.sampled_from("abcdef"), st.tuples(st.sampled_from(["100644", "100755", "120000"]), st.sampled_from("01"))
)


@given(ROWS, ROWS)
def test_a_folder_differs_as_a_naive_comparison_says(
    before: dict[str, tuple[str, str]], after: dict[str, tuple[str, str]]
) -> None:
    """One change for each path: added, removed, changed in content, or else in mode."""
    listed, found = ({path: ListedFile(path, *row) for path, row in rows.items()} for rows in (before, after))
    expected = {}
    for path in {*before, *after}:
        if path not in before or path not in after:
            expected[path] = "file-added" if path in after else "file-removed"
        elif before[path] != after[path]:
            expected[path] = "file-changed" if before[path][1] != after[path][1] else "file-mode"
    assert {each.path: each.code for each in compare(listed, found)} == expected


@pytest.mark.parametrize("wrong", ["nothing", "unknown", "changed", "older"])
def test_attack_blind_co_signing(sim: SpaceSim, wrong: str) -> None:
    """No signature is added to a list that is not there, of an unknown key, of other files, or older than one seen."""
    root = find_root(Layout.find(project=sim.project, user=sim.user, bundles=()))[1]
    sim.write("project", "knowledge/a.md", "# A\n")
    sign_list(root, key=EVE if wrong == "unknown" else ANN, trust=trusting(EVE, ANN))
    old = read_list(root.path) or b""
    if wrong == "older":
        sign_list(root, key=ANN, trust=trusting(ANN), days=3)
        (root.path / LIST_FILE).write_bytes(old)
    elif wrong == "changed":
        sim.write("project", "knowledge/a.md", "# Evil\n")
    elif wrong == "nothing":
        (root.path / LIST_FILE).unlink()
    before = read_list(root.path)
    with pytest.raises((SigningError, ArgumentError)) as caught:
        sign_list(root, key=BEA, trust=trusting(ANN, BEA), add=True)
    codes = {
        "nothing": "nothing-to-sign",
        "unknown": "list-untrusted",
        "changed": "list-differs",
        "older": "list-rollback",
    }
    assert (caught.value.code, read_list(root.path)) == (codes[wrong], before)


class Token:
    """A private key that counts what it signs, as one that has to be touched does."""

    def __init__(self, key: SigningKey) -> None:
        self._key, self.touched = key, 0

    def sign(self, data: bytes, /) -> bytes:
        """Return the signature of the key."""
        self.touched += 1
        return self._key.sign(data)


def test_a_plan_signs_nothing_and_a_signature_is_made_once(sim: SpaceSim, tmp_path: Path) -> None:
    """Of a list, a dry run and what is signed already ask nothing of the key; so does the plan of a bundle."""
    root = find_root(Layout.find(project=sim.project, user=sim.user, bundles=()))[1]
    sim.write("project", "knowledge/a.md", "# A\n")
    token = Token(ANN)
    key = SigningKey(token, ANN.public)
    assert sign_list(root, key=key, trust=trusting(ANN), dry_run=True).action == "write"
    assert token.touched == 0
    assert [sign_list(root, key=key, trust=trusting(ANN)).action for _ in range(2)] == ["write", "unchanged"]
    assert token.touched == 1
    lay(tmp_path / "shop", {"tools/hello.py": '"""Say hello."""\n', "notes.txt": "notes\n"})
    sign_bundle(tmp_path / "shop", owner="ann", key=key, dry_run=True)
    assert token.touched == 1
    assert sign_bundle(tmp_path / "shop", owner="ann", key=key).list_file
    assert token.touched == 3


def test_files_that_change_while_the_user_is_asked_are_not_signed(sim: SpaceSim) -> None:
    """Nothing is written then, and the error says so."""
    root = find_root(Layout.find(project=sim.project, user=sim.user, bundles=()))[1]
    path = sim.write("project", "knowledge/a.md", "# A\n")

    def change(_: ListSigned) -> None:
        path.write_text("# B\n")

    with pytest.raises(SigningError) as caught:
        sign_list(root, key=ANN, trust=trusting(ANN), confirm=change)
    assert (caught.value.code, read_list(root.path)) == ("changed-meanwhile", None)


def test_every_file_but_private_keys_is_listed(sim: SpaceSim) -> None:
    """Hidden files, links and compiled code too; a key file among the user's keys is left out, anything else is not."""
    sim.save_user_key()
    user = find_root(Layout.find(project=sim.project, user=sim.user, bundles=()), space="user")[1]
    for name in (".hidden/x", "tools/__pycache__/a.pyc", "config/keys/signing/evil.py"):
        sim.write("user", name, "x")
    (user.path / "link").symlink_to("nowhere")
    found, problems, _ = files_below(user.path, user)
    assert problems == ()
    assert {".hidden/x", "tools/__pycache__/a.pyc", "config/keys/signing/evil.py", "link"} <= set(found)
    assert not [path for path in found if path.endswith(".pem")]
    assert found["link"] == ListedFile("link", "120000", hashlib.sha256(b"nowhere").hexdigest())


def trusting(*keys: SigningKey) -> TrustSet:
    """Return a trust set of the user's with these keys, named 0, 1, …."""
    return TrustSet(tuple(TrustEntry(key.public, str(at), TrustScope.USER) for at, key in enumerate(keys)))


@pytest.fixture
def sim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SpaceSim:
    """A project and a user space, and a folder for the state."""
    monkeypatch.setenv("RYE_STATE_DIR", str(tmp_path / "state"))
    sim = SpaceSim(tmp_path, bundles=())
    monkeypatch.setenv("USER_SPACE", str(sim.user))
    return sim


def test_an_expired_list_signs_nothing(sim: SpaceSim) -> None:
    """A file that only the list signs is untrusted from then on."""
    sim.trust(ANN)
    sim.write("project", "tools/demo/data.json", '{"title": "Data"}')
    root = find_root(Layout.find(project=sim.project, user=sim.user, bundles=()))[1]
    now = datetime.now(UTC)
    for days, code in ((1, "ok-list"), (-1, "list-expired")):
        body = write_list("shop", 1, now + timedelta(days=days), list(files_below(root.path, root).files.values()))
        (root.path / LIST_FILE).write_bytes(add_signature(body, origin=PLACE, key=ANN, now=now))
        assert sim.registry().get("tool:demo/data").signature.code == code


def test_a_list_speaks_for_what_has_no_signature_alone(sim: SpaceSim) -> None:
    """A file's own signature comes first; a file that is not on the list is unsigned; a broken list signs nothing."""
    sim.trust(ANN)
    sim.write("project", "knowledge/a.md", "# A\n")
    sim.write("project", "knowledge/own.md", sign(b"# Own\n", origin=place("own", "knowledge"), suffix=".md"))
    root = find_root(Layout.find(project=sim.project, user=sim.user, bundles=()))[1]
    sign_list(root, key=ANN, trust=trusting(ANN))
    sim.write("project", "knowledge/later.md", "# Later\n")

    def codes() -> list[str]:
        return [sim.registry().get(f"knowledge:{name}").signature.code for name in ("a", "own", "later")]

    assert codes() == ["ok-list", "ok", "no-envelope"]
    (root.path / LIST_FILE).write_text("garbage\n")
    assert codes() == ["list-malformed", "ok", "list-malformed"]


def test_a_repository_of_skills_is_covered_by_a_list_at_its_top(sim: SpaceSim) -> None:
    """Whether it is used as a bundle or named as a project; a changed skill and an added file are found."""
    sim.trust(ANN)
    folder = lay(sim.folder / "skills-of-ann", {"skills/pdf/SKILL.md": SKILL, "skills/pdf/a.py": "print(1)\n"})
    root = find_root(Layout.find(project=sim.project, user=sim.user, bundles=()), bundle=folder)[1]
    sign_list(root, key=ANN, trust=trusting(ANN))
    registry = Registry(sim.project, user=sim.user, bundles=[folder], cache_dir=sim.cache)
    assert registry.get("directive:pdf").signature.code == "ok-list"
    assert {each.signature.code for each in registry.verify(str(folder)).items} == {"ok-list"}
    lay(folder, {"skills/pdf/SKILL.md": SKILL + "Evil.\n", "hooks/hooks.json": "{}"})
    run = Registry(sim.project, user=sim.user, bundles=()).verify(str(folder))
    assert sorted(each.code for each in run.found) == ["file-added", "list-changed"]


def test_the_vector_of_the_specification_holds() -> None:
    """The page shows a list byte for byte, signed with the key of 32 zero bytes."""
    page = (Path(__file__).parents[3] / "items/knowledge/rye/signing.md").read_text(encoding="utf-8")
    assert f"```text\n{signed(SigningKey.from_seed(bytes(32))).decode()}```" in page
