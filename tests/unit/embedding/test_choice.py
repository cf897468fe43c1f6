"""Which embedder a line means."""

from __future__ import annotations

from functools import partial

import pytest

from rye.embedding.choice import Choice
from rye.embedding.loader import open_embedder
from rye.errors import ArgumentError, UnavailableError


@pytest.mark.parametrize(
    ("line", "kind", "model", "url"),
    [
        ("wordllama", "wordllama", "", ""),
        (" none ", "none", "", ""),
        ("ollama:nomic-embed-text", "ollama", "nomic-embed-text", "http://127.0.0.1:11434"),
        ("ollama:a/b:v1.5@http://box:1/x/", "ollama", "a/b:v1.5", "http://box:1/x"),
        ("openai:text-embedding-3-small", "openai", "text-embedding-3-small", "https://api.openai.com/v1"),
        ("openai:m@http://[::1]:8080/v1", "openai", "m", "http://[::1]:8080/v1"),
    ],
)
def test_a_line_names_kind_model_and_place(line: str, kind: str, model: str, url: str) -> None:
    """The place of a server may be left out."""
    found = Choice.parse(line)
    assert (found.kind, found.model, found.url) == (kind, model, url)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "word2vec",
        "ollama",
        "ollama:",
        "wordllama:x",
        "none@http://x",
        "openai:m@ftp://x",
        "openai:m@file:///etc/passwd",
        "openai:m@x",
        "openai:m@http://",
        "openai:m@http://x:port",
        "openai:m@http://x:99999",
        "openai:m@http://user:pw@x",
        "openai:m@http://x/?key=1",
        "openai:m@http://x/#y",
        "openai:m@http://x/a\nb",
        "openai:m@http://[::1",
    ],
)
def test_a_line_that_names_none_is_refused(line: str) -> None:
    """The error shows what may be written."""
    with pytest.raises(ArgumentError) as caught:
        Choice.parse(line)
    assert caught.value.code == "bad-embedder"
    assert caught.value.details["valid"] == [
        "wordllama",
        "minilm",
        "ollama",
        "openai",
        "none",
    ]


def test_a_key_goes_over_no_open_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """To this machine or encrypted a key is sent; elsewhere it is an error before anything is sent."""
    monkeypatch.setenv("RYE_EMBEDDER_KEY", "secret")
    for url in ("https://far.example", "http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1"):
        open_embedder(Choice("openai", "m", url))
    with pytest.raises(UnavailableError) as caught:
        open_embedder(Choice("openai", "m", "http://far.example"))
    assert caught.value.code == "embedder-insecure"
    assert "secret" not in str(caught.value)
    monkeypatch.setenv("RYE_EMBEDDER_KEY", "a\r\nX-Evil: 1")
    with pytest.raises(UnavailableError, match="holds no key"):
        open_embedder(Choice("openai", "m", "https://far.example"))


def test_settings_of_a_model_hold_however_the_model_is_chosen() -> None:
    """Threshold and prefixes of the settings belong to their model, wherever it is asked."""
    settings = Choice("ollama", "m", "http://a:1", threshold=0.5, query_prefix="q: ", document_prefix="d: ")
    asked = settings.applied_to(Choice.parse("ollama:m@http://b:2"))
    assert asked == Choice("ollama", "m", "http://b:2", threshold=0.5, query_prefix="q: ", document_prefix="d: ")
    other = settings.applied_to(Choice.parse("ollama:other"))
    assert (other.query_prefix, other.document_prefix, other.threshold) == ("", "", None)


@pytest.mark.parametrize(
    "url", ["https://user:hu/nter2@host/v1", "user:hunter2@host", "https://host/v1?key=hunter2", "http://host/#hunter2"]
)
@pytest.mark.parametrize("kind", ["openai", "wordllama", "nonsense"])
def test_a_password_in_a_url_is_not_repeated_in_the_error_that_refuses_it(kind: str, url: str) -> None:
    """Errors are logged and pasted; what is secret in a URL is left out, wherever the URL came from."""
    for refused in (
        partial(Choice.parse, f"{kind}:model@{url}"),
        Choice(kind=kind, model="model", url=url).checked,
    ):
        with pytest.raises(ArgumentError) as error:
            refused()
        assert "nter2" not in str(error.value)
        assert "nter2" not in repr(error.value.details)
