"""Hostile code: it is read in linear time, with a budget for the parser, and never ends the process."""

from __future__ import annotations

import pickle
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.errors import ItemError
from rye.items import code
from rye.items.model import ItemType
from rye.items.reader import MAX_BYTES, parse
from tests.support.files import read
from tests.support.spacesim import SpaceSim

CODE = (".py", ".js", ".ts", ".tsx", ".sh")
SLASHES = "\\" * 120
COMMENT = {".py": '"""{}', ".js": "/** {}", ".ts": "/** {}", ".tsx": "/** {}", ".sh": "# {}"}
FUNCTION = {".py": "def f():\n    '''{}", ".js": "/** {}\nfunction f() {{", ".sh": "# {}\nf() {{\n"}


def seconds(text: str, suffix: str) -> float:
    """Return the CPU time in which everything of a tool is read."""
    began = time.process_time()
    item = parse(text.encode(), item_type=ItemType.TOOL, item_id="a", suffix=suffix)
    _ = len(item.symbols), len(item.imports), len(item.documented)
    return time.process_time() - began


@pytest.mark.parametrize("suffix", CODE)
def test_attack_a_docstring_of_backslashes_that_never_ends(suffix: str) -> None:
    """137 bytes hung every command: 60 pairs of backslashes in a docstring, a comment or a text that is not closed."""
    seconds("", suffix)  # the parser is loaded
    function = FUNCTION.get(suffix, FUNCTION[".js"])
    for text in (COMMENT[suffix].format(SLASHES), function.format(SLASHES), f'x = "{SLASHES}', f"x = `{SLASHES}"):
        assert seconds(text, suffix) < 5


@pytest.mark.parametrize("suffix", CODE)
def test_attack_a_long_valid_docstring_with_many_backslashes(suffix: str) -> None:
    """600 lines hung every command; they are read, and so is the function that they document."""
    lines = "\n".join(rf" * \\a\\b\\c {number} \\" for number in range(600))
    text = {
        ".py": f'def f():\n    """Say.\n{lines}\n    """\n',
        ".sh": "#!/bin/sh\ncd /\n# Say.\n" + "\n".join(f"# {line}" for line in lines.split("\n")) + "\nf() {\n}\n",
    }.get(suffix, f"let a\n/**\n * Say.\n{lines}\n */\nfunction f() {{}}\n")
    assert seconds(text, suffix) < 5
    item = read(f"tools/a{suffix}", text.encode())
    assert [(one.name, one.docstring) for one in item.symbols] == [("f", "Say.")]
    assert item.documented[0].text.count("\n") == 600


def test_attack_a_in_a_script_of_a_skill(tmp_path: Path) -> None:
    """A search over the skill answers, and finds the script by its text."""
    sim = SpaceSim(tmp_path)
    folder = sim.path("project", "").parent / ".claude" / "skills" / "pdf"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: pdf\ndescription: Fill forms.\n---\n# PDF\n")
    (folder / "scripts" / "fill.py").write_text(FUNCTION[".py"].format(f"fillform {SLASHES}"))
    began = time.process_time()
    found = sim.registry().search("fillform")
    assert [hit.id for hit in found.results] == ["pdf/scripts/fill"]
    assert time.process_time() - began < 20


HOSTILE = (
    *(
        "(",
        "{",
        "[",
        "\\",
        '"',
        "'",
        "`",
        "a.b.",
        "`${",
        "$(",
        "/*",
        '"""',
        "'''",
        '"\\',
        "<a>",
        "x=>",
        "if x:\n",
        "@a\n",
    ),
    *(
        "def f(\n",
        "class A{b(){",
        "if a; then\n",
        "# c\n",
        "// c\n",
        "import('./a')\n",
        '__a__="""\\',
        "__a__=1\n",
        "\n",
    ),
    *(
        "def f(): 0\n",
        "function f(){}\n",
        "f(){ :; }\n",
        "const a=1,",
        "interface A { <K>(a): b\n",
        "- ",
        "\0",
        "\u00e9",
    ),
)


