"""Segments are built, merged, committed and refreshed, and read as one."""
