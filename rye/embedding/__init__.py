"""Texts → vectors, behind one protocol; knows neither items nor indexes.

The embedded model is the default and needs no network; Ollama and OpenAI-compatible servers are asked over HTTP. Which
one is used is a :class:`rye.embedding.choice.Choice`, written on one line::

    embedder = open_embedder(Choice.parse("ollama:nomic-embed-text@http://127.0.0.1:11434"))
    vectors = embedder.embed(["deploy a service"])  # float32, shape (1, embedder.dimensions), unit rows
"""
