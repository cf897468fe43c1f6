"""Embedders behind HTTP, asked over a real connection: honest servers, and servers of every bad kind."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from rye.embedding import server
from rye.embedding.choice import Choice
from rye.embedding.server import ServerEmbedder
from rye.errors import UnavailableError
from tests.support.embedders import Hashed, answered, serving

KINDS = ["ollama", "openai"]
TEXTS = ["one", "two words", "", "\ud800 half", "vier"]


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hardly wait before a server is asked again."""
    monkeypatch.setattr(server, "PAUSE", 0.01)


def embedder(url: str, kind: str = "ollama", key: str = "", **how: Any) -> ServerEmbedder:
    """Return an embedder that asks a server."""
    return ServerEmbedder(Choice(kind, "m", url, timeout=5.0)._replace(**how), key)


def refusal(answer: bytes, status: int = 200, kind: str = "ollama", **how: Any) -> UnavailableError:
    """Return the error that an answer leads to."""
    with serving(lambda _: (status, answer), **how) as (url, _), pytest.raises(UnavailableError) as caught:
        embedder(url, kind).embed(["a", "b"])
    assert caught.value.hint
    assert len(caught.value.message) < 600
    return caught.value


@pytest.mark.parametrize("kind", KINDS)
def test_texts_go_out_in_batches_and_vectors_come_back_in_order(kind: str) -> None:
    """Each request has at most a batch of texts; rows are unit vectors in the order of the texts."""
    with serving(lambda body: (200, answered(body["input"], kind))) as (url, requests):
        found = embedder(f"{url}/base", kind, batch=2).embed(TEXTS)
    sent = [text.encode("utf-8", "replace").decode() or " " for text in TEXTS]
    assert np.abs(found - Hashed().embed(sent)).max() < 1e-6
    assert [len(body["input"]) for _, _, body in requests] == [2, 2, 1]
    assert {path for path, _, _ in requests} == {"/base/api/embed" if kind == "ollama" else "/base/embeddings"}
    assert {body["model"] for _, _, body in requests} == {"m"}
    assert not any("authorization" in headers for _, headers, _ in requests)


def test_the_key_is_sent_as_a_bearer_token() -> None:
    """And stands in no error."""
    with serving(lambda _: (401, b"no, secret-1")) as (url, requests), pytest.raises(UnavailableError) as caught:
        embedder(url, "openai", key="key-2").embed(["a"])
    assert requests[0][1]["authorization"] == "Bearer key-2"
    assert "key-2" not in str(caught.value)
    assert "RYE_EMBEDDER_KEY" in caught.value.hint


@pytest.mark.parametrize("kind", KINDS)
def test_queries_and_texts_of_items_get_their_prefixes(kind: str) -> None:
    """As the server sees them; that of texts is part of the model's name, that of queries is in no vector."""
    with serving(lambda body: (200, answered(body["input"], kind))) as (url, requests):
        asked = embedder(url, kind, query_prefix="query:\n", document_prefix="passage: ", batch=2)
        rows = asked.embed(["a", "b", ""])
        query = asked.embed_query("a")
    assert [body["input"] for _, _, body in requests] == [["passage: a", "passage: b"], ["passage: "], ["query:\na"]]
    assert np.abs(rows - Hashed().embed(["passage: a", "passage: b", "passage: "])).max() < 1e-6
    assert np.abs(query - Hashed().embed(["query:\na"])[0]).max() < 1e-6
    plain, queries = embedder(url, kind), embedder(url, kind, query_prefix="query: ")
    assert asked.model == f"{plain.model} after 'passage: '"
    assert queries.model == plain.model


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"", "something other than JSON"),
        (b"<html>\x1b[31m", "something other than JSON: <html>\\x1b[31m"),
        (b"[" * 100_000, "something other than JSON"),
        (b"null", "something other than vectors"),
        (b"{}", "something other than vectors"),
        (b'{"embeddings": null}', "not numbers"),
        (b'{"embeddings": {"0": [1]}}', "not numbers"),
        (b'{"embeddings": []}', "shape (0,)"),
        (b'{"embeddings": [[1, 2]]}', "shape (1, 2)"),
        (b'{"embeddings": [[1, 2], [1, 2], [1, 2]]}', "shape (3, 2)"),
        (b'{"embeddings": [[1, 2], [1]]}', "different lengths"),
        (b'{"embeddings": [[], []]}', "shape (2, 0)"),
        (b'{"embeddings": [1, 2]}', "shape (2,)"),
        (b'{"embeddings": [[[1]], [[2]]]}', "shape (2, 1, 1)"),
        (b'{"embeddings": [["a"], ["b"]]}', "not numbers"),
        (b'{"embeddings": [[1, true], [1, 2]]}', "not numbers"),
        (b'{"embeddings": [[true, false], [false, true]]}', "not numbers"),
        (b'{"embeddings": [["1", 2], [1, 2]]}', "not numbers"),
        (b'{"embeddings": [[null, 2], [1, 2]]}', "not numbers"),
        (b'{"embeddings": [[1e200, 1e200], [1, 1]]}', "too large"),
        (b'{"embeddings": [[' + b"9" * 5_000 + b"], [1]]}", ""),
    ],
)
def test_attack_an_answer_that_is_no_vectors(answer: bytes, problem: str) -> None:
    """Each is an error that says what was wrong, and not a wrong vector."""
    error = refusal(answer)
    assert error.code == "embedder-failed"
    assert problem in error.message


