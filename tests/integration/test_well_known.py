"""``rye export well-known``: what a web site publishes of signed skills, and what is never overwritten or published."""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rye.registry.well_known import PLACE, SCHEMA, _index_of
from rye.trust.line import sign_bytes
from rye.trust.model import Origin
from tests.support.mcp_server import environment
from tests.support.signed import EVE, SIGNED_AT
from tests.support.spacesim import SpaceSim
from tests.unit.cli.workshop import Done, Workshop

FILES = {
    "pdf/SKILL.md": "---\nname: pdf\ndescription: Fill forms\n---\n\n# PDF\n",
    "pdf/scripts/fill.py": "print(1)\n",
    "pdf/logo.bin": "\0logo",
    "doc/SKILL.md": "---\nname: doc\ndescription: Write letters\n---\n\n# Letters\n",
}


class Site:
    """A project with two skills that the user signed as wholes, ``doc`` by its one line, and the root of a web site."""

    def __init__(self, folder: Path) -> None:
        self.sim = SpaceSim(folder, bundles=())
        self.sim.save_user_key()
        self.rye = Workshop(self.sim.project, environment(self.sim))
        self.skills, self.root = self.sim.project / ".claude/skills", self.sim.project / "public"
        for path, text in FILES.items():
            self.write(path, text)
        (self.skills / "pdf/scripts/fill.py").chmod(0o755)
        assert self.rye.run("sign", ".claude/skills/pdf", ".claude/skills/doc/SKILL.md").status == 0

    def write(self, path: str, text: str) -> None:
        """Write a file of a skill."""
        place = self.skills / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def export(self, *options: str, status: int = 0) -> Done:
        """Export to the web site."""
        done = self.rye.run("export", "well-known", "public", *options)
        assert done.status == status, done
        return done

    @property
    def entries(self) -> dict[str, Any]:
        """The entries of the index by name."""
        index = json.loads((self.root / PLACE / "index.json").read_text())
        assert index["$schema"] == SCHEMA
        return {each["name"]: each for each in index["skills"]}

    def files(self) -> dict[str, bytes]:
        """Return every file of the web site."""
        return {str(each.relative_to(self.root)): each.read_bytes() for each in self.root.rglob("*") if each.is_file()}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Nothing exported yet."""
    return Site(tmp_path)


def test_what_is_published_verifies_where_it_is_unpacked(site: Site) -> None:
    """Digests are of the files, which hold what was signed, modes too. A second time nothing is written."""
    assert "would be written" in site.export("--dry-run").out
    assert not site.root.exists()
    site.export()
    assert {name: (each["type"], each["description"]) for name, each in site.entries.items()} == {
        "pdf": ("archive", "Fill forms"),
        "doc": ("skill-md", "Write letters"),
    }
    before = site.files()
    for each in site.entries.values():
        data = before[each["url"].lstrip("/")]
        assert each["digest"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert before[f"{PLACE}/doc/SKILL.md"] == (site.skills / "doc/SKILL.md").read_bytes()
    there = site.sim.folder / "elsewhere"
    with tarfile.open(site.root / PLACE / "pdf.tar.gz") as archive:
        archive.extractall(there / ".agents/skills/pdf", filter="data")
    (there / ".agents/skills/doc").mkdir()
    (there / ".agents/skills/doc/SKILL.md").write_bytes(before[f"{PLACE}/doc/SKILL.md"])
    assert site.rye.run("verify", "--project", str(there), "--space", "project").out.startswith("3 items: 3 trusted")
    assert {line.split()[0] for line in site.export().out.splitlines()} == {"kept"}
    assert site.files() == before


def test_what_is_withdrawn_or_changed_is_replaced(site: Site) -> None:
    """A skill that is no longer trusted leaves index and site; the other stays."""
    site.export()
    site.write("pdf/logo.bin", "other")
    done = site.export(status=1)
    assert "changed: logo.bin" in done.out
    assert [*site.entries] == ["doc"]
    assert sorted(site.files()) == [f"{PLACE}/doc/SKILL.md", f"{PLACE}/index.json"]
    assert site.rye.run("sign", ".claude/skills/pdf", "--force").status == 0
    site.export()
    assert {*site.entries} == {"pdf", "doc"}


@pytest.mark.parametrize(
    ("require", "published"), [("trusted", "doc pdf"), ("signed", "doc eve pdf"), ("any", "doc eve pdf plain")]
)
def test_only_what_is_demanded_is_published(site: Site, require: str, published: str) -> None:
    """Trusted alone by default; nothing tampered, no other's name, and no skill that clients refuse, at any level."""
    front = "---\nname: {0}\ndescription: What {0} does\n---\n"
    for name in ("eve", "plain", "bad", "Wrong_Name"):
        site.write(f"{name}/SKILL.md", front.format(name))
    site.write("other/SKILL.md", front.format("pdf"))
    eve = site.skills / "eve/SKILL.md"
    origin = Origin("project", "", "directive", "eve")
    eve.write_bytes(sign_bytes(eve.read_bytes(), suffix=".md", origin=origin, key=EVE, now=SIGNED_AT))
    assert site.rye.run("sign", ".claude/skills/bad/SKILL.md").status == 0
    path = site.skills / "bad/SKILL.md"
    path.write_text(path.read_text() + "evil\n")
    answer = json.loads(site.export("--require", require, "--json", status=1).out)
    assert " ".join(site.entries) == published
    reasons = {each["ref"]: each["reason"] for each in answer["skills"] if each["reason"]}
    assert {"directive:bad", "directive:Wrong_Name", "directive:other"} <= reasons.keys()


