"""Targets: the configuration that names them, and one file per kind."""
