"""Frozen data, its JSON form, and the one fold."""
