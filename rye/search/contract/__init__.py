"""What a search is asked and what it answers: fields, request, results, and how scores are fused."""
