"""One parameter of a command, method or tool: what it may be, and the one validator of what callers give for it."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from inspect import Parameter as Keyword
from inspect import Signature
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple, NoReturn, TypeVar, get_args, get_origin, get_type_hints

from rye.errors import ArgumentError

Function = TypeVar("Function", bound=Callable[..., Any])

_KINDS: Mapping[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    Path: "path",
    Mapping: "object",
    Sequence: "array",
    tuple: "array",
}
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (Mapping,),
}
_WORDS = {
    "string": "strings",
    "integer": "whole numbers",
    "number": "numbers",
    "boolean": "true and false",
    "object": "mappings with text keys",
}


class Parameter(NamedTuple):
    """One parameter, with all that its surfaces need to know of it; ``name``, ``kind`` and ``type`` are read off.

    Attributes:
        help: What it means, with values in backticks: the help of the option, the text of every table.
        default: Its value where none is given; where that is None, None may be given as well.
        low, high: Bounds of a number; with ``above``, ``low`` itself is not valid.
        choices: The valid values.
        only: Another parameter, and its values with which this one has an effect.
        parts: The keys of a mapping, as a TypedDict like the table's; ``split`` makes options of their own of them.
        percent: Whether what is above 1 means percent.
        brief: The description in a tool's schema, which models read in every conversation; by default ``help``.
        data: What it means where it is a value of Python or JSON, if that is not what the option takes.
        notes: What only the documentation adds.
        shown: The default in words.
        hint: What to do where it is missing; by default its description.
        required: Whether it must be given.
        flags: The names of the option, by default made of ``name``; ``argument`` for a word of the command line.
        words: Values to complete on the command line, where there are others as well.
        metavar: The value in the help of the command line. Without one, choices are checked as the line is read.
        form: How the command line reads it, if not by its type.
    """

    help: str
    default: Any = None
    low: float | None = None
    high: float | None = None
    above: bool = False
    choices: tuple[Any, ...] = ()
    only: tuple[str, tuple[str, ...]] | None = None
    parts: type | None = None
    split: bool = False
    percent: bool = False
    brief: str = ""
    data: str = ""
    notes: str = ""
    shown: str = ""
    hint: str = ""
    required: bool = False
    flags: str = ""
    words: tuple[str, ...] = ()
    metavar: str = ""
    form: str = ""
    name: str = ""
    kind: str = "string"
    type: Any = None


@cache
def parameters_of(options: type) -> Mapping[str, Parameter]:
    """Return the parameters that a TypedDict of ``name: Annotated[type, Parameter(…)]`` declares, by name."""
    hints = get_type_hints(options, include_extras=True)
    return {name: _typed(name, *get_args(hint)) for name, hint in hints.items()}


@cache
def defaults_of(options: type) -> Mapping[str, Any]:
    """Return the default of every parameter that a TypedDict declares, by name."""
    return {name: each.default for name, each in parameters_of(options).items()}


def _typed(name: str, hint: Any, parameter: Parameter) -> Parameter:
    kind = hint
    if isinstance(hint, UnionType):
        kind = next(each for each in get_args(hint) if each is not type(None))
    return parameter._replace(name=name, kind=_KINDS[get_origin(kind) or kind], type=hint)


class ParameterError(ArgumentError):
    """A value that is not valid, said by names that each surface writes its own way.

    Args:
        code: Its code.
        subjects: The parameters at fault; one of a mapping is the path to it.
        fault: What they are or have, such as ``is 'x'``.
        hint: What is valid.
        use: Other parameters and values that would help, which the hint begins with.
        details: Further facts.
    """

    def __init__(
        self,
        code: str,
        subjects: Sequence[tuple[str, ...]],
        fault: str,
        *,
        hint: str,
        use: Iterable[tuple[str, str]] = (),
        **details: Any,
    ) -> None:
        super().__init__(code, "", hint=hint, **details)
        self.subjects, self.fault, self._hint, self._use = subjects, fault, hint, tuple(use)
        self.spell([_name(*path) for path in subjects], lambda name, value: f"{name}={value!r}")

    def spell(self, names: Sequence[str], setting: Any) -> None:
        """Write message and hint with the names that a surface has for the subjects and for a parameter's value."""
        fault = self.fault
        if len(names) > 1:
            fault = fault.replace("has ", "have ", 1) if fault.startswith("has ") else fault.replace("is ", "are ", 1)
        self.message = f"{' and '.join(names)} {fault}"
        use = " or ".join(setting(name, value) for name, value in self._use)
        self.hint = ", ".join(filter(None, [f"use {use}" if use else "", self._hint]))
        self.args = (self.message,)


def _name(name: str, *keys: str) -> str:
    return name + "".join(f"[{key!r}]" for key in keys)


def refuse(path: Sequence[str], fault: str, hint: str = "", **details: Any) -> NoReturn:
    """Raise the error of a parameter, or of a part of it, with the code ``bad-…`` and its name."""
    raise ParameterError(f"bad-{path[0].replace('_', '-')}", [tuple(path)], fault, hint=hint, **details)


