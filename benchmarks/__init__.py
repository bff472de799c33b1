"""Ratios that are promised to users, measured side by side on the machine at hand: ``make bench``."""
