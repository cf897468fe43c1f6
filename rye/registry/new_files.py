"""New items: templates to fill in, and copies of other files with metadata derived from their text."""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import NamedTuple

from rye._files import sweep, write_atomically
from rye._report import Report
from rye._text import quote
from rye.errors import ArgumentError, EnvironmentFault, ItemError
from rye.items.clients import OF_PROJECTS, OF_USERS
from rye.items.model import ItemType
from rye.items.reader import EXTENSIONS, MAX_BYTES, parse, split_name
from rye.spaces.discover import check_writable, project_root, user_root
from rye.spaces.layout import Layout
from rye.spaces.model import FOLDER, Root, Space
from rye.spaces.read import read_file
from rye.spaces.snapshot import tree
from rye.trust.evidence import disagreements

SKILL = "skill"
KINDS = (*map(str, ItemType), SKILL)
"""Kinds of templates."""

_ID = re.compile(r"[\w-][\w.-]*(?:/[\w-][\w.-]*)*")
_TODO = "Say in one sentence what this is for."
_SAME = {".yml": ".yaml", **dict.fromkeys((".mjs", ".cjs", ".jsx", ".ts", ".tsx"), ".js")}
"""Extension of a tool → the extension whose template it has."""

_TEXTS = {
    **dict.fromkeys((".md", ".markdown", ".rst", ".txt"), ""),
    **dict.fromkeys((".mdc", ".prompt", ".prompty"), "directive"),
}
"""Extension of an imported text → the item type it becomes; empty if its name and text decide."""

