"""A skill on disk is verified as a whole: by verify, search and load, after every change of any file in its folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from rye import Registry
from rye.cli import main
from rye.errors import ArgumentError, RyeError
from rye.items.clients import OF_PROJECTS
from rye.spaces.discover import client_roots
from rye.spaces.model import Root, Space
from rye.spaces.signed import read_signed
from rye.trust.list import SKILL_SIGNATURE
from rye.verify.policy import accept_findings
from tests.support.spacesim import SpaceSim

FILES = {
    "pdf/SKILL.md": "---\nname: pdf\ndescription: Fill forms\n---\n\n# PDF\n",
    "pdf/forms.md": "# Forms\n\nWhich forms there are.\n",
    "pdf/scripts/fill.py": '"""Fill a form."""\n',
    "pdf/assets/logo.bin": "\0logo",
    "doc/SKILL.md": "---\nname: doc\ndescription: Write letters\n---\n\n# Letters\n",
    "doc/forms.md": "# Forms\n\nLetters.\n",
}
PDF = ["directive:pdf", "knowledge:pdf/forms", "tool:pdf/scripts/fill"]


class Skills:
    """Two signed skills in a project, and the user's key."""

    def __init__(self, folder: Path) -> None:
        self.sim = SpaceSim(folder, bundles=())
        self.sim.save_user_key()
        self.folder = self.sim.project / ".claude/skills"
        for path, text in FILES.items():
            self.write(path, text)
        (self.folder / "pdf/scripts/fill.py").chmod(0o755)
        self.sign(str(self.folder))

    def write(self, path: str, text: str) -> Path:
        """Write a file below the folder of the skills."""
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        return place

    @property
    def root(self) -> Root:
        """The folder of the skills."""
        return next(each for each in client_roots(Space.PROJECT, self.sim.project, OF_PROJECTS))

    def registry(self) -> Registry:
        """Return a registry over the same cache each time."""
        return Registry(
            project=self.sim.project, user=self.sim.user, bundles=(), cache_dir=self.sim.cache, clients=["claude"]
        )

    def sign(self, *texts: str, dry_run: bool = False) -> list[tuple[str, str, bool]]:
        """Sign; return type, id and whether it changed of each item."""
        return [(item.type, item.id, item.changed) for item in self.registry().sign(*texts, dry_run=dry_run).items]

    def verdicts(self, within: str = "pdf") -> dict[str, str]:
        """Return the code of each item of a skill, which verify, search and load agree on."""
        registry = self.registry()
        report = registry.verify(str(self.folder))
        known = {each.ref: each.signature.code for each in report.items if each.id.split("/")[0] == within}
        found = {
            f"{hit.type}:{hit.id}": hit.signature.code
            for hit in registry.search(f"skill:{within}", limit=50, fold=False).results
        }
        loaded = {ref: registry.get(ref).signature.code for ref in known}
        trusted = {
            f"{hit.type}:{hit.id}"
            for hit in registry.search(f"skill:{within} is:trusted", limit=50, fold=False).results
        }
        assert known == found == loaded
        assert trusted == {ref for ref, code in known.items() if code == "ok"}
        return known


@pytest.fixture
def skills(tmp_path: Path) -> Skills:
    """Two skills, signed as wholes, all of whose items are trusted and indexed."""
    found = Skills(tmp_path)
    assert found.verdicts() == dict.fromkeys(PDF, "ok")
    return found


def tamper(skills: Skills, name: str) -> None:
    """Do what an attack is named for."""
    pdf, doc = skills.folder / "pdf", skills.folder / "doc"
    actions: dict[str, Callable[[], object]] = {
        "added-script": lambda: skills.write("pdf/evil.sh", "evil\n"),
        "added-data": lambda: skills.write("pdf/assets/more.bin", "more"),
        "added-hidden-file": lambda: skills.write("pdf/.hidden/evil", "evil\n"),
        "added-cache-of-python": lambda: skills.write("pdf/scripts/__pycache__/fill.cpython-312.pyc", "evil\n"),
        "removed": (pdf / "assets/logo.bin").unlink,
        "renamed": lambda: (pdf / "assets/logo.bin").rename(pdf / "assets/icon.bin"),
        "changed-data": lambda: skills.write("pdf/assets/logo.bin", "\0icon"),
        "changed-script": lambda: skills.write("pdf/scripts/fill.py", "evil()\n"),
        "mode-changed": lambda: (pdf / "forms.md").chmod(0o755),
        "link": lambda: (pdf / "forms.txt").symlink_to("forms.md"),
        "link-to-folder": lambda: (pdf / "more").symlink_to("../doc"),
        "signature-of-another-skill": lambda: shutil.copy(doc / SKILL_SIGNATURE, pdf / SKILL_SIGNATURE),
        "swapped-between-skills": lambda: shutil.copy(doc / "forms.md", pdf / "forms.md"),
        "nested-skill": lambda: skills.write("pdf/scripts/SKILL.md", FILES["doc/SKILL.md"]),
        "invisible-characters": lambda: skills.write("pdf/forms\u200b.txt", "forms"),
        "case-collision": lambda: skills.write("pdf/FORMS.md", "# Forms\n\nOther forms.\n"),
        "list-altered": lambda: (pdf / SKILL_SIGNATURE).write_bytes(
            (pdf / SKILL_SIGNATURE).read_bytes().replace(b"100644", b"100755", 1)
        ),
    }
    actions[name]()


