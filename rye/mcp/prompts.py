"""Directives as prompts: their declared inputs are the arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mcp import types

from rye._text import as_word, block
from rye.errors import ArgumentError, RyeError
from rye.mcp.arguments import MAX_CONTENT
from rye.mcp.resources import described, item_page, titled
from rye.mcp.text import NOT_TRUSTED, Mark, short, verdict
from rye.mcp.tools.load import fenced, part_of_content, start_of_content

if TYPE_CHECKING:
    from rye.items.directive_xml import Input
    from rye.registry.registry import Registry
    from rye.registry.reports import LoadedItem

_PLACE = re.compile(r"\{input:([^{}\s|:?]++)[^{}]*+\}")


def list_prompts(registry: Registry, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    """Return a page of the directives; if several spaces have the same id, only the one that is searched first."""
    page, mark = item_page(registry, "directive", params), Mark()
    listed = []
    for hit in page.results:
        if hit.shadowed_by:
            continue
        try:
            inputs = _inputs(registry.get(f"directive:{hit.id}"))
        except RyeError:  # gone, or not readable any more, since the page was made
            continue
        listed.append(
            types.Prompt(
                name=short(hit.id, 300),
                title=titled(hit),
                description=described(hit, mark),
                arguments=inputs,
            )
        )
    return types.ListPromptsResult(
        prompts=listed, next_cursor=None if page.next_offset is None else str(page.next_offset)
    )


def get_prompt(registry: Registry, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    """Return a directive with the values of its inputs filled in.

    Raises:
        ArgumentError: ``unknown-argument``, ``missing-argument``, ``long-input``.
        NotFoundError: There is no such directive.
        ItemError: It cannot be read, or is not trusted although that is required.
    """
    loaded = registry.get(f"directive:{params.name}")
    inputs = _inputs(loaded)
    values = _values(inputs, params.arguments or {})
    label, mark = verdict(loaded.signature.to_dict()), Mark()
    lines = [f"Follow the directive {as_word(loaded.item.id[:300])}. Its verdict: {label}."]
    if loaded.signature.verdict != "trusted":
        lines.append(NOT_TRUSTED)
    lines.append(mark.line(f"{label}:", loaded.signature.reason, 300))
    if values:
        lines += mark.fence("inputs", "\n".join(f"{name}: {value}" for name, value in values.items()))
    start = start_of_content(loaded)
    part = part_of_content(loaded, start)
    length = sum(map(len, values.values()))  # a directive may name an input any number of times
    length += sum(len(values.get(place[1], "")) for place in _PLACE.finditer(part.text))
    if length > MAX_CONTENT:
        reason = f"the values of the inputs would take {length} characters where they are put"
        raise ArgumentError("long-input", reason, hint=f"give shorter ones: {MAX_CONTENT} characters in all")
    content = _PLACE.sub(lambda place: values.get(place[1], place[0]), part.text)
    lines += fenced(part._replace(text=content), start, mark)
    if part.next_offset is not None:
        lines.append(f"before anything is done, read the rest with rye_load, offset {part.next_offset}")
    text = mark.answer(lines, "what the item says, and its inputs")
    message = types.PromptMessage(role="user", content=types.TextContent(text=text))
    description = mark.line(f"[{label}]", loaded.item.description, 300)
    return types.GetPromptResult(description=description, messages=[message])


def _inputs(loaded: LoadedItem) -> list[types.PromptArgument]:
    from rye.items.directive_xml import declared_inputs

    inputs: Sequence[Input] = declared_inputs(loaded.item, loaded.content)
    return [
        types.PromptArgument(
            name=short(declared.name, 100),
            description=short(declared.description, 300) or None,
            required=declared.required,
        )
        for declared in inputs[:50]
    ]


def _values(inputs: Sequence[types.PromptArgument], given: Mapping[str, str]) -> dict[str, str]:
    names = [declared.name for declared in inputs]
    for name in given:
        if name not in names:
            hint = f"valid are {', '.join(names)}" if names else "this directive declares no inputs"
            raise ArgumentError("unknown-argument", f"there is no input {name!r}", hint=hint, valid=names)
    for declared in inputs:
        if declared.required and not given.get(declared.name):
            message, hint = f"the input {declared.name!r} is missing", declared.description or "give it as text"
            raise ArgumentError("missing-argument", message, hint=hint, valid=names)
    return {name: block(value) for name, value in given.items()}