def foreign_index(site: Site) -> None:
    """Somebody wrote the index by hand."""
    (site.root / PLACE / "index.json").write_text('{"skills": []}')


def edited_index(site: Site) -> None:
    """Somebody added a skill to what rye wrote."""
    path = site.root / PLACE / "index.json"
    path.write_bytes(path.read_bytes().replace(b"Fill forms", b"Fill all forms"))


def edited_file(site: Site) -> None:
    """Somebody changed a file that rye wrote."""
    (site.root / PLACE / "doc/SKILL.md").write_text("mine")


def linked_file(site: Site) -> None:
    """A link stands in the place of a file."""
    (site.root / PLACE / "pdf.tar.gz").unlink()
    (site.root / PLACE / "pdf.tar.gz").symlink_to(site.skills / "pdf/SKILL.md")


def linked_folder(site: Site) -> None:
    """The folder is a link that leads out of the site."""
    (site.root / ".well-known").rename(site.sim.folder / "outside")
    (site.root / ".well-known").symlink_to(site.sim.folder / "outside")


@pytest.mark.skipif(os.name != "posix", reason="needs links")
@pytest.mark.parametrize("happen", [foreign_index, edited_index, edited_file, linked_file, linked_folder])
def test_nothing_is_overwritten_that_an_export_did_not_write(site: Site, happen: Callable[[Site], None]) -> None:
    """It is found before anything is written, and every byte stays as it is."""
    site.export()
    happen(site)
    site.write("doc/SKILL.md", FILES["doc/SKILL.md"] + "More.\n")
    assert site.rye.run("sign", ".claude/skills/doc/SKILL.md").status == 0
    before = site.files()
    done = site.export(status=2)
    assert "rye export did not write it" in done.err or "link-escape" in done.err
    assert site.files() == before


def test_an_index_that_names_places_elsewhere_removes_nothing(site: Site) -> None:
    """The places of an earlier export are made of names, and a name that is a path is none."""
    site.export()
    mine = site.root / "mine.tar.gz"
    mine.write_bytes(b"mine")
    entry = {"name": "../../mine", "type": "archive", "digest": f"sha256:{hashlib.sha256(b'mine').hexdigest()}"}
    (site.root / PLACE / "index.json").write_bytes(_index_of([entry]))
    site.export(status=2)
    assert mine.exists()


def test_hidden_files_are_not_published(site: Site) -> None:
    """A signature that covers them would not hold without them, so the skill is left out and says why."""
    site.write("pdf/.env", "SECRET=1\n")
    assert site.rye.run("sign", ".claude/skills/pdf").status == 0
    done = site.export(status=1)
    assert "its signature covers files that are not published: .env" in done.out
    assert [*site.entries] == ["doc"]


def test_where_there_is_no_skill_nothing_is_written(site: Site) -> None:
    """Neither an empty index, nor one of a folder of skills that nobody signed unless told so."""
    bundle = site.sim.folder / "theirs"
    for path in ("pdf", "doc"):
        (bundle / "skills" / path).mkdir(parents=True)
        (bundle / "skills" / path / "SKILL.md").write_text(FILES[f"{path}/SKILL.md"])
    assert "nothing written" in site.export("--bundle", str(bundle), status=1).out
    assert not site.root.exists()
    site.export("--bundle", str(bundle), "--require", "any", status=0)
    assert [each["type"] for each in site.entries.values()] == ["skill-md", "skill-md"]
    assert "--bundle" in site.export("--bundle", str(bundle), "--space", "user", status=2).err
