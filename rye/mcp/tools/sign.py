"""``rye_sign``: signing items of the project or the user with the user's key, once the user has agreed."""

from __future__ import annotations

import hashlib
import os
from codecs import BOM_UTF8
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rye._text import quote
from rye.errors import ArgumentError, RyeError, SigningError
from rye.mcp.schema import read_arguments
from rye.mcp.text import Mark, reference, tidy, verdict
from rye.mcp.tools.tool import Tool, Work, read_target, stands, unsigned_digest
from rye.parameters import Parameter

if TYPE_CHECKING:
    from rye.keyring.sign_items import SignedItem, SignReport
    from rye.registry.registry import Registry
    from rye.registry.reports import LoadedItem
    from rye.spaces.model import Root
    from rye.verify.advice import Adviser

_OF_BUNDLES = "removed"
"""The key of a report that concerns only bundles, which no tool signs."""

_KEEP = "keep the item with the signature that it has; where it needs another, ask its signer"

_CLOCK = 0.1
"""Seconds by which the times of files may be behind the clock."""

_ALTERED = {"tampered": "is not what was signed", "misplaced": "was signed for another place or extension"}
"""Why an item with such a verdict is not signed anew."""

_SHOWN = 10
"""Items that a question names."""

_DESCRIPTION = """\
Sign items with the user's key, so that they verify as trusted.
Use it only when the user has read them and asks; rye_verify shows which are unsigned.
Validates all, asks the user where the client can, then writes signature lines.
Answers a line per item. Errors give a code: no-signing-key (the user runs: rye keys generate).
Examples: {"target": "tool:demo/deploy", "dry_run": true}; {"target": "knowledge.notes.*", "space": "user"}"""


