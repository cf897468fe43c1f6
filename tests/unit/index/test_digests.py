"""The arrays of a fixed corpus keep the bytes they have: every change of code that is not meant to change them is held.

A digest may change only together with the format: raise ``FORMAT_VERSION`` of :mod:`rye.index.container` (for vectors,
``RECIPE`` of :mod:`rye.index.chunks`) so that indexes of older versions are made anew, then write the digests with
``python -m tests.unit.index.test_digests`` and say in the commit what changed. A new release of PyStemmer may change
``stem.*`` as well. Nothing else is a reason.

A digest is of dtype, shape and bytes of a named array. Segments, verdicts and vectors hold no inodes and no times of
files, so all of their arrays are compared; the list of files, which holds both, is not. Of what is compressed, the
unpacked bytes count: builds of zlib differ in what they write. That several processes write what one writes is held by
``test_parallel_build.py``.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import struct
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rye import Registry
from rye.trust.model import EnvelopeFormat
from tests.support.signed import BEA, EVE
from tests.support.spacesim import SpaceSim, furnish, no_own_items

DIGESTS = Path(__file__).resolve().parents[2] / "assets" / "segment-digests.json"

_TEXT = (
    "the a of to and in is for deploy deploys deployed deploying service snapshot restore index query token signature "
    "key trust verify registry search file files folder path thread orchestrator schedule queue worker cluster node "
    "region network cache memory disk volume archive release version branch commit merge review test build pipeline "
    "read_file write-file sendEmail HTTPServer2 node.js C++ v1.2.3 2026-03-01 10.0.0.1 x86_64 don't e-mail "
    "Straße Wörter über naïve café İstanbul ΣΊΣΥΦΟΣ привет мир 日本語 検索 한국어 عربى שלום ﬁne １２３ emoji🙂 Ǆ"
)
WORDS = _TEXT.split()

MERGED = ("merged/project/segment", "merged/project/verdicts", "merged/project/vectors")
"""What is compared after a merge."""


class Axes:
    """Embeds a text as four equal numbers in places that its digest chooses: every machine computes the same rows."""

    model = "axes:1"
    dimensions = 64
    threshold = 0.1

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return a row for each text."""
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in enumerate(texts):
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
            rows[row, [16 * part + digest[part] % 16 for part in range(4)]] = 0.5
        return rows


class Prose:
    """Running text of fixed words: the same for the same seed, with every version of Python."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - only ``random()``, whose sequence Python promises to keep

    def below(self, bound: int) -> int:
        """Return a number below a bound, small ones more often."""
        return int(bound * self._random.random() ** 2)

    def words(self, count: int) -> str:
        """Return some words, twenty to a line."""
        drawn = [WORDS[self.below(len(WORDS))] for _ in range(count)]
        return "\n".join(" ".join(drawn[at : at + 20]) for at in range(0, count, 20))


def tool(number: int, prose: Prose) -> tuple[str, str]:
    """Return path and content of a tool: Python, shell, YAML or TypeScript."""
    summary, name = prose.words(8), f"ops/sub{number % 5}/tool_{number}"
    match number % 4:
        case 0:
            facts = f'__version__ = "1.{number}.0"\n__tags__ = ["io", "t{number % 7}"]\n__executor_id__ = "ops/run"\n'
            body = f"def work_{number}(path):\n    # {prose.words(30)!r}\n    return path\n\n\nclass Runner{number}:\n"
            return f"tools/{name}.py", f'"""{summary}"""\n\n{facts}\n\n{body}    """See tool:ops/sub1/tool_1."""\n'
        case 1:
            return f"tools/{name}.sh", f"#!/bin/sh\n# {summary}\necho {prose.words(12)!r} | tee ops/sub2/tool_2\n"
        case 2:
            facts = f"version: {number}.0\ndescription: {summary}\nextends: base\nconfig:\n  retries: 3\n"
            return f"tools/{name}.yaml", f"name: tool_{number}\n{facts}  nested: {{deep: [1, two, null, 3.5]}}\n"
        case _:
            return f"tools/{name}.ts", f"// {summary}\nexport function call{number}(): void {{}}\n"


def directive(number: int, prose: Prose) -> tuple[str, str]:
    """Return path and content of a directive."""
    metadata = f"<description>{prose.words(9)}</description>\n    <category>agents/c{number % 3}</category>\n"
    metadata += f"    <author>author{number % 4}</author>\n    <model tier='m{number % 2}'/>\n"
    steps = f"  <process>\n    <step name='s'><tool>ops/sub{number % 5}/tool_{number}</tool></step>\n  </process>\n"
    inner = f"  <metadata>\n    {metadata}  </metadata>\n{steps}"
    xml = f'<directive name="do_{number}" version="2.{number}.0">\n{inner}</directive>'
    return f"directives/agents/do_{number}.md", f"# Do {number}\n\n{prose.words(25)}\n\n```xml\n{xml}\n```\n"


def note(number: int, prose: Prose) -> tuple[str, str]:
    """Return path and content of an entry of knowledge; every 40th is long."""
    long = number % 40 == 0
    facts = {
        "title": f"Note {number} {prose.words(3)}",
        "tags": f"[note, n{number % 9}, Größe]",
        "references": f"[knowledge:notes/n{number + 1}, ops/sub1/tool_1.py, gone-{number}]",
        "updated": f"2026-0{1 + number % 9}-1{number % 10}",
        "priority": str(number % 11),
        **({"status": "superseded", "superseded_by": "notes/n1"} if number % 13 == 0 else {}),
        **({"deprecated": "true"} if number % 17 == 0 else {}),
        **({"created": "2025-12-31T23:59:59Z"} if number % 3 else {}),
    }
    front = "".join(f"{name}: {value}\n" for name, value in facts.items())
    sections = "".join(
        f"\n## Part {part} {prose.words(2)}\n\n{prose.words(700 if long else 15)}\n\nSee `tool_{number}`, "
        f"[next](n{part}.md), [[do_{number}]] and\n\n```\ntool:ops/run\n```\n"
        for part in range(12 if long else number % 4)
    )
    return f"knowledge/notes/n{number}.md", f"---\n{front}---\n\n# Note {number}\n\n{prose.words(20)}\n{sections}"


def lay(sim: SpaceSim, source: str, numbers: range) -> None:
    """Write items of one space: two of seven unsigned, the others signed by its key, by others, in an older format."""
    for number in numbers:
        path, content = (tool, directive, note)[number % 3](number, Prose(number))
        sim.write(source, path, content)
        match number % 7:
            case 0 | 1:
                pass
            case 2:
                sim.sign(source, path, EVE)
            case 3:
                sim.sign(source, path, form=EnvelopeFormat.V1)
            case 4:
                sim.sign(source, path, BEA).write_bytes(sim.path(source, path).read_bytes() + b"\n# more\n")
            case _:
                sim.sign(source, path)


def digests(folder: Path) -> dict[str, str]:
    """Build the indexes of several spaces, change the project's twice, and return the digest of every array."""
    sim = SpaceSim(folder, bundles=("shop", "rival"))
    sim.trust(BEA, "project", owner="bea", endorsed_by=sim.signer("project"))
    furnish(sim)
    lay(sim, "project", range(330))
    lay(sim, "user", range(20, 60))
    lay(sim, "system:rival", range(50, 90))
    sim.write("project", "knowledge/most.md", "x " * (1 << 19))  # as often as a word of one file can occur
    registry = sim.registry(embedder=Axes())
    registry.embed()
    lay(sim, "project", range(330, 420))
    for number in (11, 17, 362):
        sim.delete("project", note(number, Prose(number))[0])
    sim.write("project", "knowledge/empty.md", "")
    listed = taken(registry, "listed", segments=2)
    lay(sim, "project", range(420, 470))
    merged = taken(registry, "merged", segments=2)
    return listed | {name: digest for name, digest in merged.items() if name.startswith(MERGED)}