ATTACKS = (
    *("added-script", "added-data", "added-hidden-file", "added-cache-of-python", "removed", "renamed", "changed-data"),
    *("changed-script", "mode-changed", "link", "link-to-folder", "signature-of-another-skill"),
    *("swapped-between-skills", "nested-skill", "invisible-characters", "case-collision", "list-altered"),
)


@pytest.mark.parametrize("name", ATTACKS)
def test_any_change_of_a_skill_tampers_with_every_item_of_it(skills: Skills, name: str) -> None:
    """Also one of a file that is no item, after all were found trusted; another skill stays as it is."""
    before = skills.verdicts("doc")
    tamper(skills, name)
    found = skills.verdicts()
    assert set(found.values()) == {"skill-changed"}
    assert set(PDF) <= found.keys()
    assert skills.verdicts("doc") == before


def test_the_file_of_a_skill_can_be_signed_alone(skills: Skills) -> None:
    """By its own path: a line in its front matter, and `partial` as long as other files lie beside it."""
    (skills.folder / "pdf" / SKILL_SIGNATURE).unlink()
    path = str(skills.folder / "pdf/SKILL.md")
    assert skills.sign(path) == [("directive", "pdf", True)]
    assert skills.sign(path) == [("directive", "pdf", False)]
    assert "\n# rye:signed:v2:" in Path(path).read_text(encoding="utf-8")
    assert skills.verdicts()["directive:pdf"] == "outside-skill"
    reason = skills.registry().verify("directive:pdf").items[0].signature.reason
    assert reason.endswith("3 files of the skill are not covered: assets/logo.bin, forms.md, scripts/fill.py")
    for each in ("assets", "scripts"):
        shutil.rmtree(skills.folder / "pdf" / each)
    (skills.folder / "pdf/forms.md").unlink()
    assert skills.verdicts() == {"directive:pdf": "ok"}
    skills.write("pdf/evil.sh", "evil\n")
    assert skills.verdicts()["directive:pdf"] == "outside-skill"
    assert skills.sign("directive:pdf") == [("directive", "pdf", True)]
    assert set(skills.verdicts().values()) == {"ok"}


def test_a_skill_in_a_skill_has_its_own_signature_which_the_outer_one_covers(skills: Skills) -> None:
    """Signed together, the inner one first; alone, it would tamper with the outer one."""
    skills.write("pdf/inner/SKILL.md", FILES["doc/SKILL.md"].replace("doc", "inner"))
    skills.write("pdf/inner/notes.md", "# Notes\n")
    assert {each[1] for each in skills.sign(str(skills.folder / "pdf"))} == {"pdf", "pdf/inner"}
    assert set(skills.verdicts().values()) == {"ok"}
    skills.write("pdf/inner/notes.md", "# Other notes\n")
    with pytest.raises(ArgumentError):
        skills.sign("directive:pdf/inner")
    assert set(skills.verdicts().values()) == {"skill-changed"}
    (skills.folder / "pdf/inner" / SKILL_SIGNATURE).unlink()
    assert skills.sign("directive:pdf*")
    assert set(skills.verdicts().values()) == {"ok"}
    skills.write("pdf/forms.md", "# Other forms\n")
    found = skills.verdicts()
    assert {ref for ref, code in found.items() if code == "ok"} == {"directive:pdf/inner", "knowledge:pdf/inner/notes"}


def test_a_scope_signs_the_other_tools_and_leaves_those_of_a_signed_skill(skills: Skills) -> None:
    """A part that is named by its id, or alone, is refused with what signs it."""
    skills.sim.write("project", "tools/demo/a.py", '"""Do a."""\n')
    assert ("tool", "demo/a", True) in skills.sign("tool")
    for target in ("tool:pdf/scripts/fill", "tool:pdf/*", str(skills.folder / "pdf/scripts")):
        with pytest.raises(ArgumentError, match="belongs to the skill pdf"):
            skills.sign(target)


@pytest.mark.parametrize("path", ["pdf/.git", "pdf/.git/hooks/post-checkout"])
def test_attack_what_the_signature_leaves_out_is_uncovered(skills: Skills, path: str) -> None:
    """A repository of its own in a signed skill brings hooks that git runs; a strict verification names it."""

    def findings() -> list[tuple[str, str]]:
        run = skills.registry().verify(str(skills.folder), strict=True)
        return [(entry.code, entry.item.id) for entry in run.found]

    assert findings() == []
    skills.write(path, "evil\n")
    assert findings() == [("uncovered", "pdf/.git")]