@pytest.mark.parametrize("suffix", CODE)
def test_repeated_marks_stay_within_the_budget(suffix: str) -> None:
    """Parsing ends within its budget, all else takes little; nested brackets end no process."""
    size = MAX_BYTES // 128  # tests/weekly has longer ones
    budget = code.SECONDS + code.SECONDS_PER_BYTE * size
    for unit in HOSTILE:
        assert seconds(unit * (size // len(unit.encode())), suffix) < 3 * budget + 10, unit


@pytest.mark.parametrize(
    ("suffix", "line"), [(".py", "def f{}(): 0\n"), (".js", "function f{}(){{}}\n"), (".sh", "f{}(){{ :; }}\n")]
)
def test_many_functions_are_all_symbols(suffix: str, line: str) -> None:
    """50,000 of them, each on its line."""
    symbols = read(f"tools/a{suffix}", "".join(map(line.format, range(50_000))).encode()).symbols
    assert [symbol.line for symbol in symbols] == [*range(1, 50_001)]


def test_code_beyond_the_budget_has_no_symbols(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an item all the same: its text and its description can be searched."""
    monkeypatch.setattr(code, "SECONDS", -1.0)
    item = read("tools/a.py", '"""Say."""\n' + "def f(): pass\n" * 500)
    assert (item.description, list(item.symbols), list(item.imports)) == ("Say.", [], [])
    assert "def f" in item.body


PIECES = {
    ".py": [
        "def f(a):",
        "class A:",
        "    def m(self):",
        '    """Doc."""',
        "import a.b",
        "if x:",
        "@d",
        "'''",
        "\\",
        "(",
        "}",
    ],
    ".js": [
        "function f() {",
        "class A {",
        "m() {}",
        "}",
        "/** d",
        "*/",
        "import './a'",
        "exports.a = () => {",
        "`${",
        "/",
    ],
    ".ts": [
        "interface A {",
        "<K>(a): b",
        "}",
        "type A =",
        "| 'b'",
        "namespace B.C {",
        "export default",
        "abstract class",
        "@d()",
    ],
    ".sh": [
        "f() {",
        "}",
        "# c",
        "function g {",
        "if a; then",
        "fi",
        "<<E",
        "E",
        "$(",
        '"',
        "case a in",
        "esac",
        "((",
        "`",
    ],
}


@pytest.mark.parametrize("suffix", PIECES)
def test_any_text_is_an_item_with_symbols_in_its_lines(suffix: str) -> None:
    """No error but an item error; symbols are in file order and within the file; documentation belongs to a symbol."""
    texts = st.lists(st.sampled_from([*PIECES[suffix], " ", "  "]) | st.text(max_size=3), max_size=25)

    @given(st.builds(lambda parts, by: by.join(parts), texts, st.sampled_from(["\n", " ", "\n    "])))
    def check(text: str) -> None:
        try:
            item = parse(text.encode("utf-8", "replace"), item_type=ItemType.TOOL, item_id="a", suffix=suffix)
        except ItemError:
            return
        last = item.body_line + item.body.count("\n")
        lines = [symbol.line for symbol in item.symbols]
        assert lines == sorted(lines)
        assert all(1 <= symbol.line <= symbol.end_line <= last for symbol in item.symbols)
        assert all(1 <= taken.line <= last for taken in item.imports)
        assert all(one.symbol == item.symbols[one.number] and one.line <= one.symbol.line for one in item.documented)

    check()


def test_symbols_survive_copies() -> None:
    """A copy, also of another process, has the same symbols."""
    item = read("tools/a.py", "import door\n\ndef f():\n    'Say.'\n")
    copy = replace(item, metadata={}, declared={})
    sent = pickle.loads(pickle.dumps(copy))  # noqa: S301 - our own
    for one in (copy, sent):
        assert (one.symbols, one.imports, one.documented) == (item.symbols, item.imports, item.documented)
        assert [symbol.docstring for symbol in one.symbols] == ["Say."]
