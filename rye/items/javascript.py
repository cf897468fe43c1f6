"""Finds the definitions and the imports of JavaScript and TypeScript in their text; nothing is compiled or run.

First everything but code is blanked: comments, and the insides of strings, templates and regular expressions. In what
is left brackets pair, so the body of a function is skipped as a whole, and only the statements of the file, of
namespaces and of classes are looked at. The cursor never goes back, so any text takes linear time.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rye.items.model import LONGEST_NAME

_DOUBLE, _SINGLE = r'(?:[^"\\\n]++|\\.)*+"?', r"(?:[^'\\\n]++|\\.)*+'?"
_COMMENT = r"(?:/[^\n]*+|\*(?:[^*]++|\*(?!/))*+(?:\*/)?)"
_SIMPLE_TEMPLATE = r"""(?:[^`\\$]++|\\.|\$(?!\{)|\$\{[^`{}"'/]*+\})*+`"""
_REGEX = r"/(?:[^\\/\[\n]++|\\[^\n]|\[(?:[^\]\\\n]++|\\[^\n])*+\]?)*+/?"

_LITERAL = re.compile(
    rf"""["'`/](?:(?<="){_DOUBLE}|(?<='){_SINGLE}|(?<=`){_SIMPLE_TEMPLATE}|(?<=/){_COMMENT})?""", re.DOTALL
)
"""A comment, a string or a template; only the mark of a template that has others inside, or of what else is a slash."""

_AT_REGEX = re.compile(_REGEX)
_IN_TEMPLATE = re.compile(r"(?:[^`\\$]++|\\.|\$(?!\{))*+(?P<mark>`|\$\{)?", re.DOTALL)
_IN_SUBSTITUTION = re.compile(
    rf"""(?:[^`{{}}"'/]++|"{_DOUBLE}|'{_SINGLE}|/{_COMMENT}|(?:(?<=[(,=:!&|?])|(?<=[(,=:!&|?]\ )){_REGEX}|/)*+"""
    r"(?P<mark>[`{}])?",
    re.DOTALL,
)

_BEFORE_REGEX = re.compile(
    r"(?<![\w$.])(?:await|case|delete|do|else|in|instanceof|new|of|return|throw|typeof|void|yield)\Z"
)
_BEFORE_DIVISION = re.compile(r"(?:[\w$)\]}\"<]|\+\+|--)\Z")
_LOOK_BACK = 12
"""Characters before a slash or a path that tell what it is."""

_IMPORT = re.compile(r"(?<![\w$.])(?:from|import|(?:import|require) ?\()\Z")
_PATH_REACH, _LONGEST_PATH = 100, 500


def blanked(text: str) -> tuple[str, list[tuple[str, int]]]:
    """Return a text of the same length in which only code stands; and the relative paths it imports, with places."""
    parts: list[str] = []
    paths: list[tuple[str, int]] = []
    done, before = 0, ""  # what stands before, comments aside, tells a division from a regular expression
    moved = True
    while moved:
        moved = False
        for match in _LITERAL.finditer(text, done):
            start, end = match.span()
            mark = text[start]
            parts.append(text[done:start])
            if mark == "/":
                before = text[done:start].rstrip()[-_LOOK_BACK:] or before
                if end > start + 1:
                    parts.append(" " * (end - start))
                    done = end
                    continue
                if _BEFORE_DIVISION.search(before) and not _BEFORE_REGEX.search(before):
                    before = "/"
                elif found := _AT_REGEX.match(text, start):
                    end, moved, before = found.end(), True, '"'
            else:
                before = '"'
                if mark == "`" and end == start + 1:
                    end, moved = _template_end(text, end), True
                elif text.startswith(("./", "../"), start + 1) and end - start < _LONGEST_PATH:
                    paths.append((text[start + 1 : end - 1], start))
            parts.append(mark + " " * (end - start - 2) + mark[: end - start - 1])
            done = end
            if moved:
                break
    code = "".join((*parts, text[done:]))
    reaches = ((each, code[max(0, each[1] - _PATH_REACH) : each[1]].rstrip()[-_LOOK_BACK:]) for each in paths)
    return code, [each for each, behind in reaches if _IMPORT.search(behind)]


def without_comments(text: str) -> str:
    """Return code with spaces for comments."""
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


_NAME = r"(?:[^\W\d]|\$)[\w$]*+"
_STATEMENT = rf"""[ \t]*+
    (?:export\s++(?:default\s++)?+|module\.exports\s*+=\s*+)?+ (?:declare\s++)?+
    (?:(?:async\s++)?+function\b\s*+\*?+\s*+(?P<function>{_NAME})
    |(?:abstract\s++)?+class\s++(?!extends\b|implements\b)(?P<class>{_NAME})
    |interface\s++(?P<interface>{_NAME})
    |(?:const\s++)?+enum\s++(?P<enum>{_NAME})
    |type\s++(?P<type>{_NAME})(?=\s*+[=<])
    |(?:namespace|module|global)\b\s*+(?P<namespace>[\w$.]*+)["'\s]*+\{{
    |(?:const|let|var)\s++(?P<value>{_NAME})(?=\s*+!?+\s*+[:=])
    |(?:module\.)?+exports\.(?P<exported>{_NAME})(?=\s*+=(?!=)))"""
_MEMBER = rf"""[ \t]*+
    (?:(?P<abstract>abstract\s++)
    |(?:accessor|async|declare|get|override|private|protected|public|readonly|set|static)\s++(?=[\w$\#*])){{0,6}}+
    (?:\*\s*+)?+(?P<member>\#?+{_NAME})\s*+[?!]?+\s*+(?=[(<:=])"""
_OTHER = r"|(?P<open>[({\[])|(?P<close>\})"

_AT_STATEMENT = re.compile(_STATEMENT, re.VERBOSE)
_NEXT_STATEMENT = re.compile(rf"[\n;](?:{_STATEMENT}){_OTHER}", re.VERBOSE)
_AT_MEMBER = re.compile(_MEMBER, re.VERBOSE)
_NEXT_MEMBER = re.compile(rf"[\n;](?:{_MEMBER}){_OTHER}", re.VERBOSE)

_FILLER = r"[^(){}\[\]]*+"
_inside = _FILLER
for _ in range(10):
    _inside = rf"{_FILLER}(?:[({{\[]{_inside}[)}}\]]{_FILLER})*+"
_PAIRED = re.compile(rf"[({{\[]{_inside}[)}}\]]")
"""Brackets with what is between, if they do not nest too deeply."""

_BRACKET = re.compile(r"[(){}\[\]]")
_ANGLE = re.compile(r"=>|[<>(){}\[\];]")
_IN_HEAD = re.compile(r"[<(){}\[\];]")
_PARAMETERS = re.compile(r"\s*+(?=\()")
_TYPE_PARAMETERS = re.compile(r"\s*+<")
_COLON = re.compile(r"\s*+[?!]?+\s*+:")
_ASSIGNED = re.compile(r"\s*+!?+\s*+=(?![=>])\s*+")
_BODY = re.compile(r"\s*+(?=\{)")
_ARROW = re.compile(r"\s*+=>")
_FUNCTION = re.compile(rf"(?:async\b\s*+)?+function\b\s*+\*?+\s*+(?:{_NAME})?+")
_CLASS = re.compile(rf"class\b(?:\s++(?!extends\b|implements\b){_NAME})?+")
_ASYNC = re.compile(r"async\b\s*+(?=[(<\w$])")
_ONE_PARAMETER = re.compile(rf"{_NAME}(?=\s*+=>)")

_OPERAND = re.compile(
    r"\s*+[|&]?+\s*+(?:(?:abstract|asserts|import|infer|keyof|new|readonly|typeof|unique)\b\s*+(?=[\w$\"'`({\[<]))*+"
    r"(?:-?+[\w$][\w$.]*+|[\"'`] *+[\"'`]|(?=(?P<open>[({\[]))|(?=(?P<angle><)))"
)
_POSTFIX = re.compile(r"[ \t]*+(?:\.[\w$.]++|(?=[<\[]))")
_JOINED = re.compile(r"\s*+(?:[|&?:]|(?:extends|is)\b)")
_SPACE = re.compile(r"\s*+")
_CONTINUED = re.compile(r"\n\s*+[.?:+*/%|&=<>-]")
_IN_EXPRESSION = re.compile(r"[\n;,({\[)}\]]|(?P<more>[&|?:=+*/.<>-][ \t]*+\n\s*+)")

_DEEPEST = 10
"""How deep namespaces and classes may nest; what is deeper is skipped."""


class Definition(NamedTuple):
    """A definition, its kind, and its places in the text: where it begins, its signature ends, and it ends itself."""

    name: str
    kind: str
    start: int
    signature_end: int
    end: int


def definitions(code: str) -> list[Definition]:
    """Return what is defined in a text that :func:`blanked` returned, in file order."""
    return _Scanner(code).scan()


class _Scope(NamedTuple):
    """An open class or namespace: what stands before the names in it, and the number of a class; -1 of a namespace."""

    prefix: str
    number: int


class _Scanner:
    """A cursor in a text. Methods that go somewhere move it, and stay before what they cannot read."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._at = 0
        self._found: list[Definition] = []
        self._scopes = [_Scope("", -1)]  # the file itself, and what is open in it
        self._overload = ""  # name of a function or method without a body, if the last definition is one

    def scan(self) -> list[Definition]:
        """Read the text to its end."""
        while True:
            in_class = self._scopes[-1].number >= 0
            here, ahead = (_AT_MEMBER, _NEXT_MEMBER) if in_class else (_AT_STATEMENT, _NEXT_STATEMENT)
            match = here.match(self._code, self._at) or ahead.search(self._code, self._at)
            if match is None:
                break
            self._at = match.end()
            if match.lastgroup == "open":
                self._at = self._closing(match.start())
            elif match.lastgroup == "close":
                self._leave()
            else:
                self._define(match)
        self._at = len(self._code)
        while len(self._scopes) > 1:
            self._leave()
        return self._found

    def _define(self, match: re.Match[str]) -> None:
        kind = str(match.lastgroup)
        name, whole = match[kind], match[0]
        start = match.end() - len(whole.lstrip("\n; \t"))
        if kind in {"value", "exported"} or (kind == "member" and self._code[self._at] in ":="):
            self._value(name, start, kind)
        elif kind == "function":
            self._function(name, kind, start)
        elif kind == "member":
            self._function(name, "method", start, sure=bool(match["abstract"]) or name == "constructor")
        elif kind == "namespace":
            self._enter(f"{name}." if name else "", -1)
        elif kind == "type":
            self._angles()
            if self._take(_ASSIGNED):
                self._type()
                self._add(name, kind, start, self._at)
        else:
            self._braced(name, kind, start)

    def _function(self, name: str, kind: str, start: int, *, sure: bool = False) -> None:
        """Read what follows the name of a function or method; a method has a body or a type, unless it is ``sure``."""
        if not self._parameters():
            return
        typed = self._take(_COLON) is not None
        if typed:
            self._type()
        end = self._at
        if self._take(_BODY):
            self._at = self._closing(self._at)
            self._add(name, kind, start, end)
        elif sure or typed or kind == "function":
            self._add(name, kind, start, end, bodiless=True)

    def _value(self, name: str, start: int, kind: str) -> None:
        """Read the type and value of a constant or field, as far as tells whether it is a function or class."""
        kinds = ("method", "") if kind == "member" else ("function", "class")
        if self._take(_COLON):
            self._type()
        if not self._take(_ASSIGNED):
            return
        if self._take(_FUNCTION):
            self._function(name, kinds[0], start)
        elif kinds[1] and self._take(_CLASS):
            self._braced(name, kinds[1], start)
        else:
            self._arrow(name, kinds[0], start)

    def _arrow(self, name: str, kind: str, start: int) -> None:
        self._take(_ASYNC)
        if not self._take(_ONE_PARAMETER):
            if not self._parameters():
                return
            if self._take(_COLON):
                self._type(of_arrow=True)
        end = self._at
        if self._take(_ARROW):
            if self._take(_BODY):
                self._at = self._closing(self._at)
            else:
                self._expression()
            self._add(name, kind, start, end)

    def _braced(self, name: str, kind: str, start: int) -> None:
        """Read a class, an interface or an enum; the cursor goes into a class, and behind the others."""
        if not self._head():
            return
        end, number = self._at, len(self._found)
        self._add(name, kind, start, end)
        self._at += 1
        if kind != "class" or len(self._found) == number or not self._enter(f"{name}.", number):
            self._at = self._closing(end)
            if len(self._found) > number:
                self._found[number] = self._found[number]._replace(end=self._at)

    def _add(self, name: str, kind: str, start: int, signature_end: int, *, bodiless: bool = False) -> None:
        whole = self._scopes[-1].prefix + name
        if len(whole) <= LONGEST_NAME:
            if self._overload == whole:  # the first of several signatures stands for all
                self._found[-1] = self._found[-1]._replace(end=self._at)
            else:
                self._found.append(Definition(whole, kind, start, signature_end, self._at))
            self._overload = whole if bodiless else ""

    def _enter(self, prefix: str, number: int) -> bool:
        """Go on within braces that are open; return False where they nest too deeply, and go behind them."""
        whole = self._scopes[-1].prefix + prefix
        if len(self._scopes) <= _DEEPEST and len(whole) <= LONGEST_NAME:
            self._scopes.append(_Scope(whole, number))
            return True
        self._at = self._closing(self._at - 1)
        return False

    def _leave(self) -> None:
        number = self._scopes.pop().number if len(self._scopes) > 1 else -1
        if number >= 0:
            self._found[number] = self._found[number]._replace(end=self._at)

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self._code, self._at)
        if match:
            self._at = match.end()
        return match

    def _closing(self, at: int) -> int:
        """Return the place behind the bracket that closes the one at a place; the end of the text if none does."""
        if match := _PAIRED.match(self._code, at):
            return match.end()
        depth = 0
        for match in _BRACKET.finditer(self._code, at):
            depth += 1 if match[0] in "({[" else -1
            if not depth:
                return match.end()
        return len(self._code)

    def _parameters(self) -> bool:
        """Go behind type parameters and parameters; return whether there are parameters."""
        self._angles()
        if not self._take(_PARAMETERS):
            return False
        self._at = self._closing(self._at)
        return True

    def _angles(self) -> None:
        """Go behind what is between angle brackets, if it follows."""
        if not self._take(_TYPE_PARAMETERS):
            return
        depth = 1
        for match in _ANGLE.finditer(self._code, self._at):
            mark = match[0]
            if match.start() < self._at or mark == "=>":
                continue
            if mark in "({[":
                self._at = self._closing(match.start())
            elif mark in "<>":
                depth += 1 if mark == "<" else -1
                self._at = match.end()
                if not depth:
                    return
            else:
                self._at = match.start()
                return
        self._at = len(self._code)

    def _head(self) -> bool:
        """Go to the brace that opens a class, interface or enum; return whether there is one."""
        while match := _IN_HEAD.search(self._code, self._at):
            self._at = match.start()
            if match[0] == "<":
                self._angles()
            elif match[0] in "([":
                self._at = self._closing(self._at)
            else:
                return match[0] == "{"
        self._at = len(self._code)
        return False

    def _type(self, *, of_arrow: bool = False) -> None:
        """Go behind a type; the type that an arrow function returns ends before the arrow."""
        conditional = False
        while operand := self._take(_OPERAND):
            if operand["angle"]:
                self._angles()
                continue
            if operand["open"]:
                self._at = self._closing(self._at)
            while self._take(_POSTFIX):
                if self._code.startswith("<", self._at):
                    self._angles()
                elif self._code.startswith("[", self._at):
                    self._at = self._closing(self._at)
            if not of_arrow and self._take(_ARROW):
                continue
            joined = _JOINED.match(self._code, self._at)
            if joined is None or (joined[0][-1] in "?:" and not conditional):
                return
            conditional |= joined[0].endswith("extends")
            self._at = joined.end()

    def _expression(self) -> None:
        """Go to the end of an expression: a comma, a semicolon, or a line break behind which it is not continued."""
        self._take(_SPACE)
        while match := _IN_EXPRESSION.search(self._code, self._at):
            self._at = match.end() if match["more"] else match.start()
            if match[0] in "({[":
                self._at = self._closing(self._at)
            elif not match["more"] and not self._take(_CONTINUED):
                return
        self._at = len(self._code)
