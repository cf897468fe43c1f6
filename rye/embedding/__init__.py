"""Turns texts into vectors, behind one protocol; knows neither items nor indexes.

The default model is a local package and needs no network. Ollama and OpenAI-compatible servers are called over HTTP. A
:class:`rye.embedding.choice.Choice`, written on one line, selects the embedder::

    embedder = open_embedder(Choice.parse("ollama:nomic-embed-text@http://127.0.0.1:11434"))
    vectors = embedder.embed(["deploy a service"])  # float32, shape (1, embedder.dimensions), unit rows
"""
