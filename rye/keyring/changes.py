"""Changes of trust files: planned, shown, then all written or none; never through a link."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rye._files import sweep, write_atomically
from rye._report import Report
from rye.errors import EnvironmentFault, RyeError, SigningError
from rye.keyring.limits import combined
from rye.trust.certificates import ForeignKey
from rye.trust.reasons import reach_of
from rye.trust.trust_entry import TrustEntry
from rye.trust.trust_file import restate
from rye.trust.trust_store import read_trust_bytes

_LONGEST_KEPT = 1 << 20
"""Maximum size in bytes of a file that is restored if a later write fails."""

Writes = tuple[tuple[Path, bytes | None], ...]
"""The new content of each file, None for a removed one."""


@dataclass(frozen=True, slots=True)
class TrustChange(Report):
    """A change of trust files.

    Attributes:
        action: ``added``, ``removed``, ``revoked``, ``endorsed``, ``trusted``, ``narrowed`` or ``unchanged``.
        fingerprint: The fingerprint of the key.
        owner: As the trust file names it.
        paths: The trust files.
        warnings: Why the key may still not be accepted.
        reach: The items that the key may sign afterwards, in words; empty if these are fewer than before.
        about: For a root certificate what it says of itself, in lines.
        writes: The new content of each file, None for a removed one. Not part of the JSON.
    """

    action: str
    fingerprint: str
    owner: str
    paths: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    reach: str = ""
    about: tuple[str, ...] = ()
    writes: Writes = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields except ``writes`` as values for JSON."""
        facts = Report.to_dict(dataclasses.replace(self, writes=()))
        del facts["writes"]
        return facts


def planned(
    action: str, entry: TrustEntry, paths: Iterable[str], *, writes: Writes = (), reach: str = ""
) -> TrustChange:
    """Return a change of the trust files of an entry's key."""
    about = entry.public.about if isinstance(entry.public, ForeignKey) else ()
    return TrustChange(action, entry.fingerprint, entry.owner, tuple(paths), (), reach, about, writes)


class KeyFiles(NamedTuple):
    """The trust files of one key in one space.

    Attributes:
        key: The key.
        path: The file that rye writes for it.
        present: The files that are there.
    """

    key: TrustEntry
    path: Path
    present: tuple[TrustEntry, ...]

    def plan(
        self, action: str, change: Callable[[TrustEntry | None], TrustEntry | None], *, force: bool = False
    ) -> TrustChange:
        """Plan to leave one file for the key, or none.

        Args:
            action: The action, as for :class:`TrustChange`.
            change: Returns what the file says afterwards, None for no file. It is given what the present files say
                together, None if there are none; if it returns that, the files stay as they are.
            force: Whether a revocation may be lifted.

        Raises:
            SigningError: ``trust-revoked``: the change would lift a revocation.
        """
        before = combined(self.present)
        after = change(before)
        if before and before.revoked and not (after and after.revoked) and not force:
            raise is_revoked(next(entry for entry in self.present if entry.revoked), "this would lift that")
        writes = () if after is before else self._writes(after)
        paths = [str(self.path)] if after else [entry.source for entry in self.present]
        reach = reach_of(after) if after and action in _GRANTS else ""
        return planned(
            action if writes else "unchanged", after or before or self.key, paths, writes=writes, reach=reach
        )

    def _writes(self, after: TrustEntry | None) -> Writes:
        """Return the writes that leave one file, which says this, or none; empty if that is so already."""
        kept = self.path if after and self.path.exists() else None
        # On some disks .toml and .TOML are the same name.
        sources = [Path(entry.source) for entry in self.present]
        gone = [source for source in sources if not (kept and source.samefile(kept))]
        data = restate(after) if after else None
        if kept and not gone and read_trust_bytes(kept) == data:
            return ()
        return (*([(self.path, data)] if data else []), *((source, None) for source in gone))


