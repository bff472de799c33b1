"""Which runner this is. The archive replaces this file: there the name is the hash of all sources."""

RUNNER = "source"
