"""One segment: its columns, postings and keywords, its references and the verdicts on its items."""
