"""Arrays and strings on disk: how they are packed, mapped, checked, named and removed."""
