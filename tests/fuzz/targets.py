"""Coverage-guided fuzzing of everything that reads a stranger's bytes, with atheris.

``python -m tests.fuzz.targets --minutes 10`` shares that time among all targets, prints a table, and exits 1 where
something was found, with the traceback; libFuzzer keeps the input as ``tests/fuzz/corpus/TARGET/crash-…``, from
where the tests replay it. Where atheris is not installed (``pip install atheris``), it says so and exits 0.

A target is a check of any bytes, which raises where a promise is broken, and inputs to begin with.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:  # what is imported before atheris looks is not instrumented
    from rye.errors import RyeError
    from rye.items.model import Item, ItemType
    from rye.query.ast import Node

Answer = TypeVar("Answer")
Check = Callable[[bytes], None]

CORPUS = Path(__file__).with_name("corpus")


def main(words: Sequence[str] | None = None) -> int:
    """Fuzz targets for a bounded time and print a table; return 1 where there are findings."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.targets", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="for all targets together (default 10)")
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS), help="what reads the bytes")
    chosen = parser.parse_args(words)
    if importlib.util.find_spec("atheris") is None:
        sys.stdout.write("skipped: atheris is not installed (pip install atheris)\n")
        return 0
    seconds, findings = round(chosen.minutes * 60 / len(chosen.targets)), 0
    sys.stdout.write("| target | inputs | findings |\n|---|--:|--:|\n")
    for name in chosen.targets:
        with tempfile.TemporaryDirectory(prefix="rye-fuzz-") as folder:
            log = Path(folder) / "log"
            sys.stdout.flush()
            child = os.fork()  # a target ends the process
            if not child:
                try:
                    _fuzz(name, seconds, log)
                finally:
                    os._exit(1)
            failed, said = os.waitpid(child, 0)[1] != 0, log.read_text(encoding="utf-8", errors="replace")
        inputs = re.search(r"stat::number_of_executed_units: *(\d+)", said)
        sys.stdout.write(f"| {name} | {int(inputs[1]) if inputs else 0:,} | {int(failed)} |\n")
        sys.stderr.write(said[-5000:] if failed else "")
        findings += failed
    return int(findings > 0)


def _fuzz(name: str, seconds: int, log: Path) -> None:
    """Fuzz one target, log what libFuzzer says, and end the process."""
    with log.open("wb") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    atheris: Any = importlib.import_module("atheris")
    corpus = log.with_name("corpus")
    corpus.mkdir()
    with atheris.instrument_imports(include=["rye"]):
        target = load(name)
        for number, seed in enumerate(target.seeds):
            target.check(seed)  # what is imported only then is instrumented, too
            (corpus / f"seed-{number}").write_bytes(seed)
    bounds = [f"-max_total_time={seconds}", "-max_len=8192", "-timeout=10", "-rss_limit_mb=2048"]
    told = ["-print_final_stats=1", f"-artifact_prefix={CORPUS / name}/"]
    atheris.Setup([sys.argv[0], *bounds, *told, str(corpus)], target.check)
    atheris.Fuzz()


class Target(NamedTuple):
    """What is fuzzed: a check, and inputs to begin with."""

    check: Check
    seeds: Sequence[bytes]


def load(name: str) -> Target:
    """Return a target; what the corpus keeps for it follows its own inputs."""
    check, seeds = TARGETS[name]()
    return Target(check, [*seeds, *(path.read_bytes() for path in sorted((CORPUS / name).iterdir()))])


def outcome(read: Callable[[], Answer]) -> Answer | RyeError:
    """Return what is read, or the error of rye's own in which that ends."""
    from rye.errors import RyeError

    try:
        return read()
    except RyeError as error:
        return error


