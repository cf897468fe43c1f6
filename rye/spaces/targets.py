"""Targets, the arguments of ``rye verify`` and ``rye sign``: paths, ``type:id`` references, or scopes."""

# ruff: noqa: PTH100, PTH110, PTH112 - links stay as they are, and pathlib raises for names that cannot be

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from glob import escape
from itertools import product
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import NamedTuple

from rye._files import real_path
from rye._text import composed, quote
from rye.errors import ArgumentError
from rye.items.clients import SKILL_FILE
from rye.items.model import TYPE_OF_FOLDER
from rye.items.names import named_by_format
from rye.items.scope import EVERY_SCOPE, parse_scope
from rye.spaces.classify import spelled_as
from rye.spaces.layout import Layout
from rye.spaces.model import FOLDER, SUFFIXES, ItemFile, Root, is_within
from rye.spaces.nested import ProjectsBelow, look_below
from rye.spaces.read import skill_of, written_link
from rye.spaces.snapshot import names
from rye.spaces.walk import aliased, list_items, own_path
from rye.trust.line import DETACHED_SUFFIX
from rye.trust.list import SKILL_SIGNATURES

NamedFile = tuple[Root, ItemFile, str]
"""A file to sign, and the folder of the skill that is signed as a whole with it; empty to sign the file alone."""

_NOTHING = ProjectsBelow(())
_WILD = re.compile(r"[*?\[]")
_PLAIN_ID = re.compile(r"[\w-]+(?:/[\w-]+)*")
"""A text that can be an id, and is neither a scope nor a path."""


class ItemPattern(NamedTuple):
    """The items of a type whose ids match a pattern; empty fields restrict nothing.

    Attributes:
        type: The type.
        id: The pattern of the id.
        format: The format of the file, such as ``skill``.
        source: The space, with its bundle if it has one.
    """

    type: str = ""
    id: str = "*"
    format: str = ""
    source: str = ""

    def accepts(self, root: Root, file: ItemFile) -> bool:
        """Return whether an item is one of these."""
        is_there = self.source in ("", ":".join(filter(None, (root.space, root.bundle))))
        is_such = self.format in ("", root.describe(file.rel_path)[0])
        return is_there and is_such and self.type in ("", file.item_type) and fnmatchcase(file.item_id, self.id)

    def may_accept(self, root: Root, path: str) -> bool:
        """Return whether a path of a root may be or contain such an item."""
        if root.client is not None or self.format:
            return root.client is not None
        folder, _, below = path.partition("/")
        item_id = os.path.splitext(below)[0]  # noqa: PTH122 - text, and below a root
        ids, prefix = f"{below}/" if below else "", _WILD.split(self.id, maxsplit=1)[0]
        is_type = self.type in ("", TYPE_OF_FOLDER.get(spelled_as(folder), ""))
        return is_type and (fnmatchcase(item_id, self.id) or ids.startswith(prefix) or prefix.startswith(ids))


EVERYTHING = (ItemPattern(),)


def may_name(targets: Iterable[Target], root: Root, path: str) -> bool:
    """Return whether any of some targets may name files at or below a path of a root."""
    return any(target.covers(root, path) for target in targets)


class Target(NamedTuple):
    """One argument: its text, the roots to look in, and the files in them that it names.

    Attributes:
        text: The argument.
        roots: The roots to look in.
        patterns: The items that it names.
        places: For a path, the file or folder that it names in each root; it names nothing else there.
        below: What the search for projects below a named folder found.
        whole_roots: The roots that it names entirely.
    """

    text: str
    roots: tuple[Root, ...]
    patterns: tuple[ItemPattern, ...] = EVERYTHING
    places: Mapping[Root, str] = MappingProxyType({})
    below: ProjectsBelow = _NOTHING
    whole_roots: tuple[Root, ...] = ()

    def accepts(self, root: Root, file: ItemFile) -> bool:
        """Return whether it names a file of a root."""
        if self.places:
            return is_within(f"{root.path}/{file.rel_path}", self.places[root])
        return self.patterns == EVERYTHING or any(pattern.accepts(root, file) for pattern in self.patterns)

    def covers(self, root: Root, path: str) -> bool:
        """Return whether it may name files at or below a path of a root."""
        if self.places:
            here, place = str(root.path / path), self.places[root]
            return is_within(here, place) or is_within(place, here)
        return self.patterns == EVERYTHING or any(pattern.may_accept(root, path) for pattern in self.patterns)


