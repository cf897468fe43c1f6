"""The table of commands, exit codes, and what happens to an exception."""

from __future__ import annotations

import io
import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from rye.cli import main
from rye.cli.commands import COMMANDS
from rye.cli.params import Option
from rye.errors import EnvironmentFault, NotFoundError, QueryError

ROOT = Path(__file__).resolve().parents[3]


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let ``rye why`` raise this."""

    def raises(*_args: object, **_options: object) -> int:
        raise error

    monkeypatch.setattr(COMMANDS["why"].command, "callback", raises)


def test_help_of_every_command_loads_no_third_party_but_click() -> None:
    """``rye search --help`` answers at once."""
    code = (
        "import sys\nfrom rye.cli import main\n"
        "for name in sys.argv[1:]: main([*name.split(), '--help'])\n"
        "assert not {'numpy', 'whoosh', 'lark', 'cryptography', 'yaml'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, *COMMANDS], cwd=ROOT, capture_output=True, check=True)


@pytest.mark.parametrize("command", ["verify items", "trust list", "keys list"])
def test_commands_that_search_nothing_load_nothing_that_searches(command: str) -> None:
    """A hook before every commit does not wait for it."""
    code = (
        "import sys\nfrom rye.cli import main\nmain(sys.argv[1:])\n"
        "print('loaded', *{'numpy', 'whoosh', 'lark', 'rye.registry.registry', 'rye.search.engine'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code, *command.split()], cwd=ROOT, capture_output=True, check=True)
    assert done.stdout.splitlines()[-1] == b"loaded"


@pytest.mark.parametrize("line", [line for entry in COMMANDS.values() for line, _ in entry.examples])
def test_every_example_is_a_line_that_the_command_accepts(line: str) -> None:
    """Examples are never out of date: the options in them exist."""
    words = shlex.split(line.removeprefix('eval "$(').removesuffix(')"'))
    assert words[0] == "rye"
    two = " ".join(words[1:3])
    command, rest = (COMMANDS[two].command, words[3:]) if two in COMMANDS else (COMMANDS[words[1]].command, words[2:])
    if isinstance(command, click.Group):
        command, rest = command.commands[rest[0]], rest[1 : rest.index(">") if ">" in rest else None]
    with command.make_context(words[1], rest) as context:
        assert context.params


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield every command, and every action of a group, with its name."""
    for name, entry in COMMANDS.items():
        command = entry.command
        actions = command.commands if isinstance(command, click.Group) else {"": command}
        yield from ((f"{name} {action}".strip(), each) for action, each in actions.items())


def test_a_flag_means_the_same_on_every_command() -> None:
    """One option for one thing: with or without a value everywhere, and a flag's help says the same first."""
    meanings = dict[str, dict[tuple[str, str, bool], list[str]]]()
    for name, command in commands():
        for option in command.params:
            if isinstance(option, Option):
                said = option.text.split()[0] if option.is_flag else ""
                for spelling in (*option.opts, *option.secondary_opts):
                    meaning = str(option.name), said, option.is_flag
                    meanings.setdefault(spelling, {}).setdefault(meaning, []).append(name)
    several = {spelling for spelling, found in meanings.items() if len(found) > 1}
    assert several == {"--project", "--print-config"}  # mcp has several projects, and names the client of a config
    assert len(meanings) > 80


def test_the_help_of_a_search_fits_a_screen() -> None:
    """At most 45 lines."""
    command = COMMANDS["search"].command
    with command.make_context("search", [], resilient_parsing=True, terminal_width=80) as context:
        assert len(command.get_help(context).splitlines()) <= 45