def guess(name: object, valid: Iterable[str]) -> str:
    """Return ``did you mean …? `` where one of the valid names is like that one."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(valid), 1) if isinstance(name, str) else []
    return f"did you mean {near[0]!r}? " if near else ""


def limits(parameter: Parameter) -> str:
    """Return the bounds of a number in words, such as ``from 1 to 1,000``; nothing where it has none."""
    if parameter.low is None or parameter.high is None:
        return ""
    low, high = (f"{bound:,g}" if bound < 1e6 else f"{bound:,.0f}" for bound in (parameter.low, parameter.high))
    return f"above {low}, up to {high}" if parameter.above else f"from {low} to {high}"


def check(parameter: Parameter, value: Any, path: tuple[str, ...] = ()) -> Any:
    """Return a value as it is meant, None only where that is the default.

    Raises:
        ParameterError: ``bad-…``: it is not valid; the hint says what is.
    """
    path = (*path, parameter.name)
    if value is None and parameter.default is None and not parameter.required:
        return None
    fits = isinstance(value, _TYPES.get(parameter.kind, object))
    fits = fits and (parameter.kind == "boolean" or not isinstance(value, bool))
    if parameter.choices:
        if not fits or value not in parameter.choices:
            valid = [*parameter.choices, *([None] if parameter.kind == "integer" else [])]
            near = guess(value, parameter.choices) if parameter.kind == "string" else ""
            leave = "; or leave it out" if valid[-1] is None else ""
            named = ", ".join(map(str, parameter.choices))
            refuse(path, f"is {value!r}", f"{near}valid are {named}{leave}", valid=valid)
        return value
    if fits and parameter.low is not None and parameter.high is not None:
        within = parameter.low <= value <= parameter.high and not (parameter.above and value == parameter.low)
        if not within:
            _refuse_value(parameter, value, path)
    if not fits or (parameter.kind == "object" and not all(isinstance(key, str) for key in value)):
        of = "" if value is None else f", of type {type(value).__name__}"
        _refuse_value(parameter, value, path, of)
    if parameter.parts is not None:
        return check_all(parameters_of(parameter.parts), value, path)
    if parameter.kind != "number":
        return value
    return value / 100 if parameter.percent and value > 1 else float(value)


def _refuse_value(parameter: Parameter, value: Any, path: tuple[str, ...], of: str = "") -> NoReturn:
    hint = f"valid are {_WORDS[parameter.kind]} {limits(parameter)}".rstrip()
    if parameter.kind == "object" and (example := re.search(r"\{.*?\}", parameter.data)):
        hint += f", such as {example[0]}"
    also = "what is above 1 is percent" if parameter.percent else parameter.hint
    hint += f"; {also}" if also else ""
    valid = [True, False] if parameter.kind == "boolean" else [parameter.low, parameter.high]
    refuse(path, f"is {value!r}{of}", hint, **({} if valid[1] is None else {"valid": valid}))


def check_all(
    parameters: Mapping[str, Parameter], given: Mapping[str, Any], path: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return all values that are given as they are meant.

    Raises:
        ParameterError: ``bad-…``: one is not valid, or has no effect beside the others.
    """
    for name in given:
        if name not in parameters:
            hint = f"{guess(name, parameters)}valid are {', '.join(parameters)}"
            refuse(path, f"has no option {name!r}", hint, valid=list(parameters))
    for name, value in given.items():  # before their values: what has no effect need not be valid
        if (only := parameters[name].only) is None or value is None or value == {}:
            continue
        other, values = only
        setting = given.get(other, parameters[other].default)
        if setting in parameters[other].choices and setting not in values:
            code = f"bad-{(*path, name)[0].replace('_', '-')}"
            fault = f"has no effect with {other} {setting!r}"
            use = [(other, each) for each in values]
            raise ParameterError(code, [(*path, name)], fault, hint="or leave it out", use=use)
    return {name: check(parameters[name], value, path) for name, value in given.items()}


def complete(options: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every parameter that a TypedDict declares, its default where none is given.

    Raises:
        ParameterError: ``bad-…``: one is not valid, or has no effect beside the others.
        TypeError: There is no such parameter, as from any function.
    """
    defaults = defaults_of(options)
    for name in given:
        if name not in defaults:
            message = f"got an unexpected keyword argument {name!r}"
            raise TypeError(message)
    changed = {name: value for name, value in given.items() if value is not defaults[name]}
    return {**defaults, **check_all(parameters_of(options), changed)}


def takes(options: type) -> Callable[[Function], Function]:
    """Return a decorator for a method with ``**options: Unpack[…]`` that writes its parameters out.

    A TypedDict is the one declaration that the type checker, editors and this package can all read: callers are checked
    keyword by keyword, and the signature and docstring that ``help()`` shows are made of it here.
    """

    def write(function: Function) -> Function:
        signature = Signature.from_callable(function)
        *own, _ = signature.parameters.values()
        more = [
            Keyword(name, Keyword.KEYWORD_ONLY, default=each.default, annotation=each.type)
            for name, each in parameters_of(options).items()
        ]
        function.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        lines = [f"            {name}: {described(each, 'py')}." for name, each in parameters_of(options).items()]
        before, raises, after = (function.__doc__ or "").partition("\n        Raises:")
        function.__doc__ = "\n".join([before.rstrip(), *lines, raises]) + after
        return function

    return write


def described(parameter: Parameter, surface: str) -> str:
    """Return what a parameter means in a sentence without its full stop, for ``cli``, ``mcp`` or ``py``."""
    text = (parameter.data if surface != "cli" else "") or parameter.help
    if parameter.low is not None and not re.search(r"\d to \d|up to \d", text):
        text += f", {limits(parameter).removeprefix('from ')}"
    return text.replace("true", "True").replace("false", "False") if surface == "py" else text
