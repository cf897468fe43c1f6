"""The root command: exit codes, errors, closed pipes and interrupts."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import click

from rye._process import remove_folders
from rye._text import quote
from rye.cli.commands import COMMANDS, GROUPS
from rye.cli.options import HELP_SETTINGS, NothingFound, Refusal, colour_option
from rye.cli.terminal import COLOUR, Terminal, no_output, note, prepare_streams, say, say_json, show, silence
from rye.errors import ArgumentError, EnvironmentFault, Interrupted, RyeError
from rye.surface.text import installed_version

_NOTHING = 1
_ERROR = 2
_INTERRUPTED = 130


class _Commands(click.Group):
    """The commands in the order of the table; an unknown name gets a suggestion."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return [name for name in COMMANDS if " " not in name]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; an option before the command that belongs behind it is said to."""
        line = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if not (name := next((word for word in line if word in COMMANDS), "")):
                raise
            hint = f"options follow the command: rye {name} {error.option_name} …"
            raise Refusal(error.format_message(), ctx, hint=hint) from error

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        return COMMANDS[cmd_name].command if cmd_name in COMMANDS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        """Write the commands under the headings of their groups."""
        width = max(map(len, COMMANDS))
        for heading, names in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), COMMANDS[name].summary) for name in names])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, two = args[0], " ".join(args[:2])
        if two in COMMANDS:
            return two, COMMANDS[two].command, args[2:]
        if name in COMMANDS or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        if args == ["version"]:
            _show_version(ctx, ctx.command.params[0], True)
        import difflib

        matches = [f"rye {match}" for match in difflib.get_close_matches(name, COMMANDS, n=2)]
        instead = " or ".join(matches) or f"rye search {' '.join(map(quote, args))}"
        hint = f"try: {instead}; rye --help lists the commands"
        raise Refusal(f"there is no command {name!r}", ctx, hint=hint)


def _show_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's call
    if value and not ctx.resilient_parsing:
        say(f"rye {installed_version() or '(not installed)'}")
        ctx.exit()


@click.command(
    "rye",
    cls=_Commands,
    context_settings=HELP_SETTINGS,
    epilog="Exit status: 0 found or all passed, 1 nothing found or some failed, 2 error. Colour: only on a terminal; "
    "NO_COLOR and FORCE_COLOR are honoured. `rye help reference` has the options and variables that every command "
    "takes. RYE_DEBUG=1 shows the traceback of an unexpected error.",
)
@click.option(
    "-V", "--version", is_flag=True, expose_value=False, is_eager=True, callback=_show_version, help="Show the version."
)
def root() -> None:
    """Search, read, sign and verify a registry of signed items: directives, tools and knowledge."""


root.params.append(colour_option(hidden=False))


