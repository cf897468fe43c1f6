"""Write ``items/knowledge/rye/reference.md``: commands, MCP tools, settings, limits and codes, all read from the code.

``poe reference`` writes the page; a test fails when the page and the code differ.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import click

import rye
from rye import Registry, errors
from rye._text import block
from rye.cli.commands import COMMANDS, GROUPS, CommandHelp
from rye.cli.params import PLACES, Option
from rye.mcp.arguments import TOOLS
from rye.options.model import Parameter, described
from rye.query.flaws import FLAWS
from rye.registry.diagnosis import CODES as DOCTOR_CODES
from rye.search.contract.fields import KEYWORD_FIELDS, STATES, TEXT_FIELDS
from rye.search.contract.results import SearchResponse, SearchResult, SectionHit
from rye.search.explain import MISS_REASONS
from rye.trust.model import Signature
from rye.trust.reasons import LIST_REMEDIES, POLICY_REMEDIES, REASONS, Remedy

SOURCE = Path(rye.__file__).parent
PAGE = SOURCE.parent / "items" / "knowledge" / "rye" / "reference.md"
METHODS = (
    "search",
    "list_items",
    "sections",
    "why",
    "evaluate",
    "read_query",
    "similar",
    "get",
    "refs",
    "verify",
    "sign",
)
ANSWERS = (SearchResponse, SearchResult, Signature, SectionHit)
INTRODUCTION = (Path(__file__).with_name("reference.md")).read_text(encoding="utf-8")
"""The front matter, the exit statuses and the environment variables, with ``{name}`` for each generated part."""


def page() -> str:
    """Return the whole page as the code describes it."""
    parts = {
        "summary": _summary(),
        "places": _table("Option | Meaning | Commands", _place_rows()),
        "commands": "\n".join(map(_command, COMMANDS.values())),
        "tools": "\n".join(_tool(name, parameters) for name, parameters in TOOLS.items()),
        "methods": "\n".join(map(_method, METHODS)),
        "text_fields": _table(
            "Field | Alias | Weight in directives and tools | in knowledge | *b* | Holds", _text_field_rows()
        ),
        "keyword_fields": _table("Field | Alias | Compared as | Holds", _keyword_field_rows()),
        "states": _table("State | Items", ((f"`is:{name}`", words) for name, words in STATES.items())),
        "answers": "\n".join(map(_answer, ANSWERS)),
        "limits": _table("Limit | Value | Room", _limit_rows()),
        "query_errors": _table("Code | Example | What it says | What to do", _flaw_rows()),
        "errors": _table("Code | Class | What it says | What to do", _error_rows()),
        "misses": _table("Code | Meaning", _coded(MISS_REASONS)),
        "list_findings": _table("Code | What to do", _remedy_rows(LIST_REMEDIES)),
        "policy_findings": _table("Code | What to do", _remedy_rows(POLICY_REMEDIES)),
        "doctor_findings": _table("Code | Meaning", _coded(DOCTOR_CODES)),
        "reasons": _table("Code | Verdict | What it says | What to do", _reason_rows()),
    }
    return re.sub(r"\{(\w+)\}", lambda match: parts.get(match[1], match[0]).rstrip("\n"), INTRODUCTION)


def _table(head: str, rows: Iterable[Iterable[str]]) -> str:
    lines = [f"| {head} |", f"|{'---|' * (head.count(' | ') + 1)}"]
    lines += [re.sub(r"\| +(?=\|)", "| ", f"| {' | '.join(map(_cell, row))} |") for row in rows]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


# Commands


def _summary() -> str:
    width = max(map(len, COMMANDS))
    rows = {
        heading: [f"rye {name:<{width}}  {COMMANDS[name].summary}" for name in names]
        for heading, names in GROUPS.items()
    }
    return "\n\n".join("\n".join([f"# {heading}", *lines]) for heading, lines in rows.items())


def _command(entry: CommandHelp) -> str:
    command = entry.command
    usage = " ".join(
        command.collect_usage_pieces(click.Context(command, info_name=entry.name, **command.context_settings))
    )
    parts = [f"### rye {entry.name}\n", f"```text\nrye {entry.name} {usage}\n```\n", _help(command)]
    parts.append("```sh\n" + "\n".join(f"{line}  # {meaning}" for line, meaning in entry.examples) + "\n```\n")
    if isinstance(command, click.Group):
        actions = ((f"`{name}`", action.get_short_help_str(200)) for name, action in command.commands.items())
        parts += [_table("Action | Meaning", actions), _table("Option | Actions | Meaning", _action_rows(command))]
    elif rows := list(_option_rows(command)):
        parts.append(_table("Option | Default | Meaning", rows))
    return "\n".join(parts)


def _help(command: click.Command) -> str:
    return inspect.cleandoc((command.help or "").replace("\b", "").partition("\f")[0]) + "\n"


def _options_of(command: click.Command) -> list[Option]:
    """Return the options of a command without ``--color`` and ``--help``."""
    return [param for param in command.params if isinstance(param, Option)]


def _flags(option: Option) -> str:
    """Return the names of an option, the long one with its value."""
    names = sorted([*option.opts, *option.secondary_opts], key=lambda name: not name.startswith("--"))
    value = "" if option.is_flag else option.metavar or option.make_metavar(click.Context(click.Command("rye")))
    if len(option.values) == 1 or (isinstance(option.type, click.Choice) and not option.metavar):
        value = str(option.values[0]) if len(option.values) == 1 else option.opts[0].strip("-").upper()
    return ", ".join(f"`{name} {value}`" if value and name[1] == "-" else f"`{name}`" for name in names)


def _option_meaning(option: Option) -> str:
    """Return the last cell of a row; values that its text does not name are listed."""
    text, values = option.text, [f"`{value}`" for value in option.values if isinstance(value, str)]
    if values and not any(value in text for value in values):
        text += f": {', '.join(values)}"
    return f"{text}; {option.notes}".removesuffix("; ")


def _option_default(option: Option) -> str:
    default = option.default
    if isinstance(default, str):
        return f"`{default}`" if default else ""
    if option.is_flag or not isinstance(default, (int, float)):
        return option.default_words
    return f"{default:,g}" if default >= 10_000 else f"{default:g}"


def _option_rows(command: click.Command) -> Iterator[list[str]]:
    """Yield the rows of a table of options, without those that many commands share."""
    shared = {option.name: option.text for option in _options_of(COMMANDS["search"].command)}
    for option in _options_of(command):
        if option.heading != PLACES or option.text != shared.get(option.name):
            yield [_flags(option), _option_default(option), _option_meaning(option)]


def _action_rows(group: click.Group) -> Iterator[list[str]]:
    """Yield the rows for the options of all actions of a command, one row for options that mean the same."""
    actions_of: dict[tuple[str, str], list[str]] = {}
    for action, command in group.commands.items():
        for names, default, text in _option_rows(command):
            by_default = f"; by default {default}" if default and "default" not in text else ""
            actions_of.setdefault((names, text + by_default), []).append(action)
    for (names, text), actions in actions_of.items():
        yield [names, "all" if len(actions) == len(group.commands) else ", ".join(actions), text]


def _place_rows() -> Iterator[list[str]]:
    """Yield the rows of the options that many commands share."""
    for place in (option for option in _options_of(COMMANDS["search"].command) if option.heading == PLACES):
        takers = [
            name
            for name, entry in COMMANDS.items()
            for command in getattr(entry.command, "commands", {name: entry.command}).values()
            if any((option.name, option.text) == (place.name, place.text) for option in _options_of(command))
        ]
        yield [_flags(place), _option_meaning(place), ", ".join(dict.fromkeys(takers))]


# MCP tools and Python methods


def _tool(name: str, parameters: Mapping[str, Parameter]) -> str:
    return f"### {name}\n\n" + _table("Argument | Default | Meaning", _tool_rows(parameters))


def _tool_rows(parameters: Mapping[str, Parameter]) -> Iterator[list[str]]:
    for name, parameter in parameters.items():
        text = described(parameter, "mcp")
        notes = f"; {parameter.notes}" if parameter.notes and not parameter.data else ""
        yield [f"`{name}`", _default(parameter) or "none", text + notes]


def _default(parameter: Parameter) -> str:
    default = parameter.default
    if parameter.required or parameter.shown or default is None:
        return "required" if parameter.required else parameter.shown
    if isinstance(default, (str, tuple)):
        return f"`{default}`" if default else ""
    if type(default) in {int, float}:
        return f"{default:,g}" if default >= 10_000 else f"{default:g}"
    return json.dumps(default)


def _method(name: str) -> str:
    method = getattr(Registry, name)
    parts: list[str] = []
    for parameter in list(inspect.signature(method).parameters.values())[1:]:
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts and not any(p.startswith("*") for p in parts):
            parts.append("*")
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        default = "" if parameter.default is parameter.empty else "=" + repr(parameter.default).replace("'", '"')
        parts.append(f"{star}{parameter.name}{default}")
    line = ", ".join(parts)
    if len(line) > 90:
        line = "\n" + textwrap.fill(f"{line},", 112, initial_indent="    ", subsequent_indent="    ") + "\n"
    returned = inspect.get_annotations(method)["return"]
    about = (inspect.getdoc(method) or "").split("\n\n")[0]
    return f"### registry.{name}\n\n```python\nregistry.{name}({line}) -> {returned}\n```\n\n{about}\n"


# Fields and answers


def _text_field_rows() -> Iterator[list[str]]:
    for field in TEXT_FIELDS.values():
        numbers = (f"{number:g}" for number in (field.action_weight, field.weight, field.b))
        yield [f"`{field.name}`", _ticked(field.aliases), *numbers, field.about]


def _keyword_field_rows() -> Iterator[list[str]]:
    for field in KEYWORD_FIELDS.values():
        yield [f"`{field.name}`", _ticked(field.aliases), field.kind, field.about]


def _ticked(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _answer(kind: type) -> str:
    """Return the section of a class of answers: its fields, as its docstring describes them."""
    meanings: dict[str, str] = {}
    names: set[str] = set()
    for base in reversed(kind.__mro__):
        names |= inspect.get_annotations(base).keys()
        attributes = inspect.cleandoc(base.__doc__ or "").partition("Attributes:\n")[2] + "\n"
        rows = re.findall(r"^    (\w+(?:, \w+)*): (.*\n(?:     +.*\n?)*)", attributes, re.MULTILINE)
        meanings |= {name: text for row, text in rows for name in row.split(", ")}
    assert names == meanings.keys(), f"{kind.__name__} does not describe {names ^ meanings.keys()}"
    fields = ((_ticked([name]), _plain(text)) for name, text in meanings.items())
    about = inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0]
    return f"### {kind.__name__}\n\n{_plain(about)}\n\n" + _table("Field | Meaning", fields)


def _plain(text: str) -> str:
    """Return a docstring as Markdown."""
    text = re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", text)
    return text.replace("``", "`").strip()


# Limits


@cache
def _modules() -> tuple[ModuleType, ...]:
    names = [module.name for module in pkgutil.walk_packages(rye.__path__, "rye.")]
    return tuple(importlib.import_module(name) for name in names if not re.search("_bundled|__main__", name))


def _limit_rows() -> Iterator[list[str]]:
    """Yield a row for each public ``MAX_…`` with the string below its definition."""
    for module in _modules():
        body = ast.parse(inspect.getsource(module)).body
        for statement, after in zip(body, [*body[1:], ast.Pass()], strict=True):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
            name = target.id if isinstance(target, ast.Name) else ""
            value = getattr(module, name, None) if name.startswith("MAX_") else None
            if isinstance(value, (int, float)):
                assert isinstance(after, ast.Expr), f"{module.__name__}.{name} needs a line that says what it limits"
                about = re.sub(r"^(?:Maximum|Most) (?:number of )?", "", ast.literal_eval(after.value).split("\n\n")[0])
                about = about[:1].upper() + about[1:].rstrip(".").replace("``", "`")
                yield [about, f"{value:,g}" if value < 1e5 else f"{value:,}", module.__name__.split(".")[1]]


# Codes


FAMILIES = {name: name for name in vars(errors) if name.endswith(("Error", "Fault"))} | {
    "ParameterError": "ArgumentError",
    "Fault": "ItemError",
    "_refuse": "QueryError",
}
"""Name of a class in the code → class of the error that a caller gets."""


_CODE = re.compile(r"(?!…$)(?:[a-z0-9]+|…)(?:-(?:[a-z0-9]+|…))*")


class _Raised(NamedTuple):
    """An error as one place in the code raises it; ``…`` stands for what is known only then."""

    code: str
    kind: str
    message: str
    hint: str


def _flaw_rows() -> Iterator[list[str]]:
    for code, flaw in FLAWS.items():
        yield [
            f"`{code}`",
            f"`{block(flaw.example)}`" if flaw.example else "",
            _blanks(flaw.message),
            _blanks(flaw.hint),
        ]


def _reason_rows() -> Iterator[list[str]]:
    for code, reason in REASONS.items():
        yield [f"`{code}`", str(reason.verdict), _blanks(reason.words), _blanks(_steps(reason.remedy))]


def _coded(meanings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    return ((f"`{code}`", meaning) for code, meaning in meanings.items())


def _remedy_rows(remedies: Mapping[str, Remedy]) -> Iterator[tuple[str, str]]:
    """Yield a row for each code; what a signer does is the same for all but the list, so it stands there alone."""
    for code, remedy in remedies.items():
        own = "; if it is yours: `rye sign list`" if "sign list" in remedy.sign else ""
        yield f"`{code}`", f"{_steps(remedy)}{own}".replace("{where}", "")


def _steps(remedy: Remedy) -> str:
    return ": ".join(filter(None, (f"`{remedy.command}`" if remedy.command else "", remedy.words)))


def _error_rows() -> Iterator[list[str]]:
    """Yield a row for each code and class, with the words of the first place that raises it."""
    first: dict[tuple[str, str], _Raised] = {}
    for module in _modules():
        for raised in () if module.__name__.startswith("rye.query") else _raised(ast.parse(inspect.getsource(module))):
            known = first.setdefault((raised.code, raised.kind), raised)
            if not (known.message and known.hint) and raised.message:
                first[raised.code, raised.kind] = raised
    for code, kind in sorted(first):
        if (code, kind) not in {(flaw, "QueryError") for flaw in FLAWS}:
            yield [f"`{code}`", f"`{kind}`", first[code, kind].message, first[code, kind].hint]


def _raised(tree: ast.AST, known: Mapping[str, ast.expr] | None = None) -> Iterator[_Raised]:
    """Yield the errors that a tree raises.

    A name stands for the text that its block assigned before, else for any that the function assigns.
    """
    texts = dict(known or {})
    if isinstance(tree, ast.FunctionDef):
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                texts = _assigned(node.targets[0], node.value) | texts
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Assign):
            texts |= _assigned(node.targets[0], node.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FAMILIES and node.args:
            raised = _error(node.func.id, node, texts)
            if _CODE.fullmatch(raised.code):
                yield raised
        yield from _raised(node, texts)


def _assigned(target: ast.expr, value: ast.expr) -> dict[str, ast.expr]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = zip(target.elts, value.elts, strict=False)
        return {name.id: part for name, part in pairs if isinstance(name, ast.Name)}
    return {target.id: value} if isinstance(target, ast.Name) else {}


def _error(name: str, call: ast.Call, texts: Mapping[str, ast.expr]) -> _Raised:
    values = [_text(value, texts) for value in call.args]
    named = {str(word.arg): _text(word.value, texts) for word in call.keywords}
    if name == "_refuse":  # takes (context, node, code, message)
        values = values[2:]
    elif name == "ParameterError":  # takes (code, subjects, verb, rest)
        values = [values[0], " ".join(("…", *(value or "…" for value in values[2:])))]
    code, message, hint = [*values, "", "", ""][:3]
    return _Raised(code, FAMILIES[name], named.get("message", message), named.get("hint", hint))


def _text(node: ast.expr | None, texts: Mapping[str, ast.expr]) -> str:
    """Return a text of the code with ``…`` for each part that is not a constant; empty if none is."""
    if isinstance(node, ast.Name) and node.id in texts:
        return _text(texts[node.id], {})
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.IfExp):
        return " / ".join(filter(None, (_text(node.body, texts), _text(node.orelse, texts))))
    if isinstance(node, ast.JoinedStr):
        parts = [str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values]
        return "".join(parts)
    return ""


def _blanks(template: str) -> str:
    return re.sub(r"\{\w*(?:![rs])?(?::[^}]*)?\}", "…", template)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