@pytest.mark.parametrize("args", [["--help"], ["-h"], ["--version"], *([*name.split(), "-h"] for name in COMMANDS)])
def test_help_and_version_are_no_errors(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """They answer on standard output and exit 0."""
    assert main(args) == 0
    captured = capsys.readouterr()
    assert captured.out
    assert captured.err == ""


@pytest.mark.parametrize(
    ("args", "message", "hint"),
    [
        (["serach", "x"], "there is no command 'serach'", "try: rye search"),
        (["verify signatures"], "there is no command", "try: rye search 'verify signatures'"),
        (["show"], "Missing argument 'ITEM'", "rye show --help"),
        (["search", "--limit", "many"], "'many' is not a valid integer", "rye search --help"),
        (["search", "--json", "--format=ids"], "--json and --format exclude each other", "rye search --help"),
        (["refs", "x", "--format", "text"], "No such option", "rye refs --help"),
        (["search", "--format=ids", "--explain"], "--explain has no effect with --format ids", "rye search --help"),
        (["search", "x", "--require", "trusted"], "No such option '--require'", "add is:trusted to the query"),
        (["why", "a", "b", "--limit", "3"], "No such option '--limit'", "rye why --help lists the options"),
        (["--limit", "3", "search"], "No such option '--limit'", "options follow the command: rye search --limit …"),
        (["search", "--like", "x", "y"], "QUERY has no effect with --like", "rye search --help"),
        (["search", "-draft"], "'-draft' is not an option", "rye search -- -draft"),
        (["search", "a", "-draft"], "put -- before a query that begins with an exclusion", "rye search -- a -draft"),
        (["show", "x", "--raw", "--json"], "exclude each other", "rye show --help"),
        (["verify", "-v", "--json"], "exclude each other", "rye verify --help"),
        (["verify", "--format", "sarif", "--json"], "exclude each other", "rye verify --help"),
        (["verify", "--format", "sarif", "-v"], "has no effect with --format other than text", "rye verify --help"),
        (["verify", "--accept"], "needs a policy", "--policy FILE"),
        (["sign", "x", "--owner", "me"], "No such option '--owner'", "rye sign --help"),
        (
            ["sign", "bundle", "x", "--new-key", "--key", "k"],
            "--key has no effect with --new-key",
            "sign bundle --help",
        ),
        (["sign", "bundle"], "Missing argument 'FOLDER'", "rye sign bundle --help"),
        (["sign", "--list"], "No such option '--list'", "hint: rye sign list"),
        (["sign", "list", "--add", "--expires", "3"], "exclude each other", "rye sign list --help"),
        (["sign", "list", "x", "--space", "user"], "--space has no effect with FOLDER", "rye sign list --help"),
        (["sign", "list", "--forget", "--dry-run"], "--dry-run has no effect with --forget", "rye sign list --help"),
        (["index", "burn"], "No such command 'burn'", "rye index --help"),
    ],
)
def test_usage_errors_exit_2_and_say_what_to_write(
    args: list[str], message: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """An option that would have no effect, a conflict, a typo: an error with a hint, and nothing on standard output."""
    assert main(args) == 2
    captured = capsys.readouterr()
    if "--json" in args:
        error = json.loads(captured.out)["error"]
        assert error["code"] == "usage"
        assert message in error["message"]
        assert captured.err == ""
        return
    assert captured.out == ""
    assert captured.err.startswith("error[usage]: ")
    assert message in captured.err
    assert hint in captured.err


@pytest.mark.parametrize(
    ("error", "status", "shown"),
    [
        (QueryError("q", "bad query", text="x", position=0), 2, "error[q]: bad query"),
        (NotFoundError("n", "none"), 2, "error[n]: none"),
        (EnvironmentFault("e", "full"), 2, "error[e]: full"),
        (PermissionError(13, "Permission denied", "/x\x1b"), 2, "error[system]: Permission denied: /x\\x1b"),
        (ZeroDivisionError("oops"), 2, "error[internal]: unexpected ZeroDivisionError: oops"),
        (RecursionError("deep"), 2, "error[internal]: unexpected RecursionError: deep"),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(), 0, ""),
    ],
)
def test_whatever_is_raised_becomes_a_sentence_and_a_status(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int, shown: str
) -> None:
    """Never a traceback; an interrupt and a closed pipe say nothing."""
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    failing(monkeypatch, error)
    assert main(["why", "x"]) == status
    assert screen.getvalue().startswith(shown)
    assert bool(screen.getvalue()) is bool(shown)
    assert "Traceback" not in screen.getvalue()


def test_debugging_shows_the_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """RYE_DEBUG=1 is for who repairs rye; the status stays 2."""
    failing(monkeypatch, ZeroDivisionError("oops"))
    monkeypatch.setenv("RYE_DEBUG", "1")
    assert main(["why", "x"]) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--json", "--format=json", "--format=jsonl"])
def test_errors_are_objects_for_programs(
    option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With JSON asked for, the error is the same object as on every surface, on standard output."""
    error = QueryError("q", "bad", text="a\u202e", position=0, hint="fix", suggestion="a")
    monkeypatch.setattr(COMMANDS["search"].command, "callback", lambda **_: (_ for _ in ()).throw(error))
    assert main(["search", option, "x"]) == 2
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {"error": error.to_dict()}
    assert captured.out.count("\n") == 1 or "jsonl" not in option
    assert captured.err == ""


def test_json_behind_the_double_dash_is_a_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``rye why -- --json`` asks about the text ``--json``; its error is for a person."""
    failing(monkeypatch, NotFoundError("n", "none"))
    assert main(["why", "--", "--json"]) == 2
    assert capsys.readouterr().err == "error[n]: none\n"


@pytest.mark.parametrize(
    ("args", "message", "hint"),
    [
        (
            ["search", "a", "--threshold", ".2"],
            "--threshold has no effect with --mode",
            "--mode semantic or --mode hybrid",
        ),
        (["search", "a", "--sort", "x"], "--sort is 'x'", "score, name, date"),
        (["search", "a", "--scope", "tols"], "[bad-scope]: 'tols'", "did you mean 'tool'?"),
        (["search", "a", "--space", "projct"], "[bad-space]: --space is 'projct'", "project"),
        (["search", "a", "--limit", "-1"], "[bad-limit]: --limit is -1", "from 1 to 1,000"),
        (["search", "a", "--offset", "-1"], "[bad-offset]: --offset is -1", "0"),
        (["search", "a", "--mode", "bogus"], "[bad-mode]: --mode is 'bogus'", "keyword"),
        (["search", "a", "--mode", "semantic", "--threshold", "7"], "[bad-threshold]: --threshold is 7", "1"),
        (["sections", "a", "--mode", "keyword", "--threshold", ".2"], "--threshold has no effect", "--mode semantic"),
        (["search", "a", "--mode", "semantic", "--limit", "200"], "--limit is 200", "1 to 100 with --mode semantic"),
        (["search", "a", "--filter", "is=x"], "[bad-filter]: --filter 'is' is 'x'", "states are"),
        (["search", "a", "--filter", "version>=x"], "--filter 'version' compares with 'x'", "give a version"),
        (["search", "a", "--filter", "date_to=soon"], "--filter 'date", "ISO date"),
        (["search", "a", "--facets", "tag:0"], "[bad-facets]: --facets has 'tag:0'", "tag:25"),
        (["search", "a", "--scope", ""], "[bad-scope]: --scope is ''", "TYPE.NAMESPACE"),
        (["search", "a", "--max-staleness", "-1"], "--max-staleness is -1", "0 or more; inf"),
        (["list", "--limit", "0"], "[bad-limit]: --limit is 0", "whole numbers of 1 or more"),
        (["verify", "--space", "usr"], "[bad-space]: --space is 'usr'", "did you mean 'user'?"),
        (["sign", "--all", "--space", "system"], "[bad-space]: --space is 'system'", "valid are project, user;"),
        (["sign", "list", "--space", "usr"], "[bad-space]: --space is 'usr'", "project or user"),
    ],
)
def test_an_error_names_the_option_that_was_typed(
    capsys: pytest.CaptureFixture[str], args: list[str], message: str, hint: str
) -> None:
    """And not the name that the argument has in Python, in the message and in the hint; never an empty list."""
    assert main(args) == 2
    captured = capsys.readouterr()
    shown, _, hinted = captured.err.partition("\nhint: ")
    assert (captured.out, shown[: len("error[")]) == ("", "error[")
    assert message in shown
    assert hint in hinted
    assert "_" not in shown.replace("date_to", "")
    assert "mode=" not in hinted
    assert main([*args, "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert shown.startswith(f"error[{error['code']}]: ")


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("search zqxj", 1),
        ("search --like tool:no", 1),
        ("sections zqxj", 1),
        ("show tool:no", 1),
        ("refs tool:no", 1),
        ("why zqxj tool:no", 1),
        ("list tool.no.*", 1),
        ("help zqxj", 1),
        ("verify tool:no", 2),
        ("sign tool:no", 2),
        ("sign --check tool:no", 2),
        ("import ./no.md", 2),
        ("trust remove ./no.toml", 2),
        ("keys show no", 2),
        ("keys export no", 2),
        ("eval no.csv", 2),
        ("doctor ./no", 2),
        ("search zqxj --project ./no", 2),
    ],
)
def test_what_is_not_there_exits_1_when_shown_and_2_when_it_was_to_be_worked_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, status: int
) -> None:
    """The table of exit statuses in the reference; a check of nothing never passes for a check."""
    (tmp_path / ".ai/knowledge").mkdir(parents=True)
    (tmp_path / ".ai/knowledge/one.md").write_text("# One\n\nText.\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("USER_SPACE", str(tmp_path / "home"))
    assert main(line.split()) == status