_INSTRUCTIONS = re.compile(r"(?:.*\.(?:prompt|instructions)|SKILL|AGENTS|CLAUDE|GEMINI)\.md")
_BLOCK = re.compile(r"(?:---[ \t]*|```ya?ml[ \t]*)\r?\n.*?^(?:---|```)[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_OWN_NAME = re.compile(r"^((?:tool_|item_|directive_)?(?:name|id|category|type))(?=[ \t]*:)", re.MULTILINE)
_OVERLINE = re.compile(r"\A\s*([^\w\s])\1{2,}[ \t]*\n")
"""The line above a title in reStructuredText. The line below it is also valid Markdown."""

_NO_FILE = "it is a link or no file; name what a link leads to"
_SKIPPED = {"node_modules", "venv", "site-packages"}


class NewFile(NamedTuple):
    """A file to write: its path below the target folder, its bytes, and ``type:id`` if it is an item."""

    rel_path: str
    data: bytes
    ref: str = ""


@dataclass(frozen=True, slots=True)
class WrittenFile(Report):
    """A file, and the action taken or planned: ``written``, ``extended``, or ``kept`` because it already exists."""

    path: str
    ref: str
    action: str


@dataclass(frozen=True, slots=True)
class NewFiles(Report):
    """The files written, or in a dry run to be written, and warnings about those left out."""

    files: tuple[WrittenFile, ...]
    warnings: tuple[str, ...] = ()


def template(name: str) -> str:
    """Return a file of ``rye/registry/templates``."""
    return Path(__file__).with_name("templates").joinpath(name).read_text(encoding="utf-8")


def project_folder(layout: Layout) -> Path:
    """Return the absolute folder of the project; without one, that of the git repository, else the working directory.

    Raises:
        EnvironmentFault: ``unusable-project``: it is the home folder, whose ``.ai`` is the user space.
    """
    if layout.project is not None:
        return Path(os.path.abspath(layout.project))  # noqa: PTH100 - links stay
    working_folder, home = Path.cwd(), os.path.realpath(layout.user.parent)
    above = (parent for parent in (working_folder, *working_folder.parents) if os.path.realpath(parent) != home)
    folder = next((parent for parent in above if os.path.lexists(parent / ".git")), working_folder)
    if os.path.realpath(folder) == home:
        message = f"{quote(str(folder))} is the home folder, whose {FOLDER} is your user space and no project"
        raise EnvironmentFault(
            "unusable-project", message, hint="go into a folder of your own, or name it by --project"
        )
    return folder


def _base(layout: Layout, space: str) -> Root:
    """Return the root below which files are written: the project's folder or the home folder.

    Raises:
        EnvironmentFault: ``unsafe-owner``, ``project-elsewhere`` or ``unusable-project``.
    """
    folder = layout.user.parent if space == Space.USER else project_folder(layout)
    check_writable(user_root(folder) if space == Space.USER else project_root(folder))
    return Root(Space(space), folder)


def write_files(base: Root, files: Iterable[NewFile], *, dry_run: bool = False) -> tuple[WrittenFile, ...]:
    """Write the files that do not exist yet, after checking that no path leads out of the folder through a link.

    Raises:
        ItemError: ``link-escape``.
        EnvironmentFault: ``unsafe-owner``, or a file cannot be written.
    """
    existence = {file: os.path.lexists(base.path / file.rel_path) for file in files}
    check_writable(base, (file.rel_path for file, exists in existence.items() if not exists))
    for file in existence:
        check_place(base, file.rel_path)
    for file, exists in existence.items():
        if not (exists or dry_run):
            _write(base, file)
    return tuple(
        WrittenFile(str(base.path / file.rel_path), file.ref, "kept" if exists else "written")
        for file, exists in existence.items()
    )


def check_place(root: Root, rel_path: str) -> None:
    """Raise an error if a link leads the existing part of a path out of the space."""
    place = root.path / rel_path
    existing = next(folder for folder in place.parents if os.path.lexists(folder))
    try:
        inside = root.path.is_relative_to(existing) or existing.resolve().is_relative_to(root.path.resolve())
    except (OSError, RuntimeError):  # a cycle of links
        inside = False
    if not inside:
        raise ItemError("link-escape", f"{rel_path} would lie outside its space", hint="remove the link above it")


def _write(root: Root, file: NewFile) -> None:
    """Write a new file below a root, not through a link; accept an identical file that was created meanwhile."""
    place = root.path / file.rel_path
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        check_place(root, file.rel_path)
        sweep(place.parent)
        write_atomically(place, file.data, replace=False)
    except FileExistsError:
        if not place.is_file() or read_file(root, file.rel_path) != file.data:
            message = f"{root.source} has another file {file.rel_path}"
            raise ItemError("copy-exists", message, hint="remove or rename it first; nothing is overwritten") from None
    except OSError as error:
        message = f"{file.rel_path} cannot be written to {root.source}: {error.strerror}"
        raise EnvironmentFault("copy-failed", message, hint="check permissions and free space") from None


def new_item(
    layout: Layout,
    kind: str,
    name: str,
    *,
    title: str = "",
    description: str = "",
    space: str = "project",
    dry_run: bool = False,
) -> NewFiles:
    """Write a template for a new item; never overwrite a file.

    Args:
        layout: The spaces.
        kind: ``directive``, ``tool``, ``knowledge`` or ``skill``.
        name: Its id; a tool is of the kind that the extension says, Python if it has none.
        title: What a search shows first; by default made from the name.
        description: What it is for, in one sentence.
        space: ``project`` or ``user``.
        dry_run: Only report what would be written.

    Raises:
        ArgumentError: ``bad-id``, or ``bad-name`` for a text that is not one line.
        ItemError: ``copy-exists`` or ``link-escape``.
        EnvironmentFault: The space is not safe to write to.
    """
    wrong = next((text for text in (title, description) if not text.isprintable()), "")
    if wrong:
        raise ArgumentError("bad-name", f"{wrong!r} is not one line of text", hint="write it without line breaks")
    stem, suffix = os.path.splitext(name)  # noqa: PTH122 - an id
    known = EXTENSIONS[ItemType.TOOL] if kind == ItemType.TOOL else {".md"}
    if kind == ItemType.TOOL and suffix not in known and suffix[1:].isalpha():
        hint = f"a tool has one of these extensions: {', '.join(sorted(known))}; without one it is Python"
        raise ArgumentError("bad-id", f"{name!r} cannot be the name of a tool", hint=hint)
    usual = ".py" if kind == ItemType.TOOL else ".md"
    item_id, suffix = (stem, suffix) if suffix in known else (name, usual)
    if not _ID.fullmatch(item_id) or item_id.rpartition("/")[2].startswith("_") or (kind == SKILL and "/" in item_id):
        hint = "write letters, digits, - and _; folders before a slash, as ops/rollback; a skill has none"
        raise ArgumentError("bad-id", f"{name!r} cannot be the name of a {kind}", hint=hint)
    base = _base(layout, space)
    words = re.split(r"[-_.]+", item_id.rpartition("/")[2])
    heading = title or " ".join(words).strip().capitalize()
    line = description or _TODO
    text = Template(template(f"{kind}{_SAME.get(suffix, suffix)}.txt")).substitute(
        name=item_id,
        title=json.dumps(heading, ensure_ascii=False),
        description=json.dumps(line, ensure_ascii=False),
        heading=heading,
        line=line,
    )
    rel_path = _skill_path(layout, base, item_id) if kind == SKILL else _path(ItemType(kind), item_id, suffix)
    ref = f"{ItemType.DIRECTIVE if kind == SKILL else kind}:{item_id}"
    files = write_files(base, [NewFile(rel_path, text.encode(), ref)], dry_run=dry_run)
    if files[0].action == "kept":
        message, hint = f"{quote(files[0].path)} is there already", "choose another name; nothing is overwritten"
        raise ItemError("copy-exists", message, hint=hint)
    return NewFiles(files)


def _skill_path(layout: Layout, base: Root, name: str) -> str:
    """Return the path for a new skill: in the first existing folder of skills, else in ``.agents/skills``."""
    known = [
        folder.place for folder in (OF_USERS if base.space is Space.USER else OF_PROJECTS) if folder.format == SKILL
    ]
    existing = [root.client.place for root in layout.in_space(base.space) if root.client and root.client.place in known]
    return f"{(existing or known)[0]}/{name}/SKILL.md"


def _path(item_type: ItemType, item_id: str, suffix: str) -> str:
    return f"{FOLDER}/{item_type.folder}/{item_id}{suffix}"


def import_files(
    layout: Layout,
    sources: Sequence[Path],
    *,
    as_type: str | None = None,
    namespace: str | None = None,
    space: str = "project",
    dry_run: bool = False,
) -> NewFiles:
    """Copy files into ``.ai``: texts as knowledge or directives, scripts as tools. Never overwrite a file.

    Args:
        layout: The spaces.
        sources: Files, and folders from which every suitable file is imported.
        as_type: The type of all imported texts; None to decide by name and content.
        namespace: The folder of the new ids; None for the name of each given folder.
        space: ``project`` or ``user``.
        dry_run: Only report what would be written.

    Raises:
        ArgumentError: ``bad-path``, ``bad-id``, or ``nothing-to-import`` if no file can be an item.
        ItemError: ``link-escape``.
        EnvironmentFault: The space is not safe to write to.
    """
    if namespace and not _ID.fullmatch(namespace):
        raise ArgumentError("bad-id", f"{namespace!r} cannot be a folder of ids", hint="write it as ops/notes")
    base, left_out = _base(layout, space), LeftOut()
    new = plan_import(sources, left_out, as_type=as_type, namespace=namespace)
    if not new:
        hint = f"texts are {', '.join(_TEXTS)}; scripts are .py, .sh, .js, .ts and the like"
        message = f"no file of {', '.join(quote(str(source)) for source in sources)} can be an item"
        raise ArgumentError("nothing-to-import", message, hint=hint, problems=list(left_out.notes()))
    return NewFiles(write_files(base, new, dry_run=dry_run), tuple(left_out.notes()))


class LeftOut(defaultdict[str, list[str]]):
    """The files that are not imported, by reason."""

    def __init__(self) -> None:
        super().__init__(list)

    def notes(self) -> Iterator[str]:
        """Yield a sentence for each reason."""
        for why, names in self.items():
            yield f"left out: {names[0]}{f' and {len(names) - 1} more' * (len(names) > 1)}: {why}"


def plan_import(
    sources: Sequence[Path], left_out: LeftOut, *, as_type: str | None = None, namespace: str | None = None
) -> list[NewFile]:
    """Return the items to write for some files or folders, one for each new path.

    Raises:
        ArgumentError: ``bad-path``.
    """
    new: dict[str, NewFile] = {}
    for source in sources:
        if not os.path.lexists(source):
            message = f"there is no file or folder {quote(str(source.absolute()))}"
            raise ArgumentError("bad-path", message, hint="check the path")
        prefix = namespace if namespace is not None else source.name if source.is_dir() else ""
        for path, parts in _files(source, left_out):
            try:
                new_file = _as_item(path, [*filter(None, prefix.split("/")), *parts], as_type)
            except ItemError as error:
                left_out[error.message].append(str(path))
                continue
            if new.setdefault(new_file.rel_path, new_file).data != new_file.data:
                left_out["another file becomes the same item"].append(str(path))
    return list(new.values())


def _files(source: Path, left_out: LeftOut) -> Iterator[tuple[Path, list[str]]]:
    """Yield a file, or each file of a folder, with the parts of its path; skip links, hidden files and packages."""
    is_folder = source.is_dir() and not source.is_symlink()
    below = tree(str(source), lambda path: _is_left_out(path.rpartition("/")[2])) if is_folder else ()
    paths = [source / entry[0] for entry in below if not isinstance(entry, OSError) and not _is_left_out(entry[1].name)]
    for path in paths if is_folder else [source]:
        if path.is_symlink() or not path.is_file():
            left_out[_NO_FILE].append(str(path))
        else:
            yield path, list(path.relative_to(source if is_folder else source.parent).parts)


def _is_left_out(name: str) -> bool:
    return name[0] in "._" or name in _SKIPPED


def _as_item(path: Path, parts: Sequence[str], as_type: str | None) -> NewFile:
    """Return the item to write for a file.

    Raises:
        ItemError: The file cannot be an item.
    """
    suffix, *folders = path.suffix.lower(), *parts[:-1]
    is_script = bool(split_name(ItemType.TOOL, path.name)[0]) and suffix not in {".json", ".toml", ".yaml", ".yml"}
    is_named = path.name == "SKILL.md" and folders
    last = folders.pop() if is_named else re.sub(r"\.(?:prompt|instructions)$", "", path.stem)
    item_id = "/".join(filter(None, (re.sub(r"[^\w.-]+", "-", part).strip("-._") for part in (*folders, last))))
    if not item_id or (suffix not in _TEXTS and not is_script):
        raise _unfit("it is not a text or script that can be an item")
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise _unfit(f"it cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise _unfit("it is not UTF-8") from None
    if not text.strip() or len(data) > MAX_BYTES or "\0" in text:
        raise _unfit("it is empty, larger than 1 MiB, or no text")
    if is_script:
        return NewFile(_path(ItemType.TOOL, item_id, suffix), data, f"{ItemType.TOOL}:{item_id}")
    instructs = _INSTRUCTIONS.fullmatch(path.name) or "<directive " in text
    kind = ItemType(as_type or _TEXTS[suffix] or ("directive" if instructs else "knowledge"))
    filled = with_metadata(_OVERLINE.sub("", text) if suffix == ".rst" else text, kind, item_id)
    return NewFile(_path(kind, item_id, ".md"), filled.encode(), f"{kind}:{item_id}")


def _unfit(why: str) -> ItemError:
    return ItemError("not-an-item", why)


def with_metadata(text: str, item_type: ItemType, item_id: str) -> str:
    """Return a Markdown text with a title and description derived from it, unless it has metadata already.

    If its metadata contradict its new name or place, the old values are kept as ``imported_name`` and so on.
    """
    item = parse(text.encode(), item_type=item_type, item_id=item_id, suffix=".md")
    if item.metadata:
        block = _BLOCK.search(text)
        if block is None or not disagreements(item.declared, str(item_type), item_id):
            return text
        named = item.declared.get("name", "")
        title = f"\ntitle: {json.dumps(named, ensure_ascii=False)}" if named and not item.title else ""
        head = _OWN_NAME.sub(r"imported_\1", block[0])
        return text[: block.start()] + head.replace("\n", f"{title}\n", 1) + text[block.end() :]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    is_heading = len(lines) > 1 and len(lines[0]) <= 80 and not lines[0].endswith((".", ",", ":", ";"))
    plain = lines[0].lstrip("#*- ").rstrip("*") if is_heading else ""
    words = item_id.rpartition("/")[2].replace("-", " ").replace("_", " ")
    title, description = item.title or plain or words.capitalize(), item.description or lines[0][:300]
    fields = {"title": title, "description": description}
    head = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in fields.items())
    return f"---\n{head}---\n\n{text}"
