"""The declaration of a parameter of a command, method or tool, and the one validator of its values."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from inspect import Parameter as Keyword
from inspect import Signature
from types import UnionType
from typing import Any, NamedTuple, NoReturn, Self, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

from rye.errors import ArgumentError

Function = TypeVar("Function", bound=Callable[..., Any])

_KINDS: Mapping[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
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
_COUNTED = 1 << 20
"""Least number of values of a list or mapping that are counted before giving up, because one may contain itself."""

_WORDS = {
    "string": "strings",
    "integer": "whole numbers",
    "number": "numbers",
    "boolean": "true and false",
    "object": "mappings with text keys",
}


class Setting(NamedTuple):
    """A parameter, or a value of one, that a message names."""

    name: str
    value: str | None = None


Text: TypeAlias = str | tuple[str | Setting, ...]
"""A message, or the pieces of one."""


class Only(NamedTuple):
    """Another parameter, its values with which a parameter has an effect, and why it has none with others."""

    name: str
    values: tuple[str, ...]
    reason: str = ""


class Parameter(NamedTuple):
    """One parameter, with everything its surfaces need. ``name``, ``kind`` and ``type`` come from the declaration.

    Attributes:
        help: Its meaning, with values in backticks: the help of the option, the text of every table.
        default: Its value if none is given. If that is None, None may also be given.
        low, high: Bounds of a number; with ``above``, ``low`` itself is not valid.
        longest: Most characters of a text, or of all texts of a list or mapping together.
        most: Most values of a list or mapping, including those of lists inside it.
        choices: The valid values.
        only: The values of another parameter with which this one has an effect.
        parts: The keys of a mapping, as a TypedDict of parameters.
        percent: Whether values above 1 are percentages.
        brief: The description in a tool's schema, which models read in every conversation; by default ``help``.
        data: Its meaning as a value of Python or JSON, if that differs from the option.
        notes: What only the documentation adds to ``help``; not added to ``data``.
        shown: The default in words.
        hint: What to do if it is missing or not valid.
        required: Whether it must be given.
        flags: The names of the option on the command line, by default made from ``name``.
        words: Values to complete on the command line if other values are valid as well.
        completes: The kind of values to look up for completion on the command line, such as ``item``.
        metavar: The value in the help of the command line, if :func:`metavar` does not fit.
        form: How the command line reads a mapping: ``pairs`` of key and value, or the one key that the option sets.
    """

    help: str
    default: Any = None
    low: float | None = None
    high: float | None = None
    above: bool = False
    longest: int = 4_096
    most: int = 256
    choices: tuple[Any, ...] = ()
    only: Only | None = None
    parts: type | None = None
    percent: bool = False
    brief: str = ""
    data: str = ""
    notes: str = ""
    shown: str = ""
    hint: Text = ""
    required: bool = False
    flags: str = ""
    words: tuple[str, ...] = ()
    completes: str = ""
    metavar: str = ""
    form: str = ""
    name: str = ""
    kind: str = "string"
    type: Any = None


@cache
def parameters_of(options: type) -> dict[str, Parameter]:
    """Return, by name, the parameters that a TypedDict of ``name: Annotated[type, Parameter(…)]`` declares."""
    hints = get_type_hints(options, include_extras=True)
    return {name: _typed(name, *get_args(hint)) for name, hint in hints.items()}


@cache
def defaults_of(options: type) -> Mapping[str, Any]:
    """Return, by name, the default of every parameter that a TypedDict declares."""
    return {name: parameter.default for name, parameter in parameters_of(options).items()}


def _typed(name: str, hint: Any, parameter: Parameter) -> Parameter:
    """Return a parameter with its name, and with the kind and default that follow from its type hint."""
    kind = hint
    if isinstance(hint, UnionType):
        kind = next(option for option in get_args(hint) if option is not type(None))
    default = False if kind is bool and parameter.default is None else parameter.default
    return parameter._replace(name=name, kind=_KINDS[get_origin(kind) or kind], type=hint, default=default)


class ParameterError(ArgumentError):
    """A value that is not valid. Message and hint are kept as data, so that each surface writes names in its own way.

    Args:
        code: Its code.
        subjects: The parameters at fault, each as the path to it.
        verb: ``is`` or another verb, in the form that follows one subject.
        rest: The text after the verb.
        hint: What is valid.
        details: Further facts.
    """

    def __init__(
        self, code: str, subjects: Sequence[tuple[str, ...]], verb: str, rest: Text, *, hint: Text = "", **details: Any
    ) -> None:
        super().__init__(code, "", hint="", **details)
        self.subjects = subjects
        self._verb, self._rest, self._hint, self._before = verb, rest, hint, ""
        self.fault = ""
        vars(self).update(self._written(lambda path: [_name(*path)], _assignment))
        self.args = (self.message,)

    def spelled(self, names: Callable[[tuple[str, ...]], Iterable[str]], setting: Callable[[Setting], str]) -> Self:
        """Return the same error with its message and hint spelled for one surface: command line, MCP or Python.

        Args:
            names: Returns the names of a parameter, given the path to it; it may have several.
            setting: Returns how another parameter, or a value of it, is spelled.
        """
        return self.but(**self._written(names, setting))

    def _written(
        self, names: Callable[[tuple[str, ...]], Iterable[str]], setting: Callable[[Setting], str]
    ) -> dict[str, str]:
        """Return the attributes ``fault``, ``message`` and ``hint``, spelled as for :meth:`spelled`."""
        subjects = [name for path in self.subjects for name in names(path)]
        verb = self._verb if len(subjects) == 1 else _PLURALS.get(self._verb, self._verb)
        fault = f"{verb} {spelled(self._rest, setting)}"
        message = f"{self._before}{' and '.join(subjects)} {fault}"
        return {"fault": fault, "message": message, "hint": spelled(self._hint, setting)}

    def preceded(self, words: str) -> Self:
        """Return the same error with words before the message, on every surface."""
        return super().preceded(words).but(_before=f"{words}{self._before}")


_PLURALS = {"is": "are", "has": "have"}


def _name(name: str, *keys: str) -> str:
    return name + "".join(f"[{key!r}]" for key in keys)


def _assignment(setting: Setting) -> str:
    return setting.name if setting.value is None else f"{setting.name}={setting.value!r}"


def spelled(text: Text, setting: Callable[[Setting], str] = _assignment) -> str:
    """Return a message with its settings as a surface writes them, by default as Python does."""
    pieces = (text,) if isinstance(text, str) else text
    return "".join(piece if isinstance(piece, str) else setting(piece) for piece in pieces)


def refuse(path: tuple[str, ...], verb: str, rest: Text, hint: Text = "", **details: Any) -> NoReturn:
    """Raise the error of a parameter, or of a part of it, with the code ``bad-…`` and its name."""
    raise ParameterError(f"bad-{path[0].replace('_', '-')}", [path], verb, rest, hint=hint, **details)


def metavar(parameter: Parameter) -> str:
    """Return the placeholder for the value of an option in its help, such as ``N``; empty for a flag."""
    named = (parameter.flags or parameter.name).split()[0].strip("-").replace("_", "-").rpartition("-")[2]
    short = {"integer": "N", "number": "X", "boolean": ""}
    return parameter.metavar or short.get(parameter.kind, named.upper())


def guess(name: object, valid: Iterable[str]) -> str:
    """Return ``did you mean …? `` if one of the valid names is similar or begins so; else an empty string."""
    from difflib import get_close_matches

    names = list(valid)
    longer = [each for each in names if isinstance(name, str) and name and each.startswith(name)]
    similar = get_close_matches(name, names, 1) or longer[:1] if isinstance(name, str) else []
    return f"did you mean {similar[0]!r}? " if similar else ""


def limits(parameter: Parameter) -> str:
    """Return the bounds of a number in words, such as ``from 1 to 1,000``; empty if it has none."""
    if parameter.low is None:
        return ""
    low, high = (f"{bound:,g}" if bound < 1e6 else f"{bound:,.0f}" for bound in (parameter.low, parameter.high or 0))
    if parameter.high is None:
        return f"of {low} or more"
    return f"above {low}, up to {high}" if parameter.above else f"from {low} to {high}"


def check_size(parameter: Parameter, value: Any, path: tuple[str, ...] = ()) -> None:
    """Refuse a text, list or mapping that is too long, before other checks.

    Raises:
        ParameterError: ``bad-…``, with ``length`` and ``limit``.
    """
    path = (*path, parameter.name)
    if parameter.parts is not None and isinstance(value, Mapping):
        for name, part in parameters_of(parameter.parts).items():
            check_size(part, value.get(name), path)
        return
    characters = values = 0
    left = [value]
    while left and values < _COUNTED:  # no recursion, because nesting may have any depth
        current = left.pop()
        if isinstance(current, str):
            characters += len(current)
        elif isinstance(current, (Mapping, list, tuple, set, frozenset)):
            values += len(current)
            left += [*current, *current.values()] if isinstance(current, Mapping) else current
    for what, length, limit in (("values", values, parameter.most), ("characters", characters, parameter.longest)):
        if length > limit:
            refuse(path, "has", f"{length:,} {what}", f"{limit:,} at most", length=length, limit=limit)


def check(parameter: Parameter, value: Any, path: tuple[str, ...] = ()) -> Any:
    """Check a value and return it in its final form; None only if that is the default.

    Raises:
        ParameterError: ``bad-…``: it is not valid; the hint says what is.
    """
    check_size(parameter, value, path)
    path = (*path, parameter.name)
    if value is None and _is_optional(parameter):
        return None
    fits = isinstance(value, _TYPES.get(parameter.kind, object))
    fits = fits and (parameter.kind == "boolean" or not isinstance(value, bool))
    if parameter.choices:
        fits = fits and value in parameter.choices
    elif parameter.kind == "object" and fits and not all(isinstance(key, str) for key in value):
        fits = False
    elif fits and not _is_within(parameter, value):
        refuse_value(parameter, path, repr(value).removesuffix(".0"))
    if not fits:
        of = "" if value is None or parameter.choices else f", of type {type(value).__name__}"
        suggestion = guess(value, parameter.choices) if parameter.kind == "string" else ""
        refuse_value(parameter, path, f"{value!r}{of}", suggestion)
    if parameter.parts is not None:
        return check_all(parameters_of(parameter.parts), value, path)
    if parameter.kind != "number":
        return value
    return value / 100 if parameter.percent and value > 1 else float(value)


def _is_optional(parameter: Parameter) -> bool:
    return parameter.default is None and not parameter.required


def _is_within(parameter: Parameter, value: Any) -> bool:
    low, high = parameter.low, parameter.high
    if low is None:
        return True
    return bool(value >= low and (high is None or value <= high) and not (parameter.above and value == low))


def refuse_value(parameter: Parameter, path: tuple[str, ...], given: str, suggestion: str = "") -> NoReturn:
    """Raise the error of a value; the hint lists valid values and suggests a similar one."""
    values: list[Any] = list(parameter.choices)
    if parameter.choices:
        valid = ", ".join(map(str, values))
        values += [None] if _is_optional(parameter) else []
    else:
        valid = f"{_WORDS[parameter.kind]} {limits(parameter)}".rstrip()
        if parameter.kind == "boolean":
            values = [True, False]
        elif parameter.high is not None and not parameter.above:
            values = [parameter.low, parameter.high]
    if parameter.kind == "object" and (example := re.search(r"\{.*?\}", parameter.data)):
        valid += f", such as {example[0]}"
    elif parameter.kind != "object" and _is_optional(parameter):
        valid += ", or leave it out"
    percent = "; what is above 1 is percent" if parameter.percent else ""
    more = (parameter.hint,) if isinstance(parameter.hint, str) else parameter.hint
    hint = (f"{suggestion}valid are {valid}{percent}", *(("; ", *more) if parameter.hint else ()))
    refuse(path, "is", given, hint, **({"valid": values} if values else {}))


def check_all(
    parameters: Mapping[str, Parameter], given: Mapping[str, Any], path: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Check the given values, and return them in their final form.

    Raises:
        ParameterError: ``bad-…``: one is not valid, or has no effect with the others.
    """
    for name in given:
        if name not in parameters:
            hint = f"{guess(name, parameters)}valid are {', '.join(parameters)}"
            refuse(path, "has", f"no option {name!r}", hint, valid=list(parameters))
    for name, value in given.items():  # before checking values: one without effect need not be valid
        if (only := parameters[name].only) is None or value is None or value == {}:
            continue
        beside = Setting(only.name, given.get(only.name, parameters[only.name].default))
        if beside.value in parameters[only.name].choices and beside.value not in only.values:
            use = [piece for value in only.values for piece in (" or ", Setting(only.name, value))][1:]
            reason = f"; {only.reason}" if only.reason else ""
            refuse((*path, name), "has", ("no effect with ", beside), ("use ", *use, f", or leave it out{reason}"))
    return {name: check(parameters[name], value, path) for name, value in given.items()}


