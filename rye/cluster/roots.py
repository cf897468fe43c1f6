"""Where the items of a registry on a cluster come from: as the cluster says it, and as verdicts are judged.

A document says whose it is, and in which space, bundle and folder it lay. That is shown, and decides between copies;
no verdict is taken from it. Every item of a registry is judged as one of a project that is called as the address is:
the audience that is set here is demanded of all, and no trust file of a local project or bundle is about them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from rye._text import may_name_item
from rye.errors import SigningError
from rye.items.clients import (
    FIXED_FILES,
    OF_BUNDLES,
    OF_PROJECTS,
    OF_USERS,
    SKILL_FILE,
    SKILLS,
    ClientFolder,
    skills_of_another,
)
from rye.spaces.model import Root, Space
from rye.spaces.signed import ReadItem, parse_item
from rye.trust.list import BUNDLE_FILE, SKILL_SIGNATURE, ListedFile, Skill, SkillFolder, read_rows
from rye.trust.model import Coverage, Origin
from rye.trust.oms import read_bundle

NOWHERE: Final = Path(os.devnull) / "cluster"
"""The place of the roots of a cluster: no file can be there."""

_FOLDERS: Final[Mapping[tuple[str, str], ClientFolder]] = {
    (folder.place, folder.format): folder for folder in (SKILLS, *OF_BUNDLES, *OF_USERS, *OF_PROJECTS, FIXED_FILES)
}
_MAX_NAME: Final = 1_000
_UNKNOWN_FILES: Final = "whether the skill has other files is not known on a cluster"


class RootFacts(NamedTuple):
    """What a registry notes of a folder that items were published from.

    Attributes:
        owner: Whose items they are.
        space, bundle: As of :class:`rye.spaces.model.Root`.
        place, format: The folder of a client and the format of its files; empty for one with the three folders.
        prefix: As of :class:`rye.spaces.model.Root`.
    """

    owner: str
    space: str
    bundle: str
    place: str = ""
    format: str = ""
    prefix: str = ""

    @classmethod
    def of(cls, root: Root, owner: str) -> RootFacts:
        """Return the facts of a local root."""
        place, form = (root.client.place, root.client.format) if root.client else ("", "")
        return cls(owner, str(root.space), root.bundle, place, form, root.prefix)


@dataclass(frozen=True)
class ClusterRoot(Root):
    """A root on a cluster.

    Attributes:
        address: Of the registry; the only thing beside type and id that decides which keys count.
        owner: Shown where a registry has several owners, else empty.
    """

    address: str = ""
    owner: str = ""

    @cached_property
    def source(self) -> str:
        """That of a local root, with the owner behind it where there are several."""
        own = ":".join(filter(None, (str(self.space), self.bundle, self.folder)))
        return f"{own}@{self.owner}" if self.owner else own

    def origin(self, item_type: str, item_id: str, rel_path: str = "") -> Origin:
        """Return where an item counts as found: in a project called as the address, whatever the cluster says."""
        return super().origin(item_type, item_id, rel_path)._replace(space=str(Space.PROJECT), bundle=self.address)


def cluster_root(facts: RootFacts, address: str, *, owner: str = "") -> ClusterRoot:
    """Return the root that a registry notes.

    Args:
        facts: What the registry says.
        address: That of the registry.
        owner: Shown with its source.

    Raises:
        ValueError: The facts are none that rye would write.
    """
    for text in (facts.owner, facts.bundle, facts.prefix):
        if text and not _is_plain(text):
            message = f"{text[:80]!r} is not a name of a root"
            raise ValueError(message)
    client = None
    if facts.place or facts.format:
        client = _FOLDERS.get((facts.place, facts.format)) or skills_of_another(facts.place.partition("/")[0])
        if client is not None and (client.place, client.format) != (facts.place, facts.format):
            client = None
        if client is None:
            message = f"{facts.place[:80]!r} is not a folder of a client"
            raise ValueError(message)
    space = Space(facts.space)
    path = NOWHERE.joinpath(*filter(None, (owner, str(space), facts.bundle, facts.prefix)))
    path = path / (client.place if client else "")
    return ClusterRoot(space, path, facts.bundle, client=client, prefix=facts.prefix, address=address, owner=owner)


def read_roots(rows: Sequence[RootFacts | None], address: str) -> tuple[ClusterRoot | None, ...]:
    """Return the roots that a registry notes, by number.

    Raises:
        ValueError: They are none that rye would write.
    """
    several = len({facts.owner for facts in rows if facts}) > 1
    return tuple(
        None if facts is None else cluster_root(facts, address, owner=facts.owner if several else "") for facts in rows
    )


def _is_plain(text: str) -> bool:
    """Return whether a text can stand in a path below :data:`NOWHERE` and in a message."""
    parts = text.split("/")
    return text.isprintable() and len(text) <= _MAX_NAME and "\\" not in text and not {"", ".", ".."} & set(parts)


def read_document(
    root: Root, path: str, named: tuple[str, str], data: bytes, *, proof: bytes | None, skill: str
) -> ReadItem:
    """Return an item from the bytes that a cluster gave, with the evidence that these very bytes are.

    Args:
        root: Where the cluster says that it lay.
        path: Its path below that, which has to stand for the type and id given.
        named: Type and id.
        data: The bytes of its file.
        proof: Those of its signature file: ``NAME.sig``, or ``SKILL.sig`` or ``skill.oms.sig`` of its ``skill``.
        skill: The folder of the skill that it is signed with; empty for none.

    Raises:
        ItemError: The bytes are no item.
        ValueError: The place is none that rye would publish.
    """
    file = root.find(path) if _is_plain(path) and may_name_item(path) else None
    if file is None or (str(file.item_type), file.item_id) != named:
        message = f"{':'.join(named)} cannot lie at {path[:80]!r}"
        raise ValueError(message)
    detached: bytes | Skill | None = proof
    if skill:
        if not (root.has_skills and path.startswith(f"{skill}/") and proof is not None):
            message = f"{path[:80]!r} is not a file of a skill"
            raise ValueError(message)
        inner = path[len(skill) + 1 :]
        name = BUNDLE_FILE if proof.startswith(b"{") else SKILL_SIGNATURE
        detached = Skill(SkillFolder(skill, proof, _listed_files(name, proof, inner), name), inner)
    read = parse_item(data, root.origin(*named, path), path, detached=detached)
    evidence = read.evidence
    is_alone = root.has_skills and not skill and path.rpartition("/")[2] == SKILL_FILE
    if is_alone and not evidence.code and evidence.coverage is Coverage.WHOLE:
        # its line signs this file alone, and nothing here can show that the skill has no other
        evidence = evidence._replace(coverage=Coverage.SKILL_FILE, detail=_UNKNOWN_FILES)
    return read._replace(evidence=evidence)


def _listed_files(name: str, signature: bytes, path: str) -> tuple[ListedFile, ...]:
    """Return the files of a skill as its signed list names them, and the one at hand, whose bytes are judged.

    The others are not on the cluster; what it said of them would be its own word.
    """
    if name == BUNDLE_FILE:
        with suppress(SigningError):  # what is wrong with it, the evidence says
            return tuple(ListedFile(path, "100644", digest) for path, digest in read_bundle(signature).files.items())
    rows = read_rows(signature.partition(b"\n")[2])
    return tuple(({path: ListedFile(path, "100644", "")} | rows).values())