_GRANTS = frozenset({"added", "trusted"})
"""Actions after which a key may sign more than before."""


def is_revoked(entry: TrustEntry, so: str) -> SigningError:
    """Return the error of a change to a key that a trust file revokes; ``so`` says what that prevents."""
    message = f"key {entry.fingerprint[:16]} is revoked by {entry.source}; {so}"
    hint = f"to trust it again: rye trust remove --revoked {entry.fingerprint}, then add it"
    return SigningError("trust-revoked", message, hint=hint)


def change_all(
    texts: Sequence[str],
    plan: Callable[[str], TrustChange],
    confirm: Callable[[Sequence[TrustChange]], None] | None = None,
) -> list[TrustChange]:
    """Make a change for every text, but only if all are possible; undo a write that fails halfway.

    Args:
        texts: Each names a key or a trust file.
        plan: Returns the change for a text.
        confirm: Called with the planned changes before any is made; an exception from it prevents them.

    Raises:
        SigningError: ``bad-keys`` with every problem of every text; for a single text its own error is raised
            unchanged. ``changed-meanwhile``: a file changed while the user was asked.
        EnvironmentFault: ``cannot-write``.
    """
    planned: dict[str, str] = {}
    changes: list[TrustChange] = []
    problems: list[str] = []
    for text in dict.fromkeys(texts):
        try:
            changes.append(plan(text))
        except RyeError as error:
            if len(texts) == 1:
                raise
            problems.append(f"{text}: {error.message}")
            continue
        if planned.setdefault(changes[-1].fingerprint, text) != text:
            problems.append(f"{text}: key {changes[-1].fingerprint[:16]} is named twice")
    if problems:
        message = f"{len(problems)} of {len(texts)} keys cannot be taken, so nothing was changed"
        raise SigningError("bad-keys", message, hint="fix each, or leave it out", problems=problems)
    if confirm is not None and any(change.writes for change in changes):
        before = _contents(changes)
        confirm(changes)
        if _contents(changes) != before:
            message = "a trust file changed after it was shown, so nothing was changed"
            raise SigningError("changed-meanwhile", message, hint="look at it again")
    write_changes(changes)
    return changes


def write_changes(changes: Sequence[TrustChange]) -> None:
    """Write the trust files of some changes, all or none.

    Raises:
        SigningError: ``not-a-file``: a file is a link.
        EnvironmentFault: ``cannot-write``.
    """
    before = _contents(changes)
    try:
        for change in changes:
            for path, data in change.writes:
                write_file(path, data)
    except BaseException:
        for path, data in before.items():
            if _content(path) != data:
                write_file(path, data)
        raise


def _contents(changes: Sequence[TrustChange]) -> dict[Path, bytes | None]:
    """Return the content of the files to change, and of all trust files next to them; None for a missing one."""
    paths = {path for change in changes for path, _ in change.writes}
    paths |= {path for folder in {path.parent for path in paths} for path in folder.glob("*.toml")}
    return {path: _content(path) for path in sorted(paths)}


def _content(path: Path) -> bytes | None:
    return read_trust_bytes(path, _LONGEST_KEPT) if path.is_file() else None


def write_file(path: Path, data: bytes | None) -> None:
    """Write a trust file, or remove it; never through a link.

    Raises:
        SigningError: ``not-a-file``.
        EnvironmentFault: ``cannot-write``.
    """
    if data is not None and os.path.islink(path):  # noqa: PTH114 - False where it cannot be seen
        message = f"{path} is a link; rye does not write through links"
        raise SigningError("not-a-file", message, hint="remove the link, or put the file in its place")
    try:
        if data is None:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep(path.parent)
    except OSError as fault:
        message = f"{path} cannot be {'removed' if data is None else 'written'}: {fault.strerror}"
        raise EnvironmentFault("cannot-write", message, hint="check the permissions of its folder") from None
    write_atomically(path, data)
