"""Search by meaning: vectors, similarities, and a second model."""
