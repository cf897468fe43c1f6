"""The twin of relations: every reference is held against every item by its words, and every step is a search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.support.naive_docs import SPACES

TYPES = ("directive", "tool", "knowledge")
FOLDERS = {"directives": "directive", "tools": "tool", "knowledge": "knowledge"}
EXTENSIONS = (".md", ".py", ".yaml", ".yml", ".json", ".toml", ".sh", ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs")

Key = tuple[str, str]


@dataclass(frozen=True)
class Written:
    """One reference in a file.

    Attributes:
        kind: What kind of edge it makes.
        text: As written.
        form: ``metadata``, ``typed``, ``slash``, ``span``, ``link`` or ``import``: where it stands.
        line: On which line.
    """

    kind: str
    text: str
    form: str
    line: int


@dataclass(frozen=True)
class File:
    """One item and what is written in it."""

    source: str
    key: Key
    path: str
    written: tuple[Written, ...]

    @property
    def name(self) -> str:
        """``type:id``."""
        return ":".join(self.key)


@dataclass(frozen=True)
class Edge:
    """One reference and what it may mean."""

    file: File
    written: Written
    means: tuple[Key, ...]


class NaiveRelations:
    """The relations of some files, those of higher spaces first."""

    def __init__(self, files: Sequence[File]) -> None:
        rank = {name: at for at, name in enumerate(SPACES)}
        self.files = sorted(files, key=lambda file: rank[file.source.partition(":")[0]])
        self.keys = sorted({file.key for file in files})
        first: dict[Key, str] = {}
        for file in self.files:
            first.setdefault(file.key, file.source)
        self.first = first
        self.edges = [edge for file in self.files for edge in self._edges_of(file)]

    def wins(self, file: File) -> bool:
        """Tell whether no higher space has the item."""
        return self.first[file.key] == file.source

    def _edges_of(self, file: File) -> Iterator[Edge]:
        for written in file.written:
            means, by_name = self._means(file, written)
            if written.kind in {"mentions", "imports"} and file.key in means:
                continue
            if written.form in {"slash", "span", "import"} and (not means or (by_name and len(means) > 1)):
                continue
            yield Edge(file, written, means)

    def _means(self, file: File, written: Written) -> tuple[tuple[Key, ...], bool]:
        for kind, how, text in self._readings(file, written):
            found = [
                key
                for key in self.keys
                if kind in ("", key[0]) and (key[1] if how == "id" else key[1].rpartition("/")[2]) == text
            ]
            if found:
                return tuple(found), how == "name"
        return (), False

    def _readings(self, file: File, written: Written) -> Iterator[tuple[str, str, str]]:
        """Yield ``(type or empty, id or name, text)`` in the order in which they are tried."""
        folder = file.key[1].rpartition("/")[0]
        text = written.text
        if written.form == "link":
            yield from self._path(f"{folder}/{text}" if folder else text, file.key[0])
        elif written.form == "span":
            yield from self._span(text, file.key[0], f"{folder}/" if folder else "")
        elif written.form == "import":
            if "/" in text:
                yield from self._path(f"{folder}/{text}" if folder else text, "tool")
                yield from self._path(f"{folder}/{text}/index" if folder else f"{text}/index", "tool")
            else:
                yield from self._module(text, folder)
        else:
            prefer = {"executor": "tool", "extends": file.key[0], "requires": file.key[0]}.get(written.kind, "")
            kind, colon, rest = text.partition(":")
            if colon:
                yield from self._forms(rest, folder if written.form == "metadata" else "", (kind,))
            else:
                place = folder if written.form == "metadata" else ""
                for reading in self._forms(text, place, (prefer, "") if prefer else ("",)):
                    if written.form == "metadata" or reading[1] == "id":
                        yield reading

    def _span(self, text: str, kind: str, folder: str) -> Iterator[tuple[str, str, str]]:
        stem = without_extension(text)
        if stem == text:
            yield from (each for each in self._forms(text, "", ("",)) if "." in text and each[1] == "id")
            yield "", "id", folder + text
        elif text.endswith(".md"):
            yield kind, "id", folder + stem  # only Markdown has such spans in the spaces of the test
            yield "directive" if kind == "knowledge" else "knowledge", "id", folder + stem
        elif text.endswith(".py"):
            yield "tool", "id", folder + stem
            yield "tool", "name", stem

    @staticmethod
    def _module(text: str, folder: str) -> Iterator[tuple[str, str, str]]:
        above = folder
        for _ in range(len(text) - len(text.lstrip(".")) - 1):
            if not above:
                return
            above = above.rpartition("/")[0]
        while True:
            yield "tool", "id", "/".join([*filter(None, [above]), *text.lstrip(".").split(".")])
            if not above or text.startswith("."):
                return
            above = above.rpartition("/")[0]

    @staticmethod
    def _path(path: str, kind: str) -> Iterator[tuple[str, str, str]]:
        parts: list[str] = []
        for part in path.split("/"):
            if part == "..":
                parts.pop()
            elif part != ".":
                parts.append(part)
        yield kind, "id", without_extension("/".join(parts))
        yield kind, "id", "/".join(parts)

    @staticmethod
    def _forms(text: str, folder: str, kinds: Sequence[str]) -> Iterator[tuple[str, str, str]]:
        top, _, below = text.partition("/")
        if "" in kinds and below and top in FOLDERS:
            yield FOLDERS[top], "id", without_extension(below)
            yield FOLDERS[top], "id", below
        forms = [text, without_extension(text)]
        if "/" not in text:
            forms += [text.replace(".", "/")]
            forms += [f"{folder}/{without_extension(text)}"] if folder else []
        for form in forms:
            for kind in kinds:
                yield kind, "id", form
        if "/" not in text:
            for kind in kinds:
                yield kind, "name", without_extension(text)

    # what is asked

    def orphans(self) -> set[tuple[str, str]]:
        """Return source and name of the files of items that no other item refers to."""
        referred = {key for edge in self.edges if self.wins(edge.file) for key in edge.means if key != edge.file.key}
        return {(file.source, file.name) for file in self.files if file.key not in referred}

    def dangling(self) -> set[tuple[str, str]]:
        """Return source and name of the files that refer to what is not there."""
        return {(edge.file.source, edge.file.name) for edge in self.edges if not edge.means}

    def references(self, key: Key) -> set[tuple[str, str]]:
        """Return source and name of the files that refer to an item."""
        return {(edge.file.source, edge.file.name) for edge in self.edges if key in edge.means}

    def referenced_by(self, key: Key) -> set[tuple[str, str]]:
        """Return source and name of the winning files of items that the winning copies of an item refer to."""
        named = {other for edge in self.edges if edge.file.key == key and self.wins(edge.file) for other in edge.means}
        return {(file.source, file.name) for file in self.files if file.key in named and self.wins(file)}

    def walk(self, key: Key, direction: str, depth: int) -> dict[tuple[str, str, str, int], int]:
        """Return each reference around an item, by who refers, kind, text and line, with its distance."""
        edges = [edge for edge in self.edges if self.wins(edge.file)]
        found: dict[int, int] = {}
        distance: Mapping[Key, int] = {key: 0}
        frontier = {key}
        for step in range(1, depth + 1):
            reached: set[Key] = set()
            for number, edge in enumerate(edges):
                out = direction != "in" and edge.file.key in frontier
                into = direction != "out" and bool(frontier & set(edge.means))
                if out or into:
                    found.setdefault(number, step)
                    reached |= (set(edge.means) if out else set()) | ({edge.file.key} if into else set())
            frontier = reached - distance.keys()
            distance = {**distance, **dict.fromkeys(frontier, step)}
        return {
            (edges[at].file.name, edges[at].written.kind, edges[at].written.text, edges[at].written.line): step
            for at, step in found.items()
        }


def without_extension(text: str) -> str:
    """Return a path without the extension of an item."""
    for extension in EXTENSIONS:
        stem = text.removesuffix(extension)
        if stem != text and stem and not stem.endswith("/"):
            return stem
    return text
