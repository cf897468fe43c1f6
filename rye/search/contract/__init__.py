"""What a search is asked and what it answers: fields, request, settings, results, and how scores are fused."""
