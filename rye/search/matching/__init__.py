"""A query over the index: names and words are bound, words become terms, terms postings and positions."""
