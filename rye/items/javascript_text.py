"""Blanks what is not code in the text of JavaScript and TypeScript, and finds the files that it imports.

Comments and the insides of strings, templates and regular expressions become spaces, in a text of the same length.
What stands between the tags of JSX is read as code, except that an apostrophe within a word, a quote that is not closed
on its line, and the slashes of ``https://`` begin nothing. The cursor never goes back, so any text takes linear time.
"""

from __future__ import annotations

import re

_DOUBLE, _SINGLE = r'(?:[^"\\\n]++|\\.)*+', r"(?:[^'\\\n]++|\\.)*+"
_COMMENT = r"(?:/(?<!tp://)(?<!tps://)[^\n]*+(?:\n[ \t]*+//[^\n]*+)*+|\*(?:[^*]++|\*(?!/))*+(?:\*/)?)"
_REGEX = r"/(?:[^\\/\[\n]++|\\[^\n]|\[(?:[^\]\\\n]++|\\[^\n])*+\]?)*+/?"
_SUBSTITUTED = rf"""\$\{{(?:[^`{{}}"'/]++|"{_DOUBLE}"|'{_SINGLE}'|`[^`\\$]*+`)*+\}}"""
_SIMPLE_TEMPLATE = rf"(?:[^`\\$]++|\\.|\$(?!\{{)|{_SUBSTITUTED})*+`"
_IN_NO_WORD = r"(?:(?<![a-z]')|(?<=(?:case|from)')|(?<=(?:import|return|typeof)'))"

_LITERAL = re.compile(
    rf"""["'`/](?:(?<=/){_COMMENT}|(?<='){_IN_NO_WORD}(?<!\\'){_SINGLE}'"""
    rf"""|(?<=")(?<!\\"){_DOUBLE}"|(?<=`){_SIMPLE_TEMPLATE})?""",
    re.DOTALL,
)
"""A comment, a string or a template; only its first character where it is none of these, or holds other templates."""

_FIRST = b"!"
_FIRSTS = bytes(_FIRST[0] if chr(at) in "\"'`/" else 32 for at in range(256))
"""Makes the first characters of all literals one, because one is searched for faster than any of several."""

_AT_REGEX = re.compile(_REGEX)
_IN_TEMPLATE = re.compile(r"(?:[^`\\$]++|\\.|\$(?!\{))*+(?P<mark>`|\$\{)?", re.DOTALL)
_IN_SUBSTITUTION = re.compile(
    rf"""(?:[^`{{}}"'/]++|"{_DOUBLE}"?|'{_SINGLE}'?|/{_COMMENT}|(?:(?<=[(,=:!&|?])|(?<=[(,=:!&|?]\ )){_REGEX}|/)*+"""
    r"(?P<mark>[`{}])?",
    re.DOTALL,
)

_BEFORE_REGEX = re.compile(
    r"(?<![\w$.])(?:await|case|delete|do|else|in|instanceof|new|of|return|throw|typeof|void|yield)\Z"
)
_BEFORE_DIVISION = re.compile(r"(?:[\w$)\]}\"'`<]|(?<!=)>|\+\+|--)\Z")
_LOOK_BACK = 12
"""Characters before a slash or a path that tell what it is."""

_IMPORT = re.compile(r"(?<![\w$.])(?:from|import|(?:import|require) ?\()\Z")
_PATH = re.compile(r"""\./(?:(?<=["'`]\./)|(?<=["'`]\.\./))[^"'`\\\n]{0,500}(?=["'`])""")
_PATH_REACH = 100


def blanked(text: str) -> str:
    """Return a text of the same length with spaces for tabs and all but code; of strings and templates quotes stay."""
    firsts = text.encode("latin-1", "replace").translate(_FIRSTS)
    parts: list[str] = []
    done = 0
    while (start := firsts.find(_FIRST, done)) >= 0:
        parts.append(text[done:start])
        mark, match = text[start], _LITERAL.match(text, start)
        done = match.end() if match else start + 1
        if mark == "/":
            if done > start + 1:
                parts.append(" " * (done - start))
                continue
            if _is_regex(parts) and (found := _AT_REGEX.match(text, start)):
                done = found.end()
        elif mark == "`" and done == start + 1:
            done = _template_end(text, done)
        length = done - start
        parts.append(f"{mark}{' ' * (length - 2)}{mark}" if length > 1 else "/" if mark == "/" else " ")
    parts.append(text[done:])
    return "".join(parts).replace("\t", " ")


def _is_regex(parts: list[str]) -> bool:
    """Return whether a slash begins a regular expression, by what stands before it, comments aside."""
    behind = next((one for part in reversed(parts[-_LOOK_BACK:]) if (one := part[-200:].rstrip())), "")[-_LOOK_BACK:]
    return not _BEFORE_DIVISION.search(behind) or bool(_BEFORE_REGEX.search(behind))


def imported(text: str, code: str) -> list[tuple[str, int]]:
    """Return the relative paths that a text imports, with their places.

    Args:
        text: The text.
        code: What :func:`blanked` returns of it.
    """
    found = []
    for match in _PATH.finditer(text):
        start, end = match.span()
        start -= 2 if text[start - 1] == "." else 1
        reach = code[max(0, start - _PATH_REACH) : start]
        if code[start] == text[end] and (reach.endswith(" from ") or _IMPORT.search(reach.rstrip()[-_LOOK_BACK:])):
            found.append((text[start + 1 : end], start))
    return found


def without_comments(text: str) -> str:
    """Return code with spaces for comments."""
    if "/" not in text:
        return text
    return _LITERAL.sub(lambda match: " " if match[0].startswith(("//", "/*")) else match[0], text)


def _template_end(text: str, at: int) -> int:
    """Return the place behind a template that begins just before ``at``."""
    inside = ["`"]
    while inside:
        match = (_IN_TEMPLATE if inside[-1] == "`" else _IN_SUBSTITUTION).match(text, at)
        if match is None or match["mark"] is None:
            return len(text)
        at = match.end()
        if match["mark"] == "}" or match["mark"] == inside[-1] == "`":
            inside.pop()
        else:
            inside.append(match["mark"])
    return at
