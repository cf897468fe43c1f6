"""The errors of rye: one base class, and families by what is at fault.

Every error has a stable ``code``, a message that says what was wrong and where, and a ``hint`` that says what to do.
:meth:`RyeError.to_dict` is the JSON of every surface.

    >>> from rye.errors import ArgumentError
    >>> ArgumentError("bad-limit", "limit is -1", hint="use 1 to 1000").to_dict()["code"]
    'bad-limit'
"""

from __future__ import annotations

from typing import Any, Self


class RyeError(Exception):
    """Base of every error that rye raises on purpose.

    Args:
        code: Stable kebab-case identifier; the page ``rye/reference`` lists all.
        message: What was wrong and where, with the caller's own text.
        hint: What to do about it; never empty for errors that a caller can fix.
        details: Further JSON values (``valid``, ``nearest``, ``path`` …).
    """

    def __init__(self, code: str, message: str, *, hint: str = "", **details: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.details = details

    def but(self, **changes: Any) -> Self:
        """Return the same error with other attributes, such as ``hint``; errors are immutable."""
        other = type(self).__new__(type(self), changes.get("message", self.message))
        vars(other).update({**vars(self), **changes})
        return other

    def preceded(self, words: str) -> Self:
        """Return the same error with a prefix of its message, for a caller that knows where the value came from."""
        return self.but(message=f"{words}{self.message}")

    def to_dict(self) -> dict[str, Any]:
        """Return ``{"code", "message", "hint", …details}``, the same on every surface."""
        return {"code": self.code, "message": self.message, "hint": self.hint, **self.details}

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class QueryError(RyeError):
    """The query text is at fault.

    Args:
        text: The whole query as the caller wrote it.
        position: 0-based character offset of the fault in ``text``.
        token: The offending part of ``text``; empty at the end of the input.
        expected: What could have been there, in words.
        suggestion: A corrected query that parses; empty for a long query.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        text: str,
        position: int,
        token: str = "",
        expected: tuple[str, ...] = (),
        hint: str = "",
        suggestion: str = "",
        **details: Any,
    ) -> None:
        super().__init__(code, message, hint=hint, **details)
        self.text = text
        self.position = position
        self.token = token
        self.expected = expected
        self.suggestion = suggestion

    def caret(self, width: int = 100) -> str:
        """Return the line of the query around the fault with a caret below it, at most ``width`` characters wide."""
        start = max(0, min(self.position - width // 2, len(self.text) - width))
        line = "".join(ch if ch.isprintable() else " " for ch in self.text[start : start + width])
        marks = "^" * max(1, min(len(self.token), width - (self.position - start)))
        return f"{line}\n{' ' * (self.position - start)}{marks}"

    def to_dict(self) -> dict[str, Any]:
        """Return the base object plus ``query, position, token, expected, suggestion, caret``."""
        return super().to_dict() | {
            "query": self.text,
            "position": self.position,
            "token": self.token,
            "expected": list(self.expected),
            "suggestion": self.suggestion,
            "caret": self.caret(),
        }


class ArgumentError(RyeError):
    """An argument of the caller is not valid; the message lists the valid values."""


class NotFoundError(RyeError):
    """The named thing does not exist; the hint has the nearest name that does."""


class ItemError(RyeError):
    """One file is at fault: it cannot be read as an item. All other files still work."""


class SigningError(RyeError):
    """A key, a trust file or a signing request is at fault."""


class EnvironmentFault(RyeError):
    """The machine is at fault: a folder with unsafe permissions, a full disk, a missing home."""


class CancelledError(RyeError):
    """The work was cancelled by its caller; nothing was left half done."""


class UnavailableError(RyeError):
    """This version or installation of rye cannot do it; the hint says what to do instead."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C came while files were written.

    Args:
        message: How far it came.
        hint: How to go on.
    """

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
