"""The roots of a registry on a cluster: where the cluster claims that items come from, and how they are judged.

A document names its owner, space, bundle and folder. These are shown and decide between copies, but no verdict depends
on them. Every item of a registry is judged as if it were in a project whose name is the registry's address: the
configured audience applies to all items, and trust files of local projects or bundles do not apply.
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
from rye.trust.model import Coverage
from rye.trust.oms import read_bundle

NOWHERE: Final = Path(os.devnull) / "cluster"
"""The path of the roots of a cluster; no file can exist there."""

_FOLDERS: Final[Mapping[tuple[str, str], ClientFolder]] = {
    (folder.place, folder.format): folder for folder in (SKILLS, *OF_BUNDLES, *OF_USERS, *OF_PROJECTS, FIXED_FILES)
}
_MAX_NAME: Final = 1_000
_UNKNOWN_FILES: Final = "whether the skill has other files is not known on a cluster"


class RootFacts(NamedTuple):
    """A registry's note about a folder that items were published from.

    Attributes:
        owner: The owner of the items.
        space, bundle: As in :class:`rye.spaces.model.Root`.
        place, format: The folder of a client and the format of its files; empty for a root of rye's three folders.
        prefix: As in :class:`rye.spaces.model.Root`.
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
        address: The address of the registry. Apart from type and id, only this decides which keys apply.
        owner: Set if the registry has several owners, else empty.
    """

    address: str = ""
    owner: str = ""

    @cached_property
    def source(self) -> str:
        """The source of a local root, followed by the owner if there are several."""
        own = ":".join(filter(None, (str(self.space), self.bundle, self.folder)))
        return f"{own}@{self.owner}" if self.owner else own

    @property
    def home(self) -> tuple[str, str]:
        """A project named like the address, whatever the cluster says."""
        return str(Space.PROJECT), self.address


def cluster_root(facts: RootFacts, address: str, *, owner: str = "") -> ClusterRoot:
    """Build the root that a registry describes.

    Args:
        facts: The registry's note.
        address: The address of the registry.
        owner: The owner to show in its source; empty for none.

    Raises:
        ValueError: rye would not write such facts.
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
    if client is not None and not f"/{facts.prefix}".endswith(f"/{client.place}".removesuffix("/.")):
        message = f"{facts.prefix[:80]!r} is not the path of a folder {facts.place}"
        raise ValueError(message)
    path = NOWHERE.joinpath(*filter(None, (owner, str(space), facts.bundle, facts.prefix)))
    return ClusterRoot(space, path, facts.bundle, client=client, prefix=facts.prefix, address=address, owner=owner)


def read_roots(rows: Sequence[RootFacts | None], address: str) -> tuple[ClusterRoot | None, ...]:
    """Build the roots of a registry, by number.

    Raises:
        ValueError: rye would not write such facts.
    """
    several = len({facts.owner for facts in rows if facts}) > 1
    return tuple(
        None if facts is None else cluster_root(facts, address, owner=facts.owner if several else "") for facts in rows
    )


def _is_plain(text: str) -> bool:
    """Return whether a text is safe in a path below :data:`NOWHERE` and in a message."""
    parts = text.split("/")
    return text.isprintable() and len(text) <= _MAX_NAME and "\\" not in text and not {"", ".", ".."} & set(parts)


def read_document(
    root: Root, path: str, named: tuple[str, str], data: bytes, *, proof: bytes | None, skill: str
) -> ReadItem:
    """Parse an item from the bytes that a cluster returned; the evidence is computed from these bytes.

    Args:
        root: The root that the cluster names.
        path: The path below it, which must match the type and id.
        named: Type and id.
        data: The bytes of its file.
        proof: The bytes of its signature file: ``NAME.sig``, or ``SKILL.sig`` or ``skill.oms.sig`` of its ``skill``.
        skill: The folder of the skill that it is signed with; empty for none.

    Raises:
        ItemError: The bytes are not an item.
        ValueError: rye would not publish an item at this place.
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
        # its line signs only this file, and nothing here can prove that the skill has no other files
        evidence = evidence._replace(coverage=Coverage.SKILL_FILE, detail=_UNKNOWN_FILES)
    return read._replace(evidence=evidence)


def _listed_files(name: str, signature: bytes, path: str) -> tuple[ListedFile, ...]:
    """Return the files on the signed list of a skill; the item itself is added if the list leaves it out.

    The other files are not on the cluster, and anything it said about them could not be verified.
    """
    if name == BUNDLE_FILE:
        with suppress(SigningError):  # the evidence reports what is wrong with it
            return tuple(ListedFile(path, "100644", digest) for path, digest in read_bundle(signature).files.items())
    rows = read_rows(signature.partition(b"\n")[2])
    return tuple(({path: ListedFile(path, "100644", "")} | rows).values())
