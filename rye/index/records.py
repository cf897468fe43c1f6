"""Evidence as one line of text, the way a segment keeps it."""

from __future__ import annotations

import json

from rye.errors import SigningError
from rye.index.container import DamagedError
from rye.signing import Evidence


def to_line(evidence: Evidence) -> str:
    """Return evidence as one line of JSON."""
    return json.dumps(evidence.to_record(), ensure_ascii=True, separators=(",", ":"))


def from_line(line: str) -> Evidence:
    """Read what :func:`to_line` wrote.

    Raises:
        DamagedError: It is not what this version writes.
    """
    try:
        return Evidence.from_record(json.loads(line))
    except (ValueError, SigningError) as error:
        raise DamagedError(str(error)) from error
