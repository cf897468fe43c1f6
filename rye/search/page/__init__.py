"""The hits of one page: files read and verified again, passages, marks and sections of a text."""