@pytest.mark.parametrize("number", [b"NaN", b"1e999"])
def test_attack_numbers_that_are_not_finite(number: bytes) -> None:
    """They are a refusal: an error where the server answers every text so."""

    def answer(body: Any) -> tuple[int, bytes]:
        return 200, b'{"embeddings": [' + b", ".join([b"[" + number + b", 1]"] * len(body["input"])) + b"]}"

    with serving(answer) as (url, _), pytest.raises(UnavailableError, match="not finite") as caught:
        embedder(url).embed(["a", "b"])
    assert caught.value.code == "embedder-failed"


@pytest.mark.parametrize(
    "data",
    [
        '[{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]',
        '[{"index": 1, "embedding": [1]}]',
        "[[1], [2]]",
        '"x"',
    ],
)
def test_attack_rows_that_do_not_say_whose_they_are(data: str) -> None:
    """A vector counts only for the text it names."""
    error = refusal(f'{{"data": {data}}}'.encode(), kind="openai")
    assert error.code == "embedder-failed"


def test_attack_ten_megabytes_of_error() -> None:
    """Only the beginning is read and shown."""
    error = refusal(b"x" * (10 << 20), status=400)
    assert error.code == "embedder-failed"
    assert "HTTP status 400" in error.message


def test_attack_an_answer_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than the largest answer is read."""
    monkeypatch.setattr(server, "MAX_ANSWER", 1 << 20)
    error = refusal(b'{"embeddings": [[' + b"1, " * (1 << 19))
    assert "more than 1 MiB" in error.message


def test_attack_half_an_answer() -> None:
    """What was promised and not sent makes the rest worthless, also where it could be read."""
    error = refusal(b'{"embeddings": [[1, 2], [3, 4]]}', cut=10)
    assert error.code == "embedder-unreachable"
    assert "in the middle" in error.message


def test_attack_a_redirect_is_not_followed() -> None:
    """Neither the texts nor the key go where the server points."""
    with serving(lambda body: (200, answered(body["input"], "ollama"))) as (elsewhere, stolen):
        error = refusal(b"", status=307, location=elsewhere)
    assert "redirect" in error.message
    assert stolen == []


def test_attack_a_server_that_hangs() -> None:
    """It is not asked again once the time is up."""
    began = time.monotonic()
    with serving(lambda _: None) as (url, requests), pytest.raises(UnavailableError) as caught:
        embedder(url, timeout=0.5).embed(["a", "b"])
    assert time.monotonic() - began < 10
    assert caught.value.code == "embedder-unreachable"
    assert "within 0.5 seconds" in caught.value.message
    assert len(requests) == 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again(status: int) -> None:
    """Twice more, and then given up; after 500, which may mean the text, when a short one is refused as well."""
    left = [status, status, 200, status, status, status, status]
    with serving(lambda body: (left.pop(0), answered(body["input"], "ollama"))) as (url, requests):
        assert embedder(url).embed(["a"]).shape == (1, 48)
        assert len(requests) == 3
        with pytest.raises(UnavailableError) as caught:
            embedder(url).embed(["a"])
    assert caught.value.code == "embedder-failed"
    assert "reached" not in caught.value.message
    assert f"HTTP status {status}" in caught.value.message
    assert caught.value.hint.startswith("try again later" if status == 429 else "see what the server logs")
    assert len(requests) == 6 + (status == 500)


@pytest.mark.parametrize("status", [400, 413, 422, 500, 200])
def test_attack_a_text_that_the_server_refuses_costs_that_text_alone(status: int) -> None:
    """The texts are sent one by one; one that cannot be embedded is zeros, and a query an error.

    Numbers that are not finite are a refusal, too.
    """

    def answer(body: Any) -> tuple[int, bytes]:
        if any(len(text) > 500 or "forbidden" in text for text in body["input"]):
            return status, b'{"embeddings": [' + b", ".join([b"[NaN, 1]"] * len(body["input"])) + b"]}"
        return 200, answered(body["input"], "ollama")

    with serving(answer) as (url, requests):
        embedder = ServerEmbedder(Choice("ollama", "m", url, batch=8))
        texts = ["deploy a service", "deploy " * 300, "forbidden", *(f"text {number}" for number in range(13))]
        found = embedder.embed(texts)
        assert [row.any() for row in found] == [text not in texts[1:3] for text in texts]
        assert (found[0] == embedder.embed(texts[:1])[0]).all()
        assert len(requests) < 40
        with pytest.raises(UnavailableError, match="refuses the query"):
            embedder.embed_query("forbidden")


@pytest.mark.parametrize(
    ("second", "code", "problem"),
    [
        (401, "embedder-failed", "rejects the key"),
        (404, "model-missing", "does not have"),
        (None, "", "within 0.3 sec"),
    ],
)
def test_a_server_that_fails_after_a_refusal_is_reported_for_its_failure(
    second: int | None, code: str, problem: str
) -> None:
    """Not for the refusal: the key, the model, or that it does not answer."""

    def answer(body: Any) -> tuple[int, bytes] | None:
        if len(body["input"]) > 1:
            return 413, b"too much"
        return (second, b"no") if second else None

    with serving(answer) as (url, _), pytest.raises(UnavailableError, match=problem) as caught:
        ServerEmbedder(Choice("ollama", "m", url, timeout=0.3)).embed(["a", "b"])
    assert caught.value.code == (code or "embedder-unreachable")


def test_attack_other_dimensions_where_a_request_is_sent_in_parts() -> None:
    """Vectors of two lengths are an error, also within one batch."""

    def answer(body: Any) -> tuple[int, bytes]:
        if len(body["input"]) > 1:
            return 413, b"one at a time"
        return 200, answered(body["input"], "ollama", Hashed(dimensions=7 if body["input"] == ["b"] else 8))

    with serving(answer) as (url, _), pytest.raises(UnavailableError, match="vectors of different lengths"):
        embedder(url).embed(["a", "b"])
