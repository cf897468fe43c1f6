"""Each parser of foreign text has one guarded entry, which refuses the parser's own worst cases before it runs."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import rye
from rye.errors import ItemError, SigningError
from rye.items import yaml
from rye.items.guarded import MAX_CHARS, MAX_TOML_CHARS, load_json, load_toml
from rye.items.values import MAX_DEPTH, MAX_VALUES
from rye.trust.trust_entry import TrustScope
from rye.trust.trust_file import MAX_TRUST_FILE, parse_trust_file

SECONDS = 3.0
"""Processor time: many times what a guarded text takes, and far less than an unguarded one."""

LONG = ".".join("b" * MAX_DEPTH)
"""A dotted key as long as a key may be."""


def filled(unit: str, size: int = MAX_TOML_CHARS) -> str:
    """Return copies of a text, up to this many characters."""
    return unit * (size // len(unit))


@pytest.mark.parametrize(
    ("load", "text", "code"),
    [
        (load_toml, filled("a.") + "a=1", "too-large"),
        (load_toml, filled("a.", 200_000) + "a=1", "too-deep"),
        (load_toml, filled("a . ", 200_000) + "a=1", "too-deep"),
        (load_toml, "[" + filled("a.", 200_000) + "a]", "too-deep"),
        (load_toml, "[[" + filled("a.", 200_000) + "a]]", "too-deep"),
        (load_toml, "a = {" + filled("a.", 200_000) + "a=1}", "too-deep"),
        (load_toml, filled('"\\"".', 200_000) + "a=1", "too-deep"),
        (load_toml, filled("'\"'.", 200_000) + "a=1", "too-deep"),
        (load_toml, 'x = """a""""#" """\n' + filled("a.", 200_000) + "a=1", "too-deep"),
        (load_toml, "x = '''a''''#' '''\n" + filled("a.", 200_000) + "a=1", "too-deep"),
        (load_toml, 'x = """a"""""#" """\n' + filled("a.", 200_000) + "a=1", "too-deep"),
        (load_toml, "x = 1 # '''\n" + filled("a.", 200_000) + "a=1", "too-deep"),
        (load_toml, 'x = """\r\n\\"""\r\n"""\n' + filled("a.", 200_000) + "a=1", "too-deep"),
        (load_toml, f"[{LONG}]\n" + "".join(f"a{n}.{LONG[2:]}=1\n" for n in range(1_900)), "alias-bomb"),
        (load_toml, "".join(f"[a{n}.{LONG[2:]}]\n" for n in range(1_900)), "alias-bomb"),
        (load_toml, "".join(f"a{n}.b.c=1\n" for n in range(20_000)), "alias-bomb"),
        (load_toml, "a = " + filled("[", 200_000), "too-deep"),
        (load_toml, "a = " + filled("{a=", 200_000), "too-deep"),
        (load_toml, "a = [" + filled("1,", 240_000) + "]", "alias-bomb"),
        (load_toml, "a = " + "1" * 200_000, "unparsable"),
        (load_json, filled("1", MAX_CHARS + 1), "too-large"),
        (load_json, filled("[", MAX_CHARS), "too-deep"),
        (load_json, filled('{"a":', MAX_CHARS), "too-deep"),
        (load_json, "[" + filled('"\\"",[', MAX_CHARS - 1), "too-deep"),
        (load_json, "[" + filled("[],", MAX_CHARS - 1), "alias-bomb"),
        (load_json, "[" + filled("1,", MAX_CHARS - 1), "alias-bomb"),
        (load_json, filled('"', MAX_CHARS), "unparsable"),
        (yaml.load, filled("a", MAX_CHARS + 1), "too-large"),
        (yaml.load, "".join(f"%TAG !a{n}! x\n" for n in range(60_000)) + "---\na", "unparsable"),
        (yaml.load, filled("[", MAX_CHARS), "too-deep"),
        (yaml.load, filled("- ", MAX_CHARS), "too-deep"),
        (yaml.load, filled("? ", MAX_CHARS), "too-deep"),
        (yaml.load, filled("- 1\n", MAX_CHARS), "alias-bomb"),
        (yaml.load, filled("---\n", MAX_CHARS), "alias-bomb"),
        (yaml.load, "a: &a {b: *a}", "unparsable"),
    ],
)
def test_attack_the_worst_text_of_each_parser(load: Callable[[str], Any], text: str, code: str) -> None:
    """It is refused with a code and a hint, in under a second."""
    start = time.process_time()
    with pytest.raises(ItemError) as caught:
        load(text)
    assert time.process_time() - start < SECONDS
    assert caught.value.code == code
    assert caught.value.hint