def read_targets(
    texts: tuple[str, ...], layout: Layout, space: str, *, without: Sequence[Path] | None = None
) -> tuple[Target, ...]:
    """Return the target of each text; without texts, one target for everything.

    Without texts, the projects below the project are included if ``without`` is a list of folders to exclude. If there
    is no project and ``space`` is ``project``, the projects below the working directory are included.

    A text is read as a reference if it starts with an item type or a format such as ``skill`` and a colon, or if it is
    an id with a slash and a ``*``. It is read as a path if it exists on disk or looks like a path; else as a scope or
    an id.

    Raises:
        ArgumentError: ``bad-scope``, ``bad-target`` or ``bad-exclude``.
    """
    given: tuple[object, ...] = texts
    wrong = [text for text in given if not (isinstance(text, str) and text.strip() and "\0" not in text)]
    if wrong:
        message = f"target is {wrong[0]!r}"
        raise ArgumentError("bad-target", message, hint="name a path, TYPE:ID, or a scope, each as a text of its own")
    if not texts:
        roots = layout.in_space(space)
        everything = Target("*", roots, whole_roots=roots)
        return (everything,) if without is None else (everything, _nested(layout, space, without))
    known = list(layout.roots)
    return tuple(_read(text, layout, space, known) for text in texts)


def _read(text: str, layout: Layout, space: str, known: list[Root]) -> Target:
    """Return the target of a text, and add the roots that only this text names to the known roots."""
    path, roots = Path(text), layout.in_space(space)
    if of_format := named_by_format(text):
        names = (name.name.partition(":") for name in of_format)
        known_by = of_format[0].format, of_format[0].source
        patterns = tuple(ItemPattern(kind, escape(composed(item_id)), *known_by) for kind, _, item_id in names)
        return Target(text, roots, patterns)
    kind, separator, item_id = composed(text).partition(":")
    if not (separator and kind in TYPE_OF_FOLDER.values()):
        kind, item_id = "", text if "/" in text and "*" in text and not os.path.exists(path) else ""
    if (item_id or kind) and "*" not in item_id and (alias := aliased(roots, [kind], item_id)):
        kind, item_id = alias[1].item_type, alias[1].item_id
    if item_id or kind:
        return Target(text, layout.in_space(space, [item_id]), (ItemPattern(kind, item_id),))
    if os.path.exists(path) or text.startswith((".", "/", "~")) or path.suffix in SUFFIXES:
        return _path_target(text, Path(os.path.expanduser(path)), known)
    try:
        scopes = parse_scope(text)
    except ArgumentError as error:
        if _PLAIN_ID.fullmatch(text) and not error.details.get("nearest"):
            return Target(text, layout.in_space(space, [text]), (ItemPattern("", composed(text)),))
        raise error.preceded(f"there is no file or folder {text!r}, and as a scope ") from None
    if scopes == EVERY_SCOPE:
        return Target(text, roots, whole_roots=roots)
    patterns = tuple(ItemPattern(scope.item_type, f"{escape(scope.prefix)}*") for scope in scopes)
    patterns += tuple(ItemPattern(scope.item_type, escape(scope.itself)) for scope in scopes if scope.itself)
    return Target(text, layout.in_space(space, [scope.prefix for scope in scopes]), patterns)


def _path_target(text: str, path: Path, known: list[Root]) -> Target:
    """Return the target of a path: its items if it is inside a known root, else a bundle or project of its own."""
    place = _as_on_disk(os.path.abspath(path))
    leads = place if os.path.islink(place) else written_link(place)  # noqa: PTH114 - never raises
    if leads and any(own_path(root, real_path(leads)) for root in known):
        place = real_path(leads)
    if os.path.isfile(item := place.removesuffix(DETACHED_SUFFIX)):  # noqa: PTH113 - never raises
        place = item
    elif Path(place).name in SKILL_SIGNATURES:
        place = os.fspath(Path(place).parent)
    if not os.path.lexists(place):
        message = f"there is no file or folder {text!r}"
        raise ArgumentError("bad-target", message, hint="name a path, TYPE:ID, or a scope such as tool.rye.*")
    if inside := _inside(place, known):
        whole = tuple(root for root in inside if os.path.abspath(root.path) == inside[root])
        return Target(text, tuple(inside), places=inside, whole_roots=whole)
    below = _below(path, known)
    if not (below.roots or below.problems):
        message = f"{text!r} is in none of the spaces, and no items lie below it"
        raise ArgumentError(
            "bad-target", message, hint="name a file below .ai or a bundle's root, or a bundle's folder"
        )
    known += [root for root in below.roots if root not in known]
    return _of_projects(text, below)


def _as_on_disk(path: str) -> str:
    """Return a path in the Unicode normalization used on disk; missing parts stay unchanged."""
    if path.isascii() or os.path.lexists(path):
        return path
    folder, name = os.path.split(path)
    folder = _as_on_disk(folder)
    name = next((candidate for candidate in names(folder) if composed(candidate) == composed(name)), name)
    return os.path.join(folder, name)  # noqa: PTH118 - text