def main(args: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status.

    Raises nothing, except the original traceback if ``RYE_DEBUG`` is set.

    Args:
        args: The words after ``rye``; None for the arguments of the process.
    """
    words = list(sys.argv[1:] if args is None else args)
    prepare_streams()
    COLOUR.set("auto")
    return _until_signalled(lambda: _exit_status(words))


_WRITING = frozenset({"init", "sign", "keys", "trust", "new", "import"})
"""The commands that write files of the user's."""

_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class _Terminated(BaseException):
    """SIGTERM or SIGHUP arrived."""


def _until_signalled(work: Callable[[], int]) -> int:
    """On SIGTERM or SIGHUP: stop the worker processes, remove temporary files, then die by that signal."""
    status, received, lost, is_done = 0, list[int](), list[BaseException](), False

    def stop(number: int, *_: object) -> None:
        for handled in mine:
            signal.signal(handled, signal.SIG_IGN)
        received.append(number)
        if not is_done:
            raise _Terminated

    def keep_lost(ignored: sys.UnraisableHookArgs) -> None:
        """Keep the exception of a signal that arrived inside a finalizer, because Python drops it."""
        if isinstance(ignored.exc_value, _Terminated | KeyboardInterrupt):
            lost.append(ignored.exc_value)
        else:
            hook(ignored)

    hook = sys.unraisablehook
    is_main = threading.current_thread() is threading.main_thread()
    mine = [number for number in _ENDING if is_main and signal.getsignal(number) is signal.SIG_DFL]
    try:
        try:
            sys.unraisablehook = keep_lost
            for number in mine:
                signal.signal(number, stop)
            status = work()
        finally:
            is_done = True
    except (_Terminated, BaseExceptionGroup):  # in a group where tasks were running
        if not received:
            raise
    finally:
        for number in mine:
            signal.signal(number, signal.SIG_DFL)
        sys.unraisablehook = hook
    if received:
        silence(sys.stdout, sys.stderr)
        remove_folders()
        os.kill(os.getpid(), received[0])
    return _INTERRUPTED if lost else status


def _exit_status(words: list[str]) -> int:
    status = 0
    try:
        status = _guarded(words)
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except BrokenPipeError:
        silence(sys.stdout, sys.stderr)
        return status
    except OSError as fault:
        silence(sys.stdout)
        if status != _ERROR:
            _report(no_output(fault), ())
        return _ERROR
    return status


def _guarded(words: list[str]) -> int:
    """Run the command; report any exception and return the exit status."""
    try:
        return _run(words)
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except Interrupted as stop:
        note(f"{stop.message}; {stop.hint}")
        return _INTERRUPTED
    except (KeyboardInterrupt, click.Abort) as stopped:
        if isinstance(stopped, click.Abort):
            note("")  # it stopped at a question, whose line has no end
        if words[:1] and words[0] in _WRITING:
            note("interrupted; what is done stays, and the same command does the rest")
        return _INTERRUPTED
    except BrokenPipeError:
        raise
    except click.exceptions.NoArgsIsHelpError as error:
        note(error.format_message())
        return _ERROR
    except NothingFound as nothing:
        _report(nothing.error, words)
        return _NOTHING
    except Exception as error:  # noqa: BLE001 - the last resort: a person gets a sentence, not a traceback
        return _report(_as_rye_error(error), words)


def _as_rye_error(error: Exception) -> RyeError:
    if isinstance(error, RyeError):
        return error
    if isinstance(error, click.ClickException):
        hint = getattr(error, "hint", "")
        if isinstance(error, click.NoSuchOption) and error.ctx is not None:
            two = f"{error.ctx.info_name} {error.option_name.lstrip('-')}"
            hint = hint or (f"rye {two}" if two in COMMANDS else "")
        if not hint and isinstance(error, click.UsageError) and error.ctx is not None:
            hint = f"{error.ctx.command_path} --help"
        return ArgumentError("usage", error.format_message(), hint=hint)
    if os.environ.get("RYE_DEBUG", "") not in {"", "0"}:
        import traceback

        from rye.trust.keys import hide_keys

        note(hide_keys("".join(traceback.format_exception(error)).rstrip()))
    return _unexpected(error)


def _run(words: list[str]) -> int:
    if instruction := os.environ.get("_RYE_COMPLETE"):
        from rye.cli.completion import answer_shell

        return answer_shell(root, instruction)
    with root.make_context("rye", words) as context:
        status: Any = root.invoke(context)
    return int(status or 0)


def _is_folder_gone() -> bool:
    try:
        return not os.getcwd()  # noqa: PTH109 - text
    except FileNotFoundError:
        return True


def _unexpected(error: Exception) -> RyeError:
    if isinstance(error, FileNotFoundError) and _is_folder_gone():
        return EnvironmentFault("system", "the working directory is gone", hint="go to one that is there: cd ~")
    if isinstance(error, OSError) and error.strerror:
        named = f": {error.filename}" if error.filename else ""
        return EnvironmentFault("system", f"{error.strerror}{named}", hint="RYE_DEBUG=1 shows where it happened")
    return RyeError(
        "internal",
        f"unexpected {type(error).__name__}: {error}",
        hint="this is a bug in rye; RYE_DEBUG=1 shows the traceback to report",
    )


def _report(error: RyeError, words: Sequence[str]) -> int:
    """Write an error as text or JSON; blank out a private key that it quotes."""
    from rye.trust.keys import hide_keys

    details = {name: _without_keys(value) for name, value in error.details.items()}
    error = error.but(message=hide_keys(error.message), hint=hide_keys(error.hint), details=details)
    form = _json_form(words[: words.index("--")] if "--" in words else words)
    if sys.stdout is not None and form:
        with suppress(EnvironmentFault):  # standard output cannot be written: said below
            say_json({"error": error.to_dict()}, lines=form == "jsonl")
            return _ERROR
    from rye.cli.render.parts import render_error

    show((), render_error(error, Terminal.of(sys.stderr)))
    return _ERROR


def _without_keys(value: Any) -> Any:
    from rye.trust.keys import hide_keys

    if isinstance(value, list | tuple):
        return [_without_keys(part) for part in value]
    return hide_keys(value) if isinstance(value, str) else value


def _json_form(options: Sequence[str]) -> str:
    for form in ("json", "jsonl"):
        if f"--{form}" in options or f"--format={form}" in options or ("--format", form) in pairwise(options):
            return form
    return ""