def taken(registry: Registry, stage: str, *, segments: int) -> dict[str, str]:
    """Refresh, embed, have verdicts judged, and return the digests of all arrays by stage, source, file and name."""
    registry.embed()
    assert registry.search("is:trusted", limit=1).total > 0
    status = registry.status()
    assert status[0].segments == segments
    return {
        f"{stage}/{space.source}/{name}": digest for space in status for name, digest in _digests(Path(space.cache))
    }


KINDS = {"segment": "posting", "verdicts": "verdicts", "vectors": "vector"}
"""The files that are compared, each with an array that only those of its kind have."""

Arrays = Mapping[str, tuple[str, list[int], bytes]]
"""By name: dtype, shape and bytes."""


def _digests(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield name and digest of every array of an index; files of one kind are numbered, the largest first."""
    kinds: dict[str, list[Arrays]] = {kind: [] for kind in KINDS}
    for path in folder.glob("*.ryx"):
        arrays = _arrays(path.read_bytes())
        if kind := next((kind for kind, name in KINDS.items() if name in arrays), ""):
            kinds[kind].append(arrays)
    for kind, files in kinds.items():
        for number, arrays in enumerate(sorted(files, key=lambda each: -sum(len(data) for *_, data in each.values()))):
            for name, (dtype, shape, data) in sorted(arrays.items()):
                yield f"{kind}{number}/{name}", hashlib.sha256(f"{dtype} {shape} ".encode() + data).hexdigest()


def _arrays(data: bytes) -> Arrays:
    """Read a file by what the format says, not with what rye reads it with; what is compressed is unpacked."""
    magic, length, _ = struct.unpack_from("<8sII", data)
    assert magic == b"RYEARR01"
    header = json.loads(data[16 : 16 + length])
    start = -(-(16 + length) // 64) * 64
    found = {
        name: (dtype, shape, data[start + offset :][: np.dtype(dtype).itemsize * math.prod(shape)])
        for name, (dtype, shape, offset, _) in header["arrays"].items()
    }
    for stem in [name.removesuffix(".blocks") for name in found if name.endswith(".blocks")]:
        dtype, _, data = found[f"{stem}.ends"]
        packed, ends = found[f"{stem}.blocks"][2], np.frombuffer(data, dtype).tolist()
        blocks = [zlib.decompress(packed[start:stop]) for start, stop in pairwise(ends)]
        found[f"{stem}.ends"] = "", [], json.dumps([len(block) for block in blocks]).encode()
        found[f"{stem}.blocks"] = "", [], b"".join(blocks)
    return found


def built() -> dict[str, str]:
    """Return the digests as they come out now."""
    with tempfile.TemporaryDirectory() as place, no_own_items(Path(place) / "none"):
        return digests(Path(place))


def test_the_arrays_of_a_fixed_corpus_keep_their_bytes() -> None:
    """Every array of segments, merged segments, verdicts and vectors is to the byte what it was."""
    found, expected = built(), json.loads(DIGESTS.read_text(encoding="utf-8"))
    assert {name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name)} == set()


if __name__ == "__main__":
    DIGESTS.write_text(json.dumps(built(), indent=0) + "\n", encoding="utf-8")