def _inside(place: str, known: list[Root]) -> dict[Root, str]:
    """Return the roots that contain a path as written, else as resolved, each with the path below it."""
    if os.path.isdir(place):
        known = [root for root in known if root.client is None or root.client.place]
    written = {root: place for root in known if is_within(place, os.path.abspath(root.path))}
    if written:
        return written
    real = real_path(place)
    bases = {root: real_path(root.path) for root in known}
    return {
        root: os.path.normpath(root.path / os.path.relpath(real, base))
        for root, base in bases.items()
        if is_within(real, base)
    }


def files_to_sign(texts: tuple[str, ...], layout: Layout, space: str) -> tuple[list[NamedFile], list[str], list[str]]:
    """Return the files that the texts name, problems of listing them, and messages about skipped links out of a root.

    Each file is returned once. A link out of a root is a problem only if it was named; if the whole root is signed, it
    is skipped.

    Raises:
        ArgumentError: ``bad-target``, ``nothing-to-sign``, or as :func:`read_targets`.
    """
    layout = layout.with_files()
    targets = [(target, _signed_roots(target, layout)) for target in read_targets(texts, layout, space)]
    found = defaultdict[str, list[tuple[Root, ItemFile]]](list)
    missed, skipped = defaultdict[str, list[str]](list), dict[str, None]()
    for root in dict.fromkeys(root for _, roots in targets for root in roots):
        here = [target for target, roots in targets if root in roots]
        is_deep = root.client is not None and root.client.is_fixed
        listed, faults = list_items(root, only=partial(may_name, here, root) if is_deep else None)
        names_of = naming(here, root)
        for file in listed:
            for target in names_of(file):
                found[target.text].append((root, file))
        for fault, target in product(faults, here):
            if fault.code == "link-escape" and root in target.whole_roots:
                skipped[fault.message] = None
            elif target.covers(root, str(fault.details["path"])):
                missed[target.text].append(fault.message)
    files, exact = dict[tuple[str, str], tuple[Root, ItemFile, bool]](), set[tuple[str, str]]()
    problems: dict[str, None] = {}
    for target, _ in targets:
        path = os.path.abspath(os.path.expanduser(target.text))
        matches = found[target.text]
        said = [problem.message for problem in target.below.problems if not target.roots] + missed[target.text]
        problems |= dict.fromkeys(said)
        _refuse_unsignable(target, matches, layout, space, is_known=bool(said))
        for root, file in matches:
            name = root.source, file.rel_path
            is_alone = str(root.path / file.rel_path) == path and (name not in files or files[name][2])
            files[name] = root, file, is_alone
            if is_alone or target.text in (f"{file.item_type}:{file.item_id}", file.item_id):
                exact.add(name)
    return whole_skills(list(files.values()), exact), list(problems), list(skipped)


def _signed_roots(target: Target, layout: Layout) -> Sequence[Root]:
    """Return the roots of a target to sign in; projects below the layout's own are signed separately."""
    return [root for root in target.roots if root in layout.roots] or target.roots


def _refuse_unsignable(
    target: Target, matches: Sequence[tuple[Root, ItemFile]], layout: Layout, space: str, *, is_known: bool
) -> None:
    """Refuse a target that names nothing, though no problem says why, or something of another space."""
    roots = layout.in_space(space)
    if not (matches or is_known):
        if target.places and os.path.isfile(os.path.expanduser(target.text)):  # noqa: PTH113 - never raises
            message = f"{target.text!r} is no item: it lies in no folder of items"
            hint = f"rye import {quote(target.text)} copies it into {FOLDER}; or move it, such as to {FOLDER}/knowledge"
            raise ArgumentError("nothing-to-sign", message, hint=hint)
        message = f"nothing matches {target.text!r} in {space} space"
        filled = [root.source for root in roots if list_items(root)[0]]
        hint = layout.describe_empty(space, filled) or "rye list --format ids lists what there is"
        raise ArgumentError("nothing-to-sign", message, hint=hint)
    if outside := [root.source for root, _ in matches if root not in roots]:
        message = f"{target.text!r} lies in {outside[0]}, not in {space} space"
        raise ArgumentError("bad-target", message, hint="name items of the space given by --space")


def naming(targets: Iterable[Target], root: Root) -> Callable[[ItemFile], list[Target]]:
    """Return a function that returns which of some targets, all of this root, name a file of the root."""
    wide, placed = list[Target](), defaultdict[str, list[Target]](list)
    for target in targets:
        if target.places:
            placed[target.places[root]].append(target)
        else:
            wide.append(target)

    def names_of(file: ItemFile) -> list[Target]:
        candidates, path = list(wide), f"{root.path}/{file.rel_path}" if placed else ""
        while path:
            candidates += placed.get(path, ())
            path = path.rpartition("/")[0]
        return [target for target in candidates if target.accepts(root, file)]

    return names_of


