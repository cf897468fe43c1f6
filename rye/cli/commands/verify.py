"""The commands that check signatures: ``rye verify`` and ``rye manifest``."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rye.cli.options import Place, Refusal, command, given, only_one, params_of, progress_bar, refuse
from rye.cli.terminal import Terminal, answer, ask_passphrase, note, require_yes, say, say_json, show
from rye.surface.text import plural

if TYPE_CHECKING:
    from rye.cli.progress import IndexProgress
    from rye.registry import Delegation, Layout, ManifestReport, Policy, Progress, Root, Verification

_LISTING = ("threshold", "root_key", "timestamp_key", "no_timestamp_key", "delegate", "no_delegates", "new")


@command("verify", params=params_of("verify"))
def verify(target: tuple[str, ...], **options: Any) -> int:
    """Verify the signature of each TARGET, or of every item if none is named.

    A TARGET is a type:id, where the id may contain * and ?; a scope such as tool.demo.*; or a path, also of a bundle
    or project outside the spaces. A folder with a .ai is a project: its keys count once you have endorsed them, or
    named them with --trust. Projects below a folder are verified with it, and so are those below the project itself.
    The signed manifest of a space, if it has one, is checked too when the whole space is verified: without TARGET,
    with *, or with the folder of the project or bundle, or a folder around it.

    Exit status: 0 all passed, 1 some failed, 2 some could not be checked or there was nothing to check.
    """
    only_one("as_json", "form")
    only_one("as_json", "verbose")
    form = "json" if options.pop("as_json") else options.pop("form")
    if form != "text":
        refuse("verbose", because="with --format other than text")
    if options["accept"] and options["policy"] is None:
        raise Refusal("--accept needs a policy", hint="name the file with --policy FILE")
    if options["accept"]:
        refuse("form", "as_json", because="with --accept, which writes the findings into the policy")
    if target:
        refuse("exclude", because="with a TARGET: name what is to be verified")
    place = Place.take(options)
    with progress_bar("verifying") as progress:
        return _answer(_run(place, target, options, progress), options, form, progress)


def _run(place: Place, target: tuple[str, ...], options: dict[str, Any], progress: Progress) -> Verification:
    from rye.registry import start_verification

    return start_verification(
        target,
        place.layout(),
        space=options["space"],
        named_trust=place.trust,
        without=None if target else [Path(each) for each in options["exclude"]],
        policy=_policy(options),
        require_manifest=options["require_manifest"],
        strict=options["strict"],
        processes=None,
        progress=progress,
    )


def _answer(run: Verification, options: dict[str, Any], form: str, progress: IndexProgress) -> int:
    """Verify, write the answer while it comes, and return the exit status."""
    if options["accept"]:
        return _accept(run, options["policy"], progress)

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

    from rye.registry import EVERY_SPACE, Demand, Policy, check_signers, load_policy

    path, require, signers = options["policy"], options["require"], check_signers(options["signers"])
    mine = Demand(require or "trusted", signers)
    if path is None or (options["accept"] and not path.exists()):
        return Policy(replace(mine, spaces=EVERY_SPACE))
    policy = load_policy(path)
    if require is None and not signers:
        return policy
    return replace(policy, also=mine if require else replace(mine, require="signed"))


def _accept(run: Verification, path: Path, progress: IndexProgress) -> int:
    """Write the findings into the policy, unless something could not be checked: then some may be missing."""
    from rye.cli.render.verify import render_text
    from rye.registry import Finding, accept_findings

    findings: list[Finding] = []
    for line in render_text(run, Terminal.of(sys.stdout), verbose=False, complain=note, keep=findings.append):
        progress.clear()
        say(line)
    if run.status == 2:
        note("nothing was accepted: something could not be checked, or there was nothing to check")
        return 2
    accept_findings(path, [each.identity for each in findings])
    say(f"{plural(len(findings), 'finding')} accepted in {path}")
    return 0


@command("manifest", params=params_of("manifest"))
def manifest(action: str, **options: Any) -> int:
    """Write or check the signed list of a space's items, kept below config/manifest; refresh says that it is current.

    Exit status: 0 written or no violations, 1 the check found some, 2 error or something could not be checked.
    """
    if action == "write":
        refuse("reset", "yes", because="with write")
        return _write(options)
    if action == "refresh":
        refuse("reset", "yes", "cosign", *_LISTING, because="with refresh, which signs a new timestamp alone")
        return _refresh(options)
    refuse("key", "cosign", "expires", *_LISTING, because="with check")
    if not options["reset"]:
        refuse("yes", because="without --reset")
    return _check(options)


@dataclass(frozen=True, slots=True)
class _Where:
    """The layout, the roots to write or check, and the trust files named."""

    layout: Layout
    roots: tuple[Root, ...]
    trust: tuple[Path, ...]

    @classmethod
    def take(cls, options: dict[str, Any], *, several: bool) -> _Where:
        """Find what the options name; several roots only where ``several``."""
        from rye.registry import Layout, find_root

        place, bundle, space = Place.take(options), options["bundle"], options["space"]
        if bundle is not None and given("space"):
            raise Refusal("--bundle and --space exclude each other")
        if bundle is not None or space in {"user", "system"}:
            refuse("audience", because="without --space project: an audience is of a project")
        layout = Layout.find(project=place.project, user=None, bundles=None, audience=place.audience)
        if several and bundle is None and space in {"system", "all"}:
            return cls(layout, layout.in_space(space), place.trust)
        layout, root = find_root(layout, space=space, bundle=bundle)
        return cls(layout, (root,), place.trust)


def _write(options: dict[str, Any]) -> int:
    from rye.registry import Keyring, cosign_root, read_root_keys, read_signers, write_root

    only_one("delegate", "no_delegates")
    only_one("timestamp_key", "no_timestamp_key")
    where = _Where.take(options, several=False)
    trust = where.layout.load_trust(where.trust).trust
    signers = read_signers(where.layout, options["key"], passphrase=ask_passphrase)
    keys = [Keyring(where.layout).public_key(name) for name in options["timestamp_key"]]
    timestamp = keys if keys or options["no_timestamp_key"] else None
    if options["cosign"]:
        refuse("expires", *_LISTING, because="with --cosign")
        report = cosign_root(where.roots[0], signers=signers, trust=trust)
    else:
        report = write_root(
            where.roots[0],
            signers=signers,
            trust=trust,
            days=options["expires"],
            root_keys=read_root_keys(options["root_key"], options["threshold"], signers, timestamp),
            delegations=_delegations(options),
            new=options["new"],
        )
    from rye.cli.render.verify import render_written

    answer(report, render_written, as_json=options["as_json"])
    return 0


def _refresh(options: dict[str, Any]) -> int:
    from rye.registry import read_signers, refresh_root

    where = _Where.take(options, several=False)
    trust = where.layout.load_trust(where.trust).trust
    signers = read_signers(where.layout, options["key"], passphrase=ask_passphrase)
    days = {"days": options["expires"]} if given("expires") else {}
    report = refresh_root(where.roots[0], signers=signers, trust=trust, **days)
    from rye.cli.render.verify import render_written

    answer(report, render_written, as_json=options["as_json"])
    return 0


def _delegations(options: dict[str, Any]) -> list[Delegation] | None:
    """Return the new delegations of namespaces; None to keep the present ones."""
    from rye.registry import read_delegation

    if options["no_delegates"]:
        return []
    return [read_delegation(text) for text in options["delegate"]] or None


def _check(options: dict[str, Any]) -> int:
    from rye.registry import check_root, concerns, describe_seen, forget_seen, system_clock

    where = _Where.take(options, several=True)
    load = where.layout.load_trust(where.trust)
    one = len(where.roots) == 1
    reports = []
    for root in where.roots:
        if options["reset"]:
            if not options["yes"] and (seen := describe_seen(root.path)):
                _confirm_reset(seen, check_root(root, trust=load.trust, now=system_clock(), remember=False))
            forget_seen(root.path)
        if one or concerns(root):
            reports.append(check_root(root, trust=load.trust, now=system_clock()))
    from rye.cli.render.verify import checked_to_dict, render_checked, render_hints

    if options["as_json"]:
        say_json({"manifests": [checked_to_dict(report) for report in reports], "warnings": list(load.warnings)})
    else:
        show(
            render_checked(reports, Terminal.of(sys.stdout)),
            render_hints(reports, load.warnings, Terminal.of(sys.stderr)),
        )
    if not reports or load.unreadable or any(report.problems for report in reports):
        return 2
    return 1 if any(report.errors for report in reports) else 0


def _confirm_reset(seen: list[str], report: ManifestReport) -> None:
    """Show the manifest last seen and a report of the one there is, and ask whether to forget the former.

    Raises:
        SigningError: ``confirmation-needed``.
    """
    from rye.cli.render.verify import render_checked

    gone = "" if report.digest else "The manifest is gone: without this memory nothing tells that there was one. "
    signers = [f"signed by {', '.join(report.signers)}"] if report.signers else []
    now = render_checked([report], Terminal.of(sys.stderr))
    show((), [*(f"last seen: {each}" for each in seen), "there now:", *now, *signers])
    hint = "ask the owner of the manifest whether it was begun anew or given up; then: the same with --yes"
    require_yes(f"{gone}Forget the manifest of {report.source} that was last seen?", hint=hint)
