"""Finds the definitions and the imports of JavaScript and TypeScript in their text; nothing is compiled or run.

In a text without comments and strings (:mod:`rye.items.javascript_text`) brackets pair, so the body of a function is
skipped as a whole, and only the statements of the file, of namespaces and of classes are looked at. The cursor never
goes back, so any text takes linear time.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rye.items.model import LONGEST_NAME

_NAME = r"(?:[^\W\d]|\$)[\w$]*+"
_VALUE = rf"(?:async\b|function\b|class\b|[(<{{]|{_NAME}\s*+=>)"
"""How a value begins that is or may be a function, a class, or an object with methods."""

_STATEMENT = rf"""[ ]*+ (?=[acdefgilmntv])
    (?:(?:export\s++(?:default\s++)?+|module\.exports\s*+=\s*+)?+ (?:declare\s++)?+
    (?:(?:async\s++)?+function\b\s*+\*?+\s*+(?P<function>{_NAME})
    |(?:abstract\s++)?+class\s++(?!extends\b|implements\b)(?P<class>{_NAME})
    |interface\s++(?P<interface>{_NAME})
    |(?:const\s++)?+enum\s++(?P<enum>{_NAME})
    |type\s++(?P<type>{_NAME})(?=\s*+[=<])
    |(?:namespace|module|global)\b\s*+(?P<namespace>[\w$.]*+)["'\s]*+\{{
    |(?:const|let|var)\s++(?P<value>{_NAME})(?=\s*+!?+\s*+(?::|=(?!=)\s*+{_VALUE}))
    |(?:module\.)?+exports\.(?P<exported>{_NAME})(?=\s*+=(?!=)\s*+{_VALUE}))
    |(?P<default>export\s++default\s++|module\.exports\s*+=(?!=)\s*+)(?={_VALUE}))"""
_MEMBER = rf"""[ ]*+ (?=[\w$\#*])
    (?:(?P<abstract>abstract\s++)
    |(?:accessor|async|declare|get|override|private|protected|public|readonly|set|static)\s++(?=[\w$\#*])){{0,6}}+
    (?:\*\s*+)?+(?P<member>\#?+{_NAME})\s*+[?!]?+\s*+(?=[(<:]|=(?!=)\s*+{_VALUE})(?!:[^=({{\n]*+[\n;])"""
_PROPERTY = rf"""[ ]*+ (?=[\w$*]) (?:(?:async|get|set)\s++(?=[\w$*]))*+ (?:\*\s*+)?+
    (?P<property>{_NAME})\s*+(?=[(<]|:\s*+{_VALUE})"""
_NEXT = r"[\n{0}({{\[}}](?:(?<=[\n{0}])(?:{1})|(?P<open>(?<=[({{\[]))|(?P<close>(?<=\}})))"
"""The first part is one set of characters, as ``re`` searches for such alone fast."""


class _Members(NamedTuple):
    """What is looked for in a file, in classes or in objects: where the cursor is, and from there on."""

    here: re.Pattern[str]
    ahead: re.Pattern[str]

    @classmethod
    def separated(cls, pattern: str, mark: str) -> _Members:
        return cls(re.compile(pattern, re.VERBOSE), re.compile(_NEXT.format(mark, pattern), re.VERBOSE))


_STATEMENTS = _Members.separated(_STATEMENT, ";")
_OF_CLASS = _Members.separated(_MEMBER, ";")
_OF_OBJECT = _Members.separated(_PROPERTY, ",")

_BRACKETS = bytes(40 if chr(at) in "({[" else 41 if chr(at) in ")}]" else 32 for at in range(256))
"""One kind of bracket, and spaces for all else: ``re`` passes a run of one character five times as fast."""

_inside = " *+"
for _ in range(10):
    _inside = rf" *+(?:\({_inside}\) *+)*+"
_PAIRED = re.compile(rf"\({_inside}\)".encode())
"""Brackets with what is between, if they do not nest too deeply."""

_BRACKET = re.compile(rb"[()]")
_ANGLE = re.compile(r"=>|[<>(){}\[\];]")
_IN_HEAD = re.compile(r"[<(){}\[\];]")
_PARAMETERS = re.compile(r"\s*+(?=\()")
_TYPE_PARAMETERS = re.compile(r"\s*+<")
_COLON = re.compile(r"\s*+[?!]?+\s*+:")
_ASSIGNED = re.compile(r"\s*+!?+\s*+=(?![=>])\s*+")
_STATED = re.compile(r":\s*+")
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
_POSTFIX = re.compile(r" *+(?:\.[\w$.]++|(?=[<\[]))")
_JOINED = re.compile(r"\s*+(?:[|&?:]|(?:extends|is)\b)")
_SPACE = re.compile(r"\s*+")
_CONTINUED = re.compile(r"\n\s*+[.?:+*/%|&=<>-]")
_IN_EXPRESSION = re.compile(r"[\n;,({\[)}\]]|(?P<more>[&|?:=+*/.<>-] *+\n\s*+)")

_UNINDENTED = re.compile(
    r"\n(?=(?:(?:abstract|async|declare|export)[ ])*+(?:class|const|default|enum|function|interface|let|type)[ ])"
)
_MOST_UNCLOSED = 10
"""As often the rest of a text is looked through for a bracket that closes another, which may be in vain."""

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
    """Return what is defined in a text that ``blanked`` returned, in file order."""
    return _Scanner(code).scan()


class _Scope(NamedTuple):
    """An open class, object or namespace: what stands before the names in it, and the number of a class, else -1."""

    prefix: str
    number: int
    members: _Members


class _Scanner:
    """A cursor in a text. Methods that go somewhere move it, and stay before what they cannot read."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._brackets = code.encode("latin-1", "replace").translate(_BRACKETS)
        self._at = 0
        self._found: list[Definition] = []
        self._scopes = [_Scope("", -1, _STATEMENTS)]  # the file itself, and what is open in it
        self._unclosed = 0  # brackets that nothing closes
        self._overload = ""  # name of a function or method without a body, if the last definition is one

    def scan(self) -> list[Definition]:
        """Read the text to its end."""
        while True:
            here, ahead = self._scopes[-1].members
            match = here.match(self._code, self._at) or ahead.search(self._code, self._at)
            if match is None:
                break
            self._at, unclosed = match.end(), self._unclosed
            if match.lastgroup == "open":
                self._at = self._closing(match.start())
            elif match.lastgroup == "close":
                self._leave()
            else:
                self._define(match)
            if self._unclosed > unclosed:
                self._leave_all()
        self._at = len(self._code)
        self._leave_all()
        return self._found

    def _define(self, match: re.Match[str]) -> None:
        kind = str(match.lastgroup)
        name, whole = match[kind], match[0]
        start = match.end() - len(whole.lstrip("\n;, \t"))
        if kind in {"value", "exported"} or (kind == "member" and self._code[self._at] in ":="):
            self._value(name, start, is_member=kind == "member")
        elif kind == "function":
            self._function(name, kind, start)
        elif kind == "member":
            self._function(name, "method", start, sure=bool(match["abstract"]) or name == "constructor")
        elif kind == "property":
            if self._take(_STATED):
                self._assigned(name, start, is_member=True)
            else:
                self._function(name, "method" if self._scopes[-1].prefix else "function", start)
        elif kind == "default":
            self._assigned(kind, start)
        elif kind == "namespace":
            self._enter(f"{name}." if name else "", _STATEMENTS)
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
        elif self._scopes[-1].members is not _OF_OBJECT and (sure or typed or kind == "function"):
            self._add(name, kind, start, end, bodiless=True)

    def _value(self, name: str, start: int, *, is_member: bool) -> None:
        """Read the type and value of a constant or field, as far as tells whether it is a function or class."""
        if self._take(_COLON):
            self._type()
        if self._take(_ASSIGNED):
            self._assigned(name, start, is_member=is_member)

    def _assigned(self, name: str, start: int, *, is_member: bool = False) -> None:
        """Read a value that has a name; of an object that is no member the methods are."""
        kind = "method" if is_member and self._scopes[-1].prefix else "function"
        if self._take(_FUNCTION):
            self._function(name, kind, start)
        elif not is_member and self._take(_CLASS):
            self._braced(name, "class", start)
        elif not is_member and self._code.startswith("{", self._at):
            self._at += 1
            is_module = name == "default" and self._code.startswith("module", start)
            self._enter("" if is_module else f"{name}.", _OF_OBJECT)
        else:
            self._arrow(name, kind, start)

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
        if kind != "class" or len(self._found) == number or not self._enter(f"{name}.", _OF_CLASS, number):
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

    def _enter(self, prefix: str, members: _Members, number: int = -1) -> bool:
        """Go on within braces that are open; return False where they nest too deeply, and go behind them."""
        whole = self._scopes[-1].prefix + prefix
        if len(self._scopes) <= _DEEPEST and len(whole) <= LONGEST_NAME:
            self._scopes.append(_Scope(whole, number, members))
            return True
        self._at = self._closing(self._at - 1)
        return False

    def _leave(self) -> None:
        number = self._scopes.pop().number if len(self._scopes) > 1 else -1
        if number >= 0:
            self._found[number] = self._found[number]._replace(end=self._at)

    def _leave_all(self) -> None:
        while len(self._scopes) > 1:
            self._leave()

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self._code, self._at)
        if match:
            self._at = match.end()
        return match

    def _closing(self, at: int) -> int:
        """Return the place behind the bracket that closes the one at a place.

        Where none does, as of ``:(`` in the text of JSX, that is before the next statement that is not indented.
        """
        if match := _PAIRED.match(self._brackets, at):
            return match.end()
        depth = 0
        for match in _BRACKET.finditer(self._brackets, at):
            depth += 1 if match[0] == b"(" else -1
            if not depth:
                return match.end()
        self._unclosed += 1
        resumed = _UNINDENTED.search(self._code, at) if self._unclosed < _MOST_UNCLOSED else None
        return resumed.start() if resumed else len(self._code)

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
