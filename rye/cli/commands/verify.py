"""The command ``rye verify``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rye.cli.options import Place, Refusal, command, given, only_one, params_of, progress_bar, refuse
from rye.cli.terminal import Terminal, note, say, say_json, show, warning_lines
from rye.surface.text import plural

if TYPE_CHECKING:
    from rye.cli.progress import IndexProgress
    from rye.registry import Policy, Progress, Verification


@command("verify", params=params_of("verify"))
def verify(target: tuple[str, ...], **options: Any) -> int:
    """Verify the signature of each TARGET, or of every item if none is named.

    A TARGET is a type:id, where the id may contain * and ?; a scope such as tool.demo.*; or a path, also of a bundle
    or project outside the spaces. A folder with a .ai is a project: its keys count once you have endorsed them, or
    named them with --trust. Projects below a folder are verified with it, and so are those below the project itself.
    A space is compared with its signed list, if it has one, when all of it is verified: without TARGET, with *, or
    with the folder of the project or bundle, or a folder around it.

    With --mcp, the skills of a server: their digests, signatures, and what changed since you accepted them.

    Exit status: 0 all passed, 1 some failed, 2 some could not be checked or there was nothing to check.
    """
    server = options.pop("server")
    if server is not None:
        return _verify_server(server, target, options)
    refuse("accept", because="without --mcp")
    del options["accept"]
    only_one("as_json", "form")
    only_one("as_json", "verbose")
    form = "json" if options.pop("as_json") else options.pop("form")
    if form != "text":
        refuse("verbose", because="with --format other than text")
    if options["write_baseline"] and not given("baseline"):
        raise Refusal("--write-baseline needs a file", hint="name it with --baseline FILE")
    if options["write_baseline"]:
        refuse("changed_since", "form", "as_json", because="with --write-baseline, which records all findings")
    if target:
        refuse("exclude", because="with a TARGET: name what is to be verified")
    place = Place.take(options)
    with progress_bar("verifying") as progress:
        return _answer(_run(place, target, options, progress), options, form, progress)


_NOT_OF_SERVERS = (
    *("policy", "signers", "changed_since", "baseline", "write_baseline", "require_list", "form", "strict"),
    *("exclude", "space", "bundles", "audience", "clients"),
)


def _verify_server(server: str, command: tuple[str, ...], options: dict[str, Any]) -> int:
    """Check the skills of a server, and return the exit status."""
    from rye.cli.commands.service import check_server
    from rye.registry import ServerCheck

    refuse(*_NOT_OF_SERVERS, because="with --mcp")
    if (server == "-") != bool(command):
        raise Refusal("--mcp takes a URL, or - and a command", hint="rye verify --mcp - -- COMMAND ARGUMENT…")
    place = Place.take(options)
    load = place.layout().load_trust(place.trust)
    name = json.dumps(command) if command else server
    check = ServerCheck(name, load.trust, require=options["require"] or "trusted", accept=options["accept"])
    skills = check_server(server, command, check)
    if options["as_json"]:
        say_json({"server": name, "skills": [each.to_dict() for each in skills], "warnings": list(load.warnings)})
    else:
        from rye.cli.render.verify import render_server

        show(render_server(skills, verbose=options["verbose"]), warning_lines(load.warnings, Terminal.of(sys.stderr)))
    return 2 if not skills else int(any(each.problems for each in skills))


def _run(place: Place, target: tuple[str, ...], options: dict[str, Any], progress: Progress) -> Verification:
    from rye.registry import start_verification

    return start_verification(
        target,
        place.layout(),
        space=options["space"],
        named_trust=place.trust,
        without=None if target else [Path(each) for each in options["exclude"]],
        policy=_policy(options),
        baseline=None if options["write_baseline"] else options["baseline"],
        changed_since=options["changed_since"],
        require_list=options["require_list"],
        strict=options["strict"],
        processes=None,
        progress=progress,
    )


def _answer(run: Verification, options: dict[str, Any], form: str, progress: IndexProgress) -> int:
    """Verify, write the answer while it comes, and return the exit status."""
    if options["write_baseline"]:
        return _write_baseline(run, options["baseline"], progress)

    def complain(text: str) -> None:
        progress.clear()
        note(text)

    if form == "text":
        from rye.cli.render.verify import render_text

        lines = render_text(run, Terminal.of(sys.stdout), verbose=options["verbose"], complain=complain)
    else:
        from rye.cli.render.machine import FORMATS

        lines = FORMATS[form](run)
    for line in lines:
        progress.clear()
        if not say(line):  # a reader of the first lines must not take them for all
            note("not verified to the end: standard output was closed")
            return 2
    return run.status


def _policy(options: dict[str, Any]) -> Policy:
    """Return the policy of the file, with what the command line demands added."""
    from dataclasses import replace

    from rye.registry import Demand, Policy, check_signers, load_policy

    mine = Demand(options["require"] or "trusted", check_signers(options["signers"]))
    if options["policy"] is None:
        return Policy(mine)
    policy = load_policy(options["policy"])
    if options["require"] is None and not mine.signers:
        return policy
    return replace(policy, also=mine if options["require"] else replace(mine, require="signed"))


def _write_baseline(run: Verification, path: Path, progress: IndexProgress) -> int:
    """Write the findings, unless something could not be checked: then some may be missing."""
    from rye.cli.render.verify import render_text
    from rye.registry import Baseline, Finding

    findings: list[Finding] = []
    for line in render_text(run, Terminal.of(sys.stdout), verbose=False, complain=note, keep=findings.append):
        progress.clear()
        say(line)
    if run.status == 2:
        note("the baseline was not written: something could not be checked, or there was nothing to check")
        return 2
    Baseline.save(path, findings)
    say(f"baseline written: {plural(len(findings), 'finding')} accepted from now on")
    return 0
