"""Documents to scores, their order, and the counts of facets."""
