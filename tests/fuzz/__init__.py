"""Coverage-guided fuzzing, run by hand or in CI for a bounded time."""
