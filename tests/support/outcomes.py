"""Verifications of verdicts that are made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rye.items.model import ItemType
from rye.spaces.layout import Layout
from rye.spaces.model import ItemFile, Root, Space
from rye.trust.model import Signature
from rye.trust.trust_set import TrustSet
from rye.verify.accepted import Identities
from rye.verify.advice import Adviser, Signers
from rye.verify.policy import EVERY_SPACE, Demand, Policy
from rye.verify.report import Outcome, VerifiedItem
from rye.verify.run import Verification
from rye.verify.subject import Subject
from rye.verify.worker import Verifier
from tests.support.signed import ANN, NOW, entry

HOLDER = Signers({ANN.public.fingerprint: ""}, TrustSet((entry(ANN),)), NOW)
"""Somebody who holds a key that counts."""

NOWHERE = Layout((), None, Path("/nowhere"))


def judged(
    name: str, signature: Signature, *, space: str = "project", bundle: str = "", root: str = "", **more: Any
) -> VerifiedItem:
    """Return the verdict on a tool; its root is the ``.ai`` of the working directory unless another is given."""
    file = ItemFile(f"tools/{name}.py", ItemType.TOOL, name, ".py")
    place = Root(Space(space), Path(root) if root else Path.cwd() / ".ai", bundle)
    return VerifiedItem(place, file, signature, **more)


def verification(*entries: Outcome, policy: Policy | None = None, **more: Any) -> Verification:
    """Return a verification of these; the other arguments are those of a subject."""
    now, audience = more.pop("now", NOW), more.pop("audience", "")
    layout, demanded = more.pop("layout", NOWHERE), policy or Policy(Demand(spaces=EVERY_SPACE))
    subject = Subject(layout._replace(audience=audience), Verifier(TrustSet(), now), demanded, **more)
    fixes = Adviser(str(Path.cwd()), signers=lambda: HOLDER)
    return Verification(subject, entries, fixes, Identities(Path.cwd()))