def _envelope() -> Target:
    """Whatever the bytes, there is evidence and a verdict, and only what was signed is trusted.

    An older line covers what stands below it, and around a lone directive white space may stand, which no reader sees.
    """
    from rye import _text as lines
    from rye.trust.evidence import inspect
    from rye.trust.judge import judge
    from rye.trust.model import EnvelopeFormat, Evidence, Verdict
    from rye.trust.reasons import REASONS
    from tests.support.signed import GOLDEN, NOW, TRUST, XML, place, sign

    seeds = [golden.make() for golden in GOLDEN.values()]
    contents, below = set(), {XML}
    signed = {*seeds, *(sign(b"x\n", form=form) for form in (EnvelopeFormat.V1, EnvelopeFormat.V2))}
    signed.add(sign(b"x\n", audience="acme/ops"))
    for data in signed:
        envelope = lines.find_envelope(data)
        content = data if envelope is None else data[: envelope.start] + data[envelope.end :]
        contents.add(content)
        below.add(data[envelope.end :] if envelope else content)
    origin = place()

    def check(data: bytes) -> None:
        evidence = inspect(data, origin=origin, declared={"name": "hello", "category": "demo"})
        assert evidence.code in {"", *REASONS}
        assert Evidence.from_record(evidence.to_record()) == evidence
        found = judge(evidence, origin=origin, trust=TRUST, now=NOW)
        assert found.reason
        if found.verdict is Verdict.TRUSTED:
            envelope = lines.find_envelope(data)
            assert envelope is not None
            content = data[: envelope.start] + data[envelope.end :]
            assert data in signed or found.format != "v2"
            assert content in contents or (found.format != "v2" and {content, content.strip(b" \t\r\n")} & below)

    return Target(check, seeds)


def _trust() -> Target:
    """A trust file is understood or refused with an error of rye's own."""
    from rye.errors import RyeError
    from rye.trust.trust_entry import TrustScope
    from rye.trust.trust_file import parse_trust_file, sign_trust_file, trust_file_bytes
    from tests.support.signed import ANN, BEA, NOW

    plain = trust_file_bytes(ANN.public, owner="ann")
    limited = trust_file_bytes(BEA.public, owner="bea", patterns=("a/*",), not_after=NOW)
    seeds = [plain, limited, b"revoked = true\n" + plain, sign_trust_file(plain, stem="x", key=BEA, now=NOW)]

    def check(data: bytes) -> None:
        found = outcome(partial(parse_trust_file, data, scope=TrustScope.PROJECT))
        assert (found.hint if isinstance(found, RyeError) else found.owner).isprintable()

    return Target(check, seeds)


def _list() -> Target:
    """A list is read or refused, whatever stands in it, and only the signed bytes have a good signature."""
    from rye.errors import RyeError
    from rye.trust.list import ListedFile, add_signature, parse_list, write_list
    from tests.support.signed import ANN, NOW, list_place

    body = write_list("demo", 1, NOW, [ListedFile("tools/demo/hello.py", "100644", "0" * 64)])
    origin = list_place()
    good = add_signature(body, origin=origin, key=ANN, now=NOW)

    def check(data: bytes) -> None:
        found = outcome(partial(parse_list, data))
        if not isinstance(found, RyeError):
            assert data.endswith(body) or not any(found.holds(line, ANN.public) for line in found.lines)

    return Target(check, [good, body, b"<<<<<<< ours\n" + good])


def _query() -> Target:
    """Any text of a query keeps the promises of the language."""
    from tests.conformance.corpus import entries

    seeds = [entry.query.encode("utf-8", "surrogatepass") for kind in ("ok", "err") for entry in entries(kind)]
    return Target(lambda data: check_query(data.decode("utf-8", "surrogateescape")), seeds)


