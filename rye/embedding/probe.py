"""The probe: a fixed text that is embedded with others, to notice another model behind the same name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rye.embedding.protocol import Bools, Embedder, Floats, failed
from rye.errors import UnavailableError

PROBE = "What is this for, and how is it used?"

PROBE_SIMILARITY = 0.99
"""The least cosine of two vectors of :data:`PROBE` by one model: servers round, and a vector depends a little on the
other texts of a request."""


class ModelChangedError(UnavailableError):
    """The model is another one than it was a moment ago."""


def model_changed(name: str) -> ModelChangedError:
    """Return the error for an embedder whose model changes while it is used."""
    fault = failed(name, "answers with another model each time")
    return ModelChangedError(fault.code, fault.message, hint=fault.hint, embedder=name)


def is_same_model(probe: Floats, other: Floats) -> bool:
    """Return whether one model made two vectors of :data:`PROBE`."""
    return probe.shape == other.shape and float(probe @ other) >= PROBE_SIMILARITY


def embed_with_probe(embedder: Embedder, texts: Sequence[str] = ()) -> tuple[Floats, Floats, Bools]:
    """Embed texts, and :data:`PROBE` in the same request.

    Returns:
        The vector of the probe, shape ``(dimensions,)``; those of the texts, shape ``(len(texts), dimensions)``; which
        texts the embedder shortened, shape ``(len(texts),)``.

    Raises:
        UnavailableError: The model cannot be used now, or answers the probe with zeros.
    """
    request = [PROBE, *texts]
    if embed_shortened := getattr(embedder, "embed_shortened", None):
        vectors, shortened = embed_shortened(request)
    else:
        vectors, shortened = embedder.embed(request), np.zeros(len(request), np.bool_)
    if not vectors[0].any():
        raise failed(embedder.model, "answers with zeros")
    return vectors[0], vectors[1:], shortened[1:]
