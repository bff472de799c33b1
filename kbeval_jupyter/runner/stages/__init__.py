"""The stages of an evaluation, one file each."""
