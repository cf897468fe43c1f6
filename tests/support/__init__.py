"""What several tests share: the brute-force twin of search, and the Hypothesis strategies that feed both."""
