"""Verdicts on items of a cluster are made of bytes and of what is trusted here; what a cluster says changes none."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rye import Registry
from rye.errors import EnvironmentFault, NotFoundError
from rye.trust.keys import SigningKey
from rye.trust.line import sign_bytes
from rye.trust.list import ListedFile, sign_skill
from rye.trust.model import Place
from rye.trust.trust_file import trust_file_bytes, trust_file_name
from rye.trust.trust_store import TRUSTED_FOLDER
from tests.integration.test_cluster_hostile import META, WHOLE, Server, reply
from tests.support.signed import place, skill_place

pytest.importorskip("opensearchpy", reason="pip install '.[test]' brings it")

KEY = SigningKey.generate()
NOW = datetime(2026, 11, 1, tzinfo=UTC)
TEXT = b"---\nname: a\n---\n\n# Deploy\n\nSteps\n"
KNOWLEDGE = place("ops/a", "knowledge")


def signed(data: bytes = TEXT, *, origin: Place = KNOWLEDGE, audience: str = "") -> bytes:
    """Return a file signed by the key that the user trusts."""
    return sign_bytes(data, suffix=".md", origin=origin, key=KEY, now=NOW, audience=audience)


class Liar:
    """A cluster that holds one document and says of it what a test wants."""

    def __init__(self, folder: Path) -> None:
        self.roots: list[list[str]] = [["shop", "project", "", "", "", ".ai"]]
        self.facts: dict[str, Any] = {
            "mark": "m",
            "id": "ops/a",
            "type": "knowledge",
            "path": "knowledge/ops/a.md",
            "root": 0,
            "by_name": "a",
        }
        self.source: dict[str, Any] = {}
        self.meta: dict[str, Any] = {}
        self.folder = folder
        self._server = Server(self._search)

    def hold(self, data: bytes, detached: bytes | None = None) -> None:
        """Let these bytes be those of the document."""
        self.source["raw"] = data.decode()
        if detached is not None:
            self.source["detached"] = base64.b64encode(detached).decode()

    def _search(self, count: int) -> tuple[int, dict[str, str], bytes]:
        fields = {name: [value] for name, value in self.facts.items()}
        hit = {"_id": "m", "_score": 1.0, "fields": fields, "_source": self.source}
        return reply(
            {"responses": [WHOLE | {"hits": {"total": {"value": 1}, "hits": [hit]}, "suggest": {"words": []}}] * count}
        )

    def registry(self, *, audience: str = "", only_trusted: bool = False) -> Registry:
        """Return the registry of a user who trusts the key and wants an audience."""
        meta = META | {"roots": self.roots, "count": 1} | self.meta
        self._server.mapping = reply({"r-1": {"mappings": {"_meta": {"rye": meta}}}})
        trusted = self.folder / ".ai" / TRUSTED_FOLDER
        trusted.mkdir(parents=True, exist_ok=True)
        (trusted / trust_file_name(KEY.public)).write_bytes(trust_file_bytes(KEY.public, owner="Ann"))
        (self.folder / "project" / ".ai").mkdir(parents=True, exist_ok=True)
        return Registry(
            self.folder / "project",
            user=self.folder,
            bundles=(),
            cache_dir=self.folder / "cache",
            index=self._server.address,
            audience=audience,
            only_trusted=only_trusted,
        )

    def verdict(self, *, audience: str = "") -> tuple[str, str]:
        """Return verdict and code of the document, as that user sees them."""
        registry = self.registry(audience=audience)
        (hit,) = registry.search("").results
        assert registry.get(f"{hit.type}:{hit.id}").signature == hit.signature
        return str(hit.signature.verdict), hit.signature.code

    def stop(self) -> None:
        """Stop the server."""
        self._server.http.shutdown()
        self._server.http.server_close()


@pytest.fixture
def liar(tmp_path: Path) -> Iterator[Liar]:
    """Yield a cluster that lies."""
    server = Liar(tmp_path)
    yield server
    server.stop()


def test_an_item_that_the_user_trusts_is_trusted(liar: Liar) -> None:
    """The lies below start from this truth."""
    liar.hold(signed())
    assert liar.verdict() == ("trusted", "ok")


def test_sections_are_ranked_and_judged_from_the_bytes_of_the_first_items(liar: Liar) -> None:
    """A section has its text and lines, the address of its file, and the verdict of its bytes."""
    liar.hold(signed())
    (section,) = liar.registry().sections("steps").results
    assert (section.text, section.signature.code) == ("Steps", "ok")
    assert section.path == liar.registry().search("steps").results[0].path
    assert liar.registry().get(section.path).item.id == "ops/a"
    assert section.display_url == f"{section.path}#L{section.line}-L{section.end_line}"
    liar.hold(signed().replace(b"Steps", b"Steps of Eve"))
    response = liar.registry().sections("steps")
    assert [hit.signature.verdict for hit in response.results] == ["tampered"]
    assert any("ranked by words" in text for text in response.warnings)
    assert liar.registry().sections("steps is:trusted").results == ()


def test_attack_a_cluster_cannot_put_an_item_among_the_trusted_ones(liar: Liar) -> None:
    """Unsigned or changed bytes are in no answer, nor are their names, but `resolve` finds what to verify."""
    liar.hold(signed())
    view = liar.registry(only_trusted=True)
    assert [hit.ref for hit in view.search("deploy")] == ["knowledge:ops/a"]
    assert view.get("ops/a").signature.verdict == "trusted"
    assert [hit.ref for hit in view.sections("steps")] == ["knowledge:ops/a"]
    for data in (TEXT, signed().replace(b"Steps", b"Steps of Eve"), b"---\nname: [\n---\n"):
        liar.hold(data)
        found = view.search("deploy")
        assert (found.results, found.total, view.sections("steps").results) == ((), 0, ())
        assert not any("ops/a" in text for text in found.warnings)
        for ask in (view.get, view.refs):
            with pytest.raises(NotFoundError) as caught:
                ask("ops/b")
            assert "ops/a" not in json.dumps(caught.value.to_dict())
    liar.hold(TEXT)
    assert view.resolve("ops/a") == "knowledge:ops/a"


CONDITIONS = ("is:trusted", "is:signed", f"signer:{KEY.public.fingerprint}", "signer:*", "is:trusted OR is:signed")


@pytest.mark.parametrize("query", CONDITIONS, ids=["trusted", "signed", "signer", "any signer", "either"])
def test_attack_a_cluster_cannot_pass_a_condition_on_signatures(query: str, liar: Liar) -> None:
    """It says that an unsigned item matches; the page leaves it out, and says so. A signed one is shown."""
    liar.hold(signed())
    assert [hit.id for hit in liar.registry().search(query, relax=False).results] == ["ops/a"]
    liar.hold(TEXT)
    response = liar.registry().search(query, relax=False)
    assert (response.results, response.total) == ((), 0)
    assert any("their verdict is not the requested one" in text for text in response.warnings)


ORIGINS: dict[str, list[str]] = {
    "another owner": ["evil", "project", "", "", "", ".ai"],
    "the user space": ["shop", "user", "", "", "", ".ai"],
    "a bundle": ["shop", "system", "shop", "", "", ".ai"],
    "rye's own items": ["shop", "system", "rye", "", "", ".ai"],
    "a project with a name": ["shop", "project", "other", "", "", ".ai"],
}


@pytest.mark.parametrize("place", ORIGINS)
def test_attack_an_origin_from_the_cluster_cannot_lift_the_audience(place: str, liar: Liar) -> None:
    """A signature for another audience stays untrusted, in whatever space the cluster says that the item lay."""
    liar.hold(signed(audience="staging"))
    assert liar.verdict(audience="prod") == ("untrusted", "audience")
    liar.roots = [ORIGINS[place]]
    assert liar.verdict(audience="prod") == ("untrusted", "audience")
    liar.hold(signed(audience="prod"))
    assert liar.verdict(audience="prod") == ("trusted", "ok")


FIELDS: dict[str, Callable[[Liar], None]] = {
    "space among the terms": lambda one: one.facts.update(space="user"),
    "an audience": lambda one: one.source.update(audience="prod"),
    "a verdict": lambda one: one.source.update(verdict="trusted", signature={"verdict": "trusted"}),
    "a verdict of the registry": lambda one: one.meta.update(audience="prod", trusted=True),
    "a signature beside a file that has a line": lambda one: one.hold(signed(audience="staging"), signed()),
}


@pytest.mark.parametrize("lie", FIELDS)
def test_attack_a_changed_field_changes_no_verdict(lie: str, liar: Liar) -> None:
    """Fields that rye does not publish, and those it does."""
    liar.hold(signed(audience="staging"))
    FIELDS[lie](liar)
    assert liar.verdict(audience="prod") == ("untrusted", "audience")


def test_attack_a_key_for_one_bundle_signs_nothing_in_a_registry(liar: Liar, tmp_path: Path) -> None:
    """The cluster says that the item is of that bundle; only the address says where it is from."""
    liar.roots = [ORIGINS["a bundle"]]
    liar.hold(signed())
    trusted = tmp_path / ".ai" / TRUSTED_FOLDER
    trusted.mkdir(parents=True)
    text = trust_file_bytes(KEY.public, owner="Ann", patterns=("bundle:shop",))
    (trusted / "only-shop.toml").write_bytes(text)
    assert liar.verdict() == ("untrusted", "limited")


def test_attack_changed_and_swapped_bytes_are_seen(liar: Liar) -> None:
    """Changed bytes are tampered with; those of another item are in a wrong place."""
    liar.hold(signed() + b"\nand more\n")
    assert liar.verdict()[0] == "tampered"
    liar.hold(signed(origin=place("ops/b", "knowledge")))
    assert liar.verdict() == ("misplaced", "signed-elsewhere")


def test_attack_a_path_that_is_not_the_items_is_refused(liar: Liar) -> None:
    """Type and id are those that the path stands for; anything else is an answer that cannot be read."""
    liar.hold(signed())
    for path in (
        "knowledge/ops/b.md",
        "../knowledge/ops/a.md",
        "/etc/passwd",
        "tools/ops/a.py",
        "knowledge/ops/a.md\x1b",
    ):
        liar.facts["path"] = path
        with pytest.raises(EnvironmentFault) as raised:
            liar.verdict()
        assert raised.value.code == "cluster-error"


SKILL = b"---\nname: pdf\ndescription: Read PDF\n---\n\n# PDF\n"
DIRECTIVE = skill_place()
OTHER = ListedFile("scripts/run.sh", "100755", "1" * 64)


def of_skill(liar: Liar, data: bytes, *, listed: bytes = SKILL) -> None:
    """Let the document be the file of a skill that was signed as a whole."""
    files = [ListedFile("SKILL.md", "100644", hashlib.sha256(listed).hexdigest()), OTHER]
    liar.roots = [["shop", "project", "", ".claude/skills", "skill", ".claude/skills"]]
    liar.facts.update(type="directive", id="pdf", path="pdf/SKILL.md")
    liar.hold(data, sign_skill(files, origin=DIRECTIVE.of_skill("pdf"), key=KEY, now=NOW))
    liar.source["skill"] = "pdf"


def test_a_skill_is_judged_by_its_signed_list_and_its_own_bytes(liar: Liar) -> None:
    """The other files of the skill are not on the cluster, and nothing is asked about them."""
    of_skill(liar, SKILL)
    assert liar.verdict() == ("trusted", "ok")
    of_skill(liar, SKILL + b"more\n")
    assert liar.verdict() == ("tampered", "skill-changed")
    of_skill(liar, SKILL, listed=b"other")
    assert liar.verdict() == ("tampered", "skill-changed")


def test_attack_a_skill_cannot_borrow_the_list_of_another(liar: Liar) -> None:
    """The signature names the skill that it was made for."""
    of_skill(liar, SKILL)
    liar.facts.update(id="other", path="other/SKILL.md")
    liar.source["skill"] = "other"
    assert liar.verdict() == ("misplaced", "signed-elsewhere")


def test_attack_a_skill_whose_list_is_left_out_is_not_trusted(liar: Liar) -> None:
    """Without its list it is unsigned; and a line in SKILL.md alone never covers a whole skill."""
    of_skill(liar, SKILL)
    del liar.source["detached"], liar.source["skill"]
    assert liar.verdict() == ("unsigned", "no-envelope")
    liar.hold(signed(SKILL, origin=DIRECTIVE))
    assert liar.verdict() == ("partial", "outside-skill")


def test_a_single_scan_of_a_cluster_looks_at_no_files(liar: Liar) -> None:
    """A server holds one state for a request; on a cluster that is the generation, and nothing here is indexed."""
    liar.hold(signed())
    registry = liar.registry()
    with registry.single_scan():
        assert [hit.id for hit in registry.search("").results] == ["ops/a"]
    assert not (liar.folder / "cache").exists()