def complete(options: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every parameter that a TypedDict declares, with defaults for those not given.

    Raises:
        ParameterError: ``bad-…``: one is not valid, or has no effect with the others.
        TypeError: There is no such parameter.
    """
    defaults = defaults_of(options)
    for name in given:
        if name not in defaults:
            message = f"got an unexpected keyword argument {name!r}"
            raise TypeError(message)
    changed = {name: value for name, value in given.items() if value is not defaults[name]}
    return {**defaults, **check_all(parameters_of(options), changed)}


def takes(options: type) -> Callable[[Function], Function]:
    """Return a decorator for a method with ``**options: Unpack[…]`` that adds them to its signature and docstring.

    A TypedDict is the one declaration that the type checker, editors and this package can all read: calls are checked
    keyword by keyword, and ``help()`` shows the signature and docstring made here.
    """

    def add_options(function: Function) -> Function:
        signature = Signature.from_callable(function)
        *own, _ = signature.parameters.values()
        more = [
            Keyword(name, Keyword.KEYWORD_ONLY, default=parameter.default, annotation=parameter.type)
            for name, parameter in parameters_of(options).items()
        ]
        function.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        lines = [
            f"            {name}: {described(parameter, 'py')}." for name, parameter in parameters_of(options).items()
        ]
        before, raises, after = (function.__doc__ or "").partition("\n        Raises:")
        function.__doc__ = "\n".join([before.rstrip(), *lines, raises]) + after
        return function

    return add_options


def described(parameter: Parameter, surface: str) -> str:
    """Return the meaning of a parameter in a sentence without its full stop, for ``cli``, ``mcp`` or ``py``."""
    text = (parameter.data if surface != "cli" else "") or parameter.help
    if parameter.low is not None and not re.search(r"\d to \d|up to \d|or more", text):
        text += f", {limits(parameter).removeprefix('from ').removeprefix('of ')}"
    return text.replace("true", "True").replace("false", "False") if surface == "py" else text