@pytest.mark.parametrize(
    ("load", "text"),
    [
        (load_toml, f"[{LONG}]\n" + "".join(f"k{n}.a=1\n" for n in range(20_000))),
        (load_toml, "".join(f"[a{n}.b]\n" for n in range(20_000))),
        (load_toml, "a = [" + filled("1.5, ", 200_000) + "]"),
        (load_toml, "a = [" + filled("{b=1},", 150_000) + "]"),
        (load_toml, "a = '" + filled("a.[{,=", 200_000) + "'"),
        (load_toml, 'a = "' + filled("\\n", 200_000) + '"'),
        (load_toml, filled("#.[,\n")),
        (load_json, "[" + "1," * (MAX_VALUES - 10) + "1]"),
        (load_json, '["' + filled("[{,", MAX_CHARS - 10) + '"]'),
        (load_json, "[" * MAX_DEPTH + "]" * MAX_DEPTH),
        (yaml.load, "- 1\n" * (MAX_VALUES - 10)),
        (yaml.load, "a: " + filled("b ", MAX_CHARS - 10)),
    ],
)
def test_the_largest_text_that_is_read_takes_no_longer(load: Callable[[str], Any], text: str) -> None:
    """What the limits let through is parsed in under a second; marks inside strings and comments do not count."""
    start = time.process_time()
    load(text)
    assert time.process_time() - start < SECONDS


def test_what_people_write_is_read() -> None:
    """Tables, dotted keys and dates in TOML, duplicate keys and NaN in JSON."""
    text = '[tool."a.b".c]\nd.e = 2026-01-01\nf = [1.5, "x # y"] # z\n[[g]]\n'
    assert load_toml(text) == {"tool": {"a.b": {"c": {"d": {"e": date(2026, 1, 1)}, "f": [1.5, "x # y"]}}}, "g": [{}]}
    assert load_json('{"a": 1, "a": [NaN, -Infinity, "\\"["]}') == {"a": [None, None, '"[']}


@pytest.mark.parametrize(
    ("load", "text", "line"),
    [(load_toml, "a = 1\nb = \n", 2), (load_toml, "a = '", 1), (load_json, '{\n"a": 1,\n}', 3)],
)
def test_a_mistake_is_named_with_its_line(load: Callable[[str], Any], text: str, line: int) -> None:
    """The message begins with the line of the file."""
    with pytest.raises(ItemError) as caught:
        load(text)
    assert (caught.value.code, caught.value.details["line"]) == ("unparsable", line)
    assert caught.value.message.startswith(f"line {line}: ")


@pytest.mark.parametrize("unit", ["a.", '"\\"".', "[", "a=[", "# "])
def test_attack_a_trust_file_that_takes_gigabytes(unit: str) -> None:
    """A trust file of any length is refused at once; one of 64 KB with one dotted key took 4 GB."""
    for size in (MAX_TRUST_FILE, 65_536):
        start = time.process_time()
        with pytest.raises(SigningError) as caught:
            parse_trust_file(f"{filled(unit, size - 8)}a=1".encode(), scope=TrustScope.USER, source="ann.toml")
        assert caught.value.code == "trust-file"
        assert time.process_time() - start < SECONDS


PARSERS = {
    "tomllib": {"rye/items/guarded.py"},
    "yaml": {"rye/items/yaml.py"},
    "pyromark": {"rye/items/markdown.py"},
    "markdown_it": {"rye/web/markup.py"},
    "xml": {"rye/cli/render/machine.py"},  # writes XML
    "html": {"rye/items/markdown.py"},
    "plistlib": set[str](),
    "configparser": set[str](),
    "json.load": {
        "rye/items/guarded.py",
        "rye/embedding/server.py",  # the answer of a server that the user chose, of bounded size
        "rye/index/storage/container.py",  # rye's own index
        "rye/index/segment/evidence_column.py",
        "rye/spaces/state.py",  # rye's own records, in a folder that only the user may enter
    },
}
"""Parser → the modules that may import it, or call it where it is a function."""


def used(tree: ast.Module) -> set[str]:
    """Return which of :data:`PARSERS` a module imports or names."""
    names = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names.add(node.module.partition(".")[0])
            if node.module == "json":
                names |= {f"json.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "json":
            names.add(f"json.{node.attr}")
    aliases = {"json.loads": "json.load", "json.JSONDecoder": "json.load", "json.decoder": "json.load"}
    return {aliases.get(name, name) for name in names} & PARSERS.keys()


def test_no_other_module_parses_foreign_text() -> None:
    """Every import of a parser is in the table, and every row of the table is in use."""
    root = Path(rye.__file__).parent
    files = [path for path in root.rglob("*.py") if "_bundled" not in path.parts]
    found: dict[str, set[str]] = {parser: set() for parser in PARSERS}
    for path in files:
        for parser in used(ast.parse(path.read_text(encoding="utf-8"))):
            found[parser].add(path.relative_to(root.parent).as_posix())
    assert found == PARSERS


@pytest.mark.parametrize(
    "source",
    [
        *("import tomllib", "from tomllib import loads", "def f():\n    import yaml", "import xml.etree.ElementTree"),
        *("from json import loads", "import json\njson.loads('')", "import json\njson.JSONDecoder()"),
    ],
)
def test_a_parser_is_found_however_it_is_imported(source: str) -> None:
    """Inside a function as well."""
    assert used(ast.parse(source))
