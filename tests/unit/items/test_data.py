"""Tools and knowledge kept as data, and the one loader of YAML."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rye.errors import ItemError
from rye.items import yaml
from rye.items.guarded import MAX_CHARS
from tests.support.files import read


def test_json_tools_tolerate_what_writers_do() -> None:
    """Duplicate keys (the last wins), NaN, huge integers, lone surrogates; a list states nothing."""
    item = read(
        "tools/a.json", '{"name": "x", "name": "y", "n": NaN, "i": -Infinity, "big": %s, "s": "\\ud800"}' % ("9" * 5000)
    )
    assert item.metadata["name"] == "y"
    assert (item.metadata["n"], item.metadata["i"], item.metadata["s"]) == (None, None, "\ufffd")
    assert item.metadata["big"] == "9" * 5000
    assert dict(read("tools/a.json", "[1, 2]").metadata) == {}


@pytest.mark.parametrize(
    ("path", "content", "line"),
    [
        ("tools/a.yaml", "a: 1\nb: c: d\n", 2),
        ("tools/a.json", '{"a": 1,\n}', 2),
        ("tools/a.toml", "a = 1\nb = \n", 2),
        ("knowledge/a.md", "\n---\n- a\nb: 'open\n---\n", 4),
    ],
)
def test_what_cannot_be_read_is_reported_with_its_line_in_the_file(path: str, content: str, line: int) -> None:
    """The message names the file and the line, the hint the remedy."""
    with pytest.raises(ItemError) as caught:
        read(path, content)
    assert caught.value.code == "unparsable"
    assert caught.value.message.startswith(f"{path}: line {line}: ")
    assert caught.value.hint
    assert caught.value.to_dict()["line"] == line
    assert caught.value.to_dict()["path"] == path


def load(text: str, **how: Any) -> object:
    """Load YAML without any top-level key as text."""
    return yaml.load(text, **how)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# only a comment", None),
        ("~", None),
        ("a:", {"a": None}),
        ("[true, False, yes, on, null, NULL, nil]", [True, False, "yes", "on", None, None, "nil"]),
        ("[0, -7, +3, 012, 0o17, 0x1F, 1_000, 12:30]", [0, -7, 3, 12, 15, 31, "1_000", "12:30"]),
        (
            "[1.5, -.5, 1e3, 1.e2, ., 1.2.3, .inf, -.INF, .nan, 1e999]",
            [1.5, -0.5, 1000.0, 100.0, ".", "1.2.3", *[None] * 4],
        ),
        ("['1', \"2\", !!str 3, !!int '4']", ["1", "2", "3", 4]),
        ("a: 2026-02-18\nb: !!timestamp 2026-2-8 9:00:00 -5", {"a": "2026-02-18", "b": "2026-02-08T09:00:00-05:00"}),
        ("a: 1\na: 2", {"a": 2}),
        (
            "1: a\ntrue: b\n~: c\n1.5: d\n? [x]\n: e",
            {"1": "a", "true": "b", "null": "c", "1.5": "d", "[complex key]": "e"},
        ),
        (
            "a: &x {k: 1}\nb: *x\nc: {<<: *x, l: 2}\nd: {<<: [*x, {k: 3, m: 4}], k: 0}",
            {"a": {"k": 1}, "b": {"k": 1}, "c": {"l": 2, "k": 1}, "d": {"k": 0, "m": 4}},
        ),
        ("<<: text", {"<<": "text"}),
        ("a: 1\n---\nb: [", {"a": 1}),
        ("!!python/object/apply:os.system [echo]", ["echo"]),
        ("!!set {a, b}", {"a": None, "b": None}),
        ("!!binary aGk=", "aGk="),
        ('"\\x1b[31m \\u0007"', " [31m  "),
        ("x: %s" % ("9" * 5000), {"x": "9" * 5000}),
        ("|\n  a\n  b\n", "a\nb\n"),
    ],
)
def test_yaml_values_are_those_of_the_core_schema(text: str, value: object) -> None:
    """Plain data only: no tag makes a type, no date an object, no key anything but text."""
    assert load(text) == value


def test_yaml_keys_kept_as_text_are_so_to_any_depth() -> None:
    """Below such a key every plain scalar is as written, except null; beside it nothing changes."""
    text = "version: 1.10\ntags: [on, 1.0, ~, {a: 007}]\nother: {version: 1.10}\n"
    assert yaml.load(text, as_text=frozenset({"version", "tags"})) == {
        "version": "1.10",
        "tags": ["on", "1.0", None, {"a": "007"}],
        "other": {"version": 1.1},
    }


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[" * 100_000, "too-deep"),
        ("{a: " * 100_000, "too-deep"),
        ("- " * 100_000, "too-deep"),
        ("".join(f"{' ' * i}a:\n" for i in range(100)), "too-deep"),
        ("[" * 65 + "]" * 65, "too-deep"),
        (
            "a: &a ["
            + "x," * 9
            + "]\n"
            + "".join(f"{c}: &{c} [{f'*{p},' * 9}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True)),
            "alias-bomb",
        ),
        ("a: &a {" + ",".join(f"k{i}: 1" for i in range(1000)) + "}\nb:\n" + "  <<: *a\n" * 200, "alias-bomb"),
        ("[" + "1," * 100_001 + "]", "alias-bomb"),
        ("a: &a [*a]", "unparsable"),
        ("a: *nowhere", "unparsable"),
        ("&a *a", "unparsable"),
        ("a: &x 1\nb: &x 2", "unparsable"),
        ("a: &a {b: *a}", "unparsable"),
        ("a: 'open", "unparsable"),
        ("@a", "unparsable"),
        ("a: b\n%", "unparsable"),
        ("[1] x", "unparsable"),
        ("a: 1\n}", "unparsable"),
        ("\t\t- a\n b: c\n", "unparsable"),
        ("x" * (MAX_CHARS + 1), "too-large"),
    ],
)
def test_hostile_yaml_is_refused(text: str, code: str) -> None:
    """Depth, aliases, self-reference, size: each is an error of the file, in little time."""
    with pytest.raises(ItemError) as caught:
        load(text)
    assert caught.value.code == code


def test_depth_64_is_still_read() -> None:
    """The limit itself is allowed."""
    value = load("[" * 64 + "1" + "]" * 64)
    for _ in range(64):
        assert isinstance(value, list)
        value = value[0]
    assert value == 1


@pytest.mark.parametrize(
    ("server", "command"),
    [
        ({"url": "https://ann:5ecret@a.example/mcp?v=5ecret&key=5ecret"}, "https://a.example/mcp?v=&key="),
        ({"url": "https://5ecret@a.example?mail=5ecret@b"}, "https://a.example?mail="),
        ({"command": "npx", "args": ["-y", "to", "--api-key", "5ecret", "-v"]}, "npx -y to --api-key  -v"),
        ({"command": "run", "args": ["-e", "A_TOKEN=5ecret", "--secret=5ecret"]}, "run -e A_TOKEN= --secret="),
        (
            {"command": "run", "args": ["--header", "Authorization: Bearer 5ecret"]},
            "run --header Authorization: Bearer",
        ),
        (
            {"command": "run", "args": ["--token", "--key-file", "a", "key b", "me@host"]},
            "--token --key-file a key b me@host",
        ),
    ],
)
def test_attack_secrets_of_servers_are_not_indexed(server: dict[str, object], command: str) -> None:
    """Who logs in, values in addresses, and those of options and variables with the name of a secret are left out."""
    item = read("tools/mcp.json", json.dumps({"mcpServers": {"a": server}}))
    assert "5ecret" not in repr((item.body, item.symbols, item.metadata, item.description))
    assert " ".join(item.symbols[0].signature.split()).endswith(" ".join(command.split()))


@pytest.mark.parametrize("text", ['{"mcpServers": {} /* }', '{"mcpServers": {}, , }', '{"a": 1, /* b */}'])
def test_what_no_client_reads_is_an_error(text: str) -> None:
    """Comments are for lists of servers alone, and nothing else is mended."""
    with pytest.raises(ItemError, match="line 1: "):
        read("tools/mcp.json", text)


@pytest.mark.parametrize("text", ['"\\"', "/*", "//", ", ", '"', "\\"])
def test_attack_a_list_of_servers_that_takes_long_to_read(text: str) -> None:
    """Each character is looked at a few times; this ends at once."""
    with pytest.raises(ItemError):
        read("tools/mcp.json", '{"mcpServers":' + text * 200_000)
