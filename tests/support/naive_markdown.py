"""The twin of finding headings: every line is looked at in turn, by the rules of CommonMark that rye follows."""

from __future__ import annotations

import re

__all__ = ["headings"]


def headings(body: str) -> list[tuple[int, str, int]]:
    """Return level, text and 0-based line of every heading, marked or underlined, that is in no fence or comment."""
    found: list[tuple[int, str, int]] = []
    fence, comment = "", False
    paragraph: list[str] | None = []  # its lines so far; None below what begins a list, a quote, a table, markup
    lines = body.split("\n")
    for number, line in enumerate(lines):
        if comment or (not fence and re.match(" {0,3}<!--", line)):
            comment, paragraph = "-->" not in (line if comment else line.lstrip(" ")[2:]), []
            continue
        mark = re.match(r" {0,3}(`{3,}|~{3,})(.*)", line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
            continue
        if mark and not (mark[1][0] == "`" and "`" in mark[2]):
            fence, paragraph = mark[1], []
            continue
        marked = re.fullmatch(r" {0,3}(#{1,6})(?:[ \t]+(.*))?", line)
        if marked:
            text = (marked[2] or "").strip()
            closed = re.fullmatch(r"(|.*[ \t])#+", text)
            found.append((len(marked[1]), closed[1].rstrip() if closed else text, number))
            paragraph = []
            continue
        underline = re.fullmatch(r" {0,3}(=+|-+)[ \t]*", line)
        if underline and paragraph:
            metadata = underline[1][0] == "-" and number == 1 + len(paragraph) and re.fullmatch("---[ \t]*", lines[0])
            if not metadata:
                level = 1 if underline[1][0] == "=" else 2
                found.append((level, " ".join(each.strip() for each in paragraph).strip(), number - len(paragraph)))
                paragraph = []
                continue
        paragraph = _with(line, paragraph)
    return found


def _with(line: str, paragraph: list[str] | None) -> list[str] | None:
    """Return the paragraph that goes on below one more line, which is no heading and no part of a fence."""
    bare = line.strip()
    if not bare or re.fullmatch(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})", line):
        return []
    indent = len(line) - len(line.lstrip(" "))
    begins = re.match(r"[-+*](?:[ \t]|$)|\d{1,9}[.)](?:[ \t]|$)|>|\||:?-+:?[ \t]*\||\[[^\]]+\]:", line.lstrip(" "))
    markup = re.match(r" *<(?!\w+://|mailto:)[A-Za-z/!?]", line)
    if indent < 4 and line[indent] != "\t" and (begins or markup):
        return None
    if paragraph is None:
        return None
    if not paragraph and (indent >= 4 or line[0] == "\t"):
        return []
    return [*paragraph, line]