def test_a_signed_skill_counts_once_and_under_its_own_name(skills: Skills, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever file was changed, and whoever signed it; a part that is named alone stands for itself."""

    def told(*words: str) -> list[str]:
        main(["verify", *(words or (str(skills.folder),)), "--project", str(skills.sim.project), "-v"])
        return capsys.readouterr().out.splitlines()

    trust = ["--trust", str(next(skills.sim.user.rglob("*.toml")))]
    lines = told(str(skills.folder), *trust)
    assert [line.split()[2] for line in lines[:-1]] == ["directive:doc", "directive:pdf"]
    assert lines[-1] == "2 items: 2 trusted -- all passed"
    skills.write("doc/AAA.md", "# Evil\n")
    lines = told(str(skills.folder), *trust)
    assert [line.split()[2] for line in lines if line[0] in "✗✓"] == ["directive:pdf", "directive:doc"]
    assert lines[-1] == "2 items: 1 trusted, 1 tampered -- 1 failed"
    assert told("knowledge:doc/forms", *trust)[-1] == "1 item: 1 tampered -- 1 failed"
    shutil.rmtree(skills.sim.user)
    assert told()[-1] == "2 items: 1 untrusted, 1 tampered -- 2 failed"


CHANGES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "knowledge:pdf/forms": ("forms.md", lambda place: place.write_text("# Other\n", encoding="utf-8")),
    "tool:pdf/scripts/fill": ("scripts/fill.py", lambda place: place.chmod(0o644)),
    "directive:pdf": ("assets/logo.bin", Path.unlink),
}
"""The item that the finding is on → the file of the skill that is changed, and how."""


def test_attack_a_second_skill_changed_beside_an_accepted_one(skills: Skills, tmp_path: Path) -> None:
    """A finding accepted of one skill accepts no further change of it, and none of another."""
    policy, first = tmp_path / "policy.yaml", skills.write("pdf/forms.md", "# Other\n")
    (finding,) = skills.registry().verify(str(skills.folder), identifies=True).found
    assert finding.identity
    accept_findings(policy, [finding.identity])

    def status() -> int:
        return skills.registry().verify(str(skills.folder), policy=policy).status

    assert status() == 0
    skills.write("doc/forms.md", "# Other\n")
    assert status() == 1
    skills.write("doc/forms.md", FILES["doc/forms.md"])
    assert status() == 0
    skills.write("pdf/assets/logo.bin", "x")
    assert status() == 1
    assert first.exists()


def test_what_is_served_of_a_skill_is_verified_with_it(skills: Skills) -> None:
    """Every file, also one that is no item and the signature itself; none after any change."""
    uri = "skill://project/pdf/SKILL.md"
    served = skills.registry().skill(uri).skill
    assert sorted(served.files) == sorted([*(path[4:] for path in FILES if path.startswith("pdf")), SKILL_SIGNATURE])
    assert list(served.unverified()) == []
    skills.write("pdf/assets/logo.bin", "evil")
    served = skills.registry().skill(uri).skill
    assert sorted(served.unverified()) == sorted(served.files)


def test_a_file_that_is_swapped_while_it_is_read_is_not_remembered(
    skills: Skills, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was opened must have the status that was listed: a folder put back later would else be taken for another."""
    root = skills.root
    evil, good = skills.folder / "pdf/assets", skills.sim.folder / "good"
    shutil.copytree(evil, good)
    (evil / "logo.bin").write_text("\0evil")
    from rye.spaces import contents

    scan = contents.scan_skill

    def swapping(*arguments: object) -> list[contents.ScannedFile]:
        found = list(scan(*arguments))  # type: ignore[arg-type]
        evil.rename(skills.sim.folder / "aside")
        good.rename(evil)
        return found

    monkeypatch.setattr(contents, "scan_skill", swapping)
    with pytest.raises(RyeError) as caught:
        read_signed(root, "pdf/SKILL.md")
    assert caught.value.code == "vanished"


def test_what_gh_writes_into_a_signed_skill_has_a_reason_of_its_own(tmp_path: Path) -> None:
    """One finding names the keys that break the signature; where another file was changed, it is another finding."""
    skills = Skills(tmp_path)
    stated = (
        "---\ndescription: Fill forms\nmetadata:\n    github-repo: https://github.com/a/b\nname: pdf\n---\n\n# PDF\n"
    )
    skills.write("pdf/SKILL.md", stated)
    findings = skills.registry().verify("directive:pdf", "tool:pdf/*").found
    assert [(entry.item.ref, entry.code) for entry in findings] == [("directive:pdf", "skill-rewritten")]
    assert "gh skill" in findings[0].reason
    skills.write("pdf/forms.md", "# Other\n")
    (finding,) = skills.registry().verify("directive:pdf").found
    assert finding.code == "skill-changed"