def check_query(text: str) -> None:
    """Read any text as a query.

    Leniently, it is a tree that prints as a query of the same meaning, and what was dropped stands where that is said.
    Strictly, it is that tree too, or an error with a known code, a caret below the text, and a suggestion that parses.
    """
    from rye.errors import QueryError
    from rye.query import as_words, dump, loosen, parse, to_dict, walk
    from rye.query.flaws import FLAWS

    forgiven = parse(text, lenient=True)
    assert forgiven.text == text
    assert parse(str(forgiven.ast)).ast == forgiven.ast
    assert [each.position for each in forgiven.dropped] == sorted(each.position for each in forgiven.dropped)
    assert all(text[each.position :].startswith(each.text) for each in forgiven.dropped)
    _check_form(forgiven.ast)
    nodes = len(list(walk(forgiven.ast)))
    assert len(dump(forgiven.ast).split("\n")) == json.dumps(to_dict(forgiven.ast)).count('"type": ') == nodes
    as_words(forgiven.ast)
    loosen(forgiven.ast)
    strict = outcome(partial(parse, text))
    if not isinstance(strict, QueryError):
        assert forgiven == strict or {each.text for each in forgiven.dropped} == {"?"}
        return
    assert forgiven.dropped
    assert (strict.code in FLAWS, strict.text, strict.hint > "") == (True, text, True)
    assert 0 <= strict.position <= len(text)
    assert text[strict.position :].startswith(strict.token)
    line, marks = strict.caret().split("\n")
    assert marks.strip() == "^" * len(marks.strip()) != ""
    assert len(marks) <= len(line) + 1
    assert all(said.isprintable() for said in (strict.message, strict.hint, line, marks))
    parse(strict.suggestion)


def _check_form(tree: Node) -> None:
    """And and Or are flat and have parts, NEAR has measurable operands, leaves are counted, spans nest."""
    from rye.query import children, walk
    from rye.query.ast import And, Everything, Field, Fuzzy, Near, Or, Phrase, Wildcard, Word
    from rye.query.limits import MAX_LEAVES

    assert sum(not children(node) for node in walk(tree)) <= MAX_LEAVES
    for node in walk(tree):
        assert all(node.span[0] <= one.span[0] <= one.span[1] <= node.span[1] for one in children(node))
        match node:
            case And(operands) | Or(operands):
                assert len(operands) > 1
                assert not any(isinstance(operand, type(node)) for operand in operands)
            case Near(operands, distances):
                assert len(operands) == len(distances) + 1
                parts = [part for each in operands for part in (each.operands if isinstance(each, Or) else (each,))]
                assert all(isinstance(part, Word | Wildcard | Fuzzy | Phrase) for part in parts)
            case Field(_, operand):
                assert not isinstance(operand, Everything)


def _yaml() -> Target:
    """YAML is plain data or an error of the item, in each way of reading it, and so is an item written in it."""
    from rye.errors import ItemError
    from rye.items.front_matter import load_lines, read_front_matter
    from rye.items.model import STATED_KEYS, ItemType
    from rye.items.yaml import load as load_yaml

    def data_or_error(read: Callable[[str], Any], text: str) -> Any:
        value = outcome(partial(read, text))
        if isinstance(value, ItemError):
            assert value.code in {"unparsable", "too-large", "too-deep", "alias-bomb"}
            assert value.message.isprintable()
            assert value.hint
            return None
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        return value

    def check(data: bytes) -> None:
        text = data.decode("utf-8", "surrogateescape")
        value = data_or_error(load_yaml, text)
        strict = data_or_error(partial(load_yaml, unambiguous=True), text)
        assert strict is None or strict == value
        data_or_error(partial(load_yaml, aliases=False, as_text=STATED_KEYS), text)
        data_or_error(load_lines, text)
        data_or_error(read_front_matter, text)
        check_item(data, ItemType.KNOWLEDGE, ".yaml")

    return Target(check, ())