def _read(parameters: Mapping[str, Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    if given.get("space") == "system":
        hint = "bundles are signed by their publishers"
        raise ArgumentError("bad-space", "system space cannot be signed", hint=hint, valid=["project", "user"])
    return read_arguments(parameters, given)


def _answer(work: Work, registry: Registry, arguments: dict[str, Any]) -> dict[str, Any]:
    targets, space = read_target(arguments["target"]), arguments["space"]
    if len(targets) > 1:
        targets = tuple(each for each in targets if _is_there(registry, each, space))
        if not targets:
            message = f"nothing matches {arguments['target']!r} in {space} space"
            raise ArgumentError("nothing-to-sign", message, hint="rye_verify lists what there is, and problems")
    plan = registry.sign(*targets, space=space, dry_run=True)
    (root,) = (root for root in registry.roots if root.space == space and root.client is None)
    changed = [item.path for item in plan.items if item.changed]
    if changed and not arguments["dry_run"]:
        if other := next((path for path in changed if not Path(path).is_relative_to(root.path)), ""):
            message = f"{quote(other)} is a file of another client, which only the user signs"
            raise ArgumentError("bad-target", message, hint="once the user has read it, the user signs it by its path")
        seen = _confirm(work, registry, plan, root) if plan.fingerprint else {}
        work.call.check()
        plan = registry.sign(*targets, space=space, expected=seen)
        registry.refresh()
    data: dict[str, Any] = tidy(plan.to_dict())
    del data[_OF_BUNDLES]
    return data | {"dry_run": arguments["dry_run"]}


def _is_there(registry: Registry, target: str, space: str) -> bool:
    """Return whether a target matches any item: a scope may name types without items."""
    kind, _, ids = target.partition(":")
    scope = kind if ids == "*" else f"{kind}.{ids}"
    return registry.search(scope=scope, space=space, limit=1, include_superseded=True).total > 0


def _confirm(work: Work, registry: Registry, plan: SignReport, root: Root) -> dict[str, str]:
    """Ask the user if the client can, and return path → digest of the files to which that is the answer.

    Where it cannot, nothing is signed but what was written since the server was started, and has not come from
    elsewhere.

    Raises:
        SigningError: ``not-confirmed``, ``cannot-ask``, ``changed-meanwhile``.
        CancelledError: Nobody waits for the answer any more.
    """
    from rye.verify.advice import Adviser

    wanted = [item for item in plan.items if item.changed]
    seen = {item.path: hashlib.sha256(Path(item.path).read_bytes()).hexdigest() for item in wanted}
    confirm = work.call.confirm
    known = _Known(root, plan.fingerprint, _unlike_list(registry, root), Adviser(""))
    doubtful, others = list[str](), list[str]()
    for item in wanted:
        work.call.check()
        loaded = registry.get(f"{item.type}:{item.id}", str(root.space))
        content = loaded.content.encode()  # without the byte order mark that the file may have
        if seen[item.path] not in {hashlib.sha256(mark + content).hexdigest() for mark in (b"", BOM_UTF8)}:
            hint = "nothing was written; call again, so that the files are checked as they are"
            raise SigningError("changed-meanwhile", "the items changed before they were signed", hint=hint)
        doubt = _doubt(loaded, known)
        if confirm is None and (reason := doubt or _came_from(work, registry, loaded, known)):
            message = f"{stands(loaded)}; it {reason[0]}, and this client cannot ask its user whether to sign it"
            raise SigningError("cannot-ask", message, hint=reason[1])
        line = f"{stands(loaded)}; {quote(loaded.path)}"
        (doubtful if doubt else others).append(f"{line}; it {doubt[0]}" if doubt else line)
    if confirm is not None:
        shown = max(_SHOWN - len(doubtful), 0)
        lines = [*doubtful, *others[:shown], *([f"and {len(others) - shown} more"] if len(others) > shown else [])]
        question = f"Sign {len(wanted)} item(s) of {root.space} space, {quote(str(root.path))}, with your key "
        tampered = sum(map(_is_tampered, wanted))
        warning = f" {tampered} of them tampered: changed after signing." if tampered else ""
        question += "\n".join([f"{plan.fingerprint[:16]}?{warning}", *lines])
        if not confirm(question, hashlib.sha256(repr(seen).encode()).hexdigest()):
            hint = "nothing was written; ask the user"
            raise SigningError("not-confirmed", "the user did not agree to sign", hint=hint)
    return seen


def _is_tampered(item: SignedItem) -> bool:
    from rye.trust.reasons import REASONS

    return bool(item.code) and REASONS[item.code].verdict == "tampered"


class _Known(NamedTuple):
    """A space, the key that is to sign, what contradicts the list there, and what git knows of it."""

    root: Root
    fingerprint: str
    unlike: Mapping[str, str]
    fixes: Adviser


def _doubt(loaded: LoadedItem, known: _Known) -> tuple[str, str] | None:
    """Return what shows that an item was altered or is another's, and what to do; None if nothing does.

    A question names every such item, first of all. No step signs what was altered, or what somebody else signed.
    """
    signature, named = loaded.signature, f"--space {loaded.space} {quote(f'{loaded.item.type}:{loaded.item.id}')}"
    restore = f"to see how to get the original back, the user runs: rye verify {named}"
    if signature.signer and signature.verdict != "trusted" and not known.fingerprint.startswith(signature.signer):
        return "has the signature of somebody else", _KEEP
    if altered := _ALTERED.get(signature.verdict):
        return altered, restore
    if signature.verdict == "unsigned" and (code := known.unlike.get(loaded.path) or known.unlike.get("")):
        return f"contradicts the list of its space ({code})", restore
    root, is_own = str(known.root.path), signature.verdict == "trusted"
    path = loaded.path.removeprefix(f"{root}/")
    if not is_own and known.fixes.was_signed(root, path):
        return "is not what was signed and committed", restore
    return None


def _came_from(work: Work, registry: Registry, loaded: LoadedItem, known: _Known) -> tuple[str, str] | None:
    """Return why the bytes of an item may come from elsewhere, and what to do; None if they were just written here."""
    named = f"--space {loaded.space} {quote(f'{loaded.item.type}:{loaded.item.id}')}"
    root, is_own = str(known.root.path), loaded.signature.verdict == "trusted"
    path = loaded.path.removeprefix(f"{root}/")
    step = f"once the user has compared it with the original, the user runs: rye sign {named}"
    digest = unsigned_digest(loaded)
    if not is_own and known.fixes.is_committed(root, path):
        return "is as it was committed, whoever did that", step
    if not is_own and os.stat(loaded.path).st_ctime < work.projects.started - _CLOCK:  # noqa: PTH116
        return "was there before this server was started, whoever put it there", step
    for space in {"project", "user", "system"} - {str(loaded.space)}:
        try:
            other = registry.get(f"{loaded.item.type}:{loaded.item.id}", space)
        except RyeError:  # not there, or not to be read: then it is no copy of that
            continue
        own = space != "system" and other.signature.verdict == "trusted"
        if not own and unsigned_digest(other) == digest:
            return f"is the same as in {space} space, where it is {verdict(other.signature.to_dict())}", step
    return None


def _unlike_list(registry: Registry, root: Root) -> dict[str, str]:
    """Return the code of each file that differs from the list of a space, by its path; the list's own is empty."""
    findings = ((report, each) for report in registry.check_lists(str(root.space)) for each in report.errors)
    return {
        "" if each.code.startswith("list-") else str(Path(report.root, each.path)): each.code
        for report, each in findings
        if each.code != "file-added"
    }


def _text(data: Mapping[str, Any], mark: Mark) -> str:
    doing = "would be signed" if data["dry_run"] else "signed"
    changed = sum(item["changed"] for item in data["items"])
    lines = [f"[{changed} of {len(data['items'])} items -- {doing} with key {data['fingerprint'][:16]}]"]
    lines += [
        mark.line(f"{reference(item)}  {doing if item['changed'] else 'already signed'} ", item["path"], 500)
        for item in data["items"]
    ]
    if data["trust_file"]:
        lines.append(mark.line("trust file:", data["trust_file"], 500))
    lines += [mark.line("warning:", text, 500) for text in data["warnings"]]
    return mark.answer(lines)


TOOL = Tool(
    "rye_sign",
    "Sign items",
    _DESCRIPTION,
    "rye.keyring.sign_items.SignReport",
    _answer,
    _text,
    more={"dry_run": {"type": "boolean"}},
    less=(_OF_BUNDLES,),
    read=_read,
    writes=True,
    destroys=True,
)
