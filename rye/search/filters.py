"""Filters on keyword fields: existence, globs and ranges, decided on the distinct values, then spread to items."""

from __future__ import annotations

import math

import numpy as np

from rye.index import strings
from rye.index.reader import Reader
from rye.index.schema import FIELD_NUMBER, SEPARATOR
from rye.index.segment import Bools
from rye.search import bound
from rye.search.comparing import between
from rye.search.expand import similar
from rye.search.states import States


def mask(reader: Reader, node: bound.Filter, states: States) -> Bools:
    """Return which documents a filter accepts; deleted ones may be among them."""
    match node:
        case bound.State(name=name):
            return states.having(name)
        case bound.Changed(since=since, before=before):
            after = reader.times >= (-math.inf if since is None else since)
            return after & (reader.times < (math.inf if before is None else before))
        case bound.Has(name=name, text=True):
            lengths = [part.segment.lengths[FIELD_NUMBER[name]] > 0 for part in reader.parts]
            return np.concatenate([np.zeros(0, bool), *lengths])
        case bound.Has(name="signer"):
            return states.signed_by("*")
        case bound.Glob(name="signer", pattern=pattern):
            return states.signed_by(pattern)
        case bound.Has(name="references"):
            return states.here(states.graph.masks["referring"])
        case bound.Has(name="referenced-by"):
            return states.here(states.graph.masks["referred"])
        case bound.Refers(name=name, pattern=pattern):
            graph = states.graph
            return states.here(graph.referring_to(pattern) if name == "references" else graph.referred_to_by(pattern))
    return _by_value(reader, node)


def _by_value(reader: Reader, node: bound.Has | bound.Glob | bound.Similar | bound.Between) -> Bools:
    """Return which live documents have a keyword value that the node accepts."""
    found = []
    for part in reader.parts:
        entries = part.segment.entries
        low, high = part.segment.entry_range(node.name)
        match node:
            case bound.Has():
                ids = np.arange(low, high)
            case bound.Glob(pattern=pattern):
                ids = entries.matching(f"{strings.escape(node.name)}{SEPARATOR}{pattern}", within=(low, high))
            case bound.Similar(text=text, distance=distance):
                prefix = len(f"{node.name}{SEPARATOR}")
                found_at = similar(text, [entry[prefix:] for entry in entries.take(np.arange(low, high))], distance)
                ids = low + np.asarray(list(found_at), np.int64)
            case bound.Between():
                accepts = between(node.kind, (node.low, node.include_low), (node.high, node.include_high))
                start = len(node.name) + len(SEPARATOR)
                values = enumerate(entries.take(np.arange(low, high)), start=low)
                ids = np.asarray([at for at, entry in values if accepts(entry[start:])], np.int64)
        found.append(part.segment.entry_docs(ids))
    return reader.mark(found)
