"""The live view of an evaluation: its Python half. ``static/`` is built from ``js/``."""
