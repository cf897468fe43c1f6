"""Verdicts on many items, and what their manifests say, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rye.layout import Layout
from rye.reports import Unchecked, VerifiedItem, VerifyReport
from rye.verification.checking import start_checking
from rye.verification.manifests import Manifests

__all__ = ["verify_targets"]


def verify_targets(
    texts: tuple[str, ...],
    layout: Layout,
    *,
    space: str = "all",
    named_trust: Sequence[Path] = (),
    processes: int | None = 1,
) -> VerifyReport:
    """Verify what the texts name, as :func:`start_checking`, and check the manifests of the roots that they name whole.

    Returns:
        A verdict per item, each once, what was found in each manifest, and a sentence for each file, target or manifest
        that could not be checked.

    Raises:
        ArgumentError: A text names nothing that could exist.
    """
    checking = start_checking(texts, layout, space=space, named_trust=named_trust, processes=processes)
    manifests = Manifests(checking)
    items, problems = [], []
    for outcome in manifests.watch(checking):
        if isinstance(outcome, VerifiedItem):
            items.append(outcome)
        else:
            problems.append(outcome.message)
    problems += [each.message for each in manifests if isinstance(each, Unchecked)]
    warnings = checking.warnings + checking.self_vouched + manifests.notes
    return VerifyReport(tuple(items), tuple(problems), warnings, manifests.reports)
