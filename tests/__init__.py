"""The tests of rye; what several of them share stands in ``tests.support``."""
