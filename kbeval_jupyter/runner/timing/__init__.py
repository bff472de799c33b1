"""Measuring: process pairs, stop rules, statistics, claims."""
