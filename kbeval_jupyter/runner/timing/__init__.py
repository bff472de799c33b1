"""Measuring: process groups, stop rules, statistics, claims."""
