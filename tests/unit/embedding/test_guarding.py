"""An embedder that a caller made, and all that it may do wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import pytest

from rye.embedding.guarded import GuardedEmbedder
from rye.errors import ArgumentError, UnavailableError
from rye.index.text.chunks import CHUNK_CHARS, OVERLAP_CHARS, chunk_size
from tests.support.embedders import Hashed

Spoil = Callable[[Any], Any]


class Spoiled(Hashed):
    """Answers with what becomes of a right answer."""

    def __init__(self, spoil: Spoil) -> None:
        super().__init__()
        self.spoil = spoil

    def embed(self, texts: Sequence[str]) -> Any:
        """Answer badly."""
        return self.spoil(super().embed(texts))


class Asymmetric(Spoiled):
    """Reads queries otherwise."""

    def embed_query(self, text: str) -> Any:
        """Answer with one vector, badly."""
        return self.spoil(Hashed.embed(self, [f"query {text}"])[0])


def crash(_: Any) -> Any:
    """Do what a stranger's code may do."""
    message = "CUDA\x1b[31m out of memory"
    raise RuntimeError(message)


SPOILED: list[tuple[Spoil, str]] = [
    (crash, "raised RuntimeError: CUDA\\x1b[31m out of memory"),
    (lambda rows: rows[:-1], "an array of shape "),
    (lambda rows: rows[..., :20], "an array of shape "),
    (lambda rows: rows[..., np.newaxis], "an array of shape "),
    (lambda _: None, "not numbers"),
    (lambda _: "vectors", "not numbers"),
    (lambda _: [[1.0], [1.0, 2.0]], "not an array"),
    (lambda rows: rows > 0, "type bool, not numbers"),
    (lambda rows: rows * np.nan, "not finite"),
    (lambda rows: rows.astype(np.float64) * 1e300, "too large"),
    (lambda rows: rows * 3, "do not have length 1"),
]


@pytest.mark.parametrize(("spoil", "problem"), SPOILED)
def test_attack_an_answer_that_is_no_vectors(spoil: Spoil, problem: str) -> None:
    """For texts or for a query: the error says what it did and that it is the one to fix, and is no Python one."""
    guarded = GuardedEmbedder(Spoiled(spoil)), GuardedEmbedder(Asymmetric(spoil))
    for ask in (lambda: guarded[0].embed(["one", "two"]), lambda: guarded[1].embed_query("one")):
        with pytest.raises(UnavailableError) as caught:
            cast("Callable[[], Any]", ask)()
        assert caught.value.code == "embedder-failed"
        assert caught.value.message.startswith("the embedder hashed:1 ")
        assert problem in caught.value.message
        assert caught.value.hint


@pytest.mark.parametrize("form", [lambda rows: rows, lambda rows: rows.tolist(), lambda rows: rows.astype(np.float64)])
def test_right_answers_pass(form: Spoil) -> None:
    """As float32, also where they came as lists or in double precision; zeros and no texts at all are right too."""
    for guarded in (GuardedEmbedder(Spoiled(form)), GuardedEmbedder(Asymmetric(form))):
        found = guarded.embed(["one", "", "two"])
        assert found.dtype == np.float32
        assert np.allclose(found, Hashed().embed(["one", "", "two"]))
        assert (guarded.model, guarded.dimensions, guarded.threshold) == ("hashed:1", 48, 0.1)
    assert GuardedEmbedder(Hashed()).embed([]).shape == (0, 48)
    assert np.allclose(GuardedEmbedder(Spoiled(form)).embed_query("one"), Hashed().embed(["one"])[0])
    assert np.allclose(GuardedEmbedder(Asymmetric(form)).embed_query("one"), Hashed().embed(["query one"])[0])


def test_optional_attributes_of_an_embedder_are_used() -> None:
    """The sizes that it states and the tokens that it knows; an error of its own is one of rye's."""

    class Sized(Hashed):
        batch, chunk_chars, overlap_chars = 8, 500, 0

        def is_token(self, word: str) -> bool:
            """Know one word."""
            return bool(word == "deploy" or (word == "crash" and crash(word)))

    guarded = GuardedEmbedder(Sized())
    assert (guarded.batch, *chunk_size(guarded)) == (8, 500, 0)
    assert guarded.is_token
    assert [guarded.is_token(word) for word in ("deploy", "deplyo")] == [True, False]
    with pytest.raises(UnavailableError, match="raised RuntimeError: CUDA"):
        guarded.is_token("crash")
    plain = GuardedEmbedder(Hashed())
    assert (plain.batch, plain.is_token, *chunk_size(plain)) == (None, None, CHUNK_CHARS, OVERLAP_CHARS)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("threshold", ["x", None, float("nan"), float("inf"), 2, -0.1, [0.1]]),
        ("model", [5, "", "  ", None, b"m", "a\nb", "\ud800"]),
        ("embed", [None, 7]),
        ("batch", [0, 1.5, "64", True]),
        ("chunk_chars", [0, -1, "all"]),
        ("overlap_chars", [-1, 0.5]),
    ],
)
def test_attack_an_attribute_that_is_not_what_it_should_be(name: str, values: list[Any]) -> None:
    """It is refused when the embedder is given, and the hint says what it should have."""
    for value in values:
        embedder = Hashed()
        setattr(embedder, name, value)
        with pytest.raises(ArgumentError) as caught:
            GuardedEmbedder(embedder)
        assert caught.value.code == "bad-embedder"
        assert caught.value.message.startswith("embedder, of type Hashed, is not what")
        assert name in f"{caught.value.message} {caught.value.hint}"


def test_attack_an_attribute_that_raises() -> None:
    """The reason is an error of rye's own, whatever was raised."""

    class Vague:
        dimensions = 3

        @property
        def model(self) -> str:
            """Be at fault."""
            return crash(None)  # type: ignore[no-any-return]

    with pytest.raises(ArgumentError, match=r"of type Vague, is not what .*: raised RuntimeError: CUDA"):
        GuardedEmbedder(cast("Any", Vague()))
