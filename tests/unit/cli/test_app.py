"""The table of commands, exit codes, and what happens to an exception."""

from __future__ import annotations

import inspect
import io
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from rye.cli import main
from rye.cli.app import root
from rye.cli.commands import COMMANDS
from rye.cli.options import Place, SearchCommand, ask
from rye.errors import EnvironmentFault, NotFoundError, QueryError
from rye.registry.registry import Registry
from rye.verify.policy import WELL

ROOT = Path(__file__).resolve().parents[3]


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let ``rye why`` raise this."""

    def raises(*_args: object, **_options: object) -> int:
        raise error

    monkeypatch.setattr(COMMANDS["why"].command, "callback", raises)


def test_importing_the_room_is_cheap() -> None:
    """``import rye.cli`` loads click and the standard library, nothing else."""
    code = "import sys, rye.cli; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    bare = subprocess.run(
        [sys.executable, "-c", code.replace(", rye.cli", "")], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split()) - set(bare.stdout.split()) - set(sys.stdlib_module_names)
    assert loaded <= {"rye", "click", "colorama"}


def test_help_of_every_command_loads_no_third_party_but_click() -> None:
    """``rye search --help`` answers at once."""
    code = (
        "import sys\nfrom rye.cli import main\n"
        "for name in sys.argv[1:]: main([name, '--help'])\n"
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


def test_the_table_is_complete_and_without_doubles() -> None:
    """Every command is of the table, has a summary, a help text with its exit status, and examples in it."""
    names = "search sections show refs why list index init new import sign verify keys trust mcp serve completion help"
    assert list(COMMANDS) == names.split()
    with root.make_context("rye", ["help"]) as context:
        assert root.list_commands(context) == list(COMMANDS)
    for name, entry in COMMANDS.items():
        assert entry.command.name == name
        assert entry.summary.endswith(".")
        assert len(entry.summary) <= 66
        with entry.command.make_context(name, [], resilient_parsing=True) as context:
            text = entry.command.get_help(context)
        assert "Examples:" in text
        assert "Exit status:" in text or name == "completion"
        assert all(line in text for line, _ in entry.examples)


@pytest.mark.parametrize("line", [line for entry in COMMANDS.values() for line, _ in entry.examples])
def test_every_example_is_a_line_that_the_command_accepts(line: str) -> None:
    """Examples are never out of date: the options in them exist."""
    words = shlex.split(line.removeprefix('eval "$(').removesuffix(')"'))
    assert words[0] == "rye"
    command, rest = COMMANDS[words[1]].command, words[2:]
    if isinstance(command, click.Group):
        command, rest = command.commands[rest[0]], rest[1 : rest.index(">") if ">" in rest else None]
    with command.make_context(words[1], rest) as context:
        assert context.params


def test_every_option_is_explained() -> None:
    """No option is without help, and no two commands spell the same one differently."""
    for name, entry in COMMANDS.items():
        actions = entry.command.commands.values() if isinstance(entry.command, click.Group) else ()
        for param in (*entry.command.params, *(param for action in actions for param in action.params)):
            if isinstance(param, click.Option):
                assert param.help, f"rye {name} {param.opts[0]}"


def test_an_option_of_a_search_has_the_default_of_its_argument() -> None:
    """Both mean the same when nothing is said. Rarer arguments have no option: the query and the settings say them."""
    assert isinstance(COMMANDS["search"].command, SearchCommand)
    options = {param.name: param for param in COMMANDS["search"].command.params}
    parameters = dict(inspect.signature(Registry.search).parameters)
    for name, parameter in parameters.items():
        if name in options and name != "query" and parameter.default not in {None, False}:
            assert options[name].default == parameter.default, name
    absent = {"fields", "hybrid", "lenient", "level", "prefix", "proximity", "source_boosts"}
    assert set(parameters) - set(options) == absent | {"self"}


def test_the_help_of_a_search_fits_a_screen() -> None:
    """At most 45 lines."""
    command = COMMANDS["search"].command
    with command.make_context("search", [], resilient_parsing=True, terminal_width=80) as context:
        assert len(command.get_help(context).splitlines()) <= 45


def test_no_requirement_is_met_by_an_item_that_cannot_be_believed() -> None:
    """Each choice of ``--require`` is a set of verdicts; changed, moved, partly covered or unsigned items meet none."""
    (require,) = [param for param in COMMANDS["verify"].command.params if param.name == "require"]
    assert isinstance(require.type, click.Choice)
    assert list(require.type.choices) == list(WELL) == ["trusted", "signed"]
    assert set().union(*WELL.values()) == {"trusted", "untrusted"}


@pytest.mark.parametrize("args", [["--help"], ["-h"], ["--version"], *([name, "-h"] for name in COMMANDS)])
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
        (["refs", "x", "--json", "--format", "json"], "--json and --format exclude each other", "rye refs --help"),
        (["search", "--format=ids", "--explain"], "--explain has no effect with --format ids", "rye search --help"),
        (["search", "--like", "x", "y"], "QUERY has no effect with --like", "rye search --help"),
        (["search", "-draft"], "'-draft' is no option", "rye search -- -draft"),
        (["search", "a", "-draft"], "put -- before a query that begins with an exclusion", "rye search -- a -draft"),
        (["show", "x", "--raw", "--json"], "exclude each other", "rye show --help"),
        (["verify", "-v", "--json"], "exclude each other", "rye verify --help"),
        (["verify", "--format", "sarif", "--json"], "exclude each other", "rye verify --help"),
        (["verify", "--format", "sarif", "-v"], "has no effect with --format other than text", "rye verify --help"),
        (["verify", "--accept"], "needs a policy", "--policy FILE"),
        (["sign", "x", "--owner", "me"], "--owner has no effect without --bundle", "rye sign --help"),
        (["sign", "--bundle", "x", "--new-key", "--key", "k"], "--key has no effect with --new-key", "rye sign --help"),
        (["sign", "t", "--bundle", "x", "--new-key"], "has no effect with --bundle", "rye sign --help"),
        (["index", "burn"], "'burn' is not one of", "rye index --help"),
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


def test_no_arguments_show_the_help_and_are_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """``rye`` alone says what there is."""
    assert main([]) == 2
    assert "Commands:" in capsys.readouterr().err


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


def test_a_named_bundle_counts_beside_those_of_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """``--bundle`` adds to what ``RYE_BUNDLES`` names and takes nothing away."""
    for name in ("here", "there"):
        (tmp_path / name / "tools").mkdir(parents=True)
    monkeypatch.setenv("RYE_BUNDLES", str(tmp_path / "there"))
    sources = ask(Place(bundles=(tmp_path / "here",)), lambda registry: registry.sources)
    assert {"system:here", "system:there"} <= set(sources)


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
        (["sign", "--list", "--space", "usr"], "[bad-space]: --space is 'usr'", "project or user"),
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


@pytest.mark.parametrize("name", COMMANDS)
def test_help_lists_each_option_once_below_the_heading_it_belongs_to(name: str) -> None:
    """Those of the command alone come first; where items, keys and the index are, which all commands share, last."""
    command = COMMANDS[name].command
    with command.make_context(name, [], resilient_parsing=True) as context:
        text = command.get_help(context)
        options = [each for each in command.get_params(context) if isinstance(each, click.Option) and not each.hidden]
    below = re.split("Commands:|Examples:", text[text.index("ptions:\n") :])[0]
    listed = re.findall(r"^  ([^\s,]+)", below, re.MULTILINE)
    assert sorted(listed) == sorted(min(each.opts, key=len) for each in options)
    known = ("Options:", "Answer:", "Spaces, keys and the index:", "Commands:")
    headings = re.findall(r"^[A-Z].*:$", text, re.MULTILINE)
    assert headings == [each for each in known if each in headings]
