"""Keys, trust files and signing as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rye._text import block, column, inline
from rye.cli.render.parts import shown_path
from rye.cli.terminal import Terminal, cells, folded, pad
from rye.surface.text import plural

if TYPE_CHECKING:
    from rye.keyring.bundles import BundleSigners
    from rye.keyring.changes import TrustChange
    from rye.keyring.jobs import PlannedFile
    from rye.keyring.lists import ListSigned
    from rye.keyring.plan import SignReport
    from rye.keyring.private import KeyFacts
    from rye.keyring.rotate import Rotated
    from rye.keyring.trust_list import TrustedKey, TrustReport


def render_made(key: KeyFacts, terminal: Terminal, *, done: str, protected_by: str = "") -> Iterator[str]:
    """Yield what was made or imported, where it is, how to protect it, and how others can trust it."""
    yield f"{done} key {terminal.style(inline(key.name), bold=True)}"
    yield from _facts(key, terminal)
    if key.trust_file:
        yield f"trust file   {inline(key.trust_file)}"
    elif not key.trusted:
        yield terminal.dim("you do not trust it yet; to trust it: rye trust add " + inline(key.fingerprint))
    if not key.encrypted:
        protection = f"; with {protected_by} a passphrase protects it" if protected_by else ""
        yield terminal.dim(f"whoever can read that file can sign in your name{protection}")
    name = "" if key.name == "private_key" else f" {inline(key.name)}"
    yield terminal.dim(f"others need its trust file: rye keys export{name} > FILE; they run rye trust add FILE")


def render_rotated(rotated: Rotated, terminal: Terminal) -> Iterator[str]:
    """Yield the new key, and what happened to the old one."""
    yield from render_made(rotated.key, terminal, done="made", protected_by="RYE_KEY_PASSPHRASE")
    yield f"revoked      {terminal.style(inline(rotated.old), 'red')}, kept in {inline(rotated.kept)}"
    yield from (f"signed       {plural(count, 'item')} of the {space} space" for space, count in rotated.signed.items())


def render_keys(keys: Sequence[KeyFacts], terminal: Terminal) -> Iterator[str]:
    """Yield a line for each key, and another for a problem that keeps it from being used."""
    width = max((cells(inline(key.name)) for key in keys), default=0)
    for key in keys:
        name = terminal.style(pad(inline(key.name), width), bold=True)
        about = f"{inline(key.fingerprint) or 'fingerprint unknown'}  {', '.join(_states(key))}"
        yield f"{name}  {folded(about, terminal, first=' ' * (width + 2), following=' ' * (width + 2))}"
        if key.problem:
            yield f"  {terminal.style('cannot be used:', 'red')} {inline(key.problem)}"
        if key.unfinished:
            command = f"rye keys rotate {inline(key.name)} --sign".replace(" private_key", "")
            yield f"  {terminal.style('a rotation is unfinished:', 'yellow')} {command} finishes it"


def render_key(key: KeyFacts, terminal: Terminal) -> Iterator[str]:
    """Yield everything public about a key, its public half last."""
    yield terminal.style(inline(key.name), bold=True)
    yield from _facts(key, terminal)
    if key.problem:
        yield f"{terminal.style('cannot be used:', 'red')} {inline(key.problem)}"
    if key.public_pem:
        yield block(key.public_pem).rstrip()


def _facts(key: KeyFacts, terminal: Terminal) -> Iterator[str]:
    yield f"fingerprint  {terminal.style(inline(key.fingerprint) or 'unknown', 'cyan')}"
    about, indent = f"{inline(key.path) or 'in the environment'} ({', '.join(_states(key))})", " " * 13
    yield f"private key  {folded(about, terminal, first=indent, following=indent)}"


def _states(key: KeyFacts) -> list[str]:
    protected = "with a passphrase" if key.encrypted else "without a passphrase"
    states = [] if key.problem and not key.encrypted else [protected]
    if key.unproven:
        states.append("fingerprint taken from its .pub file")
    return [*states, "trusted" if key.trusted else "not trusted by you"]


_SHOWN = 40


def render_list(done: ListSigned, terminal: Terminal, *, dry_run: bool) -> Iterator[str]:
    """Yield who signed the present list, how the files differ from it, and what was or will be signed."""
    for signer in done.signers:
        yield f"signed by {inline(signer)}"
    shown = done.changes if dry_run else done.changes[:_SHOWN]
    for change in shown:
        yield f"  {terminal.style(change.code, 'yellow')}  {inline(change.message)}"
    if len(done.changes) > len(shown):
        yield f"  and {plural(len(done.changes) - len(shown), 'more change')}"
    what = f"list {inline(done.name)}, number {done.number}: {plural(done.listed, 'file')}"
    doing = "signed already" if done.action == "unchanged" else "would be signed" if dry_run else "signed"
    until = f"valid until {done.expires:%Y-%m-%d}"
    yield f"{what}, {until} -- {doing} with key {done.fingerprint}"
    yield terminal.dim(inline(done.path))
    for text in done.warnings:
        yield f"warning: {inline(text)}"


def render_unseen(rows: Sequence[PlannedFile], terminal: Terminal) -> Iterator[str]:
    """Yield what would be signed without having been named: each file, and why it is shown."""
    for row in rows[:_SHOWN]:
        by = f"  last committed by {inline(row.by)}" if row.by else ""
        about = f"  {inline(row.detail)}" if row.detail else ""
        name = terminal.style(column(row.name), "cyan")
        place = "" if row.name == row.path else f"  {terminal.dim(inline(shown_path(row.path)))}"
        yield f"{terminal.style(f'{row.why:<11}', 'yellow')} {name}{place}{about}{by}"
        if row.files:
            more = f" and {len(row.files) - _SHOWN} more" if len(row.files) > _SHOWN else ""
            indent = " " * 12
            yield indent + folded(
                f"{', '.join(map(inline, row.files[:_SHOWN]))}{more}", terminal, first=indent, following=indent
            )
    counts = Counter(row.why for row in rows)
    summary = ", ".join(f"{count} {why}" for why, count in counts.items())
    hidden = f"; {len(rows) - _SHOWN} are not shown, --dry-run lists all" if len(rows) > _SHOWN else ""
    yield f"{plural(len(rows), 'file')} to sign that you have not named: {summary}{hidden}"


def render_trust(report: TrustReport, terminal: Terminal) -> Iterator[str]:
    """Yield two lines for each trust file: its key, owner and whether it counts; then the reason and the path."""
    right, wrong = ("✓", "✗") if terminal.unicode else ("+", "x")
    for key in report.keys:
        shown = terminal.style(right if key.counts else wrong, "green" if key.counts else "red")
        yield f"{shown} {inline(key.fingerprint)}  {inline(key.owner) or 'no owner named'}  {_source(key)}"
        yield f"  {inline(key.reason)}  {terminal.dim(inline(key.path))}"


def _source(key: TrustedKey) -> str:
    return inline(f"bundle {key.bundle}" if key.bundle else key.scope)


def render_change(change: TrustChange, terminal: Terminal) -> Iterator[str]:
    """Yield what was done to which key, and the files."""
    fingerprint, before = inline(change.fingerprint), " " * 11
    whose = folded(
        f"{fingerprint}  {inline(change.owner) or 'no owner named'}", terminal, first=before, following=before
    )
    yield f"{change.action:<9}  {whose.replace(fingerprint, terminal.style(fingerprint, 'cyan'), 1)}"
    for path in change.paths:
        yield f"           {terminal.dim(inline(path))}"


def render_planned(change: TrustChange, terminal: Terminal) -> Iterator[str]:
    """Yield the key of a planned change, its owner, and the items for which it will count."""
    yield f"key          {terminal.style(inline(change.fingerprint), 'cyan')}"
    yield f"owner        {inline(change.owner) or 'none named'} (as its file says)"
    yield from (f"             {inline(line)}" for line in change.about)
    yield f"counts for   {inline(change.reach) or 'nothing'}"
    yield from (f"warning      {inline(text)}" for text in change.warnings)


def render_signers(signers: BundleSigners, planned: Sequence[TrustChange], terminal: Terminal) -> Iterator[str]:
    """Yield which keys signed how many items of a bundle and what they will count for, and what none of them signed."""
    scopes = {change.fingerprint: change.reach for change in planned}
    version = f" {inline(signers.version)}" if signers.version else ""
    yield f"bundle {terminal.style(inline(signers.bundle), bold=True)}{version}  {terminal.dim(inline(signers.path))}"
    for signer in signers.signers:
        entry = signer.entry
        state = (
            ", revoked by the bundle itself" if entry.revoked else ", trusted for it already" if signer.trusted else ""
        )
        yield f"key          {terminal.style(inline(entry.fingerprint), 'cyan')}{state}"
        yield f"owner        {inline(entry.owner) or 'none named'} (as the bundle says)"
        counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(signer.items.items()))
        if counts:
            yield (
                f"signed       {plural(sum(signer.items.values()), 'item')}: {counts} once you trust it for the bundle"
            )
        if signer.signed_list:
            yield "signed       the list of all files"
        yield f"counts for   {inline(scopes.get(entry.fingerprint, 'nothing'))}"
    for text in dict.fromkeys(warning for change in planned for warning in change.warnings):
        yield f"warning      {inline(text)}"
    for code, count in sorted(signers.unverified.items()):
        yield f"not counted  {plural(count, 'item')} [{inline(code)}]"
    for entry in signers.before:
        text = f"the signer changed: you trust {inline(entry.fingerprint)} for it, which signed nothing in it"
        yield terminal.style(text, "red", bold=True)


def render_signed(report: SignReport, terminal: Terminal, *, dry_run: bool) -> Iterator[str]:
    """Yield a line for each item with its reason code before signing, then the count and the key."""
    for item in report.items:
        word = "unchanged" if not item.changed else "would sign" if dry_run else "signed"
        name = terminal.style(column(f"{item.type}:{item.id}"), "cyan")
        stood = item.code if dry_run or item.code != "no-envelope" else ""
        why = f" [{inline(stood)}]" if item.changed and stood else ""
        yield f"{word:<10}  {name}{why}  {terminal.dim(inline(shown_path(item.path)))}"
    changed = sum(item.changed for item in report.items)
    done = "to sign" if dry_run else "signed"
    left = len(report.items) - changed
    key = f" with key {inline(report.fingerprint[:16])}" if report.fingerprint else ""
    yield f"{plural(changed, 'item')} {done}{key}" + (f", {left} unchanged" if left else "")
    if report.trust_file:
        yield f"trust file {inline(report.trust_file)}"
    if report.list_file:
        yield f"list       {inline(report.list_file)}"
    for path in report.removed:
        yield f"removed    trust file {inline(path)}, which no item needs any more"