def check_item(data: bytes, item_type: ItemType, suffix: str, item_id: str = "ops/a") -> Item | None:
    """Read any bytes as an item of one format and return it; None where that ends in an error in due form."""
    from rye.errors import ItemError
    from rye.items.reader import declared, parse

    item = outcome(partial(parse, data, item_type=item_type, item_id=item_id, suffix=suffix))
    if isinstance(item, ItemError):
        assert item.hint
        assert item.message.startswith(f"{item_type.folder}/{item_id}{suffix}: ")
        json.dumps(item.to_dict()).encode()
        return None
    assert item == parse(data, item_type=item_type, item_id=item_id, suffix=suffix)
    assert declared(data, item_type=item_type, item_id=item_id, suffix=suffix) == item.declared
    _check_promises(item, data)
    if suffix == ".md" and item.body:
        assert item.sections
    return item


def _check_promises(item: Item, data: bytes) -> None:
    """Check what holds for every item."""
    json.dumps([dict(item.metadata), dict(item.declared), item.tags], allow_nan=False).encode()
    for line in (item.title, item.description, item.category, item.version, item.author, item.created, item.updated):
        assert line == line.strip()
        assert line.isprintable() or all(ch.isprintable() or ch.isspace() or ord(ch) > 0x7F for ch in line)
        assert "\n" not in line
    assert all(isinstance(key, str) for key in item.metadata)
    assert item.body == item.body.encode().decode().rstrip()
    assert item.name == item.id.rpartition("/")[2]
    assert item.envelope is None or item.envelope.line != item.body.partition("\n")[0]
    last = data.count(b"\n") + data.count(b"\r") + 1
    spans = [(section.line, section.end_line) for section in item.sections]
    spans += [(symbol.line, symbol.end_line) for symbol in item.symbols]
    assert all(1 <= line <= end <= last for line, end in spans)
    for section in item.sections:
        assert section.level == len(section.heading_path) == 0 or 1 <= section.level <= 6
        heading = " ".join(item.body[section.start : section.span[0]].split())
        assert section.level == 0 or " ".join(section.heading_path[-1].split()) in heading
        assert section.text == item.body[slice(*section.span)]


def _markdown() -> Target:
    """Any bytes are a page with the headings that another parser of CommonMark finds, or an error in due form."""
    from rye.items.model import ItemType
    from rye.search.page.section_text import sections_of
    from tests.support.naive_markdown import headings

    def check(data: bytes) -> None:
        item = check_item(data, ItemType.KNOWLEDGE, ".md")
        if item is not None:
            found = [one for one in item.sections if one.level]
            texts = [" ".join(one.heading_path[-1].split()) for one in found]
            places = [(one.level, text, one.line - item.body_line) for one, text in zip(found, texts, strict=True)]
            assert item.body.startswith("---") or places == headings(item.body)
            for own in sections_of(item):
                assert item.body[own.chunks[0][0] : own.chunks[-1][1]] == own.text

    return Target(check, ())


def _directive() -> Target:
    """Any bytes are a directive whose inputs have names, each one of its own, or an error in due form."""
    from rye.items.directive_xml import declared_inputs
    from rye.items.model import ItemType

    def check(data: bytes) -> None:
        item = check_item(data, ItemType.DIRECTIVE, ".md")
        if item is not None:
            names = [one.name for one in declared_inputs(item, data.decode())]
            assert all(names)
            assert len(names) == len(set(names))

    return Target(check, ())


def _tool() -> Target:
    """Any bytes are a tool in each language, which the first of them chooses, or an error in due form."""
    from rye.items.model import ItemType
    from rye.items.reader import EXTENSIONS

    suffixes = sorted(EXTENSIONS[ItemType.TOOL])

    def check(data: bytes) -> None:
        check_item(data[1:], ItemType.TOOL, suffixes[data[0] % len(suffixes)] if data else ".py")

    return Target(check, ())


TARGETS: Mapping[str, Callable[[], Target]] = {
    "envelope": _envelope,
    "trust": _trust,
    "list": _list,
    "query": _query,
    "yaml": _yaml,
    "markdown": _markdown,
    "directive": _directive,
    "tool": _tool,
}


if __name__ == "__main__":
    sys.exit(main())
