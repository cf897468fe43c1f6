"""Tools and knowledge kept as data: YAML, JSON, TOML. Every top-level key is metadata, the whole text is the body."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from rye.errors import ItemError
from rye.items.model import STATED_KEYS, Draft, Symbol
from rye.items.values import DESCRIPTION_CHARS, cut_blank_head, integer, jsonable, line_of, one_line, too_deep

# tomllib takes quadratic time over a dotted key; 65 parts are deeper than metadata may nest anyway
_TOML_LONG_KEY = re.compile(
    r"(?<![\w-])(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')(?:[ \t]*+\.[ \t]*+(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')){64}"
)
_JSON_STRING = re.compile(r'"(?P<text>(?:[^"\\]++|\\.)*+)"(?P<colon>\s*+:)?+')
_STRING = r'"(?:[^"\\]++|\\.)*+"?+'
_JSON_COMMENT = re.compile(rf"{_STRING}|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/)?+", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|,(?=\s*+[\]}}])", re.DOTALL)
_SECRET = re.compile(
    r"(?<=//)[^/\s?#]*@"  # who logs in at an address
    r"|(?<=[?&])([^=&?\s#]++=)[^&\s#]++"
    r"|(?<!\S)(-[\w-]{0,60}(?:key|token|secret|password)[= ]|\w{0,60}(?:key|token|secret|password)=)(?!-)\S++"
    r"|\b((?:basic|bearer)\s+)\S++",
    re.IGNORECASE,
)
_TOML_LINE = re.compile(r" \(at line (\d+), column \d+\)$")


def read_yaml(text: str) -> Draft:
    """Read a ``.yaml`` or ``.yml`` item."""
    from rye.items import yaml_safe

    return _draft(text, yaml_safe.load(text, as_text=STATED_KEYS))


def read_json(text: str) -> Draft:
    """Read a ``.json`` item: duplicate keys are tolerated, the last one wins; NaN and infinities are null.

    Lists of MCP servers may have comments and trailing commas, with a note: editors read a file that has any, Claude
    Code and Copilot's command line (1.0.78, as reported) refuse it.
    """
    value, note = _load_json(text), ""
    if isinstance(value, ItemError):
        plain = _without_comments(text) if '"mcpServers"' in text else text
        found = _load_json(plain)
        if isinstance(found, ItemError):
            raise value
        value, note = found, f"comments or trailing commas, for which some clients refuse the file: {value.message}"
        text = plain
    value = jsonable(value)
    servers = value.get("mcpServers") if isinstance(value, dict) else None
    return replace(_draft_of_servers(text, servers) if isinstance(servers, dict) else _draft(text, value), note=note)


def _load_json(text: str) -> Any:
    """Return the value, or the error for what is no JSON.

    Raises:
        ItemError: ``too-deep``.
    """
    import json

    try:
        return json.loads(text, parse_constant=lambda _: None, parse_int=integer)
    except json.JSONDecodeError as error:
        return _unparsable("JSON", error.lineno, error.msg)
    except RecursionError:
        raise too_deep() from None


def _without_comments(text: str) -> str:
    """Return JSON without comments and without commas behind which nothing comes; lines stay where they are."""

    def blank(match: re.Match[str]) -> str:
        return match[0] if match[0][0] == '"' else " " + "\n" * match[0].count("\n")

    return _TRAILING_COMMA.sub(blank, _JSON_COMMENT.sub(blank, text))


def _draft_of_servers(text: str, servers: dict[str, Any]) -> Draft:
    """Read the MCP servers that a client is to start: name and command or address of each, never what is secret."""
    symbols, lines, places = [], [], _key_lines(text)
    for name, server in servers.items():
        found = server if isinstance(server, dict) else {}
        stated = found.get("args")
        arguments = stated if isinstance(stated, list) else []
        words = " ".join(map(str, [found.get("command") or found.get("url") or "", *arguments]))
        command = _SECRET.sub(lambda match: "".join(filter(None, match.groups())), words).strip()
        line = places.get(name, 1)
        symbols.append(Symbol(name, "server", line, line, signature=one_line(command, DESCRIPTION_CHARS)))
        lines.append(f"{name}: {command}")
    names = ", ".join(servers)
    return Draft(
        metadata={"servers": list(servers)},
        body="\n".join(lines).rstrip(),
        symbols=tuple(symbols),
        heading="MCP servers",
        paragraph=f"The MCP servers {names}.",
    )


def _key_lines(text: str) -> dict[str, int]:
    """Return the line on which each key of a JSON text, as written there, first stands."""
    found, line, counted = dict[str, int](), 1, 0
    for match in _JSON_STRING.finditer(text):
        if match["colon"]:
            line, counted = line + text.count("\n", counted, match.start()), match.start()
            found.setdefault(match["text"], line)
    return found


def read_toml(text: str) -> Draft:
    """Read a ``.toml`` item."""
    import tomllib

    if long_key := _TOML_LONG_KEY.search(text):
        raise too_deep(line_of(text, long_key.start()))
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        place = _TOML_LINE.search(message)
        line = int(place[1]) if place else line_of(text, len(text))
        raise _unparsable("TOML", line, _TOML_LINE.sub("", message)) from None
    except RecursionError:
        raise too_deep() from None
    except ValueError as error:  # an integer too long to read, a date that is none
        raise _unparsable("TOML", 1, str(error)) from None
    return _draft(text, jsonable(value))


def _draft(text: str, value: Any) -> Draft:
    from rye.items.comments import header

    body, line = cut_blank_head(text)
    stated = value if isinstance(value, dict) else {}
    return Draft(metadata=stated, body=body, body_line=line, paragraph=header(text, "#")[1])


def _unparsable(language: str, line: int, problem: str) -> ItemError:
    return ItemError("unparsable", f"line {line}: {problem}", hint=f"fix the {language} there", line=line)
