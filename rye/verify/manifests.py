"""Check the manifests of the spaces under verification, as findings beside those of single items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rye.errors import EnvironmentFault
from rye.keyring import manifests as inventory
from rye.manifest.model import ListedItem, ManifestFinding, ManifestReport, Severity
from rye.manifest.space import Observed, compare
from rye.spaces import ItemFile, Root, Space
from rye.spaces.beside import beside_warning, named_files
from rye.spaces.state import state_warning
from rye.verify.reports import Outcome, Unchecked, Violation

if TYPE_CHECKING:
    from rye.verify.stream import OutcomeStream


@dataclass(slots=True)
class Manifests:
    """The manifests of one verification: watches its outcomes; iterate over it once when they have ended.

    A manifest is compared with the digests of the bytes that were judged: no file is read twice, or could change in
    between. Facts are kept only of roots that have or had a manifest, or must have one; contents are not.

    Attributes:
        stream: Whose roots are looked at.
        require: Whether a root that has items but no manifest is a finding, if one may be demanded of it; and whether
            the manifests of roots of which only a part was named are looked at.
        strict: Whether a file that is no item and is in no manifest is a finding, as it is with ``require``.
        reports: What was found in each root, once it was looked for.
        finished: Whether all outcomes have been seen.
    """

    stream: OutcomeStream
    require: bool = False
    strict: bool = False
    reports: tuple[ManifestReport, ...] = field(default=())
    finished: bool = False
    _observed: tuple[Observed, ...] = ()
    _missed: list[Unchecked] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._observed = tuple(
            Observed(root)
            for root in (self.stream.roots if self.require or self.strict else self.stream.whole)
            if self._demands(root) or _has_manifest(root)
        )
        if self._observed:
            self.stream.observe(self._read, [observed.root for observed in self._observed])

    def _demands(self, root: Root) -> bool:
        """Return whether all files of a root must be covered; in a project's folder itself those that clients obey."""
        if not (self.require or self.strict):
            return False
        return self.stream.layout.may_demand(root) or (root.client is not None and root.space is not Space.SYSTEM)

    @property
    def notes(self) -> tuple[str, ...]:
        """Findings that do not fail the check, as sentences, and what tools may run where there is no manifest."""
        notes = []
        for report in self.reports:
            others = [found for found in report.findings if found.severity is Severity.NOTE]
            notes += [f"{report.source}: {each.message} [{each.code}]" for each in others if each.code != "uncovered"]
            if uncovered := [each.path for each in others if each.code == "uncovered"]:
                notes.append(f"{report.source}: no manifest lists {named_files(uncovered)} [uncovered]")
        looked_at = {observed.root for observed in self._observed}
        for root, paths in self.stream.beside() if self.finished else ():
            if paths and root not in looked_at:
                notes.append(f"{root.source}: {beside_warning(paths)}")
        if self.finished and (why := state_warning("manifests")):
            notes.append(f"what was seen of manifests before may have been removed: {why} [state-unsafe]")
        return tuple(notes)

    def watch(self, outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
        """Yield the outcomes, and record those below roots that have a manifest."""
        places = [(f"{observed.root.path}/", observed) for observed in self._observed]
        for outcome in outcomes:
            for prefix, observed in places:
                if not outcome.path.startswith(prefix):
                    continue
                if isinstance(outcome, Unchecked):
                    observed.unread[outcome.path.removeprefix(prefix)] = outcome.message
                elif observed.root.client or outcome.source == observed.root.source:
                    path, signed_at = outcome.path.removeprefix(prefix), outcome.signature.signed_at
                    item = ListedItem(path, outcome.type, outcome.id, outcome.length, outcome.digest, signed_at)
                    observed.found[path] = item
            yield outcome

    def _read(self, root: Root, file: ItemFile) -> None:
        """Read a file on which no verdict is wanted, but which the manifest may list."""
        for observed in self._observed:
            if observed.root == root:
                observed.read(file)
                if why := observed.unread.get(file.rel_path):
                    path = f"{root.path}/{file.rel_path}"
                    self._missed.append(Unchecked(why, "unreadable-items", "fix or remove it", path))

    def __iter__(self) -> Iterator[tuple[Violation, ManifestFinding] | Unchecked]:
        """Yield each violation of a manifest with its finding, and what could not be read."""
        yield from self._missed
        self.finished = True
        for observed in self._observed:
            root = observed.root
            if not (observed.found or observed.unread or root.client or inventory.concerns(root)):
                continue
            if root.client is None:
                observed.read_trust()
            for path, why in observed.read_others().items():
                yield Unchecked(why, "unreadable", "fix or remove it", f"{root.path}/{path}")
            try:
                report = self._report(observed)
            except EnvironmentFault as fault:
                yield Unchecked(fault.message, fault.code, fault.hint, str(root.path))
                continue
            if report.findings or root.client is None:
                self.reports = (*self.reports, report)
            for found in report.errors:
                yield _violation(root, found, report.digest), found

    def _report(self, observed: Observed) -> ManifestReport:
        """Check a manifest; where there is none and none is required, the report says what is not covered."""
        root, verifier, demanded = observed.root, self.stream.verifier, self.require and self._demands(observed.root)
        if _has_manifest(root) or (self.require and root.client is None):
            report = inventory.check_root(
                root, trust=verifier.trust, now=verifier.now, observed=observed, demanded=demanded
            )
        else:
            findings = compare({}, observed.unproven)
            report = ManifestReport(findings, source=root.source, root=str(root.path))
        if not self._demands(root):
            return report
        found = (each._replace(demanded=each.demanded or each.code == "uncovered") for each in report.findings)
        return replace(report, findings=tuple(found))


def _has_manifest(root: Root) -> bool:
    """Return whether a root has or had a manifest; what looks like one in the folder of a client is just a file."""
    return root.client is None and inventory.concerns(root)


def _violation(root: Root, found: ManifestFinding, manifest_digest: str) -> Violation:
    path = str(root.path / (found.path or "config/manifest"))
    if not (found.item_id and found.path):
        return Violation("", "", str(root.space), root.bundle, path, found.sha256 or manifest_digest)
    return Violation(found.item_type, found.item_id, str(root.space), root.bundle, path, found.sha256)
