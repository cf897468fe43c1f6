"""``rye trust``: which keys the user trusts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from rye._text import quote
from rye.cli.params import argument, engine_option, flag, json_flag, limits, option, places, take_where, words
from rye.cli.terminal import Terminal, answer, ask_passphrase, require_yes, say_json, show
from rye.options.search import TRUST_SPACE

if TYPE_CHECKING:
    from rye.keyring.changes import TrustChange
    from rye.keyring.private import Keyring

_keys = words("key", required=True, completes="trusted")
_yes = flag("--yes", "-y", help="Do not ask; you have compared the fingerprint")
_sure = flag("--yes", "-y", help="Do not ask")


@click.group("trust")
def trust() -> None:
    """Decide which keys you trust.

    A KEY is a trust file, a PEM file with a public key or root certificate, an SSH public key, ed25519:BASE64, or the
    fingerprint of a key that has a trust file. `add` also takes an allowed_signers file of SSH.

    Exit status: 0 done, 1 no key counts, 2 error.
    """


@trust.command("list")
@places("project", "bundles", "trust")
@json_flag
def list_keys(**options: Any) -> int:
    """List every trust file of every space, and whether it is in effect, or why not."""
    from rye.cli.render.keys import render_trust

    report = _keyring(options).trust.list()
    answer(report, render_trust, as_json=options["as_json"])
    return 0 if any(key.counts for key in report.keys) else 1


@trust.command("add")
@_keys
@option("--owner", metavar="NAME", help="Owner of the key; by default the owner in its file")
@limits
@engine_option(TRUST_SPACE)
@flag("--force", help="Replace an existing trust file of the key")
@_yes
@places("project")
@json_flag
def add(key: tuple[str, ...], **options: Any) -> int:
    """Trust each KEY. Shows its fingerprint and what it will count for, and asks.

    Compare the fingerprint first, over another channel than the one that brought the key.
    """
    from rye.trust.trust_file import last_moment

    files, until = _keyring(options).trust, options["not_after"]
    limits = {
        "owner": options["owner"],
        "patterns": options["patterns"] or None,
        "not_after": None if until is None else last_moment(until),
    }
    how = {"space": options["space"], "replace": options["force"]}
    keys = dict(pair for text in key for pair in files.keys_in(text).items())
    return _change(tuple(keys), lambda name: files.add(keys[name], **limits, **how), options)


@trust.command("bundle")
@argument("bundle")
@option(
    "fingerprints",
    "--fingerprint",
    multiple=True,
    metavar="FP",
    help="Trust this key (64 hex digits) without asking; repeatable",
)
@_yes
@json_flag
def bundle(bundle: str, **options: Any) -> int:
    """Trust the keys that signed BUNDLE, for this bundle alone. Shows them, and asks.

    If another key signs a later version, run this again; then only the new key is trusted for the bundle.
    """
    from rye.cli.render.keys import render_signers
    from rye.keyring.bundles import find_bundle, read_signers_of, trust_bundle
    from rye.trust.trust_store import system_clock
    from rye.verify.policy import check_signers

    keyring = _keyring(options)
    given = check_signers(options["fingerprints"], name="fingerprint")
    signers = read_signers_of(find_bundle(keyring.layout, bundle), keyring.trust.load().trust, now=system_clock())

    def agree(planned: Sequence[TrustChange]) -> None:
        command = f"rye trust bundle {quote(bundle)} --fingerprint FP"
        _confirm(render_signers(signers, planned, Terminal.of(sys.stderr)), len(planned), command)

    keys = given or signers.fingerprints
    return _report(trust_bundle(keyring.trust, signers, keys, None if given or options["yes"] else agree), options)


@trust.command("remove")
@_keys
@engine_option(TRUST_SPACE, "`user` or `project`")
@flag("force", "--revoked", help="Also remove a trust file that revokes its key; the key may then count again")
@_sure
@places("project")
@json_flag
def remove(key: tuple[str, ...], **options: Any) -> int:
    """Remove the trust file of each KEY. To distrust a key of a bundle or another space, revoke it instead."""
    files = _keyring(options).trust
    how = {name: options[name] for name in ("space", "force")}
    return _change(key, lambda text: files.remove(text, **how), options, question="No longer trust what it signed?")


@trust.command("revoke")
@_keys
@option("--reason", default="", metavar="TEXT", help="Reason in one line; verdicts on the key show it")
@option("--date", default="", metavar="DATE", help="Date when the key became unsafe; a note; by default today")
@engine_option(TRUST_SPACE)
@_sure
@places("project")
@json_flag
def revoke(key: tuple[str, ...], **options: Any) -> int:
    """Revoke each KEY: nothing that it ever signed is trusted any more, wherever its trust file is."""
    files = _keyring(options).trust
    how = {name: options[name] for name in ("reason", "date", "space")}
    question = "Revoke it? Nothing that it ever signed will be trusted."
    return _change(key, lambda text: files.revoke(text, **how), options, question=question)


@trust.command("endorse")
@words("file", required=True)
@option("--key", metavar="NAME|FILE", help="Your key; by default that of `rye sign`", completes="key")
@flag("--dry-run", help="Say whose key it is, and change nothing")
@_yes
@places("project")
@json_flag
def endorse(file: tuple[str, ...], **options: Any) -> int:
    """Sign each trust FILE of the project (a path or a fingerprint) with your key.

    The key then counts, within the limits of the file, in every project that has it, for everybody who trusts your key
    without limits. `rye trust revoke` ends that everywhere.
    """
    keyring = _keyring(options)
    if options["dry_run"]:
        return _report([keyring.trust.endorse(path, None) for path in file], options)
    key = keyring.signing_key(options["key"])
    return _change(file, lambda path: keyring.trust.endorse(path, key), options)


def _keyring(options: dict[str, Any]) -> Keyring:
    from rye.keyring.private import Keyring

    where = take_where(options)
    return Keyring(where.layout(), passphrase=ask_passphrase, named=where.trust)


def _change(
    texts: Sequence[str], plan: Callable[[str], TrustChange], options: dict[str, Any], *, question: str = ""
) -> int:
    """Make the change for each text and report them. Make none if any is impossible or the user says no.

    The question is by default whether the fingerprints were confirmed.
    """
    from rye.cli.render.keys import render_planned
    from rye.keyring.changes import change_all

    def agree(planned: Sequence[TrustChange]) -> None:
        lines = (line for change in planned for line in render_planned(change, Terminal.of(sys.stderr)))
        if question:
            show((), lines)
            require_yes(question, hint="the same with --yes")
        else:
            _confirm(lines, len(planned), "the same with --yes")

    return _report(change_all(texts, plan, None if options["yes"] else agree), options)


def _confirm(facts: Iterable[str], count: int, command: str) -> None:
    """Show facts about ``count`` keys and ask whether their fingerprints are confirmed.

    Raises:
        SigningError: ``confirmation-needed`` when they are not, or there is no terminal to ask on.
    """
    show((), facts)
    hint = f"compare the fingerprint with its owner's, over another channel than the key came by; then: {command}"
    singular, plural = "Has its owner confirmed this fingerprint", "Have their owners confirmed these fingerprints"
    question = f"{singular if count == 1 else plural} to you, over another channel than the key came by?"
    require_yes(question, hint=hint)


def _report(changes: Sequence[TrustChange], options: dict[str, Any]) -> int:
    if options["as_json"]:
        say_json({"changes": [done.to_dict() for done in changes]})
        return 0
    from rye.cli.render.keys import render_change

    for done in changes:
        answer(done, render_change, as_json=False)
    return 0
