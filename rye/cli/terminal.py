"""The terminal: the abilities of a stream, writing to it, progress, and passphrases."""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol, TextIO, TypeVar

import click

from rye._text import block, inline, verbatim_json
from rye.errors import EnvironmentFault, SigningError
from rye.surface.text import warning_notes


class _Result(Protocol):
    def to_dict(self) -> dict[str, Any]: ...


R = TypeVar("R", bound=_Result)

VERDICT_MARKS: Mapping[str, tuple[str, str, str]] = {
    "trusted": ("✓", "+", "green"),
    "untrusted": ("?", "?", "yellow"),
    "partial": ("◐", "~", "yellow"),
    "misplaced": ("↷", ">", "magenta"),
    "tampered": ("✗", "x", "red"),
    "unsigned": ("–", "-", "yellow"),
}
"""Verdict to its mark, the mark for encodings without that sign, and its colour."""

_OTHER_MARKS = ("!", "!", "red")


class Terminal(NamedTuple):
    """The abilities of a stream. ``width`` is None if it is not a terminal, and lines are not wrapped."""

    colour: bool = False
    unicode: bool = True
    width: int | None = None
    links: bool = False

    @classmethod
    def of(cls, stream: TextIO | None) -> Terminal:
        """Return the abilities of ``stream``."""
        if stream is None:
            return PLAIN
        is_terminal = _is_terminal(stream)
        width = max(40, shutil.get_terminal_size().columns) if is_terminal else None
        colour = _has_colour(is_terminal=is_terminal)
        return cls(colour=colour, unicode=_has_marks(stream), width=width, links=colour and is_terminal)

    def style(self, text: str, colour: str | None = None, *, bold: bool = False) -> str:
        """Return ``text``, which must be escaped already, in a colour or bold if the stream supports it."""
        return click.style(text, fg=colour, bold=bold or None) if self.colour and text and (colour or bold) else text

    def light(self, text: str) -> str:
        """Return ``text`` highlighted as a match."""
        return self.style(text, "yellow", bold=True)

    def dim(self, text: str) -> str:
        """Return ``text`` dimmed."""
        return click.style(text, dim=True) if self.colour and text else text

    def link(self, text: str, path: str) -> str:
        """Return ``text``, which must be escaped already, as an OSC 8 link to a file if the stream supports links."""
        if not (self.links and os.path.isabs(path)):  # noqa: PTH117 - text, as the path is
            return text
        return f"\x1b]8;;{file_uri(path.replace(os.sep, '/'))}\x1b\\{text}\x1b]8;;\x1b\\"

    def mark(self, verdict: str, word: str = "") -> str:
        """Return the mark of a verdict in its colour, followed by a word; ``!`` for an unknown verdict."""
        mark, plain, colour = VERDICT_MARKS.get(verdict, _OTHER_MARKS)
        return self.style(f"{mark if self.unicode else plain}{word}", colour)

    def verdict(self, verdict: str, *, width: int = 0, failed: bool = False) -> str:
        """Return the mark and word of a verdict in its colour, padded to ``width``; no tick for an item that failed."""
        return self.mark("tampered" if failed and verdict == "trusted" else verdict, f" {verdict:<{width}}")


PLAIN = Terminal()
"""A stream that is not a terminal."""


def cells(text: str) -> int:
    """Return the number of terminal cells of escaped text."""
    if text.isascii():
        return len(text)
    return sum(_cell(char) for char in text)


def _cell(char: str) -> int:
    if unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def pad(text: str, width: int) -> str:
    """Return text padded with spaces to ``width`` cells."""
    return text + " " * max(0, width - cells(text))


def cut(text: str, room: int | None) -> str:
    """Cut escaped text to a number of terminal cells, after a word if one ends in the last third; None: no limit."""
    if room is None or cells(text) <= room:
        return text
    if room < 1:
        return ""
    kept = text[:room]
    while cells(kept) > room - 1:
        kept = kept[:-1]
    space = kept.rfind(" ") if text[len(kept)] != " " else -1
    return f"{kept[:space] if space > len(kept) * 2 // 3 else kept}…"


_EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(share: float, width: int, terminal: Terminal) -> str:
    """Return a bar of ``width`` cells for a share from 0 to 1; a share above 0 shows at least a sliver."""
    share = min(max(share, 0.0), 1.0)
    if not terminal.unicode:
        return "#" * max(round(share * width), share > 0)
    eighths = max(round(share * width * 8), int(share > 0))
    full, rest = divmod(eighths, 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


COLOUR = ContextVar("COLOUR", default="auto")
"""Value of ``--color``."""


def _has_colour(*, is_terminal: bool) -> bool:
    """Follow --color, then NO_COLOR, then FORCE_COLOR and CLICOLOR_FORCE, then CLICOLOR, then the terminal."""
    env = os.environ
    if COLOUR.get() != "auto":
        return COLOUR.get() == "always"
    if env.get("NO_COLOR"):
        return False
    if any(env.get(name, "") not in {"", "0"} for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return is_terminal and env.get("CLICOLOR") != "0" and env.get("TERM") != "dumb"


def _has_marks(stream: TextIO) -> bool:
    try:
        "".join(mark for mark, _, _ in VERDICT_MARKS.values()).encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def prepare_streams() -> None:
    """Escape characters that the encoding lacks, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def say(text: str) -> bool:
    """Write escaped text and a line end to standard output; return whether its reader is still there.

    After the reader has gone, text is dropped and the command goes on, because its exit status is that of its work.
    """
    stream = _stream()
    try:
        stream.write(f"{text}\n")
    except BrokenPipeError:
        silence(stream)
        return False
    except OSError as fault:
        raise no_output(fault) from None
    return True


def show(lines: Iterable[str], notes: Iterable[str] = ()) -> None:
    """Write escaped lines to standard output, then notes to standard error."""
    for line in lines:
        say(line)
    for line in notes:
        note(line)


def show_while_read(lines: Iterable[str]) -> bool:
    """Write escaped lines to standard output until the reader goes; return whether it is still there."""
    return all(map(say, lines))


def answer(
    result: R,
    render: Callable[[R, Terminal], Iterable[str]],
    notes: Callable[[R, Terminal], Iterable[str]] | None = None,
    *,
    as_json: bool,
) -> None:
    """Write a result as JSON, or as lines with notes on standard error.

    Args:
        result: The answer.
        render: Turns it into lines.
        notes: Turns its messages into lines; None for its warnings alone.
        as_json: Whether to write JSON.
    """
    if as_json:
        say_json(result.to_dict())
        return
    show(render(result, Terminal.of(sys.stdout)))
    if notes is not None:
        show((), notes(result, Terminal.of(sys.stderr)))
    elif warnings := getattr(result, "warnings", ()):
        show((), warning_lines(warnings, Terminal.of(sys.stderr), stale=getattr(result, "stale", False)))


_LABEL_COLOURS = {
    "warning": "yellow",
    "not checked": "red",
    "fix": "cyan",
    "note": "cyan",
    "hint": "cyan",
    "try": "green",
}


_PROSE = frozenset({"warning", "not checked", "note"})


def folded(text: str, terminal: Terminal, *, first: str = "", following: str = "") -> str:
    """Return text wrapped at spaces to the terminal's width, with the two indents of the first and the other lines."""
    if terminal.width is None or cells(first) + cells(text) <= terminal.width:
        return text
    from textwrap import TextWrapper

    how = TextWrapper(terminal.width, first, following, break_long_words=False, break_on_hyphens=False)
    return how.fill(text).lstrip()


def note_line(label: str, text: str, terminal: Terminal, *, indent: int = 0) -> str:
    """Return a line about an answer with its label in colour; prose is wrapped, a command to copy is not."""
    is_error = label.startswith("error[")
    colour = "red" if is_error else _LABEL_COLOURS.get(label.partition("[")[0])
    text, before = inline(text), " " * indent
    if is_error or label in _PROSE or (label == "hint" and "rye " not in text):
        text = folded(text, terminal, first=" " * (indent + len(label) + 2), following=f"{before}  ")
    shown = terminal.style(text, bold=label == "did you mean")
    return f"{before}{terminal.style(f'{label}:', colour, bold=colour == 'red')} {shown}" if label else before + shown


def warning_lines(warnings: Sequence[str], terminal: Terminal, *, stale: bool = False) -> Iterator[str]:
    """Yield a line for each warning."""
    yield from (note_line(label, text, terminal) for label, text in warning_notes(warnings, stale=stale))


def file_uri(path: str) -> str:
    """Return the URI of an absolute path with slashes, also of a path that begins with a drive.

    >>> file_uri("/a b"), file_uri("C:/a:b")
    ('file:///a%20b', 'file:///C:/a%3Ab')
    """
    from urllib.parse import quote

    drive = path[:2] if path[1:3] == ":/" else ""
    try:
        data = os.fsencode(path[len(drive) :])
    except UnicodeEncodeError:  # a lone surrogate, which no name on disk can hold
        data = path[len(drive) :].encode("utf-8", "backslashreplace")
    return f"file://{'/' * bool(drive)}{drive}{quote(data)}"


def say_raw(data: bytes) -> None:
    """Write the bytes of a text unchanged; to a terminal, escaped and with a line end."""
    stream = _stream()
    if _is_terminal(stream):
        say(block(data.decode("utf-8-sig", "backslashreplace")))
        return
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        stream.write(data.decode("utf-8", "backslashreplace"))
        return
    stream.flush()
    buffer.write(data)


def say_json(value: Any, *, lines: bool = False) -> None:
    """Write one JSON value to standard output; on a single line with ``lines``."""
    stream = _stream()
    unicode = (stream.encoding or "").lower().replace("-", "").startswith("utf")
    say(json_text(value, indent=None if lines else 2, ascii_only=not unicode))


def json_text(value: Any, *, indent: int | None = 2, ascii_only: bool = False) -> str:
    """Return JSON in which every control, invisible and lone surrogate character is escaped."""
    import json

    return verbatim_json(json.dumps(value, ensure_ascii=ascii_only, indent=indent, default=str))


def note(text: str) -> None:
    """Write escaped text to standard error, after everything that standard output has so far; ignore failures."""
    with suppress(OSError):  # as the last flush says
        if sys.stdout is not None:
            sys.stdout.flush()
    try:
        if sys.stderr is not None:
            sys.stderr.write(f"{text}\n")
    except OSError:
        silence(sys.stderr)


def no_output(fault: OSError) -> EnvironmentFault:
    """Return the error for an answer that cannot be written."""
    message = f"standard output cannot be written: {fault.strerror}"
    hint = "the command may have done its work; make room, or write the answer elsewhere"
    return EnvironmentFault("no-output", message, hint=hint)


def silence(*streams: TextIO | None) -> None:
    """Redirect streams to the null device, so that the flush at exit cannot fail."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        try:
            if stream is not None:
                os.dup2(nothing, stream.fileno())
        except (OSError, ValueError):
            continue
    os.close(nothing)


def _stream() -> TextIO:
    if sys.stdout is None:
        raise EnvironmentFault("no-output", "standard output is closed", hint="redirect it to a file or /dev/null")
    return sys.stdout


def ask_passphrase(what: str, **how: Any) -> bytes:
    """Ask for the passphrase of a key on the terminal; ``how`` goes to :func:`click.prompt`.

    Raises:
        SigningError: ``passphrase-needed`` if there is no terminal.
    """
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        from rye.keyring.key_files import PASSPHRASE_VARIABLE

        raise SigningError(
            "passphrase-needed",
            f"{what} needs a passphrase, and there is no terminal to ask on",
            hint=f"set {PASSPHRASE_VARIABLE}",
        )
    typed: str = click.prompt(f"Passphrase for {what}", hide_input=True, err=True, **how)
    return typed.encode("utf-8", "surrogateescape")


def confirm(question: str) -> bool:
    """Ask a question on standard error, and return whether the user says yes.

    Raises:
        EOFError: There is no terminal.
    """
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        raise EOFError
    prompt = folded(f"{question} [y/N]:", Terminal.of(sys.stderr))
    return click.confirm(prompt, show_default=False, prompt_suffix=" ", err=True)


def require_yes(question: str, *, hint: str) -> None:
    """Ask a question that needs a yes before anything changes.

    Raises:
        SigningError: ``confirmation-needed`` if the answer is not yes, or if there is no terminal.
    """
    try:
        agreed = confirm(question)
    except EOFError:
        message = "there is no terminal to ask on, so nothing was changed"
        raise SigningError("confirmation-needed", message, hint=hint) from None
    if not agreed:
        raise SigningError("confirmation-needed", "not confirmed, so nothing was changed", hint=hint)


def ask_new_passphrase(what: str) -> bytes:
    """Ask for a new passphrase, twice."""
    return ask_passphrase(what, confirmation_prompt="The same again")