def whole_skills(
    files: Sequence[tuple[Root, ItemFile, bool]], exact: Container[tuple[str, str]] = ()
) -> list[NamedFile]:
    """Return the files to sign: one per skill that is signed as a whole, and the rest.

    A skill is signed as a whole unless its file was named by its own path and has at most a signature line. Other named
    files in such a skill are covered by its signature and left out.

    Args:
        files: The files that are named, each with whether its own path names it.
        exact: Source and path of those that are named by path or id, not by a scope or pattern.

    Raises:
        ArgumentError: ``bad-target``: a file in a skill that is signed as a whole was named, but not the skill, and
            exactly or alone.
    """
    skills: dict[tuple[str, str], ItemFile] = {}
    for root, file, is_alone in files:
        folder, _, name = file.rel_path.rpartition("/")
        if root.has_skills and name == SKILL_FILE and not (is_alone and skill_of(root, file.rel_path) != folder):
            skills[root.source, folder] = file
    named, left_out = list[NamedFile](), list[ArgumentError]()
    for root, file, _ in files:
        folder = file.rel_path.rpartition("/")[0]
        is_skill = skills.get((root.source, folder)) == file
        above = [str(item) for item in PurePosixPath(folder if is_skill else file.rel_path).parents]
        if not is_skill and any((root.source, item) in skills for item in above):
            continue
        signed = skill_of(root, folder if is_skill else file.rel_path)
        if signed and (root.source, signed) not in skills:
            message = f"{file.rel_path} belongs to the skill {signed}, which is signed as a whole"
            left_out.append(ArgumentError("bad-target", message, hint=f"rye sign directive:{signed}"))
            if (root.source, file.rel_path) in exact:
                raise left_out[-1]
            continue
        named.append((root, file, folder if is_skill else ""))
    if left_out and not named:
        raise left_out[0]
    # inner skills first: their signatures are files of the outer skill
    return sorted(named, key=lambda item: -item[2].count("/"))


def _place(root: Root) -> tuple[str, str]:
    return real_path(root.path), root.client.format if root.client else ""


def _nested(layout: Layout, space: str, without: Sequence[Path]) -> Target:
    """Return the target of the projects below the project of a layout, without the layout's own roots."""
    folder = layout.project or (Path.cwd() if space == "project" else None)
    below = _NOTHING
    if folder is not None and space in ("project", "all"):
        for path in without:
            _check_excluded(path, folder, layout.in_space(space))
        known = set(map(_place, layout.roots))
        below = look_below(folder, taken={root.bundle for root in layout.roots}, without=without)
        new = (root for root in below.roots if root.space == "project" and _place(root) not in known)
        below = below._replace(roots=tuple(new))
    elif without:
        why = f"with --space {space}" if folder is not None or space != "all" else "without a project"
        message = f"--exclude has no effect: {why} no projects are looked for"
        raise ArgumentError("bad-exclude", message, hint="leave --exclude out, or verify with --space project")
    return _of_projects("*", below)


def _of_projects(text: str, below: ProjectsBelow) -> Target:
    """Return the target of all projects that were found below a folder."""
    return Target(text, below.roots, below=below, whole_roots=below.roots)


def _check_excluded(path: Path, folder: Path, roots: Sequence[Root]) -> None:
    """Refuse to exclude a path that is not searched for projects, or that is verified anyway."""
    here, base = os.path.abspath(path), os.path.abspath(folder)
    places = (os.path.abspath(root.path) for root in roots if root.client is None or root.client.place)
    own = [place for place in places if is_within(place, base)]
    if not (os.path.lexists(here) and is_within(here, base)):
        why = f"which is not in {str(folder)!r}"
    elif here == base:
        why = "in which projects are looked for; only a folder in it can be left out"
    elif any(is_within(here, place) for place in own):
        why = "which belongs to a space that is verified as a whole"
    else:
        return
    message = f"--exclude names {str(path)!r}, {why}"
    raise ArgumentError("bad-exclude", message, hint="name a folder below the project, or leave --exclude out")


def _below(path: Path, known: list[Root]) -> ProjectsBelow:
    """Return the known roots below a folder, and the other projects and bundles that are found there.

    A folder with a ``.ai`` is a project, whose keys the user must trust. A folder is a bundle, whose own keys are
    trusted for its items, only if it is a root under another name.
    """
    if not os.path.isdir(path):
        return _NOTHING
    written, real = os.path.abspath(path), real_path(path)
    around = {
        root: _place(root)
        for root in known
        if is_within(os.path.abspath(root.path), written) or is_within(real_path(root.path), real)
    }
    below = look_below(path, taken={root.bundle for root in known})
    new = [root for root in below.roots if _place(root) not in around.values()]
    return below._replace(roots=(*around, *new))
