"""Reads tools and knowledge kept as YAML, JSON or TOML. Every top-level key is metadata, the whole text the body."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from rye.errors import ItemError
from rye.items import yaml
from rye.items.guarded import load_json, load_toml
from rye.items.model import STATED_KEYS, Draft, Symbol
from rye.items.values import DESCRIPTION_CHARS, cut_blank_head, jsonable, one_line

_STRING = r'"(?:[^"\\]++|\\.)*+"?+'  # an unclosed one matches to the end, so that no text is read twice
_JSON_STRING = re.compile(rf"({_STRING})(\s*+:)?+", re.DOTALL)
_JSON_COMMENT = re.compile(rf"{_STRING}|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/)?+", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|,(?=\s*+[\]}}])", re.DOTALL)
_LOGIN = re.compile(r"//([^/?#]*+)")
_PARAMETER = re.compile(r"([?&][^=&#?]*+=)[^&#]*+")
_SECRET_NAMES = ("key", "token", "secret", "password")
_SCHEME = re.compile(r"(?<!\w)(?:basic|bearer)\Z", re.IGNORECASE)


def read_yaml(text: str) -> Draft:
    """Read a ``.yaml`` or ``.yml`` item."""
    return _draft(text, yaml.load(text, as_text=STATED_KEYS))


def read_toml(text: str) -> Draft:
    """Read a ``.toml`` item."""
    return _draft(text, jsonable(load_toml(text)))


def read_json(text: str) -> Draft:
    """Read a ``.json`` item: of duplicate keys the last one wins; NaN and infinities are null.

    Lists of MCP servers may have comments and trailing commas, which give a note: editors accept such a file, Claude
    Code and Copilot's command line (1.0.78, as reported) refuse it.
    """
    note = ""
    try:
        value = load_json(text)
    except ItemError as error:
        if error.code != "unparsable" or '"mcpServers"' not in text:
            raise
        text = _without_comments(text)
        try:
            value = load_json(text)
        except ItemError:
            raise error from None
        note = f"comments or trailing commas, for which some clients refuse the file: {error.message}"
    value = jsonable(value)
    servers = value.get("mcpServers") if isinstance(value, dict) else None
    return replace(_draft_of_servers(text, servers) if isinstance(servers, dict) else _draft(text, value), note=note)


def _without_comments(text: str) -> str:
    """Return JSON without comments and trailing commas; line numbers stay the same."""

    def blank(match: re.Match[str]) -> str:
        return match[0] if match[0][0] == '"' else " " + "\n" * match[0].count("\n")

    return _TRAILING_COMMA.sub(blank, _JSON_COMMENT.sub(blank, text))


def _draft_of_servers(text: str, servers: dict[str, Any]) -> Draft:
    """Read a list of MCP servers: name and command or address of each, without secrets."""
    symbols, lines, line, counted, key_lines = [], [], 1, 0, dict[str, int]()
    for match in _JSON_STRING.finditer(text):
        if match[2]:
            line, counted = line + text.count("\n", counted, match.start()), match.start()
            key_lines.setdefault(match[1][1:-1], line)
    for name, server in servers.items():
        stated = server if isinstance(server, dict) else {}
        arguments = stated.get("args")
        words = [stated.get("command") or stated.get("url") or "", *(arguments if isinstance(arguments, list) else ())]
        command = _without_secrets(" ".join(map(str, words)))
        line = key_lines.get(name, 1)
        symbols.append(Symbol(name, "server", line, line, signature=one_line(command, DESCRIPTION_CHARS)))
        lines.append(f"{name}: {command}")
    return Draft(
        metadata={"servers": list(servers)},
        body="\n".join(lines).rstrip(),
        symbols=tuple(symbols),
        heading=lambda: "MCP servers",
        paragraph=lambda: f"The MCP servers {', '.join(servers)}.",
    )


def _without_secrets(command: str) -> str:
    """Return a command without logins, values in addresses, and values of secret options and variables.

    >>> _without_secrets("run --token abc A_KEY=abc https://me:abc@a.example/?v=1")
    'run --token A_KEY= https://a.example/?v='
    """
    shown, is_secret = [], False
    for word in command.split():
        if is_secret and not word.startswith("-"):
            is_secret = False
            continue
        name, equals, _ = word.partition("=")
        is_named = name.casefold().endswith(_SECRET_NAMES) and name.replace("-", "_").isidentifier()
        is_secret = (is_named and not equals and name[0] == "-") or _SCHEME.search(word) is not None
        address = _LOGIN.sub(lambda match: "//" + match[1].rpartition("@")[2], word)
        shown.append(f"{name}=" if is_named and equals else _PARAMETER.sub(r"\1", address))
    return " ".join(shown)


def _draft(text: str, value: Any) -> Draft:
    from rye.items.comments import header

    body, line = cut_blank_head(text)
    stated = value if isinstance(value, dict) else {}
    return Draft(metadata=stated, body=body, body_line=line, paragraph=lambda: header(text, "#")[1])
