"""Trust files that cannot be read, and links in the place of their folders: nothing counts more for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from rye import Registry, SigningError
from rye.cli import main
from rye.errors import EnvironmentFault, NotFoundError
from rye.keyring.trust import Trust
from rye.spaces.layout import Layout
from rye.trust.trust_file import trust_file_bytes, trust_file_name
from rye.trust.trust_store import TRUSTED_FOLDER
from tests.support.files import lay
from tests.support.signed import ANN, EVE, PAT, key
from tests.support.spacesim import SpaceSim

HELLO = "tools/demo/hello.py"
TEXT = '"""Say hello."""\n\n__version__ = "1.0.0"\n__category__ = "demo"\n'
SHOP = key("shop")


@pytest.fixture
def sim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SpaceSim:
    """A project of ann's and a bundle of shop's, each with one tool."""
    sim = SpaceSim(tmp_path)
    sim.add("project", HELLO, TEXT)
    sim.add("system:shop", "tools/demo/sold.py", TEXT)
    monkeypatch.setenv("USER_SPACE", str(sim.user))
    monkeypatch.chdir(sim.project)
    return sim


def code(sim: SpaceSim, ref: str = "tool:demo/sold", **options: object) -> str:
    """Return the code of an item, which search, its index, load, verify and the command line agree on."""
    registry: Registry = sim.registry(**options)
    (hit,) = [hit for hit in registry.search("*", limit=1000).results if f"{hit.type}:{hit.id}" == ref]
    verdict = str(hit.signature.verdict)
    assert ref in {f"{each.type}:{each.id}" for each in registry.search(f"is:{verdict}", limit=1000).results}
    assert registry.get(f"{hit.type}:{hit.id}").signature == hit.signature
    (item,) = registry.verify(ref).items
    assert item.signature == hit.signature
    return hit.signature.code


def damage_by(content: bytes) -> Callable[[Path], object]:
    """Return what writes something else into a file."""
    return lambda path: path.write_bytes(content)


def to_folder(path: Path) -> None:
    """Put a folder in the place of a file."""
    path.unlink()
    path.mkdir()


def to_link(path: Path) -> None:
    """Put a link that leads nowhere in the place of a file."""
    path.unlink()
    path.symlink_to("nowhere")


def mistype(path: Path) -> None:
    """Mistype the word that revokes."""
    path.write_bytes(path.read_bytes().replace(b"revoked", b"revokd"))


DAMAGES = {
    "emptied": damage_by(b""),
    "no TOML": damage_by(b"revoked = "),
    "no text": damage_by(b"\xff"),
    "too long": damage_by(b"#" * 70_000),
    "mistyped": mistype,
    "a folder": to_folder,
    "a link": to_link,
}


def says_so_everywhere(sim: SpaceSim, path: Path, *options: str) -> None:
    """Check that every command and call fails with the same error, which names a file or folder."""
    registry = sim.registry(trust=options[1:])
    for call in (registry.verify, partial(registry.search, "hello"), partial(registry.get, "tool:demo/hello")):
        with pytest.raises((SigningError, EnvironmentFault)) as caught:
            call()
        assert str(path) in caught.value.message
    for words in (["verify"], ["search", "hello"], ["show", "tool:demo/hello"]):
        assert main([*words, *options]) == 2


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_revocation_that_cannot_be_read_does_not_let_its_key_count_again(
    sim: SpaceSim, damage: Callable[[Path], object]
) -> None:
    """The user revoked the key of a bundle; the bundle still ships it. Nothing is judged until the file is whole."""
    path = sim.revoke(SHOP)
    assert code(sim) == "revoked"
    damage(path)
    says_so_everywhere(sim, path)
    if path.is_dir():
        path.rmdir()
    else:
        path.unlink()
    sim.revoke(SHOP)
    assert code(sim) == "revoked"


def test_a_file_that_may_not_be_opened_is_an_error(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may open everything, so the refusal is put in."""
    path, real = sim.trust(SHOP), Path.open

    def refuse(self: Path, *args: object, **options: object) -> object:
        if self == path:
            raise PermissionError(13, "Permission denied")
        return real(self, *args, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", refuse)
    says_so_everywhere(sim, path)


@pytest.mark.parametrize("where", ["user", "named", "folder", "link"])
def test_a_broken_file_of_no_known_key_is_an_error(sim: SpaceSim, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may revoke any key. A stranger's project cannot have it so: its file is named and left out."""
    lay(sim.root("project") / TRUSTED_FOLDER, {"pat.toml": "revoked"})
    assert main(["verify", "--space", "project"]) == 0
    assert any("pat.toml is left out" in text for text in sim.registry().search("hello").warnings)
    options: list[str] = []
    broken = sim.root("user") / TRUSTED_FOLDER
    if where == "user":
        lay(broken, {"pat.toml": "revoked"})
    elif where == "named":
        broken = lay(sim.folder / "team", {"pat.toml": "revoked"})
        options = ["--trust", str(broken)]
    elif where == "link":
        mine = sim.root("user") / "config"
        mine.rename(sim.folder / "elsewhere")
        mine.symlink_to(sim.folder / "gone")
        options = ["--trust", str(sim.folder / "elsewhere" / "keys" / "trusted")]
    else:
        real = Path.iterdir

        def refuse(self: Path) -> object:
            if self == broken:
                raise PermissionError(13, "Permission denied")
            return real(self)

        monkeypatch.setattr(Path, "iterdir", refuse)
    says_so_everywhere(sim, broken, *options)


def trust_of(sim: SpaceSim) -> Trust:
    """The trust files of a simulation."""
    return Trust(Layout.find(project=sim.project, user=sim.user, bundles=tuple(sim.bundles.values())))


def test_a_file_that_cannot_be_read_is_not_written_over(sim: SpaceSim) -> None:
    """It may revoke: nothing is added, removed or listed until the user has looked at it."""
    path = sim.revoke(SHOP)
    path.write_bytes(b"revoked")
    trust = trust_of(sim)
    fingerprint = SHOP.public.fingerprint
    plans: list[Callable[[], object]] = [partial(use, fingerprint) for use in (trust.add, trust.remove, trust.revoke)]
    for plan in (trust.list, *plans):
        with pytest.raises(SigningError) as caught:
            plan()
        assert (caught.value.code, path.read_bytes()) == ("trust-file", b"revoked")
        assert str(path) in caught.value.message


# Links


@pytest.mark.parametrize("level", ["config/keys/trusted", "config/keys", "config", "."])
def test_no_trust_command_writes_to_the_user_through_a_linked_folder(sim: SpaceSim, level: str) -> None:
    """A project lays a link to the user's folder; whoever adds a key to that project would make an anchor of it."""
    link, mine = sim.root("project") / level, sim.root("user") / level
    trust, pat = trust_of(sim), str(sim.folder / "pat.pem")
    if level == ".":
        link.rename(sim.folder / "aside")
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(mine)
    sim.trust(EVE, owner="eve")
    folder = sim.root("user") / TRUSTED_FOLDER
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    lay(sim.folder, {"pat.pem": PAT.public.pem})
    through = sim.root("project") / TRUSTED_FOLDER / trust_file_name(EVE.public)
    for write in (
        partial(trust.add, pat, space="project"),
        partial(trust.add, pat, space="project", replace=True),
        partial(trust.revoke, pat, space="project"),
        partial(trust.revoke, EVE.public.fingerprint, space="project"),
        partial(trust.remove, EVE.public.fingerprint, space="project", force=True),
    ):
        with pytest.raises((SigningError, EnvironmentFault)) as caught:
            write()
        assert caught.value.code == ("project-elsewhere" if level == "." else "not-a-file")
    with pytest.raises((NotFoundError, EnvironmentFault)):
        trust.endorse(str(through), ANN)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("source", ["project", "system:shop"])
def test_what_a_link_leads_to_is_no_trust_file_of_the_place(sim: SpaceSim, source: str) -> None:
    """Neither a folder nor a file; of the user's own, both are."""
    away = lay(sim.folder / "away", {trust_file_name(PAT.public): trust_file_bytes(PAT.public, owner="p")})
    folder = sim.root(source) / TRUSTED_FOLDER
    for path in folder.glob("*"):
        path.rename(away / path.name)
    if folder.exists():
        folder.rmdir()
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.symlink_to(away)
    report = trust_of(sim).list()
    assert ("bundle" if ":" in source else source, source.partition(":")[2]) not in {
        (row.scope, row.bundle) for row in report.keys
    }
    assert any("leads out of" in text for text in report.warnings)
    folder.unlink()
    folder.mkdir()
    (folder / trust_file_name(PAT.public)).symlink_to(away / trust_file_name(PAT.public))
    assert any("leads out of" in text for text in trust_of(sim).list().warnings)
    mine = sim.root("user") / TRUSTED_FOLDER
    mine.rename(sim.folder / "dotfiles")
    mine.symlink_to(sim.folder / "dotfiles")
    assert code(sim, "tool:demo/hello") == "ok"
    assert "user" in {row.scope for row in trust_of(sim).list().keys}
